//! Test kit of Windlass: laws, scripted ports, simulators and conformance suites.

// The examples of the README are embedders' code: the crate `windlass` runs them as tests.
#![cfg_attr(not(doctest), doc = include_str!("../README.md"))]

/// The examples of the guide are run as tests.
#[cfg(doctest)]
#[doc = include_str!("../../docs/adapters.md")]
mod guide {}

mod answer;
pub mod approver;
pub mod blobs;
pub mod clock;
pub mod corpus;
pub mod crash;
mod defaults;
mod errors;
pub mod explore;
pub mod faults;
pub mod faulty;
mod gate;
pub mod golden;
pub mod grants;
mod heard;
pub mod hooks;
pub mod http;
pub mod inbox;
pub mod laws;
pub mod leases;
mod ledger;
pub mod live;
#[cfg(unix)]
pub mod nats;
pub mod nodes;
pub mod pgbouncer;
mod port;
pub mod postgres;
#[cfg(unix)]
pub mod power;
pub mod programs;
pub mod provider;
pub mod reading;
#[cfg(unix)]
pub mod sandbox;
pub mod sim;
mod spans;
pub mod store;
pub mod suite;
pub mod tools;
mod wait;
pub mod world;

pub use answer::{Answer, MODEL, Part};
pub use defaults::{settings, tool_spec};
pub use errors::Errors;
pub use gate::Gate;
pub use heard::HeardSum;
pub use port::Port;
pub use spans::{RecordedSpan, Spans};
pub use wait::within;
