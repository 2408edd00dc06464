//! What a client of the streams sees: every byte of it comes over a socket.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::expect_used, reason = "a test fails by panicking")]
#![allow(clippy::panic, reason = "a test fails by panicking")]

mod adding_up;
mod agui;
mod client;
mod ends;
mod events;
mod falling;
mod sockets;
#[path = "../common/still.rs"]
mod still;
mod world;
