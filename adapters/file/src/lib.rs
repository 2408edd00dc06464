#![doc = include_str!("../README.md")]

mod blobs;
mod codec;
mod disk;
mod error;
#[cfg(test)]
mod faults;
#[doc(hidden)]
pub mod fuzzing;
mod judge;
mod marks;
mod places;
mod pool;
mod reader;
mod scan;
mod slot;
mod store;
mod window;
mod writer;

pub use blobs::{BlobLimits, FileBlobs};
pub use store::FileStore;
