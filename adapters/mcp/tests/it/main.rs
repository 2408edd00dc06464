//! The adapter over real processes and real sockets.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod asks;
mod bench;
mod conformance;
mod http;
#[cfg(feature = "oauth")]
mod login;
#[cfg(feature = "oauth")]
mod login_server;
mod lost;
mod processes;
mod resources;
mod startup;
mod tools;
