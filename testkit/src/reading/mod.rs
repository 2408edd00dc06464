//! A reading model: a scripted model that acts only on what its request shows.
//!
//! A model with a fixed script plays on whatever the request contains. This one reads: it finds the
//! calls to make in the words of the user, notes a token once a result shows it, and follows the
//! words of a shortened or cleared result to the rest of it. If it was not shown what it asked for,
//! it asks again, and gives up after a number of tries. It keeps nothing between requests, so what
//! leaves the conversation is forgotten. Where its instructions ask for programs, in PTC-Lisp or in
//! JavaScript, as calls or as text, it reads through programs and returns its answer by one.

mod action;
mod model;
mod program;
mod seen;
mod task;

pub use model::ReadingModel;
pub use task::{ReadingOrder, ReadingTask};

#[cfg(test)]
mod tests;
