//! Hooks: what is declared of them, where in a turn they are asked, and what they say.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::id::{CallId, InputId, Seq};

/// A hook as it is declared. What it does is known to the adapter that runs it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HookSpec {
    /// Its name, unique among the hooks of a session; in each message about it.
    pub name: String,
    /// Where it is asked.
    pub point: HookPoint,
    /// The subjects that it is asked about; `None` means all. A subject is the tool of a call, the
    /// trigger of a compaction, or how a session starts (`startup`, `resume`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub only: Option<Vec<String>>,
    /// How it is asked beside others.
    pub order: HookOrder,
    /// What its own failure counts as.
    pub on_failure: OnFailure,
    /// The longest one run may take, in milliseconds.
    pub timeout_ms: u64,
}

/// Where in a turn hooks are asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HookPoint {
    /// Before the first turn of a session, and of a session that a new process goes on with.
    SessionStart,
    /// When a process lets a session go.
    SessionEnd,
    /// Before an input is let in.
    PromptSubmitted,
    /// Before the model is asked.
    BeforeSample,
    /// When an answer of the model is whole, before its calls.
    AfterAnswer,
    /// Before it is decided whether a call may run.
    BeforeTool,
    /// When a call has run.
    AfterTool,
    /// Before a person is asked about a call.
    PermissionRequest,
    /// Before a compaction.
    BeforeCompaction,
    /// After a compaction.
    AfterCompaction,
    /// When a turn is about to complete.
    Stop,
    /// Before the turn of a session that another session's turn started.
    SubTurnStart,
    /// When such a turn is about to complete.
    SubTurnStop,
    /// When a turn was asked to stop.
    Interrupt,
}

/// How a hook is asked beside the others of its point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HookOrder {
    /// In its place, after those before it: it sees what they changed, and may change it too.
    Sequential,
    /// At the same time as the other parallel ones, after the sequential ones. It changes nothing.
    Parallel,
}

/// What the failure of a hook counts as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnFailure {
    /// As its denial.
    Closed,
    /// As if it had nothing to say.
    Open,
}

/// One occurrence of a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(tag = "point", rename_all = "snake_case")]
pub enum HookAt {
    /// The session starts; see [`HookPoint::SessionStart`].
    SessionStart {
        /// How.
        start: SessionStart,
    },
    /// The process lets the session go.
    SessionEnd,
    /// An input is about to be let in.
    PromptSubmitted {
        /// The input.
        input: InputId,
    },
    /// The model is about to be asked.
    BeforeSample {
        /// Which sample of the turn it will be, from 1.
        sample: u32,
    },
    /// An answer is whole.
    AfterAnswer {
        /// The `SampleStarted` of the run.
        started: Seq,
    },
    /// A call is about to be decided.
    BeforeTool {
        /// The call.
        call: CallId,
    },
    /// A call has its observation.
    AfterTool {
        /// The call.
        call: CallId,
    },
    /// A person is about to be asked.
    PermissionRequest {
        /// The call.
        call: CallId,
    },
    /// The conversation is about to be compacted.
    BeforeCompaction {
        /// Which compaction of the turn it will be, from 1.
        compaction: u32,
        /// Why.
        trigger: Trigger,
    },
    /// The conversation was compacted.
    AfterCompaction {
        /// The `Compacted`.
        compacted: Seq,
        /// Why.
        trigger: Trigger,
    },
    /// The turn is about to complete.
    Stop {
        /// The `SampleStarted` of the last answer.
        started: Seq,
        /// How often hooks have had the turn go on so far.
        continued: u32,
    },
    /// The turn of a child session begins.
    SubTurnStart,
    /// The turn of a child session is about to complete.
    SubTurnStop {
        /// The `SampleStarted` of the last answer.
        started: Seq,
        /// How often hooks have had the turn go on so far.
        continued: u32,
    },
    /// The turn was asked to stop.
    Interrupt,
}

/// How a session starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionStart {
    /// It is new.
    Startup,
    /// A new process goes on with it.
    Resume,
}

/// Why a conversation is compacted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trigger {
    /// The next request would not fit into the model's window.
    Window,
    /// The provider refused a request as too large.
    Overflow,
}

impl HookAt {
    /// The point that this is an occurrence of.
    #[must_use]
    pub fn point(&self) -> HookPoint {
        match self {
            Self::SessionStart { .. } => HookPoint::SessionStart,
            Self::SessionEnd => HookPoint::SessionEnd,
            Self::PromptSubmitted { .. } => HookPoint::PromptSubmitted,
            Self::BeforeSample { .. } => HookPoint::BeforeSample,
            Self::AfterAnswer { .. } => HookPoint::AfterAnswer,
            Self::BeforeTool { .. } => HookPoint::BeforeTool,
            Self::AfterTool { .. } => HookPoint::AfterTool,
            Self::PermissionRequest { .. } => HookPoint::PermissionRequest,
            Self::BeforeCompaction { .. } => HookPoint::BeforeCompaction,
            Self::AfterCompaction { .. } => HookPoint::AfterCompaction,
            Self::Stop { .. } => HookPoint::Stop,
            Self::SubTurnStart => HookPoint::SubTurnStart,
            Self::SubTurnStop { .. } => HookPoint::SubTurnStop,
            Self::Interrupt => HookPoint::Interrupt,
        }
    }

    /// The call that it is about, if it is about one.
    #[must_use]
    pub fn call(&self) -> Option<CallId> {
        match self {
            Self::BeforeTool { call }
            | Self::AfterTool { call }
            | Self::PermissionRequest { call } => Some(*call),
            Self::SessionStart { .. }
            | Self::SessionEnd
            | Self::PromptSubmitted { .. }
            | Self::BeforeSample { .. }
            | Self::AfterAnswer { .. }
            | Self::BeforeCompaction { .. }
            | Self::AfterCompaction { .. }
            | Self::Stop { .. }
            | Self::SubTurnStart
            | Self::SubTurnStop { .. }
            | Self::Interrupt => None,
        }
    }
}

impl HookSpec {
    /// Returns true if it is asked about this subject at this point.
    #[must_use]
    pub fn listens(&self, point: HookPoint, subject: &str) -> bool {
        let named = |only: &Vec<String>| only.iter().any(|one| one == subject);
        self.point == point && self.only.as_ref().is_none_or(named)
    }
}

/// What one hook says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookReply {
    /// Its verdict.
    pub verdict: HookVerdict,
    /// Why, in words for the user or the model.
    pub reason: String,
    /// What takes the place of the prompt, or of the arguments.
    pub edit: Option<Edit>,
    /// What the model is to know besides.
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
    /// Nothing against it.
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
    /// Why the new arguments cannot be used, if so; see [`crate::CallItem::fault`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
    /// The rules that the new arguments meet; see [`crate::CallItem::rules`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<u32>,
}
