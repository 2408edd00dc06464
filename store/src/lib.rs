#![doc = include_str!("../README.md")]

mod batch;
mod medium;

pub use batch::{Batch, MOST_BATCH_BYTES};
pub use medium::{End, Medium, Unit};
