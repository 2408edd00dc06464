#![doc = include_str!("../README.md")]

mod backend;
mod checkpoint;
mod error;
mod folder;
#[doc(hidden)]
pub mod fuzzing;
mod head_entry;
mod head_index;
mod head_index_file;
mod note;
mod open;
mod open_store;
mod pool;
mod read;
mod record;
mod scan;
mod store;
mod watchdog;

pub use store::SledStore;

#[cfg(test)]
mod tests;
