//! The tools over real files and real processes.
#![allow(clippy::unwrap_used, clippy::panic, reason = "all of this is test code")]

mod bench;
mod bounds;
mod command;
mod common;
mod conformance;
mod find;
mod inside;
mod patch;
mod plan;
mod processes;
mod read;
mod reconcile;
mod schema;
mod shell;
mod stored_outputs;
mod view;
mod write;
