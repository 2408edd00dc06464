//! The tools over real files and real processes.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "all of this is test code"
)]

mod bounds;
mod command;
mod common;
mod conformance;
mod inside;
mod kept;
mod read;
mod schema;
mod shell;
mod write;
