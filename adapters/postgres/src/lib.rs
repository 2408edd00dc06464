#![doc = include_str!("../README.md")]

mod blobs;
mod config;
mod database;
mod error;
mod gather;
mod group;
mod leases;
mod node;
mod presence;
mod read;
mod record;
mod schema;
mod slots;
mod snapshots;
mod store;
mod tails;
mod tls;

pub use blobs::PostgresBlobs;
pub use config::PostgresConfig;
pub use store::PostgresStore;
