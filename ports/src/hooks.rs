//! The hooks port: a user's own say at set points of a turn.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use windlass_core::{
    Goal, HookAt, HookReply, HookSpec, Mode, Observation, Outcome, Permissions, Scope, SessionId,
    Timestamp, Trigger, TurnId,
};

use crate::cancel::CancelSignal;

/// Has a say at set points of a turn.
///
/// Laws: a hook is asked once per `HooksAsked`, and what it says is a fact, so a replay asks
/// nothing; deny beats allow (law 15); it ends within its timeout, and soon after its signal is
/// cancelled or its future is dropped, leaving no process behind; what it says is bounded. What a
/// hook's own failure counts as is declared in its [`HookSpec`], and the core sees to it.
#[async_trait]
pub trait Hooks: Send + Sync + 'static {
    /// The hooks that it runs, in the order in which they are asked.
    fn hooks(&self) -> Vec<HookSpec>;

    /// Asks one hook.
    ///
    /// # Errors
    /// [`HookError`] when the hook itself fails or takes too long; of the kind `Unsupported` when it
    /// is not among its [`hooks`](Self::hooks).
    async fn ask(&self, call: HookCall, context: HookContext) -> Result<HookReply, HookError>;

    /// The name of what its redactors take out: the same name, the same rewriting. `None` where
    /// there is no redactor. Recorded in the settings, so that a process without it is noticed.
    fn redaction(&self) -> Option<String> {
        None
    }

    /// What rewrites the text of one answer as it streams, before anybody sees it: what it takes
    /// out is in no delta, no fact and no replay. Each answer has its own. There is one exactly
    /// where [`redaction`](Self::redaction) names it.
    fn redactor(&self) -> Option<Box<dyn Redactor>> {
        None
    }
}

/// Rewrites the text of one answer as it streams.
///
/// Laws: what comes out depends on the text, not on how it was cut; all of it has come out once
/// `end` was called.
pub trait Redactor: Send {
    /// Takes more text of one part; answers the text that may be shown by now.
    fn push(&mut self, slot: u32, text: &str) -> String;

    /// The part is whole; answers what was still held back.
    fn end(&mut self, slot: u32) -> String;

    /// Rewrites a whole text at once: what the provider says that a part comes to.
    fn whole(&self, text: &str) -> String;
}

/// One question to one hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookCall {
    /// The hook's name.
    pub hook: String,
    /// Where it is asked.
    pub at: HookAt,
    /// What it is asked about.
    pub about: HookSubject,
}

/// What a hook is asked about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HookSubject {
    /// The session, or the turn as a whole.
    Nothing,
    /// A prompt, with the edits of the hooks before.
    Prompt {
        /// The text.
        text: Arc<str>,
    },
    /// The model's last answer to the user; at the end of a turn, and after each answer.
    Answer {
        /// What it said.
        text: String,
        /// Names of the tools that it calls.
        calls: Vec<String>,
    },
    /// A call, with the edits of the hooks before.
    Call {
        /// The tool.
        tool: String,
        /// The arguments, JSON text.
        arguments: Arc<str>,
        /// What became of it, once it has run.
        observation: Option<Arc<Observation>>,
    },
    /// A compaction.
    Compaction {
        /// Why.
        trigger: Trigger,
    },
    /// The end of a turn that was asked to stop.
    Ending {
        /// How it will end.
        outcome: Outcome,
    },
}

/// What a hook is told beside the question.
#[derive(Clone)]
pub struct HookContext {
    /// On whose behalf the turn runs; the session's owner where no turn is open.
    pub scope: Arc<Scope>,
    /// The session.
    pub session: SessionId,
    /// The turn, if one is open.
    pub turn: Option<TurnId>,
    /// The folder that the tools work in.
    pub workspace: Option<Arc<str>>,
    /// The mode of the turn.
    pub mode: Mode,
    /// The permissions of the turn.
    pub permissions: Permissions,
    /// The model that is asked.
    pub model: String,
    /// The goal of the session.
    pub goal: Option<Arc<Goal>>,
    /// Fires when the hook is to stop.
    pub cancel: CancelSignal,
    /// When it must have answered.
    pub deadline: Timestamp,
    /// How long that is from the start, in milliseconds.
    pub timeout_ms: u64,
    /// The most bytes that it may say; more is a failure.
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

/// No hooks.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoHooks;

#[async_trait]
impl Hooks for NoHooks {
    fn hooks(&self) -> Vec<HookSpec> {
        Vec::new()
    }

    async fn ask(&self, call: HookCall, _context: HookContext) -> Result<HookReply, HookError> {
        Err(HookError::unsupported(format!(
            "there is no hook {}",
            call.hook
        )))
    }
}

/// Why a hook gave no verdict.
#[derive(Debug, thiserror::Error)]
#[error("{context}")]
pub struct HookError {
    /// The class.
    pub kind: HookErrorKind,
    /// Which hook, what went wrong, what to do.
    pub context: String,
    /// The cause.
    #[source]
    pub source: Option<Box<dyn Error + Send + Sync>>,
}

/// Classes of hook errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookErrorKind {
    /// It was asked, and failed.
    Failed,
    /// It is not declared: there is no such hook at this point.
    Unsupported,
}

impl HookError {
    /// An error without a cause.
    #[must_use]
    pub fn new(context: impl Into<String>) -> Self {
        Self::of(HookErrorKind::Failed, context)
    }

    /// That the hook is not among those that are declared.
    #[must_use]
    pub fn unsupported(context: impl Into<String>) -> Self {
        Self::of(HookErrorKind::Unsupported, context)
    }

    fn of(kind: HookErrorKind, context: impl Into<String>) -> Self {
        Self {
            kind,
            context: context.into(),
            source: None,
        }
    }
}
