//! Hooks port: the user's own decisions at set points of a turn.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use windlass_core::{
    CompactionTrigger, Goal, HookOccurrence, HookReply, HookSpec, Mode, Observation,
    ObservationStatus, Permissions, Retry, Scope, SessionId, Timestamp, TurnId, TurnOutcome,
};

use crate::cancel::CancelSignal;
use crate::error::{ErrorKind, PortError};

/// Decides at set points of a turn.
///
/// Laws:
/// - *once*: a hook is asked once per `HooksAsked`. Its reply is a fact, so a replay asks nothing;
/// - *strict*: deny beats allow (law 15);
/// - *timely*: it ends within its timeout, and soon after its signal is cancelled or its future is
///   dropped, leaving no process behind;
/// - *bounded*: its reply is bounded.
///
/// `docs/hooks.md` states when each point runs, what its hooks may change, and what a crash does.
///
/// The [`HookSpec`] declares the meaning of a hook's own failure, and the core applies it.
#[async_trait]
pub trait Hooks: Send + Sync + 'static {
    /// Returns the hooks that it runs, in the order in which they are asked.
    fn hooks(&self) -> Vec<HookSpec>;

    /// Asks one hook.
    ///
    /// # Errors
    /// [`HookError`] when the hook itself fails or takes too long; of the kind `Unsupported` when
    /// it is not one of its [`hooks`](Self::hooks).
    async fn ask(&self, call: HookCall, context: HookContext) -> Result<HookReply, HookError>;

    /// Returns the name of the redactors' rules: equal names mean equal rewriting. `None` if there
    /// is no redactor. Recorded in the settings, so that a process without it is detected.
    fn redaction(&self) -> Option<String> {
        None
    }

    /// Returns a rewriter for the text of one answer, applied while it streams and before anything
    /// is published.
    ///
    /// Removed text reaches no delta, no fact and no replay. Each answer has its own redactor. One
    /// exists exactly if [`redaction`](Self::redaction) names it.
    fn redactor(&self) -> Option<Box<dyn Redactor>> {
        None
    }
}

/// Rewrites the text of one answer as it streams.
///
/// Laws: the output depends on the text, not on how it was split; all of it has been returned after
/// `end`.
pub trait Redactor: Send {
    /// Adds text of one part, and returns the text that may be shown now.
    fn push(&mut self, slot: u32, text: &str) -> String;

    /// Ends a part, and returns the text that was held back.
    fn end(&mut self, slot: u32) -> String;

    /// Rewrites a complete text at once: the provider's authoritative text of a part.
    fn redact(&self, text: &str) -> String;
}

/// One question to one hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookCall {
    /// Name of the hook.
    pub hook: String,
    /// Point of the turn.
    pub at: HookOccurrence,
    /// Subject of the question.
    pub subject: HookSubject,
}

/// Subject that a hook decides about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HookSubject {
    /// The session, or the turn as a whole.
    Nothing,
    /// A prompt, with the edits of earlier hooks.
    Prompt {
        /// Text of the prompt.
        text: Arc<str>,
    },
    /// The model's last answer to the user: after each answer, and at the end of a turn.
    Answer {
        /// Text of the answer.
        text: String,
        /// Names of the tools that it calls.
        calls: Vec<String>,
    },
    /// A call, with the edits of earlier hooks.
    Call {
        /// Name of the tool.
        tool: String,
        /// Arguments as JSON text.
        arguments: Arc<str>,
        /// Result of the call, once it has run.
        observation: Option<Arc<Observation>>,
    },
    /// A compaction of the history.
    Compaction {
        /// Trigger of the compaction.
        trigger: CompactionTrigger,
    },
    /// The end of a turn that was asked to stop.
    Ending {
        /// Outcome with which the turn will settle.
        outcome: TurnOutcome,
    },
}

/// Context of a question to a hook.
#[derive(Clone)]
pub struct HookContext {
    /// Scope of the turn; the scope of the session's owner if no turn is open.
    pub scope: Arc<Scope>,
    /// Session that the hook is called in.
    pub session: SessionId,
    /// The turn, if one is open.
    pub turn: Option<TurnId>,
    /// Folder that the tools work in.
    pub workspace: Option<Arc<str>>,
    /// Mode of the turn.
    pub mode: Mode,
    /// Permissions of the turn.
    pub permissions: Permissions,
    /// Model that is asked.
    pub model: String,
    /// Goal of the session.
    pub goal: Option<Arc<Goal>>,
    /// Calls of the turn before the question.
    pub calls: TurnCalls,
    /// Fires when the hook must stop.
    pub cancel: CancelSignal,
    /// Deadline for its reply.
    pub deadline: Timestamp,
    /// Time until the deadline at the start of the hook, in milliseconds.
    pub timeout_ms: u64,
    /// Most bytes of its reply; more is a failure.
    pub max_bytes: u64,
}

