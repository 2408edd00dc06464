//! Runs a command for a tool call and captures its output.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use windlass_core::{Confinement, SessionId};
use windlass_kit_process as kit;
use windlass_kit_process::{
    GracePeriods, OutputPipe, OutputSink, ProcessEnd, ProcessInput, RemainingProcesses, RunError,
    RunLock, RunLocks, SinkFlow, StderrMode,
};
use windlass_ports::{
    CancelSignal, OutputStore, ProcessLaunch, ProgressSink, ToolContext, ToolError, ToolErrorKind,
};

use crate::capture::OutputCapture;
use crate::confinement::ToolSandbox;
use crate::full_output::{FullOutput, StorageResult};
use crate::live::LiveReporter;

/// Shortest wait for a whole output to be stored.
const STORE_LEAST: Duration = Duration::from_millis(300);
/// Longest wait for a whole output to be stored after the process exited.
const STORE_MOST: Duration = Duration::from_secs(20);

/// Command line of a tool with its limits.
pub(crate) struct CommandJob<'a> {
    /// Command line, folder and environment.
    pub(crate) launch: ProcessLaunch,
    /// Sandbox that confines it.
    pub(crate) sandbox: &'a ToolSandbox,
    /// Words of the error of a process that did not start: an action and a remedy.
    pub(crate) names: CommandNames<'a>,
    /// Bytes for stdin; without them stdin is empty.
    pub(crate) input: Option<Vec<u8>>,
    /// Most bytes of stderr that are retained; without it stderr joins stdout.
    pub(crate) separate_errors: Option<usize>,
    /// Most bytes of stdout that are retained.
    pub(crate) room: usize,
    /// Most bytes of a line of stdout that are shown.
    pub(crate) line_room: usize,
    /// Time limit of the whole run, in milliseconds.
    pub(crate) timeout_ms: u64,
    /// Time between SIGTERM and SIGKILL, in milliseconds.
    pub(crate) grace_ms: u64,
    /// Fires when the process is to stop.
    pub(crate) cancel: &'a CancelSignal,
    /// Receives excerpts of the output while it arrives.
    pub(crate) progress: &'a Arc<dyn ProgressSink>,
    /// Stores an output that is too long to be shown.
    pub(crate) outputs: &'a OutputStore,
    /// Lock of the call's runs.
    pub(crate) lock: Option<RunLock>,
}

/// Words of an error about a command.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CommandNames<'a> {
    /// Action that failed, for example "run /bin/sh in `/w`".
    pub(crate) action: &'a str,
    /// Remedy, for example "check the tools file".
    pub(crate) remedy: &'a str,
}

impl CommandNames<'_> {
    fn failed(self, not_run: RunError) -> ToolError {
        let kind = if not_run.began { ToolErrorKind::Failed } else { ToolErrorKind::NotStarted };
        let context = format!("cannot {}: {}; {}", self.action, not_run.error, self.remedy);
        ToolError::new(kind, context).caused_by(not_run.error)
    }
}

/// Process that was run.
#[derive(Debug)]
pub(crate) struct CommandResult {
    /// End of the process.
    pub(crate) end: ProcessEnd,
    /// Captured bytes of stdout.
    pub(crate) out: OutputCapture,
    /// Result of storing the whole output.
    pub(crate) fate: StorageResult,
    /// Captured stderr, where it is separate.
    pub(crate) err: OutputCapture,
    /// Processes that were killed after the command ended.
    pub(crate) remaining: RemainingProcesses,
    /// True if a process that was not found still holds the output open.
    pub(crate) held_open: bool,
    /// Record of the process's confinement.
    pub(crate) confinement: Arc<Confinement>,
}

