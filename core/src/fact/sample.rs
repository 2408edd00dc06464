//! Facts about samples and their items.

use alloc::boxed::Box;
use alloc::string::String;

use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::failure::SampleFailure;
use crate::id::Seq;
use crate::item::{Item, StopReason};
use crate::outcome::InterruptSource;
use crate::program::SampleKind;
use crate::reason::Reason;
use crate::request_record::RequestRecord;
use crate::time::Timestamp;
use crate::usage::Usage;

/// The model was asked. This fact's position identifies the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SampleStarted {
    /// Number of the sample in the turn, from 1.
    pub sample: u32,
    /// Number of the attempt, from 1.
    pub attempt: u32,
    /// Reason for the sample.
    pub reason: Reason,
    /// Digest of the request as shown to the model.
    pub digest: Digest,
    /// Reservation for the sample, if the turn has a budget.
    #[serde(default, skip_serializing_if = "Reservation::is_zero")]
    pub reserved: Reservation,
    /// Most tokens of the answer, if the budget leaves fewer than the settings or the window allow.
    /// The provider is asked for no more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_bound: Option<u64>,
    /// Purpose of the sample, in program mode.
    #[serde(default, skip_serializing_if = "SampleKind::is_normal")]
    pub kind: SampleKind,
}

/// Reservation for a sample before its request: an estimate of the request, and the longest answer
/// that the budget leaves. Also the estimated usage of an attempt that reported none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reservation {
    /// Tokens; 0 if the turn has no token budget.
    pub tokens: u64,
    /// Money in millionths; 0 if the turn has no money budget.
    pub cost_micros: u64,
}

impl Reservation {
    /// Returns the reservation for this many requests.
    #[must_use]
    pub(crate) fn times(&self, requests: u32) -> Self {
        let times = u64::from(requests);
        Self {
            tokens: self.tokens.saturating_mul(times),
            cost_micros: self.cost_micros.saturating_mul(times),
        }
    }

    pub(super) fn is_zero(&self) -> bool {
        *self == Self::default()
    }
}

/// An item of the model's answer is complete.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ItemAdded {
    /// Position of the `SampleStarted` of the run.
    pub started: Seq,
    /// Content of the item.
    pub item: Item,
    /// True if the item is a call beyond [`Limits::calls_per_sample`](crate::Limits). It does not
    /// run, and the turn goes on. Older engines ended the turn instead.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub surplus: bool,
}

/// The answer is complete; its items are retained.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SampleEnded {
    /// Position of the `SampleStarted` of the run.
    pub started: Seq,
    /// Stop reason of the model.
    pub stop: StopReason,
    /// Usage, if the provider reported it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Estimated usage, if a turn with a budget got no report. It counts. Older logs have none:
    /// there the reservation counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimate: Option<Reservation>,
    /// The provider's id of the response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_id: Option<String>,
    /// Record of the request, if its adapter made one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<Box<RequestRecord>>,
    /// Violation of the output schema by the answer, if there is one.
    ///
    /// Found before the answer's end is recorded, so a replay need not check again. Only an answer
    /// that could be the turn's last one has it: a text without calls that the model ended by
    /// itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
}

/// Retained part of a truncated answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Retained {
    /// Nothing: the next attempt answers from the beginning.
    Nothing,
    /// Its items up to a call that had started. If an interrupt truncated the answer, its later text
    /// too, see [`SampleCut::stopped_by`].
    Through {
        /// Last retained `ItemAdded`.
        item: Seq,
    },
    /// The text so far, including the streaming part: a user sent a steering input, or the turn was
    /// interrupted. Calls that had not started are dropped.
    Text,
}

impl Retained {
    /// Returns true if an item of the answer at this position is retained.
    #[must_use]
    pub fn includes(self, at: Seq) -> bool {
        match self {
            Self::Nothing => false,
            Self::Through { item } => at <= item,
            Self::Text => true,
        }
    }
}

impl SampleCut {
    /// Returns true if all text of the answer is retained, with the part that was streaming.
    #[must_use]
    pub fn retains_text(&self) -> bool {
        self.stopped_by.is_some() || self.retained == Retained::Text
    }

    /// Returns true if a text of the answer at this position is retained.
    #[must_use]
    pub fn retains_text_at(&self, at: Seq) -> bool {
        self.retains_text() || self.retained.includes(at)
    }
}

/// The answer was truncated.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SampleCut {
    /// Position of the `SampleStarted` of the run.
    pub started: Seq,
    /// Failure of the sample.
    pub failure: SampleFailure,
    /// Text that had streamed and belongs to no complete item.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub partial: String,
    /// Retained part of the answer.
    pub retained: Retained,
    /// Source of the interrupt that truncated the text. All text is retained then, also behind the
    /// last started call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped_by: Option<InterruptSource>,
    /// Usage, as far as the provider reported it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Estimated usage that the provider may bill and did not report: the request and the streamed
    /// part. It counts. Older logs have none: there the reservation counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimate: Option<Reservation>,
    /// Time of the next attempt, if there is to be one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_at: Option<Timestamp>,
    /// Record of the request, if its adapter made one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<Box<RequestRecord>>,
}
