#![doc = include_str!("../README.md")]

mod env;
mod group;
mod input;
mod lock;
mod mark;
mod piped;
mod pipes;
mod record;
mod run;
mod search;

pub use env::{absolute_only, allowed};
pub use input::{ProcessInput, TerminalSize};
pub use lock::{RunLock, RunLocks};
pub use mark::RemainingProcesses;
pub use piped::{PipedProcess, PipedStreams};
pub use pipes::{OutputPipe, OutputSink, SinkFlow, StderrMode};
pub use record::RecordedProcess;
pub use run::{GracePeriods, ProcessEnd, ProcessJob, ProcessResult, RunError, run};

#[cfg(test)]
mod lock_tests;
#[cfg(test)]
mod tests;
