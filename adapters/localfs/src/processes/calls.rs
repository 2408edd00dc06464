//! The calls of the tools for processes.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use windlass_core::{CallId, Observation, ObservationStatus};
use windlass_kit_process::{RunError, RunLocks};
use windlass_ports::{ToolContext, ToolError, ToolErrorKind};

use super::ProcessTool;
use super::answer::{answer, lost, state};
use super::arguments::{ListArguments, StartArguments, StopArguments, WriteArguments, stop_bounds};
use super::process::{NotWritten, Process, StopReason};
use super::start::{ProcessStart, start};
use super::table::ProcessTable;
use crate::config::LocalFsConfig;
use crate::fault::{CallFailure, bounded};
use crate::files::parse;
use crate::live::LiveReporter;
use crate::planned::planned;
use crate::process::lock;
use crate::report;
use crate::shell::{ShellPlace, not_begun};

/// Most bytes of a command line in a list.
const LISTED: usize = 200;

/// Runs a call.
///
/// # Errors
/// [`ToolError`] when a process is not confined or cannot be started.
pub(crate) async fn run(
    tool: ProcessTool,
    arguments: &str,
    bench: ProcessBench<'_>,
    context: &ToolContext,
) -> Result<Observation, ToolError> {
    if context.cancel.is_cancelled() {
        return Ok(not_begun());
    }
    let done = match tool {
        ProcessTool::Start => match parse(arguments).and_then(StartArguments::checked) {
            Ok(arguments) => return bench.start(arguments, context).await,
            Err(failure) => Err(failure),
        },
        ProcessTool::Write => match parse(arguments).and_then(WriteArguments::checked) {
            Ok(arguments) => bench.write(arguments, context).await,
            Err(failure) => Err(failure),
        },
        ProcessTool::List => parse(arguments).map(|ListArguments {}| bench.list(context)),
        ProcessTool::Stop => match parse(arguments) {
            Ok(StopArguments { id }) => Ok(bench.stop(id, context).await),
            Err(failure) => Err(failure),
        },
    };
    Ok(done.unwrap_or_else(CallFailure::observation))
}

/// Says what a call would do.
pub(crate) fn plan(tool: ProcessTool, arguments: &str, config: &LocalFsConfig) -> Observation {
    let would = match tool {
        ProcessTool::Start => parse(arguments).and_then(StartArguments::checked).map(|start| {
            let folder = start.workdir.as_deref().unwrap_or(".");
            format!("start this command line with sh in the folder {folder}:\n{}", start.cmd)
        }),
        ProcessTool::Write => parse(arguments).and_then(WriteArguments::checked).map(|write| {
            format!("write {} bytes to process {} and wait for it", write.chars.len(), write.id)
        }),
        ProcessTool::List => Ok(String::from("only list the processes")),
        ProcessTool::Stop => parse(arguments)
            .map(|StopArguments { id }| format!("stop process {id} with all that it started")),
    };
    match would {
        Ok(would) => planned(&would, config.room()),
        Err(failure) => failure.observation(),
    }
}

/// Place of the processes, and their table.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ProcessBench<'a> {
    pub(crate) place: ShellPlace<'a>,
    pub(crate) table: &'a Arc<ProcessTable>,
}

/// Stops a process whose id was not returned, when the call that started it is dropped.
struct StartGuard<'a> {
    table: &'a ProcessTable,
    context: &'a ToolContext,
    process: &'a Process,
    is_returned: bool,
}

impl Drop for StartGuard<'_> {
    fn drop(&mut self) {
        if !self.is_returned {
            self.process.stop(StopReason::Interrupted);
            self.table.remove(&self.context.session, self.process.id);
        }
    }
}

