//! The tool port: runs the calls of a model.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use windlass_core::{
    CallId, Observation, ObservationStatus, Retry, Scope, SessionId, SuspendedCall, Suspension,
    Timestamp, ToolSpec, TurnId,
};

use crate::blobs::OutputStore;
use crate::cancel::{CancelSignal, CancelSource};
use crate::error::{ErrorKind, PortError};

/// Runs tools.
///
/// Laws:
/// - *once*: a run is begun at most once per call and attempt;
/// - *alone*: a run begins once nothing of an earlier attempt of its call runs, also if that was
///   started by a process that was killed;
/// - *timely*: it ends within the deadline of its context, and soon after its signal is cancelled,
///   leaving nothing running. It then returns the status `aborted`, with the output so far;
/// - *owned*: a process that outlives its call by design is one of
///   [`processes`](Self::processes) until it ends. None runs once [`release`](Self::release) has
///   returned;
/// - *resumed*: a suspended call goes on in another run, which has what the run before left. It is
///   never begun anew, also not by an executor that does not suspend calls;
/// - *bounded*: output is bounded, and states its true size;
/// - *declared*: a tool declared `read_only` changes nothing; one declared `idempotent` has its
///   effect once per idempotency key.
#[async_trait]
pub trait ToolExecutor: Send + Sync + 'static {
    /// Returns the tools that it runs, in the order in which a model sees them.
    fn tools(&self) -> Vec<ToolSpec>;

    /// Runs a tool. A tool that runs and fails is an observation, not an error.
    ///
    /// # Errors
    /// [`ToolError`] when the executor itself fails. The call's effect is then unknown unless the
    /// error reports that the run never started. Of the kind `Unsupported` for a tool that is not
    /// one of its [`tools`](Self::tools).
    async fn run(&self, call: ToolCall, context: ToolContext) -> Result<Observation, ToolError>;

    /// Runs a tool, or goes on with a call that a run before this one suspended: see
    /// [`ToolContext::suspended`]. The engine calls this, and no `run` of its own. An executor whose
    /// tools ask people, or run for longer than a process, implements it; any other one is complete
    /// with [`run`](Self::run). An executor that wraps others passes it on.
    ///
    /// # Errors
    /// As those of [`run`](Self::run); of the kind `Failed` when a call is to go on that this
    /// executor cannot have suspended.
    async fn run_or_suspend(
        &self,
        call: ToolCall,
        context: ToolContext,
    ) -> Result<ToolEnd, ToolError> {
        if context.suspended.is_some() {
            let words = format!("{} cannot go on with a call that was suspended", call.name);
            return Err(ToolError::new(ToolErrorKind::Failed, words));
        }
        self.run(call, context).await.map(ToolEnd::Observed)
    }

    /// Describes the effect of a run without running it. Used in a dry run for tools that change
    /// something.
    ///
    /// # Errors
    /// [`ToolError`] when it cannot describe the effect; nothing was changed in this case either.
    async fn plan(&self, call: ToolCall, _context: ToolContext) -> Result<Observation, ToolError> {
        let words = format!(
            "Not run: this is a dry run. It would run {} with {}.",
            call.name, call.arguments
        );
        Ok(Observation::new(ObservationStatus::NotStarted, words))
    }

    /// Returns where the paths among a call's arguments lead by now: relative to the workspace, and
    /// through no symbolic link. Rules about paths are compared with them, when the call is made
    /// and again before it starts. An argument that leads nowhere is left out. A text of the format
    /// `patch` has many paths, under the argument `path`. Looks at names only, and does not wait.
    fn paths(&self, _call: &ToolCall) -> Vec<ArgumentPath> {
        Vec::new()
    }

    /// Returns what a call would change in a file, for the person who is asked about it. Reads the
    /// file as it is by then, and changes nothing. `None` if nothing is changed or it cannot be told.
    async fn preview(&self, _call: &ToolCall) -> Option<FileChange> {
        None
    }

    /// Returns the outcome of a run whose process ended first. Called only for tools that declare
    /// `reconciles`. `None` means that the outcome is unknown. Changes nothing.
    ///
    /// # Errors
    /// [`ToolError`] when the outcome cannot be queried, of the kind `Unsupported` for a tool that
    /// does not declare `reconciles`; it counts as `None`.
    async fn reconcile(
        &self,
        call: ToolCall,
        _context: ToolContext,
    ) -> Result<Option<Observation>, ToolError> {
        Err(ToolError::unsupported(format!(
            "asking {} what became of a call: it does not declare that it can tell",
            call.name
        )))
    }

    /// Ends what the runs of a session's calls left running when their process was killed, and waits
    /// for its end, for a bounded time. Called when a session is opened that an earlier process may
    /// have driven, before anything of it runs. An executor whose runs end with its process has
    /// nothing to end.
    ///
    /// # Errors
    /// [`ToolError`] when something may still run. An executor that cannot exclude it does not run
    /// the same call again.
    async fn end_runs(&self, _session: &SessionId) -> Result<(), ToolError> {
        Ok(())
    }

    /// Returns the processes of a session that run beyond the calls that started them, and those that
    /// have ended while no call returned their end. Does not wait.
    fn processes(&self, _session: &SessionId) -> Vec<ToolProcess> {
        Vec::new()
    }

    /// Waits until no process of a session runs.
    async fn wait_processes(&self, _session: &SessionId) {}

    /// Stops a process of a session, with all that it started, and waits for its end, for a bounded
    /// time. Returns false if no such process runs here.
    ///
    /// # Errors
    /// [`ToolError`] when it may still run.
    async fn stop_process(
        &self,
        _session: &SessionId,
        _process: CallId,
    ) -> Result<bool, ToolError> {
        Ok(false)
    }

    /// Stops all processes of a session and waits for their ends, for a bounded time. Called when the
    /// driver of the session ends, after its effects. Repeating it changes nothing.
    async fn release(&self, _session: &SessionId) {}
}

