#![doc = include_str!("../README.md")]

mod answer;
pub mod extract;
mod guide;
mod memory;
mod run;
mod runtime;
mod schema;

#[cfg(test)]
mod tests;
#[cfg(test)]
mod word_tests;

pub use extract::{ExtractError, ExtractedProgram, extract, without_prose};
pub use memory::read_session;
pub use runtime::PtcLisp;
pub use windlass_kit_ptclisp::{LispSession, Signature};
