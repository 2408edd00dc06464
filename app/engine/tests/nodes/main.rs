//! Several engines over one store: whoever is asked, whoever drives the session does it, once, and
//! whoever asked learns what became of it. Time is paused, and every race is decided by the test.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::panic, reason = "a test fails by panicking")]
#![allow(clippy::wildcard_enum_match_arm, reason = "it looks for a few kinds of fact in a log")]

mod agents;
#[path = "../support/clock.rs"]
mod clock;
mod dying;
mod fleet;
mod posted;
mod reached;
mod results;
mod taken_over;