/// Calls of a turn that come before a question to a hook, oldest first, without the call that the
/// question is about.
///
/// All calls of earlier answers of the turn are among them, and those of the current answer that are
/// decided: they wait for a person, may run, run or have ended. A question about a call also lists the
/// calls before it in its answer that are not decided yet. A program is one call: its own calls are
/// listed only while it runs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TurnCalls {
    /// The calls, at most [`TurnCalls::MOST`].
    pub listed: Vec<TurnCall>,
    /// True if earlier calls of the turn may be missing: the conversation was compacted in this turn,
    /// or they are more than is listed.
    pub cut: bool,
}

/// One call of a turn, as it is when a hook is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnCall {
    /// Name of the tool.
    pub tool: String,
    /// Arguments as JSON text, with the edits of hooks and people.
    pub arguments: Arc<str>,
    /// Status of the call.
    pub status: TurnCallStatus,
}

/// Status of a call when a hook is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TurnCallStatus {
    /// The call is not decided yet: its own hooks are asked at the same time.
    Proposed,
    /// A person is asked.
    AwaitingApproval,
    /// The call may run and has not started.
    Allowed,
    /// The call may not run.
    Denied,
    /// A run has started, or the tool is asked for the outcome of one, or a client runs the call.
    Running,
    /// The call has its result.
    Ended(ObservationStatus),
}

impl TurnCalls {
    /// Most calls that are listed: the latest.
    pub const MOST: usize = 128;

    /// Most bytes of arguments that are listed.
    pub const MOST_BYTES: usize = 256 * 1024;

    /// Lists the latest calls within the bounds.
    #[must_use]
    pub fn latest(mut calls: Vec<TurnCall>, cut: bool) -> Self {
        let mut bytes = 0_usize;
        let fits = calls.iter().rev().take(Self::MOST).take_while(|call| {
            bytes = bytes.saturating_add(call.arguments.len());
            bytes <= Self::MOST_BYTES
        });
        let first = calls.len().saturating_sub(fits.count());
        calls.drain(..first);
        Self { listed: calls, cut: cut || first > 0 }
    }
}

impl fmt::Debug for HookContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HookContext")
            .field("session", &self.session)
            .field("turn", &self.turn)
            .finish_non_exhaustive()
    }
}

/// Implementation of [`Hooks`] without any hook.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoHooks;

#[async_trait]
impl Hooks for NoHooks {
    fn hooks(&self) -> Vec<HookSpec> {
        Vec::new()
    }

    async fn ask(&self, call: HookCall, _context: HookContext) -> Result<HookReply, HookError> {
        Err(HookError::unsupported(format!("there is no hook {}", call.hook)))
    }
}

/// Failure of a hook to give a verdict.
pub type HookError = PortError<HookErrorKind>;

/// Classes of hook errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookErrorKind {
    /// The hook was called and failed.
    Failed,
    /// The hook is not declared at this point.
    Unsupported,
}

impl ErrorKind for HookErrorKind {
    fn retry(&self) -> Retry {
        match self {
            Self::Failed | Self::Unsupported => Retry::Never,
        }
    }
}

impl HookError {
    /// Creates the error of a hook that was called and failed.
    #[must_use]
    pub fn failed(context: impl Into<String>) -> Self {
        Self::new(HookErrorKind::Failed, context)
    }

    /// Creates the error of a hook that is not declared.
    #[must_use]
    pub fn unsupported(context: impl Into<String>) -> Self {
        Self::new(HookErrorKind::Unsupported, context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(bytes: usize) -> TurnCall {
        let status = TurnCallStatus::Allowed;
        TurnCall { tool: String::from("t"), arguments: "x".repeat(bytes).into(), status }
    }

    #[test]
    fn the_latest_calls_are_listed_within_the_bounds() {
        let all = TurnCalls::latest(vec![call(2); 3], false);
        assert_eq!((all.listed.len(), all.cut), (3, false));
        assert!(TurnCalls::latest(vec![call(2)], true).cut);
        let many = TurnCalls::latest(vec![call(2); TurnCalls::MOST + 1], false);
        assert_eq!((many.listed.len(), many.cut), (TurnCalls::MOST, true));
        let large = vec![call(1), call(TurnCalls::MOST_BYTES), call(3)];
        let large = TurnCalls::latest(large, false);
        assert_eq!((large.listed, large.cut), (vec![call(3)], true));
    }
}
