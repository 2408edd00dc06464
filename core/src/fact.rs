//! Facts: what happened, in the past tense. Nothing else moves a session.

use alloc::string::String;
use alloc::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::because::Because;
use crate::call::{Observation, Verdict};
use crate::digest::Digest;
use crate::failure::SampleFailure;
use crate::id::{CallId, InputId, Seq, SessionId};
use crate::item::{Item, StopReason};
use crate::limits::Limits;
use crate::outcome::{Interrupter, Outcome};
use crate::scope::Scope;
use crate::session::{Delivery, Spent};
use crate::settings::Settings;
use crate::time::Timestamp;
use crate::usage::Usage;

/// One thing that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(
    missing_docs,
    reason = "each variant is its struct, which is documented"
)]
pub enum Fact {
    SessionOpened(SessionOpened),
    SettingsChanged(SettingsChanged),
    InputQueued(InputQueued),
    TurnOpened(TurnOpened),
    InputAccepted(InputAccepted),
    SampleStarted(SampleStarted),
    ItemAdded(ItemAdded),
    SampleEnded(SampleEnded),
    SampleCut(SampleCut),
    CallDecided(CallDecided),
    CallStarted(CallStarted),
    CallObserved(CallObserved),
    InterruptRequested(InterruptRequested),
    TurnSettled(TurnSettled),
}

/// A session began. Always the first fact, and only that.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionOpened {
    /// Whose it is.
    pub owner: Arc<Scope>,
    /// The folder that its tools work in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// What its turns are run with.
    pub settings: Arc<Settings>,
    /// Where it comes from.
    pub lineage: Lineage,
}

/// Where a session comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "from", rename_all = "snake_case")]
pub enum Lineage {
    /// It was opened anew.
    Root,
    /// It continues a copy of another session's log.
    Fork {
        /// The other session.
        of: SessionId,
        /// The last position taken over.
        at: Seq,
    },
    /// A turn of another session started it.
    Child {
        /// The other session.
        of: SessionId,
        /// The call that started it.
        call: CallId,
    },
}

/// The settings were replaced, for turns that open from here on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SettingsChanged {
    /// All of the settings.
    pub settings: Arc<Settings>,
}

/// A user said something. Acknowledged to the caller once this is durable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InputQueued {
    /// Who said it.
    pub scope: Arc<Scope>,
    /// What was said.
    pub text: Arc<str>,
    /// When it is meant to be heard.
    pub delivery: Delivery,
    /// The caller's own key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Whether the turn only plans what its tools would do.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub dry_run: bool,
}

/// A turn began. Its id is this fact's position.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TurnOpened {
    /// Why.
    pub because: Because,
    /// On whose behalf.
    pub scope: Arc<Scope>,
    /// The fact that holds the settings that are frozen for this turn.
    pub settings: Seq,
    /// The limits of this turn: those of the settings, within those of the process.
    pub limits: Limits,
    /// Whether tools that change something are only planned.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub dry_run: bool,
}

/// An input was let in: from here on the model may see it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InputAccepted {
    /// The input.
    pub input: InputId,
}

/// The model was asked. The run is named by this fact's position.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SampleStarted {
    /// Which sample of the turn, from 1.
    pub sample: u32,
    /// Which attempt at it, from 1.
    pub attempt: u32,
    /// Why.
    pub because: Because,
    /// Digest of what the model was shown.
    pub digest: Digest,
}

/// An item of the model's answer is whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ItemAdded {
    /// The `SampleStarted` of the run that brought it.
    pub started: Seq,
    /// The item.
    pub item: Item,
}

/// The answer is whole; its items stand.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SampleEnded {
    /// The `SampleStarted` of the run.
    pub started: Seq,
    /// Why the model stopped.
    pub stop: StopReason,
    /// What it cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// The provider's id of the response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_id: Option<String>,
}

/// The answer broke off; its items do not stand.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SampleCut {
    /// The `SampleStarted` of the run.
    pub started: Seq,
    /// How it failed.
    pub failure: SampleFailure,
    /// Text that had streamed by then. For the record; the model is not shown it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub partial: String,
    /// When the next attempt is due, if there is to be one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_at: Option<Timestamp>,
}

/// It was decided whether a call may run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallDecided {
    /// The call.
    pub call: CallId,
    /// What was decided.
    pub verdict: Verdict,
    /// Who decided.
    pub by: Decider,
    /// Why.
    pub reason: String,
    /// Digest of the exact arguments that the decision is about.
    pub arguments: Digest,
}

/// Who decides whether a call may run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decider {
    /// The mode and the permissions of the turn.
    Policy,
}

/// A tool is about to run. The run is named by this fact's position.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallStarted {
    /// The call.
    pub call: CallId,
    /// Which run of it, from 1.
    pub attempt: u32,
    /// The key under which a repeat of this call has no second effect; the same in each run.
    pub idempotency_key: String,
    /// The longest the run may take, in milliseconds.
    pub timeout_ms: u64,
}

/// A call has ended. Exactly one a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallObserved {
    /// The call.
    pub call: CallId,
    /// What became of it.
    pub observation: Arc<Observation>,
}

/// The turn was asked to stop.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InterruptRequested {
    /// Who asked.
    pub by: Interrupter,
    /// In which words.
    pub reason: String,
}

/// The turn ended: its one terminal fact.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnSettled {
    /// How it ended.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// What it took.
    pub spent: Spent,
}

impl Fact {
    /// The kind, as the envelope spells it.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::SessionOpened(_) => "SessionOpened",
            Self::SettingsChanged(_) => "SettingsChanged",
            Self::InputQueued(_) => "InputQueued",
            Self::TurnOpened(_) => "TurnOpened",
            Self::InputAccepted(_) => "InputAccepted",
            Self::SampleStarted(_) => "SampleStarted",
            Self::ItemAdded(_) => "ItemAdded",
            Self::SampleEnded(_) => "SampleEnded",
            Self::SampleCut(_) => "SampleCut",
            Self::CallDecided(_) => "CallDecided",
            Self::CallStarted(_) => "CallStarted",
            Self::CallObserved(_) => "CallObserved",
            Self::InterruptRequested(_) => "InterruptRequested",
            Self::TurnSettled(_) => "TurnSettled",
        }
    }
}
