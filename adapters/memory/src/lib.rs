#![doc = include_str!("../README.md")]

mod blobs;
mod store;

pub use blobs::MemoryBlobs;
pub use store::MemoryStore;
