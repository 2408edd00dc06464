//! Responses over WebSockets, whole exchanges with a server on this machine.

#![expect(clippy::unwrap_used, reason = "a test may stop")]

mod breaking;
mod conformance;
mod continuation;
mod conversation;
