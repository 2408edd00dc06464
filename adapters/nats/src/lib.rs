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
mod inbox;
mod leases;
mod list;
mod look;
mod names;
mod node;
mod open;
mod post;
mod read;
mod relay;
mod returns;
mod server;
mod snapshot;
mod store;
mod tail;
mod trouble;
mod vigil;

pub use blobs::NatsBlobs;
pub use config::{Erasing, Login, MOST_SHARDS, NatsConfig};
pub use inbox::NatsInbox;
pub use leases::NatsLeases;
pub use relay::NatsRelay;
pub use store::NatsStore;
