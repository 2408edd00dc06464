//! Runs a command for a tool call and captures its output.

use std::process::Command;
use std::time::Duration;

use tokio::time::Instant;
use windlass_kit_process as kit;
use windlass_kit_process::{
    GracePeriods, OutputPipe, OutputSink, ProcessEnd, RemainingProcesses, RunError, SinkFlow,
    StderrMode,
};
use windlass_ports::{CancelSignal, OutputStore, ProgressSink, ToolErrorKind};

use crate::capture::OutputCapture;
use crate::full_output::{FullOutput, StorageResult};
use crate::live::LiveReporter;

/// Shortest wait for a whole output to be stored.
const STORE_LEAST: Duration = Duration::from_millis(300);
/// Longest wait for a whole output to be stored after the process exited.
const STORE_MOST: Duration = Duration::from_secs(20);

/// Command line of a tool with its limits.
pub(crate) struct CommandJob<'a> {
    /// Command line, folder and environment.
    pub(crate) command: Command,
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
    pub(crate) progress: &'a dyn ProgressSink,
    /// Stores an output that is too long to be shown.
    pub(crate) outputs: &'a OutputStore,
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
}

/// Runs a process. Dropping the future kills its group.
pub(crate) async fn run(job: CommandJob<'_>) -> Result<CommandResult, RunError> {
    let start = Instant::now();
    // The signals are early enough for the run to end within its limit.
    let grace_ms = job.grace_ms.min(job.timeout_ms / 8);
    let limit_ms = job.timeout_ms.saturating_sub(grace_ms.saturating_mul(2));
    let mut output = CommandOutput {
        out: OutputCapture::new(job.room).with_line_limit(job.line_room),
        whole: FullOutput::new(job.outputs.clone()),
        err: OutputCapture::new(job.separate_errors.unwrap_or(0)),
        live: LiveReporter::default(),
        progress: job.progress,
    };
    let group = kit::ProcessJob {
        command: job.command,
        input: job.input,
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
    };
    let ran = kit::run(group, &mut output).await?;
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
    })
}

/// Class of the error of a process that did not run, or not to a known end.
pub(crate) fn failed(not_run: &RunError) -> ToolErrorKind {
    if not_run.began { ToolErrorKind::Failed } else { ToolErrorKind::NotStarted }
}

/// Output of a process: bounded captures, live excerpts and, if it is long, all of stdout.
struct CommandOutput<'a> {
    out: OutputCapture,
    whole: FullOutput,
    err: OutputCapture,
    live: LiveReporter,
    progress: &'a dyn ProgressSink,
}

impl OutputSink for CommandOutput<'_> {
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
        self.live.push(bytes, self.progress);
        SinkFlow::Continue
    }
}
