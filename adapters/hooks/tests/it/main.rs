//! Hooks files and scripts as people write them, over real processes.
#![allow(clippy::unwrap_used, clippy::panic, reason = "all of this is test code")]

mod calls;
mod common;
mod conformance;
mod file;
mod laws;
mod process;
mod turns;
