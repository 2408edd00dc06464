#![doc = include_str!("../README.md")]

mod answer;
mod guide;
mod memory;
mod run;
mod runtime;
mod schema;

#[cfg(test)]
mod tests;
#[cfg(test)]
mod word_tests;

pub use memory::read_session;
pub use runtime::PtcLisp;
pub use windlass_kit_ptclisp::{LispSession, Signature};
