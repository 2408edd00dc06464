//! The adapter over real processes and real sockets.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod bench;
mod conformance;
mod http;
mod lost;
mod processes;
mod resources;
mod startup;
mod tools;
