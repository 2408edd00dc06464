//! Runs a hook command and retains the start of its output.

use std::io::Error;
use std::os::unix::process::ExitStatusExt;
use std::process::Command;
use std::time::Duration;

use windlass_kit_process as kit;
use windlass_kit_process::{GracePeriods, OutputPipe, OutputSink, SinkFlow, StderrMode};
use windlass_ports::CancelSignal;

/// Bytes that a hook may write beyond its limit before it is stopped. They are discarded; until then
/// its exit code may still count.
const FLOOD: u64 = 1024 * 1024;

/// Command line of a hook with its input and limits.
pub(crate) struct HookJob<'a> {
    /// Command line, folder and environment.
    pub(crate) command: Command,
    /// Bytes written to stdin.
    pub(crate) input: Vec<u8>,
    /// Most bytes of each output that are retained.
    pub(crate) max_bytes: u64,
    /// Time limit of the run.
    pub(crate) limit: Duration,
    /// Fires when the process is to stop.
    pub(crate) cancel: &'a CancelSignal,
}

/// Process that exited by itself.
#[derive(Debug)]
pub(crate) struct HookResult {
    /// End of the process.
    pub(crate) end: ProcessExit,
    /// Start of its stdout.
    pub(crate) out: CapturedOutput,
    /// Start of its stderr.
    pub(crate) err: CapturedOutput,
}

/// End of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProcessExit {
    /// It exited with this code.
    Code(i32),
    /// Signal that killed it.
    Signal(i32),
}

/// First bytes of an output.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct CapturedOutput {
    /// Bytes within the limit.
    pub(crate) bytes: Vec<u8>,
    /// Number of bytes written.
    pub(crate) total: u64,
}

/// Reason why a run gives no answer.
#[derive(Debug)]
pub(crate) enum HookRunError {
    /// The process could not be started.
    NotStarted(Error),
    /// It reached its time limit.
    TimedOut,
    /// Its run was cancelled.
    Cancelled,
    /// It wrote far more than its limit.
    Flooded,
    /// Its exit status could not be read.
    Lost(Error),
}

/// Runs a process. Dropping the future kills its group.
pub(crate) async fn run(job: HookJob<'_>) -> Result<HookResult, HookRunError> {
    if job.cancel.is_cancelled() {
        return Err(HookRunError::Cancelled);
    }
    let mut output = BoundedOutput {
        out: CapturedOutput::default(),
        err: CapturedOutput::default(),
        room: job.max_bytes,
    };
    let group = kit::ProcessJob {
        command: job.command,
        input: kit::ProcessInput::Bytes(job.input),
        errors: StderrMode::Separate,
        limit: job.limit,
        grace: GracePeriods::default(),
        cancel: job.cancel,
        // A hook is asked again after a kill, also while its first process still runs.
        lock: None,
    };
    let ran = kit::run(group, &mut output).await.map_err(|not_run| {
        if not_run.began {
            HookRunError::Lost(not_run.error)
        } else {
            HookRunError::NotStarted(not_run.error)
        }
    })?;
    let status = match ran.end {
        kit::ProcessEnd::Exited(status) => status,
        kit::ProcessEnd::Cancelled => return Err(HookRunError::Cancelled),
        kit::ProcessEnd::TimedOut => return Err(HookRunError::TimedOut),
        kit::ProcessEnd::Stopped => return Err(HookRunError::Flooded),
    };
    let end = match (status.code(), status.signal()) {
        (Some(code), _) => ProcessExit::Code(code),
        (None, signal) => ProcessExit::Signal(signal.unwrap_or_default()),
    };
    Ok(HookResult { end, out: output.out, err: output.err })
}

/// Output of a process, each stream up to a limit.
struct BoundedOutput {
    out: CapturedOutput,
    err: CapturedOutput,
    room: u64,
}

impl OutputSink for BoundedOutput {
    async fn ready(&self, _: OutputPipe) {}

    fn accept(&mut self, source: OutputPipe, bytes: &[u8]) -> SinkFlow {
        let kept = match source {
            OutputPipe::Stdout => &mut self.out,
            OutputPipe::Stderr => &mut self.err,
        };
        kept.push(bytes, self.room);
        if kept.total > self.room.saturating_add(FLOOD) {
            SinkFlow::Stop
        } else {
            SinkFlow::Continue
        }
    }
}

impl CapturedOutput {
    fn push(&mut self, bytes: &[u8], room: u64) {
        let room = room.saturating_sub(self.bytes.len() as u64);
        let taken = bytes.len().min(usize::try_from(room).unwrap_or(usize::MAX));
        let part = bytes.get(..taken).unwrap_or_default();
        self.bytes.extend_from_slice(part);
        self.total = self.total.saturating_add(bytes.len() as u64);
    }

    /// True if bytes were discarded.
    pub(crate) fn is_cut(&self) -> bool {
        self.total > self.bytes.len() as u64
    }

    /// Returns the retained bytes as trimmed text. Invalid UTF-8 is replaced.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).trim().to_owned()
    }
}
