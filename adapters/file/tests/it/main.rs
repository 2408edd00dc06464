//! The store over real files and real processes: what it survives and what it refuses.

#![expect(clippy::unwrap_used, clippy::panic, reason = "all of this is test code")]

mod damage;
mod erasing;
mod irregular;
mod locked;
mod older;
mod read_only;
mod room;
mod truncate;
mod unattributed;
mod witness;
