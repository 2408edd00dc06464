//! Live plane between nodes: publishes live events of drivers here, and joins those of other nodes
//! with the log.
//!
//! The driver's bus has a [`LivePublisher`]. A session with subscribers and without a driver here
//! has a [`LiveSubscription`] in its follower and a [`LiveJoin`] in its hub, which publishes what
//! is certain.

mod catch_up;
mod join;
mod message;
mod publisher;
mod remote_run;
mod subscription;

pub(crate) use catch_up::CatchUpTask;
pub(crate) use join::LiveJoin;
pub(crate) use message::{MessageRun, PartKind, TextPiece};
pub(crate) use publisher::{CatchUpProgress, LivePublisher};
pub(crate) use subscription::{LiveNotice, LiveSubscription};

#[cfg(test)]
mod tests;
