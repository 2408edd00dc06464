//! One process: its state, as calls see it while it runs and afterwards.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::time::Instant;
use windlass_core::{CallId, Confinement};
use windlass_kit_process::{ProcessEnd, ProcessResult, RunError};
use windlass_ports::sync::Mutex;
use windlass_ports::{CancelSignal, CancelSource, ToolProcess, ToolProcessState};

use super::buffer::UnreadOutput;
use crate::live::LiveReporter;

/// Most writes that wait for a process to read.
const WRITES: usize = 16;
/// Character that closes stdin where there is no terminal (Ctrl-D).
const END_OF_INPUT: char = '\u{4}';

/// A process of a session.
#[derive(Debug)]
pub(crate) struct Process {
    /// Id of the process: the call that started it.
    pub(crate) id: CallId,
    /// Command line.
    pub(crate) command: String,
    pub(crate) confinement: Arc<Confinement>,
    started: Instant,
    terminal: bool,
    stop: CancelSource,
    state: Mutex<ProcessState>,
    ended: watch::Sender<bool>,
}

#[derive(Debug)]
struct ProcessState {
    unread: UnreadOutput,
    input: Option<mpsc::Sender<Vec<u8>>>,
    live: Option<LiveReporter>,
    stopped: Option<StopReason>,
    end: Option<Arc<EndedRun>>,
}

/// Cause of a stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StopReason {
    /// The model asked for it.
    Model,
    /// A user asked for it.
    User,
    /// The call that started it was interrupted before it returned.
    Interrupted,
    /// The session was released.
    Released,
}

/// End of a run.
#[derive(Debug)]
pub(crate) struct EndedRun {
    /// Time that it took.
    pub(crate) after: Duration,
    /// Time of the end.
    pub(crate) at: Instant,
    pub(crate) result: Result<ProcessResult, RunError>,
}

/// Reason why characters were not written.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NotWritten {
    /// stdin is closed.
    Closed,
    /// The process does not read what was written before.
    Full,
}

impl EndedRun {
    /// Exit code; `None` if a signal or a stop ended the process.
    fn exit_code(&self) -> Option<i32> {
        match self.result.as_ref().ok()?.end {
            ProcessEnd::Exited(status) => status.code(),
            ProcessEnd::Cancelled | ProcessEnd::TimedOut | ProcessEnd::Stopped => None,
        }
    }
}

impl Process {
    /// Creates the state of a process that is about to start, with the receiver of its input.
    pub(crate) fn new(
        id: CallId,
        command: &str,
        terminal: bool,
        confinement: Arc<Confinement>,
        room: usize,
    ) -> (Arc<Self>, mpsc::Receiver<Vec<u8>>) {
        let (input, receiver) = mpsc::channel(WRITES);
        let state = ProcessState {
            unread: UnreadOutput::new(room),
            input: Some(input),
            live: None,
            stopped: None,
            end: None,
        };
        let process = Self {
            id,
            command: command.to_owned(),
            confinement,
            started: Instant::now(),
            terminal,
            stop: CancelSource::new(),
            state: Mutex::new(state),
            ended: watch::Sender::new(false),
        };
        (Arc::new(process), receiver)
    }

    /// Signal at which the process is to stop.
    pub(crate) fn stop_signal(&self) -> CancelSignal {
        self.stop.signal()
    }

    /// Asks the process to stop. The first reason counts.
    pub(crate) fn stop(&self, reason: StopReason) {
        self.state.lock().stopped.get_or_insert(reason);
        self.stop.cancel();
    }

    /// Reason for the stop, if the process was asked to stop.
    pub(crate) fn stopped(&self) -> Option<StopReason> {
        self.state.lock().stopped
    }

    /// Appends output.
    pub(crate) fn push(&self, bytes: &[u8]) {
        let mut state = self.state.lock();
        state.unread.push(bytes);
        if let Some(live) = &mut state.live {
            live.push(bytes);
        }
    }

    /// Reports output while it comes, for a call that waits; `None` once it does not.
    pub(crate) fn report_to(&self, live: Option<LiveReporter>) {
        let before = std::mem::replace(&mut self.state.lock().live, live);
        if let Some(before) = before {
            before.flush();
        }
    }

    /// Records the end.
    pub(crate) fn end(&self, result: Result<ProcessResult, RunError>) {
        let mut state = self.state.lock();
        let ended = EndedRun { after: self.started.elapsed(), at: Instant::now(), result };
        state.end.get_or_insert(Arc::new(ended));
        state.input = None;
        drop(state);
        self.ended.send_replace(true);
    }

    /// End of the process, once it has ended.
    pub(crate) fn ended(&self) -> Option<Arc<EndedRun>> {
        self.state.lock().end.clone()
    }

    pub(crate) fn is_running(&self) -> bool {
        self.state.lock().end.is_none()
    }

    /// Waits for the end.
    pub(crate) async fn wait(&self) {
        // This value holds the sender.
        let _ = self.ended.subscribe().wait_for(|ended| *ended).await;
    }

    /// Time since the start.
    pub(crate) fn age(&self) -> Duration {
        self.started.elapsed()
    }

    /// Takes the output that no call has returned, and the number of bytes dropped before it.
    pub(crate) fn take_output(&self) -> (Vec<u8>, u64) {
        self.state.lock().unread.take()
    }

    /// Returns the state of the process for users.
    pub(crate) fn report(&self) -> ToolProcess {
        let ended = self.ended();
        let after = ended.as_ref().map_or_else(|| self.age(), |ended| ended.after);
        ToolProcess {
            id: self.id,
            command: self.command.clone(),
            state: match ended {
                None => ToolProcessState::Running,
                Some(ended) => ToolProcessState::Ended { exit_code: ended.exit_code() },
            },
            age_ms: u64::try_from(after.as_millis()).unwrap_or(u64::MAX),
            unread_bytes: self.unread_bytes(),
        }
    }

    /// Number of bytes that no call has returned.
    pub(crate) fn unread_bytes(&self) -> u64 {
        self.state.lock().unread.total()
    }

    /// Retains less of the output that no call has returned.
    pub(crate) fn shrink_output(&self, room: usize) {
        self.state.lock().unread.shrink(room);
    }

    /// Writes characters to stdin, without waiting for the process to read them.
    pub(crate) fn write(&self, chars: &str) -> Result<(), NotWritten> {
        let mut state = self.state.lock();
        let input = state.input.as_ref().ok_or(NotWritten::Closed)?;
        let (chars, closes) = match chars.strip_suffix(END_OF_INPUT) {
            Some(chars) if !self.terminal => (chars, true),
            Some(_) | None => (chars, false),
        };
        if !chars.is_empty() {
            input.try_send(chars.as_bytes().to_vec()).map_err(|error| match error {
                mpsc::error::TrySendError::Full(_) => NotWritten::Full,
                mpsc::error::TrySendError::Closed(_) => NotWritten::Closed,
            })?;
        }
        if closes {
            state.input = None;
        }
        Ok(())
    }
}
