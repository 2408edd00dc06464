//! Hooks: what is declared of them, where in a turn they are asked, and what they say.

mod generate;
mod table;

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::fact::ContextLifetime;

pub use table::{HookOccurrence, HookPoint};

/// A hook as it is declared. What it does is known to the adapter that runs it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HookSpec {
    /// Its name, unique among the hooks of a session; in each message about it.
    pub name: String,
    /// Point at which it is asked.
    pub point: HookPoint,
    /// The subjects that it is asked about; `None` means all. A subject is the tool of a call, the
    /// trigger of a compaction, or how a session starts (`startup`, `resume`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub only: Option<Vec<String>>,
    /// Order in which it is asked beside others.
    pub order: HookOrder,
    /// Meaning of its own failure.
    pub on_failure: HookFailurePolicy,
    /// The longest one run may take, in milliseconds.
    pub timeout_ms: u64,
}

/// Order in which a hook is asked beside the others of its point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HookOrder {
    /// In its place, after those before it: it sees what they changed, and may change it too.
    Sequential,
    /// At the same time as the other parallel ones, after the sequential ones. It changes nothing.
    Parallel,
}

/// Meaning of a hook's failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HookFailurePolicy {
    /// Counts as its denial.
    Closed,
    /// As if it had nothing to say.
    Open,
}

/// Properties of a hook point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HookPointProperties {
    /// The matter that a hook is asked about.
    pub topic: HookTopic,
    /// The part of the session that waits for the hooks.
    pub level: HookLevel,
    /// The effect of a denial.
    pub denial: DenialEffect,
    /// The text that a hook may replace.
    pub edits: Editable,
    /// The use of the context that a hook gives.
    pub context: ContextUse,
    /// The time that this context stays in the conversation.
    pub lifetime: ContextLifetime,
}

/// The matter that hooks of a point are asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookTopic {
    /// No more than the occurrence itself.
    Nothing,
    /// The text of an input.
    Prompt,
    /// The answer of the model.
    Answer,
    /// A call that has not run.
    Call,
    /// A call with its observation.
    Result,
    /// A compaction and its trigger.
    Compaction,
    /// The outcome that the turn is about to have.
    Ending,
}

/// The part of a session that waits for the hooks of a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookLevel {
    /// The session at rest.
    Session,
    /// The turn that is open.
    Turn,
    /// One call of the turn.
    Call,
}

/// The effect of a denial at a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DenialEffect {
    /// No effect: nothing is left to deny.
    Ignored,
    /// The input is blocked.
    BlocksInput,
    /// The turn ends as blocked.
    EndsTurn,
    /// The call does not run.
    DeniesCall,
    /// The model reads the reason, and the turn goes on.
    Answers,
}

/// The text that hooks of a point may replace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Editable {
    /// No text can be edited.
    Nothing,
    /// The prompt can be edited.
    Prompt,
    /// The arguments of the call.
    Arguments,
}

/// The use of the context that hooks of a point give.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContextUse {
    /// Nobody reads it.
    Dropped,
    /// The model reads it unless a hook of the occurrence denies.
    UnlessDenied,
    /// The model reads it.
    Always,
}

/// Start of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionStart {
    /// The session is new.
    Startup,
    /// A new process goes on with it.
    Resume,
}

/// Trigger of a compaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CompactionTrigger {
    /// The next request would not fit into the model's window.
    Window,
    /// The provider refused a request as too large.
    Overflow,
}

impl CompactionTrigger {
    /// The trigger as declarations of hooks name it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Window => "window",
            Self::Overflow => "overflow",
        }
    }
}

impl SessionStart {
    /// The start as declarations of hooks name it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Startup => "startup",
            Self::Resume => "resume",
        }
    }
}

impl HookSpec {
    /// Returns true if it is asked about this subject at this point.
    #[must_use]
    pub fn matches(&self, point: HookPoint, subject: &str) -> bool {
        let named = |only: &Vec<String>| only.iter().any(|one| one == subject);
        self.point == point && self.only.as_ref().is_none_or(named)
    }
}

/// Reply of one hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookReply {
    /// Verdict of the hook.
    pub verdict: HookVerdict,
    /// Reason, for the user or the model.
    pub reason: String,
    /// Replacement for the prompt or the arguments.
    pub edit: Option<Edit>,
    /// Additional context for the model.
    pub context: Option<Arc<str>>,
}

impl HookReply {
    /// It has nothing to say.
    #[must_use]
    pub fn pass() -> Self {
        Self {
            verdict: HookVerdict::Pass,
            reason: String::new(),
            edit: None,
            context: None,
        }
    }

    /// It gave no usable verdict.
    #[must_use]
    pub fn failed(why: impl Into<String>) -> Self {
        Self {
            verdict: HookVerdict::Failed,
            reason: why.into(),
            edit: None,
            context: None,
        }
    }
}

/// The verdict of one hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HookVerdict {
    /// No objection.
    Pass,
    /// A call: it need not be asked about. Never stands against a denial.
    Allow,
    /// A call: a person is to be asked.
    Ask,
    /// Not so. A prompt is blocked, a call denied, a compaction not made; an answer, a result and
    /// the end of a turn are answered with the reason, and the turn goes on.
    Deny,
    /// The turn is to end here.
    Halt,
    /// The hook failed or took too long.
    Failed,
    /// The hook went over what it may say. It ends the turn, whatever else is declared.
    Overrun,
}

/// Words that take the place of others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Edit {
    /// The new prompt, or the new arguments as JSON text.
    pub text: Arc<str>,
    /// Fault of the new arguments, if there is one; see [`crate::CallItem::fault`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
    /// The rules that the new arguments meet; see [`crate::CallItem::rules`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<u32>,
}
