#![doc = include_str!("../README.md")]

mod background;
mod blobs;
mod bundle;
mod checkpoints;
mod config;
mod database;
mod error;
mod gather;
mod group;
mod leases;
mod live_bus;
mod mailbox;
mod mailbox_waiters;
mod node;
mod read;
mod record;
mod releases;
mod schema;
mod slots;
mod store;
mod tails;
mod tls;

pub use blobs::PostgresBlobs;
pub use config::PostgresConfig;
pub use live_bus::PostgresLiveBus;
pub use mailbox::PostgresMailbox;
pub use store::PostgresStore;
