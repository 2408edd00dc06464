#![doc = include_str!("../README.md")]

mod backend;
mod error;
mod folder;
#[doc(hidden)]
pub mod fuzzing;
mod head_index;
mod head_index_file;
mod note;
mod open;
mod pool;
mod read;
mod record;
mod scan;
mod shared;
mod snapshot;
mod statement;
mod store;
mod watchdog;

pub use store::SledStore;

#[cfg(test)]
mod tests;