/// End of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolEnd {
    /// The call has ended.
    Observed(Observation),
    /// The call goes on in another run: with the answer to its question, or at once.
    Suspended(Suspension),
}

/// Process that runs beyond the call that started it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolProcess {
    /// Id of the process: the call that started it.
    pub id: CallId,
    /// Command line.
    pub command: String,
    /// State of the process.
    pub state: ToolProcessState,
    /// Time from its start to now or to its end, in milliseconds.
    pub age_ms: u64,
    /// Bytes of output that no call has returned.
    pub unread_bytes: u64,
}

/// State of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "is")]
pub enum ToolProcessState {
    /// It runs.
    Running,
    /// It has ended, and no call returned that.
    Ended {
        /// Exit code; `None` if a signal ended it.
        exit_code: Option<i32>,
    },
}

/// A call to run. Its arguments have been checked against the tool's schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolCall {
    /// Name of the tool.
    pub name: String,
    /// Arguments as JSON text of an object.
    pub arguments: String,
}

/// Change of a file that a call would make.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileChange {
    /// Text of the file; `None` if there is none yet.
    pub before: Option<String>,
    /// Text that it would have.
    pub after: String,
}

/// Path that an argument of a call leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArgumentPath {
    /// Name of the argument.
    pub argument: String,
    /// Path relative to the workspace, without symbolic links; `.` for the workspace itself.
    pub path: String,
    /// Path as the call has it, if it is a part of another argument: a patch names the files that it
    /// changes. Rules then compare it under the name of this one.
    pub written: Option<String>,
}

