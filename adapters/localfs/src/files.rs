//! The file tools: blocking work on a workspace, one module a tool.

mod edit;
mod list;
mod read;
mod search;
mod write;

use serde::de::DeserializeOwned;
use windlass_core::Observation;

use crate::config::LocalFsConfig;
use crate::fault::Fault;
use crate::planned::planned;
use crate::root::Root;
use crate::stop::Stop;

/// Tool that works on files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileTool {
    /// Reads a page of a file.
    Read,
    /// Lists the entries of a folder.
    List,
    /// Searches files for a pattern.
    Search,
    /// Writes a whole file.
    Write,
    /// Replaces text in a file.
    Edit,
}

/// Mode of a call: run or plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Work {
    /// To do what the call says.
    Do,
    /// To say what it would do, and to do nothing.
    Plan,
}

/// Environment of a file tool.
pub(crate) struct Bench<'a> {
    /// Folder that the tools work in.
    pub(crate) root: &'a Root,
    /// Limits set by the user.
    pub(crate) config: &'a LocalFsConfig,
    /// Check for a stop request.
    pub(crate) stop: &'a Stop,
    /// The call's idempotency key.
    pub(crate) key: &'a str,
}

/// Has a file tool do its work.
pub(crate) fn work(work: Work, tool: FileTool, arguments: &str, bench: &Bench<'_>) -> Observation {
    let ran = bench
        .stop
        .check()
        .map_err(Fault::from)
        .and_then(|()| match (tool, work) {
            (FileTool::Read, Work::Do) => read::run(&parse(arguments)?, bench),
            (FileTool::List, Work::Do) => list::run(&parse(arguments)?, bench),
            (FileTool::Search, Work::Do) => search::run(&parse(arguments)?, bench),
            (FileTool::Read | FileTool::List | FileTool::Search, Work::Plan) => {
                let would = format!("only read, with these arguments:\n{arguments}");
                Ok(planned(&would, bench.config.room()))
            }
            (FileTool::Write, Work::Do) => write::run(&parse(arguments)?, bench),
            (FileTool::Write, Work::Plan) => write::plan(&parse(arguments)?, bench),
            (FileTool::Edit, Work::Do) => edit::run(&parse(arguments)?, bench),
            (FileTool::Edit, Work::Plan) => edit::plan(&parse(arguments)?, bench),
        });
    ran.unwrap_or_else(Fault::observation)
}

/// Reads a call's arguments.
pub(crate) fn parse<T: DeserializeOwned>(arguments: &str) -> Result<T, Fault> {
    serde_json::from_str(arguments).map_err(|error| {
        Fault::Said(format!(
            "the arguments do not fit the tool: {error}; call it again as its schema says"
        ))
    })
}
