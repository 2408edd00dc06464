#![doc = include_str!("../README.md")]

mod backend;
mod backlog;
mod batch;
mod claims;
mod commit;
mod hash;
mod interest;
mod pipeline;
mod queue;
mod tails;
#[cfg(test)]
mod tests;
mod watchdog;

pub use backend::{AppendRequest, CommitBackend, LogEnd};
pub use backlog::Backlog;
pub use batch::Batch;
pub use hash::{Hasher, Sessions};
pub use interest::{Interest, LiveMessage, QUEUE_MESSAGES};
pub use pipeline::{Pipeline, PipelineLimits, TailWaker};
