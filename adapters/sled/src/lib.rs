#![doc = include_str!("../README.md")]

mod chain;
#[cfg(test)]
mod erasing;
mod error;
mod folder;
#[doc(hidden)]
pub mod fuzzing;
#[cfg(test)]
mod half_append;
mod heads;
mod medium;
mod note;
#[cfg(test)]
mod old_version;
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
mod witness;

pub use store::SledStore;
