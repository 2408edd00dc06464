#![doc = include_str!("../README.md")]

mod append;
mod assembly;
mod blobs;
mod body;
mod checkpoint;
mod claim;
mod config;
mod durability;
mod erase;
mod header;
mod leases;
mod list;
mod live_bus;
mod lookup;
mod mailbox;
mod mailbox_tasks;
mod names;
mod node;
mod open;
mod read;
mod releases;
mod server;
mod server_error;
mod store;
mod tail;
mod unclaimed;

pub use blobs::NatsBlobs;
pub use config::{ErasurePolicy, Login, MOST_SHARDS, NatsConfig};
pub use leases::NatsLeases;
pub use live_bus::NatsLiveBus;
pub use mailbox::NatsMailbox;
pub use store::NatsStore;
