//! The interface over real sockets, with a scripted model.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod agui;
mod approvals;
mod changes;
mod client;
mod client_tools;
mod commands;
mod counting;
mod description;
mod erase;
mod forks;
mod grants;
#[cfg(feature = "mcp")]
mod mcp;
mod nodes;
mod programs;
mod queue;
mod rewind;
mod schemathesis;
mod sessions;
mod snapshots;
mod turns;
mod usage;
mod world;