/// Context of a tool's run.
#[derive(Clone)]
pub struct ToolContext {
    /// Scope that it acts for.
    pub scope: Scope,
    /// Session of the call.
    pub session: SessionId,
    /// Turn of the call.
    pub turn: TurnId,
    /// Id of the call.
    pub call: CallId,
    /// True if a person approved that exactly these arguments run outside of the sandbox.
    pub outside_sandbox: bool,
    /// Program that made the call and computes with its output, if one did.
    pub program: Option<CallId>,
    /// Number of this run of the call, from 1.
    pub attempt: u32,
    /// State of the run before and the answer to its question, if the call was suspended. A question may have no
    /// answer: the run then asks it again.
    pub suspended: Option<Arc<SuspendedCall>>,
    /// Number of failed calls in a row with the same tool and arguments, which the turn made before this
    /// one. Calls of other tools between them do not count. Counted from the conversation, so a
    /// restart changes nothing and a compaction forgets.
    pub failed_before: u32,
    /// Idempotency key: the same in each run of this call, and unique among calls.
    pub idempotency_key: String,
    /// Fires when the run must stop.
    pub cancel: CancelSignal,
    /// Deadline of the run.
    pub deadline: Timestamp,
    /// Time until the deadline at the start of the run, in milliseconds.
    pub timeout_ms: u64,
    /// Sink for reports of progress: live only, never recorded.
    pub progress: Arc<dyn ProgressSink>,
    /// Stores the complete output if it is too long to be shown. The observation then names it.
    pub outputs: OutputStore,
}

impl ToolContext {
    /// Creates the context of a first run within a local scope. Nobody cancels or watches it, its
    /// time-out is ten minutes, and nothing stores its outputs. For tests, and for programs that run a
    /// tool without an engine.
    #[must_use]
    pub fn new(session: SessionId, call: CallId) -> Self {
        Self {
            scope: Scope::local("local"),
            turn: TurnId(1),
            call,
            outside_sandbox: false,
            program: None,
            attempt: 1,
            suspended: None,
            failed_before: 0,
            idempotency_key: format!("{session}.{call}"),
            cancel: CancelSource::new().signal(),
            deadline: Timestamp(u64::MAX),
            timeout_ms: 600_000,
            progress: Arc::new(NoProgress),
            outputs: OutputStore::disabled(session.clone()),
            session,
        }
    }

    /// Reports progress to subscribers. Never blocks; the report may be dropped.
    pub fn report(&self, text: &str) {
        self.progress.report(text);
    }
}

impl fmt::Debug for ToolContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolContext")
            .field("session", &self.session)
            .field("call", &self.call)
            .field("attempt", &self.attempt)
            .finish_non_exhaustive()
    }
}

/// Receives reports of progress.
pub trait ProgressSink: Send + Sync {
    /// Shows `text` to subscribers. Never blocks; may be dropped.
    fn report(&self, text: &str);
}

/// Sink that discards reports of progress.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoProgress;

impl ProgressSink for NoProgress {
    fn report(&self, _text: &str) {}
}

/// Failure to run a tool.
pub type ToolError = PortError<ToolErrorKind>;

/// Classes of tool errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolErrorKind {
    /// The run could not be started, so it had no effect.
    NotStarted,
    /// The run started and failed. It may have had an effect.
    Failed,
    /// The tool, or this request to it, is not declared.
    Unsupported,
}

impl ErrorKind for ToolErrorKind {
    fn retry(&self) -> Retry {
        match self {
            Self::NotStarted | Self::Failed | Self::Unsupported => Retry::Never,
        }
    }
}

impl ToolError {
    /// Creates the error of a tool or request that is not declared.
    #[must_use]
    pub fn unsupported(context: impl Into<String>) -> Self {
        Self::new(ToolErrorKind::Unsupported, context)
    }

    /// Returns true if the run started, so it may have had an effect.
    #[must_use]
    pub fn started(&self) -> bool {
        match self.kind {
            ToolErrorKind::Failed => true,
            ToolErrorKind::NotStarted | ToolErrorKind::Unsupported => false,
        }
    }
}
