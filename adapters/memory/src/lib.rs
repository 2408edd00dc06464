#![doc = include_str!("../README.md")]

mod blobs;
mod leases;
mod live_bus;
mod log;
mod mailbox;
mod store;

pub use blobs::MemoryBlobs;
pub use leases::MemoryLeases;
pub use live_bus::MemoryLiveBus;
pub use mailbox::MemoryMailbox;
pub use store::MemoryStore;
