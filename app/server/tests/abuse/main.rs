//! What a server does with those who mean it no good, over real sockets.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod bodies;
mod connections;
mod heads;
mod origins;
mod routes;
#[path = "../common/still.rs"]
mod still;
mod world;
