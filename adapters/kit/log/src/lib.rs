#![doc = include_str!("../README.md")]

mod air;
mod backlog;
mod batch;
mod claims;
mod commit;
mod hash;
mod hints;
mod medium;
mod pipeline;
mod queue;
mod tails;
#[cfg(test)]
mod tests;
mod watch;

pub use air::{Air, HELD, Told};
pub use backlog::Backlog;
pub use batch::{Batch, Few};
pub use hash::{Hasher, Sessions};
pub use medium::{End, Medium, Seat, Unit};
pub use pipeline::{Bounds, Pipeline, Wake};
