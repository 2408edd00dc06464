//! Hooks port: the user's own decisions at set points of a turn.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use windlass_core::{
    CompactionTrigger, Goal, HookOccurrence, HookReply, HookSpec, Mode, Observation, Permissions,
    Retry, Scope, SessionId, Timestamp, TurnId, TurnOutcome,
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
    /// Fires when the hook must stop.
    pub cancel: CancelSignal,
    /// Deadline for its reply.
    pub deadline: Timestamp,
    /// Time until the deadline at the start of the hook, in milliseconds.
    pub timeout_ms: u64,
    /// Most bytes of its reply; more is a failure.
    pub max_bytes: u64,
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
