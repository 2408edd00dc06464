//! Facts about what the model is shown: hooks, context, compactions.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::sample::Reserved;
use crate::compaction::{Cut, Shown, Strategy};
use crate::digest::Digest;
use crate::hook::{Edit, HookAt, HookVerdict, Trigger};
use crate::id::{InputId, Seq};
use crate::usage::Usage;

/// Hooks were asked. Each of their runs is named by this fact's position and the hook's number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HooksAsked {
    /// Where.
    pub at: HookAt,
    /// Which, by their place in the settings, from 0.
    pub hooks: Vec<u32>,
    /// Which run of them, from 1: a process that ends leaves hooks without an answer.
    pub attempt: u32,
}

/// A hook has spoken. A replay reads this and asks nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HookDecided {
    /// The `HooksAsked`.
    pub asked: Seq,
    /// Which hook, by its place in the settings.
    pub hook: u32,
    /// Its name.
    pub name: String,
    /// What it said.
    pub verdict: HookVerdict,
    /// Why.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// Digest of the prompt or of the arguments that it was shown; of nothing elsewhere.
    pub about: Digest,
    /// What it put in their place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edit: Option<Edit>,
    /// What the model is to know besides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<Arc<str>>,
}

/// The model is told something that nobody said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ContextInjected {
    /// What, and by whom.
    pub from: ContextSource,
    /// How long it stays.
    pub lasting: Lasting,
}

/// What the model is told, and by whom. Texts that stand in the log already are named by position.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "by", rename_all = "snake_case")]
pub enum ContextSource {
    /// The engine: where the tools work.
    Workspace {
        /// The text.
        text: Arc<str>,
    },
    /// The engine: what calls may do, where that is not the usual.
    Posture {
        /// The text.
        text: Arc<str>,
    },
    /// The engine: this sample is the last one for work, and its program cannot call tools.
    LastSample {
        /// The text.
        text: Arc<str>,
    },
    /// The engine: the goal that is not met yet.
    Goal {
        /// The text.
        text: Arc<str>,
    },
    /// The engine: what is wrong with an answer that does not have the shape that is asked for.
    Shape {
        /// The `SampleStarted` of the answer.
        started: Seq,
        /// The text.
        text: Arc<str>,
    },
    /// The presenter, beside an input.
    Presenter {
        /// The input.
        input: InputId,
        /// Which part of its context, from 0.
        part: u32,
    },
    /// A hook.
    Hook {
        /// The `HookDecided`.
        decided: Seq,
    },
}

/// How long context stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Lasting {
    /// Every compaction keeps it, until a part of the same name takes its place.
    Session,
    /// A compaction after its turn may leave it out.
    Turn,
}

/// The conversation is about to be compacted. The run is named by this fact's position.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CompactionStarted {
    /// Which compaction of the turn, from 1.
    pub compaction: u32,
    /// Which run of it, from 1.
    pub attempt: u32,
    /// Why.
    pub trigger: Trigger,
    /// How.
    pub strategy: Strategy,
    /// How many bytes of text it should leave.
    pub target_bytes: u64,
    /// What was set aside for a summary, where the turn has a budget.
    #[serde(default, skip_serializing_if = "Reserved::is_nothing")]
    pub reserved: Reserved,
    /// What was set aside for the run before this one, whose process ended: it counts as spent.
    #[serde(default, skip_serializing_if = "Reserved::is_nothing")]
    pub lost: Reserved,
}

/// The conversation was compacted: what the model sees is this, the log stays whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Compacted {
    /// The `CompactionStarted`.
    pub started: Seq,
    /// What was done.
    pub cut: Cut,
    /// What is shown from here on.
    pub shown: Shown,
    /// What a summary cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Why the model's own summary was not used, where one was wanted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fallback: Option<String>,
}

/// The conversation could not be compacted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CompactionFailed {
    /// The `CompactionStarted`.
    pub started: Seq,
    /// Why.
    pub reason: String,
    /// What was set aside for the run, where its process ended: it counts as spent.
    #[serde(default, skip_serializing_if = "Reserved::is_nothing")]
    pub lost: Reserved,
}
