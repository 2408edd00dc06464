//! The store over real files and real processes: what it survives, what it refuses, what it leaves.

#![expect(clippy::unwrap_used, clippy::panic, reason = "all of this is test code")]

mod child;
mod damage;
mod folder;
mod kill;
mod refusals;