/// Runs a process. Dropping the future kills its group.
///
/// # Errors
/// [`ToolError`] when the process is not confined, or cannot be started or followed.
pub(crate) async fn run(job: CommandJob<'_>) -> Result<CommandResult, ToolError> {
    let start = Instant::now();
    // The signals are early enough for the run to end within its limit.
    let grace_ms = job.grace_ms.min(job.timeout_ms / 8);
    let limit_ms = job.timeout_ms.saturating_sub(grace_ms.saturating_mul(2));
    let names = job.names;
    let (command, confinement) = job.sandbox.confine(job.launch).await.map_err(|refused| {
        let context = format!("cannot {}: {refused}", names.action);
        ToolError::new(ToolErrorKind::NotStarted, context).caused_by(refused)
    })?;
    let mut output = CommandOutput {
        out: OutputCapture::new(job.room).with_line_limit(job.line_room),
        whole: FullOutput::new(job.outputs.clone()),
        err: OutputCapture::new(job.separate_errors.unwrap_or(0)),
        live: LiveReporter::new(job.progress.clone()),
    };
    let group = kit::ProcessJob {
        command,
        input: job.input.map_or(ProcessInput::Empty, ProcessInput::Bytes),
        errors: match job.separate_errors {
            Some(_) => StderrMode::Separate,
            None => StderrMode::Merged,
        },
        limit: Duration::from_millis(limit_ms),
        grace: GracePeriods {
            on_cancel: Duration::from_millis(job.grace_ms),
            on_timeout: Duration::from_millis(grace_ms),
        },
        cancel: job.cancel,
        lock: job.lock,
    };
    let ran = kit::run(group, &mut output).await.map_err(|not_run| names.failed(not_run))?;
    output.live.flush();
    let left = Duration::from_millis(job.timeout_ms).saturating_sub(start.elapsed());
    let (exited, patience) = match ran.end {
        ProcessEnd::Exited(_) => (true, left.clamp(STORE_LEAST, STORE_MOST)),
        ProcessEnd::Cancelled | ProcessEnd::TimedOut | ProcessEnd::Stopped => (false, STORE_LEAST),
    };
    let (out, err) = (output.out, output.err);
    let mut whole = output.whole;
    if !whole.is_begun() && !out.is_whole() {
        whole.begin(out.bytes());
    }
    let fate = tokio::select! {
        biased;
        fate = whole.finish() => fate,
        () = job.cancel.cancelled(), if exited => StorageResult::Late,
        () = tokio::time::sleep(patience) => StorageResult::Late,
    };
    Ok(CommandResult {
        end: ran.end,
        out,
        fate,
        err,
        remaining: ran.remaining,
        held_open: ran.held_open,
        confinement,
    })
}

/// Returns the lock of a call's runs, if runs have locks.
pub(crate) fn lock(locks: Option<&RunLocks>, context: &ToolContext) -> Option<RunLock> {
    locks.map(|locks| locks.of(&context.session, context.call))
}

/// Ends what earlier processes left running of a session's calls.
pub(crate) async fn end_runs(
    locks: Option<&RunLocks>,
    session: &SessionId,
) -> Result<(), ToolError> {
    let Some(locks) = locks else {
        return Ok(());
    };
    locks.end_runs(session).await.map_err(|error| {
        let context = format!("cannot end what session {session} left running: {error}");
        ToolError::new(ToolErrorKind::Failed, context).caused_by(error)
    })
}

/// Output of a process: bounded captures, live excerpts and, if it is long, all of stdout.
struct CommandOutput {
    out: OutputCapture,
    whole: FullOutput,
    err: OutputCapture,
    live: LiveReporter,
}

impl OutputSink for CommandOutput {
    async fn ready(&self, source: OutputPipe) {
        match source {
            OutputPipe::Stdout => self.whole.ready().await,
            OutputPipe::Stderr => {}
        }
    }

    fn accept(&mut self, source: OutputPipe, bytes: &[u8]) -> SinkFlow {
        match source {
            OutputPipe::Stdout => {
                if !self.whole.is_begun() && !self.out.has_room_for(bytes.len()) {
                    self.whole.begin(self.out.bytes());
                }
                self.whole.push(bytes);
                self.out.push(bytes);
            }
            OutputPipe::Stderr => self.err.push(bytes),
        }
        self.live.push(bytes);
        SinkFlow::Continue
    }
}
