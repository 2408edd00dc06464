//! The file tools: blocking work on a workspace, one module a tool.

mod apply_patch;
mod edit;
mod edit_nearest;
mod edit_report;
mod glob;
mod grep;
mod grep_file;
mod grep_files;
pub(crate) mod kept;
mod list;
mod name_pattern;
mod patch_commit;
mod patch_preview;
mod patched_files;
pub(crate) mod read;
pub(crate) mod view;
mod write;

use std::io::Read;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use windlass_core::{Observation, ObservationStatus};
use windlass_ports::FileChange;

use crate::config::LocalFsConfig;
use crate::fault::{CallFailure, bounded};
use crate::files::kept::ChangeRecorder;
use crate::planned::planned;
use crate::root::WorkspaceRoot;
use crate::stop::StopCheck;
use crate::text::push_line;
use crate::walk::WalkedFiles;

/// Tool that works on files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileTool {
    /// Reads a page of a file.
    Read,
    /// Reads an image.
    View,
    /// Lists the entries of a folder.
    List,
    /// Searches the lines of files.
    Grep,
    /// Finds files by their names.
    Glob,
    /// Writes a whole file.
    Write,
    /// Replaces text in a file.
    Edit,
    /// Changes several files.
    Patch,
}

/// Mode of a call: run or plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallMode {
    /// To do what the call says.
    Run,
    /// To say what it would do, and to do nothing.
    Plan,
}

/// Environment of a file tool.
pub(crate) struct FileToolContext<'a> {
    /// Folder that the tools work in.
    pub(crate) root: &'a WorkspaceRoot,
    /// Limits set by the user.
    pub(crate) config: &'a LocalFsConfig,
    /// Check for a stop request.
    pub(crate) stop: &'a StopCheck,
    /// The call's idempotency key.
    pub(crate) key: &'a str,
    /// Number of equal calls before this one in the turn that failed, in a row.
    pub(crate) failed_before: u32,
    /// Records the files that the call changes.
    pub(crate) changes: &'a ChangeRecorder,
}

/// Has a file tool do its work.
pub(crate) fn work(
    work: CallMode,
    tool: FileTool,
    arguments: &str,
    bench: &FileToolContext<'_>,
) -> Observation {
    let ran = bench.stop.check().map_err(CallFailure::from).and_then(|()| match (tool, work) {
        (FileTool::Read, CallMode::Run) => read::run(&parse(arguments)?, bench),
        (FileTool::View, CallMode::Run) => {
            view::read(arguments, bench).map(|image| image.not_shown("a program receives text"))
        }
        (FileTool::List, CallMode::Run) => list::run(&parse(arguments)?, bench),
        (FileTool::Grep, CallMode::Run) => grep::run(&parse(arguments)?, bench),
        (FileTool::Glob, CallMode::Run) => glob::run(&parse(arguments)?, bench),
        (
            FileTool::Read | FileTool::View | FileTool::List | FileTool::Grep | FileTool::Glob,
            CallMode::Plan,
        ) => {
            let would = format!("only read, with these arguments:\n{arguments}");
            Ok(planned(&would, bench.config.room()))
        }
        (FileTool::Write, CallMode::Run) => write::run(&parse(arguments)?, bench),
        (FileTool::Write, CallMode::Plan) => write::plan(&parse(arguments)?, bench),
        (FileTool::Edit, CallMode::Run) => edit::run(&parse(arguments)?, bench),
        (FileTool::Edit, CallMode::Plan) => edit::plan(&parse(arguments)?, bench),
        (FileTool::Patch, CallMode::Run) => apply_patch::run(&parse(arguments)?, bench),
        (FileTool::Patch, CallMode::Plan) => apply_patch::plan(&parse(arguments)?, bench),
    });
    let observation = ran.unwrap_or_else(CallFailure::observation);
    Observation { changes: bench.changes.take(), ..observation }
}

