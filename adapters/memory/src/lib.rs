#![doc = include_str!("../README.md")]

mod blobs;
mod inbox;
mod leases;
mod log;
mod relay;
mod store;

pub use blobs::MemoryBlobs;
pub use inbox::MemoryInbox;
pub use leases::MemoryLeases;
pub use relay::MemoryRelay;
pub use store::MemoryStore;
