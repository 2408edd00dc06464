//! Promises of the driver, one by one, over time that is paused and a store that does as it is
//! told. Nothing waits for real, and every race is decided by the test.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::panic, reason = "a test fails by panicking")]
#![allow(clippy::wildcard_enum_match_arm, reason = "it looks for a few kinds of fact in a log")]

mod adding_up;
mod agents;
mod approvals;
mod asking_tools;
mod children;
#[path = "../support/clock.rs"]
mod clock;
mod compaction;
mod deferred;
mod ends;
mod failures;
mod following;
mod forks;
mod hooks;
mod images;
mod interrupts;
mod outputs;
mod panics;
mod parting;
mod processes;
mod programs;
mod read_output;
mod requests;
mod rewinds;
mod shapes;
mod sizes;
mod steering;
mod stuck;
mod timeouts;
mod waiting;
mod watches;
mod watching;
mod world;
