#![doc = include_str!("../README.md")]

mod blobs;
mod bundle;
mod config;
mod database;
mod error;
mod gather;
mod group;
mod inbox;
mod leases;
mod mail;
mod node;
mod presence;
mod read;
mod record;
mod relay;
mod returns;
mod schema;
mod slots;
mod snapshots;
mod store;
mod tails;
mod tls;

pub use blobs::PostgresBlobs;
pub use config::PostgresConfig;
pub use inbox::PostgresInbox;
pub use relay::PostgresRelay;
pub use store::PostgresStore;
