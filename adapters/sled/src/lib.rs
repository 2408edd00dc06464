#![doc = include_str!("../README.md")]

mod backend;
#[cfg(test)]
mod erasing;
mod error;
mod folder;
#[doc(hidden)]
pub mod fuzzing;
#[cfg(test)]
mod half_append;
mod head_index;
mod head_index_file;
mod note;
mod open;
mod pool;
#[cfg(test)]
mod raw_rows;
mod read;
mod record;
mod scan;
mod shared;
mod snapshot;
mod statement;
mod store;
mod watchdog;

pub use store::SledStore;
