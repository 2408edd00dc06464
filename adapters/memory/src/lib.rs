#![doc = include_str!("../README.md")]

mod blobs;
mod leases;
mod store;

pub use blobs::MemoryBlobs;
pub use leases::MemoryLeases;
pub use store::MemoryStore;
