//! Processes that outlive the call that starts them: each belongs to a session and ends with it.

mod answer;
mod arguments;
mod buffer;
mod calls;
mod process;
mod schema;
mod start;
mod table;

pub(crate) use calls::{ProcessBench, plan, run};
pub(crate) use schema::PROCESS_TOOLS;
pub(crate) use table::ProcessTable;

/// Tool that works on processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProcessTool {
    /// Starts a process.
    Start,
    /// Writes to a process, or waits for its output.
    Write,
    /// Lists the processes.
    List,
    /// Stops a process.
    Stop,
}
