//! Runs a command for a tool call and captures its output.

use std::process::Command;
use std::time::Duration;

use tokio::time::Instant;
use windlass_kit_process as kit;
use windlass_kit_process::{End, Errors, Flow, Grace, NotRun, Sink, Source};
use windlass_ports::{CancelSignal, OutputKeeper, Progress, ToolErrorKind};

use crate::capture::Capture;
use crate::live::Live;
use crate::whole::{Fate, Whole};

/// Shortest wait for a whole output to be stored.
const STORE_LEAST: Duration = Duration::from_millis(300);
/// Longest wait for a whole output to be stored after the process exited.
const STORE_MOST: Duration = Duration::from_secs(20);

/// Command line of a tool with its limits.
pub(crate) struct Job<'a> {
    /// Command line, folder and environment.
    pub(crate) command: Command,
    /// Bytes for stdin; without them stdin is empty.
    pub(crate) input: Option<Vec<u8>>,
    /// Most bytes of stderr that are retained; without it stderr joins stdout.
    pub(crate) separate_errors: Option<usize>,
    /// Most bytes of stdout that are retained.
    pub(crate) room: usize,
    /// Time limit of the whole run, in milliseconds.
    pub(crate) timeout_ms: u64,
    /// Time between SIGTERM and SIGKILL, in milliseconds.
    pub(crate) grace_ms: u64,
    /// Fires when the process is to stop.
    pub(crate) cancel: &'a CancelSignal,
    /// Receives excerpts of the output while it arrives.
    pub(crate) progress: &'a dyn Progress,
    /// Stores an output that is too long to be shown.
    pub(crate) outputs: &'a OutputKeeper,
}

/// Process that was run.
#[derive(Debug)]
pub(crate) struct Ran {
    /// End of the process.
    pub(crate) end: End,
    /// Captured bytes of stdout.
    pub(crate) out: Capture,
    /// Result of storing the whole output.
    pub(crate) fate: Fate,
    /// Captured stderr, where it is separate.
    pub(crate) err: Capture,
    /// True if a process outside the group still holds the output open.
    pub(crate) held_open: bool,
}

/// Runs a process. Dropping the future kills its group.
pub(crate) async fn run(job: Job<'_>) -> Result<Ran, NotRun> {
    let start = Instant::now();
    // The signals are early enough for the run to end within its limit.
    let grace_ms = job.grace_ms.min(job.timeout_ms / 8);
    let limit_ms = job.timeout_ms.saturating_sub(grace_ms.saturating_mul(2));
    let mut output = Output {
        out: Capture::new(job.room),
        whole: Whole::new(job.outputs.clone()),
        err: Capture::new(job.separate_errors.unwrap_or(0)),
        live: Live::default(),
        progress: job.progress,
    };
    let group = kit::Job {
        command: job.command,
        input: job.input,
        errors: match job.separate_errors {
            Some(_) => Errors::Separate,
            None => Errors::Merged,
        },
        limit: Duration::from_millis(limit_ms),
        grace: Grace {
            on_cancel: Duration::from_millis(job.grace_ms),
            on_timeout: Duration::from_millis(grace_ms),
        },
        cancel: job.cancel,
    };
    let ran = kit::run(group, &mut output).await?;
    let left = Duration::from_millis(job.timeout_ms).saturating_sub(start.elapsed());
    let (exited, patience) = match ran.end {
        End::Exited(_) => (true, left.clamp(STORE_LEAST, STORE_MOST)),
        End::Cancelled | End::TimedOut | End::Stopped => (false, STORE_LEAST),
    };
    let (out, err) = (output.out, output.err);
    let mut whole = output.whole;
    if !whole.is_begun() && !out.is_whole() {
        whole.begin(out.bytes());
    }
    let fate = tokio::select! {
        biased;
        fate = whole.finish() => fate,
        () = job.cancel.cancelled(), if exited => Fate::Late,
        () = tokio::time::sleep(patience) => Fate::Late,
    };
    Ok(Ran {
        end: ran.end,
        out,
        fate,
        err,
        held_open: ran.held_open,
    })
}

/// Class of the error of a process that did not run, or not to a known end.
pub(crate) fn failed(not_run: &NotRun) -> ToolErrorKind {
    if not_run.began {
        ToolErrorKind::Failed
    } else {
        ToolErrorKind::NotStarted
    }
}

/// Output of a process: bounded captures, live excerpts and, if it is long, all of stdout.
struct Output<'a> {
    out: Capture,
    whole: Whole,
    err: Capture,
    live: Live,
    progress: &'a dyn Progress,
}

impl Sink for Output<'_> {
    async fn ready(&self, source: Source) {
        match source {
            Source::Stdout => self.whole.ready().await,
            Source::Stderr => {}
        }
    }

    fn accept(&mut self, source: Source, bytes: &[u8]) -> Flow {
        match source {
            Source::Stdout => {
                if !self.whole.is_begun() && !self.out.takes(bytes.len()) {
                    self.whole.begin(self.out.bytes());
                }
                self.whole.push(bytes);
                self.out.push(bytes);
            }
            Source::Stderr => self.err.push(bytes),
        }
        self.live.push(bytes, self.progress);
        Flow::Continue
    }
}
