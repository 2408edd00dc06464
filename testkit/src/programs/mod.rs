//! Programs that a model writes: a tiny language for tests of the engine, and the conformance suite
//! of every [`ProgramRuntime`](windlass_ports::ProgramRuntime).

mod parse;
mod run;
mod scripted;
pub mod suite;

pub use scripted::{SCRIPTED, ScriptedRuntime};

#[cfg(test)]
mod bites;
#[cfg(test)]
mod broken;
#[cfg(test)]
mod tests;