/// The observation of a call that failed and can be repeated in vain. The third equal one in a row is
/// told to stop.
fn failure(words: &str, bench: &FileToolContext<'_>) -> Observation {
    let room = bench.config.room().min(FAILURE);
    if bench.failed_before < FAILURES - 1 {
        return bounded(ObservationStatus::Failed, words, room);
    }
    let times = bench.failed_before.saturating_add(1);
    let stop = format!(
        "Stop: this call failed {times} times in a row with the same arguments, and will fail again. \
         Do not repeat it. Read the file, and make another edit or go on without it.\n{words}"
    );
    bounded(ObservationStatus::Failed, &stop, room)
}

/// Equal failures in a row after which a call is told to stop.
const FAILURES: u32 = 3;
/// Most bytes of a failure that are shown.
const FAILURE: usize = 8 * 1024;

/// Returns what precedes paths below a folder where they are shown.
fn shown_prefix(folder: &str) -> String {
    let folder = folder.trim_start_matches("./").trim_end_matches('/');
    if folder.is_empty() || folder == "." { String::new() } else { format!("{folder}/") }
}

/// Adds what a walk left out.
fn walk_remarks(text: &mut String, walked: &WalkedFiles) {
    if walked.cut {
        push_line(text, "[there are too many files to look at all of them; name a folder below]");
    }
    if walked.unread > 0 {
        push_line(text, &format!("[{} files or folders could not be read]", walked.unread));
    }
    if walked.ignored > 0 {
        let left_out = format!("[{} {IGNORED}]", walked.ignored);
        push_line(text, &left_out);
    }
}

/// Remark on entries that the rules leave out.
const IGNORED: &str = "entries in .gitignore are left out; include_ignored shows them";

/// Longest file that a preview compares, in bytes.
const PREVIEWED: usize = 256 * 1024;

/// Returns what a call would change; `None` if that is nothing, no text or too much.
pub(crate) fn preview(
    tool: FileTool,
    arguments: &str,
    bench: &FileToolContext<'_>,
) -> Option<FileChange> {
    let change = match tool {
        FileTool::Write => write::preview(&parse(arguments).ok()?, bench),
        FileTool::Edit => edit::preview(&parse(arguments).ok()?, bench),
        FileTool::Patch => apply_patch::preview(&parse(arguments).ok()?, bench),
        FileTool::Read | FileTool::View | FileTool::List | FileTool::Grep | FileTool::Glob => None,
    }?;
    let fits = |text: &str| text.len() <= PREVIEWED;
    (fits(&change.after) && change.before.as_deref().is_none_or(fits)).then_some(change)
}

/// Returns the paths that the arguments of a call name.
pub(crate) fn paths(tool: FileTool, arguments: &str) -> Vec<String> {
    match tool {
        FileTool::Patch => parse(arguments).map(|it| apply_patch::paths(&it)).unwrap_or_default(),
        FileTool::Read
        | FileTool::View
        | FileTool::List
        | FileTool::Grep
        | FileTool::Glob
        | FileTool::Write
        | FileTool::Edit => {
            let argument: Option<PathArgument> = serde_json::from_str(arguments).ok();
            argument.and_then(|argument| argument.path).into_iter().collect()
        }
    }
}

/// The argument of the file tools that is a path.
#[derive(Debug, Deserialize)]
struct PathArgument {
    #[serde(default)]
    path: Option<String>,
}

/// Reads the whole of a file that is to be changed.
fn whole(file: impl Read, path: &str, bench: &FileToolContext<'_>) -> Result<Vec<u8>, CallFailure> {
    let most = bench.config.file_bytes;
    let mut content = Vec::new();
    let read = file.take(most.saturating_add(1)).read_to_end(&mut content);
    read.map_err(|error| CallFailure::Message(format!("cannot read `{path}`: {error}")))?;
    if content.len() as u64 > most {
        return Err(CallFailure::Message(format!(
            "`{path}` is larger than {most} bytes: change it with the shell"
        )));
    }
    Ok(content)
}

/// Reads a call's arguments.
pub(crate) fn parse<T: DeserializeOwned>(arguments: &str) -> Result<T, CallFailure> {
    serde_json::from_str(arguments).map_err(|error| {
        CallFailure::Message(format!(
            "the arguments do not fit the tool: {error}; call it again as its schema says"
        ))
    })
}
