//! Letters and replies as they are written: JSON, with the version of their form first.

use serde::{Deserialize, Serialize};
use windlass_core::machine::Fault;
use windlass_core::{Kept, Reject, Scope, Seq, Timestamp};

use super::said::Said;
use crate::error::SendError;
use crate::size;

/// The version of the form. One that is higher is of a newer release, and is not read.
const VERSION: u32 = 1;
/// The longest words of a refusal, in bytes; the rest is dropped.
const WORDS: usize = 2_048;

const MINUTE_MS: u64 = 60_000;
const DAY_MS: u64 = 24 * 60 * MINUTE_MS;

/// A letter: a word for whoever drives the session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Note {
    v: u32,
    /// What the word is known by in the log.
    pub(crate) key: String,
    /// Who says it.
    pub(crate) scope: Scope,
    /// When it was left.
    pub(crate) left: Timestamp,
    /// Until when it may be acted upon.
    pub(crate) until: Timestamp,
    pub(crate) body: Body,
}

/// Where a letter has what is said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Body {
    /// In itself.
    Here(Said),
    /// In a blob of the session, in the form that it would have here.
    Kept(Kept),
}

/// The reply to a letter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Answered {
    v: u32,
    pub(crate) became: Became,
}

/// What became of a word.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Became {
    /// It was taken, and is durable.
    Accepted {
        /// The position of its first fact; where it led to none, the next one.
        first: Seq,
        /// The last position that it led to.
        last: Seq,
    },
    /// It was refused, and changed nothing.
    Refused(Refusal),
}

/// Why a word was refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Refusal {
    /// By the core.
    Rejected(Reject),
    /// The settings cannot be used.
    Settings(String),
    /// It is larger than a fact may be.
    TooLarge(usize),
    /// It came when it was not to be acted upon any more.
    Late {
        /// Until when it was.
        until: Timestamp,
    },
    /// The node that drives the session cannot read it.
    Unread(String),
}

/// The form of anything, as far as its version.
#[derive(Deserialize)]
struct Versioned {
    v: u32,
}

/// Why a text is no letter, or no reply, that this release reads.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NotRead(pub(crate) String);

impl Note {
    pub(crate) fn new(
        key: &str,
        scope: &Scope,
        left: Timestamp,
        body: Body,
        lasts_ms: u64,
    ) -> Self {
        Self {
            v: VERSION,
            key: key.to_owned(),
            scope: scope.clone(),
            left,
            until: left.plus_ms(lasts_ms),
            body,
        }
    }

    pub(crate) fn write(&self) -> Result<Vec<u8>, serde_json::Error> {
        serde_json::to_vec(self)
    }

    pub(crate) fn read(bytes: &[u8]) -> Result<Self, NotRead> {
        read(bytes)
    }
}

impl Answered {
    pub(crate) fn new(became: Became) -> Self {
        Self { v: VERSION, became }
    }

    pub(crate) fn write(&self) -> Result<Vec<u8>, serde_json::Error> {
        serde_json::to_vec(self)
    }

    pub(crate) fn read(bytes: &[u8]) -> Result<Self, NotRead> {
        read(bytes)
    }
}

/// For how long a word may be acted upon after it was left, in milliseconds, should nobody drive its
/// session for so long.
///
/// What a person has said to the model, and an answer to a question, are still meant a day later: an
/// answer names its question, and fits no other. What is about the moment, to stop, to go on, or with
/// which settings, is meant for ten minutes. Clocks of nodes may differ by a few seconds, which is
/// nothing to either.
pub(crate) fn lasts_ms(said: &Said) -> u64 {
    match said {
        Said::Send(_) | Said::SetGoal { .. } | Said::Answer { .. } => DAY_MS,
        Said::Configure { .. } | Said::Interrupt { .. } | Said::GoOn {} => 10 * MINUTE_MS,
    }
}

fn read<T: serde::de::DeserializeOwned>(bytes: &[u8]) -> Result<T, NotRead> {
    let wrong = |error: serde_json::Error| NotRead(error.to_string());
    let Versioned { v } = serde_json::from_slice(bytes).map_err(wrong)?;
    if v != VERSION {
        let why = format!("it has version {v} of its form, and this release reads {VERSION}");
        return Err(NotRead(why));
    }
    serde_json::from_slice(bytes).map_err(wrong)
}

impl From<Fault> for Refusal {
    fn from(fault: Fault) -> Self {
        let words = |mut words: String| {
            size::cut(&mut words, WORDS);
            words
        };
        match fault {
            Fault::Settings(why) => Self::Settings(words(why)),
            Fault::TooLarge(bytes) => Self::TooLarge(bytes),
            Fault::Unread(why) => Self::Unread(words(why)),
        }
    }
}

impl From<Refusal> for SendError {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Rejected(reject) => Self::Rejected(reject),
            Refusal::Settings(why) => Self::Settings(why),
            Refusal::TooLarge(bytes) => Self::TooLarge(bytes),
            Refusal::Late { until } => Self::Late { until },
            Refusal::Unread(why) => Self::Unread(why),
        }
    }
}
