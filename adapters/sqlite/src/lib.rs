#![doc = include_str!("../README.md")]

mod backend;
mod checkpoint;
mod connection;
mod error;
mod folder;
mod open;
mod owners;
mod read;
mod schema;
mod sessions;
mod store;
mod witness;

pub use store::SqliteStore;
