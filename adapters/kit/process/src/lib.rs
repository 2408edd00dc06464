#![doc = include_str!("../README.md")]

mod env;
mod group;
mod pipes;
mod run;

pub use env::{absolute_only, allowed};
pub use pipes::{Errors, Flow, Sink, Source};
pub use run::{End, Grace, Job, NotRun, Ran, run};

#[cfg(test)]
mod tests;