impl ProcessBench<'_> {
    async fn start(
        self,
        arguments: StartArguments,
        context: &ToolContext,
    ) -> Result<Observation, ToolError> {
        let ShellPlace { config, locks, outside, .. } = self.place;
        let (bounds, terminal) = (arguments.bounds(config, context), arguments.tty);
        let (process, prepared) = match self.prepare(&arguments, context).await? {
            Ok(prepared) => prepared,
            Err(failure) => return Ok(failure.observation()),
        };
        let mut guard =
            StartGuard { table: self.table, context, process: &process, is_returned: false };
        process.report_to(Some(LiveReporter::new(context.progress.clone())));
        let lock = lock(locks, context);
        start(ProcessStart { lock, terminal, ..prepared }, config);
        if self.wait(&process, bounds.yield_ms, context).await == Waited::Cancelled {
            process.stop(StopReason::Interrupted);
            process.wait().await;
        }
        process.report_to(None);
        if let Some(ended) = process.ended()
            && let Err(RunError { began: false, error }) = &ended.result
        {
            let words =
                format!("cannot start a process: {error}; see that processes can be started");
            return Err(ToolError::new(ToolErrorKind::NotStarted, words));
        }
        let mut seen = answer(&process, bounds.room, config.process_timeout_ms, context).await;
        if outside && !arguments.outside_sandbox {
            report::hint_at_sandbox(&mut seen);
        }
        if process.is_running() {
            self.record(&process, context);
            guard.is_returned = true;
        }
        Ok(seen)
    }

    /// Makes a process ready to be started: its place in the table and its confined command.
    async fn prepare(
        self,
        arguments: &StartArguments,
        context: &ToolContext,
    ) -> Result<Result<(Arc<Process>, ProcessStart), CallFailure>, ToolError> {
        let ShellPlace { root, config, .. } = self.place;
        let checked = self.place.sandbox(arguments.outside_sandbox, context).and_then(|sandbox| {
            let folder = match &arguments.workdir {
                Some(folder) => root.path().join(root.canonical(folder)?),
                None => root.path().to_owned(),
            };
            is_folder(&folder)?;
            Ok((sandbox, folder))
        });
        let (sandbox, folder) = match checked {
            Ok(checked) => checked,
            Err(failure) => return Ok(Err(failure)),
        };
        let confined = sandbox.confine(self.place.launch(&arguments.cmd, folder)).await;
        let (command, confinement) = confined.map_err(|refused| {
            let words = format!("cannot start a process: {refused}");
            ToolError::new(ToolErrorKind::NotStarted, words).caused_by(refused)
        })?;
        let (id, terminal, room) = (context.call, arguments.tty, config.process_output_bytes);
        let (process, input) = Process::new(id, &arguments.cmd, terminal, confinement, room);
        let start = ProcessStart { process: process.clone(), command, input, terminal, lock: None };
        let added = self.table.add(&context.session, &process);
        Ok(added.map(|()| (process, start)))
    }

    async fn write(
        self,
        arguments: WriteArguments,
        context: &ToolContext,
    ) -> Result<Observation, CallFailure> {
        let config = self.place.config;
        let bounds = arguments.bounds(config, context);
        let id = arguments.id;
        let Some(process) = self.table.find(&context.session, CallId(id)) else {
            return Err(CallFailure::Message(self.describe_lost(id, context)));
        };
        if !arguments.chars.is_empty() && process.is_running() {
            process.write(&arguments.chars).map_err(|why| not_written(id, &why))?;
        }
        process.report_to(Some(LiveReporter::new(context.progress.clone())));
        let waited = self.wait(&process, bounds.yield_ms, context).await;
        process.report_to(None);
        let mut seen = answer(&process, bounds.room, config.process_timeout_ms, context).await;
        match (process.is_running(), waited) {
            (false, _) => self.forget(CallId(id), context),
            // The wait was stopped, and not the process.
            (true, Waited::Cancelled) => seen.status = ObservationStatus::Aborted,
            (true, Waited::Ended | Waited::Yielded) => {}
        }
        Ok(seen)
    }

    fn list(self, context: &ToolContext) -> Observation {
        let (config, session) = (self.place.config, &context.session);
        let mut lines: Vec<String> = Vec::new();
        for process in self.table.all(session) {
            let end = process.command.floor_char_boundary(LISTED);
            let (id, unread) = (process.id, process.unread_bytes());
            let state = state(&process, config.process_timeout_ms);
            let command = process.command.get(..end).unwrap_or_default();
            lines.push(format!("{id}  {state}; {unread} bytes of output not read yet: {command}"));
        }
        for process in self.table.lost(self.place.locks, session) {
            lines.push(format!("{}  {}", process.call, lost(process.call.0)));
        }
        if lines.is_empty() {
            lines.push(String::from(
                "[no process runs; one that was started in this session has ended]",
            ));
        }
        bounded(ObservationStatus::Done, &lines.join("\n"), config.room())
    }

    async fn stop(self, id: u64, context: &ToolContext) -> Observation {
        let config = self.place.config;
        let Some(process) = self.table.find(&context.session, CallId(id)) else {
            let words = self.describe_lost(id, context);
            return bounded(ObservationStatus::Done, &words, config.room());
        };
        process.stop(StopReason::Model);
        process.wait().await;
        let room = stop_bounds(config, context).room;
        let seen = answer(&process, room, config.process_timeout_ms, context).await;
        self.forget(CallId(id), context);
        // The call did what it was asked for, however the process ended.
        Observation { status: ObservationStatus::Done, ..seen }
    }

    /// Waits for the end of a process for a bounded time.
    async fn wait(self, process: &Process, most_ms: u64, context: &ToolContext) -> Waited {
        tokio::select! {
            biased;
            () = process.wait() => Waited::Ended,
            () = context.cancel.cancelled() => Waited::Cancelled,
            () = tokio::time::sleep(Duration::from_millis(most_ms)) => Waited::Yielded,
        }
    }

    /// Describes a process that is not in the table. If it is on record it is forgotten, as the model
    /// learns now that it was lost.
    fn describe_lost(self, id: u64, context: &ToolContext) -> String {
        let (session, call) = (&context.session, CallId(id));
        let recorded = self.place.locks.and_then(|locks| locks.read_record(session, call));
        match recorded {
            Some(_) => {
                self.forget(call, context);
                lost(id)
            }
            None if id >= context.call.0 => {
                format!("there is no process {id}: list_processes shows those of this session")
            }
            None => format!(
                "no process {id} runs: its end was returned before, or it was lost when windlass ended \
                 or another process continued this session. Nothing started it again: start it with \
                 exec_command if it is still needed"
            ),
        }
    }

    /// Records a process whose id is returned to the model.
    fn record(self, process: &Process, context: &ToolContext) {
        let recorded =
            self.place.locks.map(|locks: &RunLocks| locks.record(&context.session, process.id));
        if let Some(Err(error)) = recorded {
            tracing::warn!(session = %context.session, process = %process.id, %error, "a process is not on record");
        }
    }

    /// Forgets a process whose end is returned to the model.
    fn forget(self, id: CallId, context: &ToolContext) {
        self.table.remove(&context.session, id);
        if let Some(Err(error)) = self.place.locks.map(|locks| locks.forget(&context.session, id)) {
            tracing::warn!(session = %context.session, process = %id, %error, "a record stays");
        }
    }
}

/// End of a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Waited {
    /// The process has ended.
    Ended,
    /// It still runs.
    Yielded,
    /// The call was told to stop.
    Cancelled,
}

fn is_folder(folder: &Path) -> Result<(), CallFailure> {
    match folder.is_dir() {
        true => Ok(()),
        false => Err(CallFailure::Message(format!(
            "workdir is no folder ({}): list_dir shows what there is",
            folder.display()
        ))),
    }
}

fn not_written(id: u64, why: &NotWritten) -> CallFailure {
    CallFailure::Message(match why {
        NotWritten::Closed => format!("nothing was written: the stdin of process {id} is closed"),
        NotWritten::Full => format!(
            "nothing was written: process {id} has not read what was written before; wait for it \
             with write_stdin without chars"
        ),
    })
}
