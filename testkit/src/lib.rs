//! Test kit of Windlass: laws, scripted ports, simulators and conformance suites.

// The examples of the README are embedders' code: the crate `windlass` runs them as tests.
#![cfg_attr(not(doctest), doc = include_str!("../README.md"))]

/// The examples of the guide are run as tests.
#[cfg(doctest)]
#[doc = include_str!("../../docs/adapters.md")]
mod guide {}

#[cfg(feature = "suites")]
mod answer;
#[cfg(feature = "suites")]
pub mod approver;
#[cfg(feature = "suites")]
pub mod blobs;
#[cfg(feature = "suites")]
pub mod clock;
#[cfg(feature = "suites")]
pub mod corpus;
#[cfg(feature = "suites")]
pub mod crash;
mod defaults;
#[cfg(feature = "suites")]
mod errors;
pub mod explore;
#[cfg(feature = "suites")]
pub mod faults;
#[cfg(feature = "suites")]
pub mod faulty;
#[cfg(feature = "suites")]
mod gate;
pub mod golden;
#[cfg(feature = "suites")]
pub mod grants;
#[cfg(feature = "suites")]
mod heard;
#[cfg(feature = "suites")]
pub mod hooks;
#[cfg(feature = "suites")]
pub mod http;
#[cfg(feature = "suites")]
pub mod inbox;
pub mod laws;
#[cfg(feature = "suites")]
pub mod leases;
#[cfg(feature = "suites")]
mod ledger;
#[cfg(feature = "suites")]
pub mod live;
#[cfg(all(unix, feature = "suites"))]
pub mod nats;
#[cfg(feature = "suites")]
pub mod nodes;
#[cfg(feature = "suites")]
pub mod pgbouncer;
#[cfg(feature = "suites")]
mod port;
#[cfg(feature = "suites")]
pub mod postgres;
#[cfg(all(unix, feature = "suites"))]
pub mod power;
#[cfg(feature = "suites")]
pub mod programs;
#[cfg(feature = "suites")]
pub mod provider;
#[cfg(feature = "suites")]
pub mod reading;
#[cfg(all(unix, feature = "suites"))]
pub mod sandbox;
pub mod sim;
#[cfg(feature = "suites")]
mod spans;
#[cfg(feature = "suites")]
pub mod store;
#[cfg(feature = "suites")]
pub mod suite;
#[cfg(feature = "suites")]
pub mod tools;
#[cfg(feature = "suites")]
mod wait;
pub mod world;

#[cfg(feature = "suites")]
pub use answer::{Answer, MODEL, Part, WebSource};
pub use defaults::{settings, tool_spec};
#[cfg(feature = "suites")]
pub use errors::Errors;
#[cfg(feature = "suites")]
pub use gate::Gate;
#[cfg(feature = "suites")]
pub use heard::HeardSum;
#[cfg(feature = "suites")]
pub use port::Port;
#[cfg(feature = "suites")]
pub use spans::{RecordedSpan, Spans};
#[cfg(feature = "suites")]
pub use wait::within;
