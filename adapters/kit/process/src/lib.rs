#![doc = include_str!("../README.md")]

mod env;
mod group;
mod pipes;
mod remaining;
mod run;

pub use env::{absolute_only, allowed};
pub use pipes::{OutputPipe, OutputSink, SinkFlow, StderrMode};
pub use remaining::RemainingProcesses;
pub use run::{GracePeriods, ProcessEnd, ProcessJob, ProcessResult, RunError, run};

#[cfg(test)]
mod tests;
