//! Runs one process group until it exits, reaches its time limit or is stopped.

use std::io::Error;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitStatus};
use std::time::Duration;

use tokio::time::{Instant, sleep_until, timeout};
use windlass_ports::CancelSignal;

use crate::group::ProcessGroup;
use crate::input::{Inlet, ProcessInput, Streams};
use crate::lock::{HeldLock, RunLock, start_alone};
use crate::mark::{RemainingProcesses, RunMark};
use crate::pipes::{OutputSink, Pipes, SinkFlow, StderrMode};

/// Time to read remaining output after the group was killed. Only a process that left the group can
/// hold a pipe open for longer.
const DRAIN: Duration = Duration::from_millis(300);

/// Deadline of a run whose limit exceeds the clock.
const FAR: Duration = Duration::from_secs(86_400 * 365);

/// Command line with its input and limits.
#[derive(Debug)]
pub struct ProcessJob<'a> {
    /// Command line, folder and environment. [`run`] sets its streams and its process group.
    pub command: Command,
    /// Input of the process.
    pub input: ProcessInput,
    /// Destination of the process's stderr. At a terminal it is always merged.
    pub errors: StderrMode,
    /// Time until the process is asked to stop.
    pub limit: Duration,
    /// Grace periods to stop by itself.
    pub grace: GracePeriods,
    /// Fires when the process is to stop.
    pub cancel: &'a CancelSignal,
    /// Lock that all processes of the run hold. What an earlier run left is ended before.
    pub lock: Option<RunLock>,
}

/// Times between SIGTERM and SIGKILL. Zero sends SIGKILL at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct GracePeriods {
    /// Grace after a cancellation.
    pub on_cancel: Duration,
    /// Grace after the time limit.
    pub on_timeout: Duration,
}

/// Result of running a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessResult {
    /// End of the process.
    pub end: ProcessEnd,
    /// Processes that the process left running when it exited by itself. They were killed.
    pub remaining: RemainingProcesses,
    /// True if a process that was not found still holds the output open.
    pub held_open: bool,
}

/// End of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcessEnd {
    /// The process exited by itself.
    Exited(ExitStatus),
    /// The run was cancelled.
    Cancelled,
    /// The process reached its time limit.
    TimedOut,
    /// The sink stopped the process.
    Stopped,
}

/// Failure to start a process or to learn its exit status.
#[derive(Debug)]
pub struct RunError {
    /// True if the process had started.
    pub began: bool,
    /// Cause reported by the operating system.
    pub error: Error,
}

/// Runs a process and passes its output to `sink`. Dropping the future kills the process group, and
/// on Linux the processes that left it.
///
/// When the process exits by itself, the run ends and its remaining children are killed. After a
/// stop request the children have the rest of the grace period too.
///
/// # Errors
/// [`RunError`] when the process cannot be started, when an earlier run with its lock does not end, or
/// when its exit status cannot be read.
pub async fn run<S: OutputSink>(
    job: ProcessJob<'_>,
    sink: &mut S,
) -> Result<ProcessResult, RunError> {
    let start = Instant::now();
    let mut alarm = start.checked_add(job.limit).unwrap_or(start + FAR);
    let not_begun = |error| RunError { began: false, error };
    let mark = RunMark::new();
    let held = match &job.lock {
        None => None,
        Some(lock) => tokio::select! {
            biased;
            held = lock.hold(&mark) => held.map_err(not_begun)?,
            () = job.cancel.cancelled() => return Ok(ProcessResult::not_begun()),
        },
    };
    let run = (mark, job.lock.filter(|_| held.is_some()));
    let streams = (job.input, job.errors);
    let spawned = spawn(job.command, streams, run, held).map_err(not_begun)?;
    let (mut group, mut pipes, inlet) = spawned;
    let mut exit = group.exit();
    let feed = inlet.feed(group.input(), group.id());
    tokio::pin!(feed);
    let (mut feeding, mut reading, mut exited) = (true, true, false);
    let mut stage = TerminationStage::Running;
    // An open pipe shows that children of an exited leader still run.
    while !exited || (reading && stage.is_ending()) {
        tokio::select! {
            biased;
            _ = &mut exit, if !exited => exited = true,
            () = job.cancel.cancelled(), if stage == TerminationStage::Running => {
                stage = group.stop(ProcessEnd::Cancelled, job.grace.on_cancel, &mut alarm);
            }
            () = sleep_until(alarm) => match stage {
                TerminationStage::Running => {
                    stage = group.stop(ProcessEnd::TimedOut, job.grace.on_timeout, &mut alarm);
                }
                TerminationStage::Ending(end) => stage = group.stop(end, Duration::ZERO, &mut alarm),
                TerminationStage::Killing(_) => break,
            },
            () = &mut feed, if feeding => feeding = false,
            flow = pipes.next(sink), if reading => match flow {
                None => reading = false,
                Some(SinkFlow::Stop) if stage == TerminationStage::Running => {
                    stage = group.stop(ProcessEnd::Stopped, Duration::ZERO, &mut alarm);
                }
                Some(SinkFlow::Stop | SinkFlow::Continue) => {}
            },
        }
    }
    let found = group.kill_all().await;
    let drained = timeout(DRAIN, async { while pipes.next(sink).await.is_some() {} }).await;
    let (end, remaining) = match stage {
        TerminationStage::Running => {
            let status = group.reap().await;
            let status = status.map_err(|error| RunError { began: true, error })?;
            (ProcessEnd::Exited(status), found)
        }
        TerminationStage::Ending(end) | TerminationStage::Killing(end) => {
            // A process that survives SIGKILL hangs in the kernel; the runtime reaps it later.
            let _ = timeout(DRAIN, group.reap()).await;
            (end, RemainingProcesses::default())
        }
    };
    Ok(ProcessResult { end, remaining, held_open: drained.is_err() })
}

impl ProcessResult {
    /// Returns the result of a run that was cancelled before its process was started.
    fn not_begun() -> Self {
        let remaining = RemainingProcesses::default();
        Self { end: ProcessEnd::Cancelled, remaining, held_open: false }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TerminationStage {
    Running,
    Ending(ProcessEnd),
    Killing(ProcessEnd),
}

impl TerminationStage {
    fn is_ending(self) -> bool {
        match self {
            Self::Running | Self::Killing(_) => false,
            Self::Ending(_) => true,
        }
    }
}

impl ProcessGroup {
    /// Signals the group and sets the alarm for the stage that begins.
    fn stop(&self, end: ProcessEnd, grace: Duration, alarm: &mut Instant) -> TerminationStage {
        if grace.is_zero() {
            self.kill();
            *alarm = Instant::now() + DRAIN;
            return TerminationStage::Killing(end);
        }
        self.terminate();
        *alarm = Instant::now() + grace;
        TerminationStage::Ending(end)
    }
}

fn spawn(
    mut command: Command,
    (input, errors): (ProcessInput, StderrMode),
    run: (RunMark, Option<RunLock>),
    held: Option<HeldLock>,
) -> Result<(ProcessGroup, Pipes, Inlet), Error> {
    let (mark, lock) = run;
    command.process_group(0);
    mark.mark(&mut command);
    let Streams { pipes, inlet } = input.connect(&mut command, errors)?;
    // The command holds the write ends of the pipes until it is dropped on return.
    let mut command = tokio::process::Command::from(command);
    command.kill_on_drop(true);
    let child = match held {
        Some(held) => held.pass_on(|| command.spawn())?,
        None => start_alone(|| command.spawn())?,
    };
    Ok((ProcessGroup::new(child, mark, lock), pipes, inlet))
}
