//! Hooks: their declarations, the points at which they run, and their verdicts.

mod generate;
mod table;

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::arguments_digest::Sha256;
use crate::fact::ContextLifetime;

pub use table::{HookOccurrence, HookPoint};

/// Declaration of a hook. Its implementation belongs to the adapter that runs it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct HookSpec {
    /// Its name, unique among the hooks of a session; each message about it includes it.
    pub name: String,
    /// Point at which it is asked.
    pub point: HookPoint,
    /// Subjects that it is asked about; `None` means all. A subject is the tool of a call, the
    /// trigger of a compaction, or the start of a session (`startup`, `resume`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub only: Option<Vec<String>>,
    /// Order relative to other hooks.
    pub order: HookOrder,
    /// Meaning of its own failure.
    pub on_failure: HookFailurePolicy,
    /// Longest time of one run, in milliseconds.
    pub timeout_ms: u64,
}

/// Order of a hook relative to the others of its point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HookOrder {
    /// After the earlier hooks: it sees their edits, and may edit too.
    Sequential,
    /// Concurrently with the other parallel hooks, after the sequential ones. It edits nothing.
    Parallel,
}

/// Meaning of a hook's failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HookFailurePolicy {
    /// Counts as its denial.
    Closed,
    /// Counts as a pass.
    Open,
}

/// Properties of a hook point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HookPointProperties {
    /// Subject of the question to a hook.
    pub topic: HookTopic,
    /// The part of the session that waits for the hooks.
    pub level: HookLevel,
    /// The effect of a denial.
    pub denial: DenialEffect,
    /// The treatment of the hooks after a denial.
    pub after_denial: AfterDenial,
    /// The text that a hook may replace.
    pub edits: Editable,
    /// The use of the context that a hook gives.
    pub context: ContextUse,
    /// The time that this context stays in the conversation.
    pub lifetime: ContextLifetime,
}

/// Subject of the question to the hooks of a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookTopic {
    /// Only the occurrence itself.
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
    /// The outcome of the ending turn.
    Ending,
}

/// The part of a session that waits for the hooks of a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookLevel {
    /// The idle session.
    Session,
    /// The open turn.
    Turn,
    /// One call of the turn.
    Call,
}

/// The effect of a denial at a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DenialEffect {
    /// No effect: it is too late to deny anything.
    Ignored,
    /// The input is blocked.
    BlocksInput,
    /// The turn ends as blocked.
    EndsTurn,
    /// The call does not run.
    DeniesCall,
    /// The model reads the reason, and the turn continues.
    Answers,
}

/// Treatment of the other hooks of a point after a denial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfterDenial {
    /// They are not asked: the denial is final.
    SkipOthers,
    /// They are asked too: the model reads the reason of each denial, and a later hook may end the
    /// turn.
    AskOthers,
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
    /// A new process resumed it.
    Resume,
}

/// Trigger of a compaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CompactionTrigger {
    /// The next request would not fit into the model's window.
    Window,
    /// The provider rejected a request as too large.
    Overflow,
    /// A user asked for it.
    Manual,
}

impl CompactionTrigger {
    /// Returns the trigger, as declarations of hooks name it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Window => "window",
            Self::Overflow => "overflow",
            Self::Manual => "manual",
        }
    }
}

impl SessionStart {
    /// Returns the start, as declarations of hooks name it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Startup => "startup",
            Self::Resume => "resume",
        }
    }
}

impl HookSpec {
    /// Creates a hook that is asked about every subject of a point, after the hooks before it. Its
    /// failure counts as a denial.
    #[must_use]
    pub fn new(name: impl Into<String>, point: HookPoint, timeout_ms: u64) -> Self {
        Self {
            name: name.into(),
            point,
            only: None,
            order: HookOrder::Sequential,
            on_failure: HookFailurePolicy::Closed,
            timeout_ms,
        }
    }

    /// Returns this hook with changes.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    /// Returns true if the hook runs for this subject at this point.
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
    /// Returns a reply without objection.
    #[must_use]
    pub fn pass() -> Self {
        Self { verdict: HookVerdict::Pass, reason: String::new(), edit: None, context: None }
    }

    /// Returns the reply that denies, with its reason for the user or the model.
    #[must_use]
    pub fn deny(why: impl Into<String>) -> Self {
        Self { verdict: HookVerdict::Deny, reason: why.into(), edit: None, context: None }
    }

    /// Returns the reply that requires a person's approval, with its reason.
    #[must_use]
    pub fn ask(why: impl Into<String>) -> Self {
        Self { verdict: HookVerdict::Ask, reason: why.into(), edit: None, context: None }
    }

    /// Returns the reply of a hook that gave no usable verdict.
    #[must_use]
    pub fn failed(why: impl Into<String>) -> Self {
        Self { verdict: HookVerdict::Failed, reason: why.into(), edit: None, context: None }
    }
}

/// Verdict of one hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HookVerdict {
    /// No objection.
    Pass,
    /// The call needs no approval. Never overrides a denial.
    Allow,
    /// The call needs a person's approval.
    Ask,
    /// Denial. A prompt is blocked, a call is denied, a compaction is skipped. At an answer, a
    /// result or the end of a turn, the model reads the reason and the turn continues.
    Deny,
    /// The turn ends here.
    Halt,
    /// The hook failed or took too long.
    Failed,
    /// The hook exceeded its context budget. This ends the turn whatever its failure policy is.
    Overrun,
}

/// A replacement text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Edit {
    /// New prompt, or new arguments as JSON text.
    pub text: Arc<str>,
    /// Fault of the new arguments, if there is one; see [`crate::CallItem::fault`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
    /// Rules that the new arguments match; see [`crate::CallItem::rules`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<u32>,
    /// Rules that they may match; see [`crate::CallItem::possible_rules`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub possible_rules: Vec<u32>,
    /// True if they ask to run outside of the sandbox; see [`crate::CallItem::outside_sandbox`].
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub outside_sandbox: bool,
    /// SHA-256 of the new arguments; see [`crate::CallItem::sha256`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<Sha256>,
}

impl Edit {
    /// Creates an edit whose text was not compared with a schema or with rules: that of a prompt, or
    /// one that the engine validates before the core sees it.
    #[must_use]
    pub fn unchecked(text: Arc<str>) -> Self {
        Self {
            text,
            fault: None,
            rules: Vec::new(),
            possible_rules: Vec::new(),
            outside_sandbox: false,
            sha256: None,
        }
    }
}
