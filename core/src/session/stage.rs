//! Stages: where an open turn stands.

use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::call::CallState;
use super::turn::Pending;
use crate::because::Because;
use crate::compaction::{Part, Shown};
use crate::context;
use crate::fact::Reserved;
use crate::hook::Trigger;
use crate::id::{CallId, InputId, Seq};
use crate::item::StopReason;
use crate::nonempty::NonEmpty;
use crate::outcome::Outcome;
use crate::program::{Fate, SampleKind, Telling, leave_out};
use crate::time::Timestamp;

/// Where an open turn stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// Its input is to be let in.
    Opening(Opening),
    /// The model may be asked next.
    Ready(Ready),
    /// The conversation is being compacted.
    Compacting(Compacting),
    /// The model has been asked.
    Sampling(Sampling),
    /// The last attempt failed; the next one waits.
    Backoff(Backoff),
    /// Tool calls are out.
    Executing(Executing),
    /// The model has answered and asks for nothing more.
    Concluding(Concluding),
    /// It cannot go on: this outcome is to be recorded.
    Ending(Outcome),
}

/// What a turn was opened for is to be let in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Opening {
    /// An input.
    Input(InputId),
    /// The goal, by its `GoalSet`.
    Goal(Seq),
}

/// The model may be asked next, for a new sample.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ready {
    /// Why.
    pub because: Because,
    /// Whether the conversation must be compacted before: the provider refused it as too large.
    pub overflow: bool,
    /// Not before this moment.
    pub not_before: Option<Timestamp>,
}

impl Ready {
    /// For this reason, with a conversation that nobody has refused.
    #[must_use]
    pub(crate) fn because(because: Because) -> Self {
        Self {
            because,
            overflow: false,
            not_before: None,
        }
    }
}

/// The conversation is being compacted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Compacting {
    /// The run.
    pub started: Seq,
    /// Why.
    pub trigger: Trigger,
    /// What was set aside for a summary.
    pub reserved: Reserved,
    /// What comes next.
    pub then: Then,
}

/// What comes after a compaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Then {
    /// What the turn was opened for is let in.
    Open(Opening),
    /// The model is asked.
    Ask(Because),
}

/// The model has been asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sampling {
    /// The run.
    pub started: Seq,
    /// The run before this one, in whichever turn; [`Seq::ZERO`] for the first.
    pub previous: Seq,
    /// Failures of this sample before this attempt.
    pub failures: u32,
    /// Restarts of this sample before this attempt.
    pub restarts: u32,
    /// What the request showed.
    pub asked: Shown,
    /// What was set aside for it.
    pub reserved: Reserved,
    /// What it is for.
    #[serde(default, skip_serializing_if = "SampleKind::is_normal")]
    pub kind: SampleKind,
    /// Calls that it has brought so far.
    pub calls: Vec<CallState>,
    /// The items that it has brought so far: their positions, and what each shows.
    pub items: Vec<(Seq, Part, Said)>,
}

impl Sampling {
    /// What it has said to the user so far.
    #[must_use]
    pub fn said(&self) -> Said {
        let said = self.items.iter().map(|(_, _, said)| *said);
        said.max().unwrap_or(Said::Nothing)
    }

    /// Whether the answer, ended so, says all that the turn is to say: it has a text and no calls,
    /// and the model ended it by itself.
    pub(crate) fn answers(&self, stop: &StopReason) -> bool {
        let whole = match stop {
            StopReason::Stop | StopReason::Other(_) => true,
            StopReason::Length | StopReason::ContentFilter | StopReason::Unfinished => false,
        };
        whole && self.calls.is_empty() && self.said() == Said::Text
    }
}

/// What an answer says to the user, the strongest thing so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Said {
    /// Nothing.
    Nothing,
    /// A refusal.
    Refusal,
    /// Text.
    Text,
}

/// The last attempt failed; the next one waits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Backoff {
    /// Until when.
    pub until: Timestamp,
    /// Failures of this sample so far.
    pub failures: u32,
    /// Restarts of this sample so far.
    pub restarts: u32,
    /// What it is for.
    #[serde(default, skip_serializing_if = "SampleKind::is_normal")]
    pub kind: SampleKind,
}

/// Tool calls are out; this ends when each has its observation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Executing {
    /// The `SampleStarted` of the answer.
    pub started: Seq,
    /// The calls, in the order of the answer.
    pub calls: NonEmpty<CallState>,
    /// What comes when each has its observation.
    pub then: AfterCalls,
    /// What the sample was for.
    #[serde(default, skip_serializing_if = "SampleKind::is_normal")]
    pub kind: SampleKind,
    /// The calls that its program has made.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub made: u32,
    /// Those of them that change something and are over.
    #[serde(default, skip_serializing_if = "Changes::is_empty")]
    pub changes: Changes,
    /// What the model is told of those besides, in numbers, where their program did not come to its
    /// own word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub told: Option<Part>,
    /// Context that hooks gave about those, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub contexts: Vec<Pending>,
}

/// The calls of a program that change something and are over, as far as they are named to the model.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Changes {
    /// Those that are named, in their order.
    pub calls: Vec<Change>,
    /// How many more there are, in the middle of these.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub more: u32,
}

/// A call of a program that changes something and is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// The call.
    pub call: CallId,
    /// How it is named, in numbers.
    pub line: Part,
    /// What became of it.
    pub fate: Fate,
}

impl Changes {
    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// One more is over. The order in which they end does not show.
    pub(crate) fn add(&mut self, change: Change) {
        let at = self.calls.partition_point(|one| one.call < change.call);
        self.calls.insert(at, change);
        leave_out(&mut self.calls, &mut self.more);
    }

    /// Which of them the model is told of; `None` where there are none.
    #[must_use]
    pub fn telling(&self) -> Option<Telling> {
        (!self.is_empty()).then(|| Telling {
            calls: self.calls.iter().map(|one| one.call).collect(),
            more: self.more,
        })
    }

    /// What it is told of them, in numbers.
    pub(crate) fn told(&self) -> Part {
        let named = self.calls.iter().map(|one| (one.line, one.fate));
        context::told(named, self.more)
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
pub(super) fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// What comes when each call has its observation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AfterCalls {
    /// The model is asked again.
    Ask,
    /// The answer broke off: the model is asked again from then on.
    Wait(Timestamp),
    /// The answer broke off, or its program gave up: the model is not asked again.
    End(Outcome),
    /// Its program has returned what the turn is to come to.
    Returned,
    /// Its program has returned what does not fit the contract, for this reason.
    Rejected(String),
}

/// The model has answered and asks for nothing more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Concluding {
    /// The `SampleStarted` of the answer.
    pub started: Seq,
    /// Why it stopped.
    pub stop: StopReason,
    /// What it said.
    pub said: Said,
    /// Why it does not have the shape that the settings ask for, if so.
    pub fault: Option<String>,
}
