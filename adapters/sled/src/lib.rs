#![doc = include_str!("../README.md")]

mod check;
mod commit;
mod error;
mod folder;
#[doc(hidden)]
pub mod fuzzing;
#[cfg(test)]
mod half_append;
mod heads;
mod open;
mod pool;
mod queue;
mod read;
mod record;
mod scan;
mod statement;
mod store;
mod watchdog;
mod witness;

pub use store::SledStore;
