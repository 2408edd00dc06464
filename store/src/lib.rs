#![doc = include_str!("../README.md")]

mod batch;
mod claims;
mod commit;
mod medium;
mod pipeline;
mod queue;
mod tails;
#[cfg(test)]
mod tests;
mod watch;

pub use batch::{Batch, MOST_BATCH_BYTES};
pub use medium::{End, Medium, Unit};
pub use pipeline::{Bounds, Pipeline, Wake};
