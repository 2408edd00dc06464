//! Facts about the model's view: hooks, context, compactions.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::sample::Reservation;
use crate::compaction::{CompactionStrategy, CutPoint, VisiblePart};
use crate::digest::Digest;
use crate::hook::{CompactionTrigger, Edit, HookOccurrence, HookVerdict};
use crate::id::{InputId, Seq};
use crate::scope::Scope;
use crate::usage::Usage;

/// Hooks were asked. This fact's position and the hook's number identify each run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HooksAsked {
    /// Occurrence of the hook point.
    pub at: HookOccurrence,
    /// Indices of the hooks in the settings, from 0.
    pub hooks: Vec<u32>,
    /// Number of their run, from 1. If a process ends, unanswered hooks run again.
    pub attempt: u32,
    /// True if a denial does not end their round: the others are asked too. Older engines skipped
    /// them at every point.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub all: bool,
}

/// A hook replied. A replay reads this and asks nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HookDecided {
    /// Position of the `HooksAsked`.
    pub asked: Seq,
    /// Index of the hook in the settings.
    pub hook: u32,
    /// Name in the settings.
    pub name: String,
    /// Verdict of the hook.
    pub verdict: HookVerdict,
    /// Reason in words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// Digest of the prompt or of the arguments that the hook received; empty at other points.
    pub subject: Digest,
    /// Replacement for the prompt or the arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edit: Option<Edit>,
    /// Additional context for the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<Arc<str>>,
}

/// Text that no user wrote was added for the model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ContextInjected {
    /// Source of the context.
    pub from: ContextSource,
    /// Lifetime of the context.
    pub lifetime: ContextLifetime,
}

/// Source of context, with its text. Texts that the log already has are named by position.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "by", rename_all = "snake_case")]
pub enum ContextSource {
    /// The engine: the workspace of the tools.
    Workspace {
        /// Text of the item.
        text: Arc<str>,
    },
    /// The engine: restricted permissions of calls.
    Permissions {
        /// Text of the item.
        text: Arc<str>,
    },
    /// The engine: this sample is the last one for work, and its program cannot call tools.
    LastSample {
        /// Text of the item.
        text: Arc<str>,
    },
    /// The engine: the open goal.
    Goal {
        /// Text of the item.
        text: Arc<str>,
    },
    /// The engine: the fault of an answer that violates the output schema.
    InvalidOutput {
        /// Position of the `SampleStarted` of the answer.
        started: Seq,
        /// Text of the item.
        text: Arc<str>,
    },
    /// The engine: the last answer had neither text nor calls.
    EmptyAnswer {
        /// Position of the `SampleStarted` of the answer.
        started: Seq,
        /// Text of the item.
        text: Arc<str>,
    },
    /// The presenter, with an input.
    Presenter {
        /// Id of the input.
        input: InputId,
        /// Index of the part in the input's context, from 0.
        part: u32,
    },
    /// A hook added it.
    Hook {
        /// Position of the `HookDecided`.
        decided: Seq,
    },
}

/// Lifetime of context.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ContextLifetime {
    /// Compactions retain it until a part of the same name replaces it.
    Session,
    /// A compaction after its turn may drop it.
    Turn,
}

/// A user asked to compact the conversation. Its turn opens once no other is open.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CompactionRequested {
    /// Scope of the caller.
    pub by: Arc<Scope>,
    /// Topic that the summary should cover most, in the user's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub focus: Option<Arc<str>>,
    /// Key of the command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

/// The conversation is about to be compacted. This fact's position identifies the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CompactionStarted {
    /// Number of the compaction in the turn, from 1.
    pub compaction: u32,
    /// Number of the run, from 1.
    pub attempt: u32,
    /// Trigger of the compaction.
    pub trigger: CompactionTrigger,
    /// Strategy of the compaction.
    pub strategy: CompactionStrategy,
    /// Bytes of text that it should leave.
    pub target_bytes: u64,
    /// Model that is asked for the summary, if it is the previous one, whose window holds more of the
    /// conversation than that of the turn's model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Reservation for a summary, if the turn has a budget.
    #[serde(default, skip_serializing_if = "Reservation::is_zero")]
    pub reserved: Reservation,
    /// Reservation of the previous run, whose process ended; it counts as spent.
    #[serde(default, skip_serializing_if = "Reservation::is_zero")]
    pub lost: Reservation,
}

/// The conversation was compacted for the model; the log stays complete.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Compacted {
    /// Position of the `CompactionStarted`.
    pub started: Seq,
    /// Effect on the conversation.
    pub cut: CutPoint,
    /// Size of the conversation afterwards.
    pub visible: VisiblePart,
    /// Usage of the summary: the sum over its requests, as far as the provider reported it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Number of requests for the summary with unknown usage; the reservation counts for each. In
    /// older logs it counts once if there is no usage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unmeasured: Option<u32>,
    /// Reason for not using the model's own summary, or only a part of it, if one was requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fallback: Option<String>,
}

/// The conversation could not be compacted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CompactionFailed {
    /// Position of the `CompactionStarted`.
    pub started: Seq,
    /// Reason in words.
    pub reason: String,
    /// Reservation of the run, if its process ended; it counts as spent.
    #[serde(default, skip_serializing_if = "Reservation::is_zero")]
    pub lost: Reservation,
}
