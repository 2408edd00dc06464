//! Live: what streams here is told to other nodes, and what streams there is joined with the log.
//!
//! The driver's bus has a [`Teller`]. Where a session is watched and not driven, its follower has a
//! [`Listening`], and its hub a [`Join`], which gives to the bus of those who watch what it is sure of.

mod hearing;
mod join;
mod listening;
mod message;
mod passes;
mod teller;

pub(crate) use join::Join;
pub(crate) use listening::{Listening, Told};
pub(crate) use message::{Kind, Piece, Run};
pub(crate) use passes::Passes;
pub(crate) use teller::{Passing, Teller};

#[cfg(test)]
mod tests;
