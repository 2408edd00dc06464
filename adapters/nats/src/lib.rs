#![doc = include_str!("../README.md")]

mod append;
mod assembly;
mod blobs;
mod body;
mod claim;
mod config;
mod erase;
mod evidence;
mod head;
mod leases;
mod list;
mod names;
mod node;
mod open;
mod read;
mod server;
mod snapshot;
mod store;
mod tail;
mod trouble;

pub use blobs::NatsBlobs;
pub use config::{Erasing, Login, MOST_SHARDS, NatsConfig};
pub use leases::NatsLeases;
pub use store::NatsStore;
