//! Live plane between nodes: publishes live events of drivers here, and joins those of other nodes with
//! the log.
//!
//! The driver's bus has a [`LivePublisher`]. A session with subscribers and without a driver here has a
//! [`LiveSubscription`] in its follower and a [`Join`] in its hub, which publishes what is certain.

mod join;
mod message;
mod passes;
mod publisher;
mod remote_run;
mod subscription;

pub(crate) use join::Join;
pub(crate) use message::{Kind, Piece, Run};
pub(crate) use passes::Passes;
pub(crate) use publisher::{LivePublisher, Passing};
pub(crate) use subscription::{LiveNotice, LiveSubscription};

#[cfg(test)]
mod tests;
