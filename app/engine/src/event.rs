//! Events: what a subscriber sees.

use std::sync::Arc;

use bytes::Bytes;
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use windlass_core::{CallId, Delta, FACT_VERSION, Seq, SessionId, Timestamp, TurnId};
use windlass_ports::codec::CodecError;

use crate::error::DriverEnd;
use crate::published::{LiveBatch, PublishedFact};

/// Event of a session, as a subscriber receives it.
#[derive(Debug, Clone)]
pub enum Event {
    /// A durable fact. Each comes exactly once, in order.
    Fact(PublishedFact),
    /// Live deltas. They come after the fact that their run or call began with, before the facts that
    /// they add up to, and may be missed.
    Live(LiveBatch),
    /// Events came faster than they were taken: `missed` events were dropped. Facts among them
    /// follow from the log; live deltas are gone.
    Lagged {
        /// Number of missed events.
        missed: u64,
    },
    /// The session's driver ended; nothing follows.
    Ended(Arc<DriverEnd>),
}

impl Event {
    /// Returns the event as JSON texts: for a fact its envelope, byte for byte as in the log and
    /// its exports; for live deltas one envelope each; for the others nothing. No text contains a
    /// line break.
    ///
    /// They are made when the first subscriber asks, and are shared by all who were sent the same
    /// event.
    ///
    /// # Errors
    /// [`CodecError::Malformed`] when something does not serialise, which no fact of ours does.
    pub fn json(&self) -> Result<&[Bytes], &CodecError> {
        match self {
            Self::Fact(fact) => fact.texts(),
            Self::Live(all) => all.texts(),
            Self::Lagged { .. } | Self::Ended(_) => Ok(&[]),
        }
    }
}

/// One thing on the live plane. It is not durable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveEvent {
    /// Id of the session.
    pub session: SessionId,
    /// Id of the turn.
    pub turn: TurnId,
    /// Time of the event.
    pub ts: Timestamp,
    /// Content of the event.
    pub kind: LiveKind,
}

/// Content of a live event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LiveKind {
    /// A model's answer as it streams.
    Delta {
        /// The run: the position of its `SampleStarted`.
        started: Seq,
        /// Delta of an answer.
        delta: Delta,
    },
    /// Progress report of a tool.
    Progress {
        /// Id of the call.
        call: CallId,
        /// Text of the report.
        text: String,
    },
}

impl LiveKind {
    /// The kind, as the envelope spells it.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Delta { delta, .. } => match delta {
                Delta::Text { .. } => "TextDelta",
                Delta::Refusal { .. } => "RefusalDelta",
                Delta::Reasoning { .. } => "ReasoningDelta",
                Delta::Call { .. } => "CallDelta",
                Delta::Arguments { .. } => "ArgumentsDelta",
            },
            Self::Progress { .. } => "CallProgress",
        }
    }
}

/// The envelope of a fact, with `seq` null: it is in no log.
impl Serialize for LiveEvent {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut out = to.serialize_map(Some(7))?;
        out.serialize_entry("v", &FACT_VERSION)?;
        out.serialize_entry("session", &self.session)?;
        out.serialize_entry("seq", &None::<u64>)?;
        out.serialize_entry("turn", &self.turn)?;
        out.serialize_entry("ts", &self.ts)?;
        out.serialize_entry("kind", self.kind.name())?;
        out.serialize_entry("body", &LiveBodyJson(&self.kind))?;
        out.end()
    }
}

struct LiveBodyJson<'a>(&'a LiveKind);

impl Serialize for LiveBodyJson<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut out = to.serialize_map(None)?;
        match self.0 {
            LiveKind::Progress { call, text } => {
                out.serialize_entry("call", call)?;
                out.serialize_entry("text", text)?;
            }
            LiveKind::Delta { started, delta } => {
                out.serialize_entry("started", started)?;
                let (slot, key, text) = match delta {
                    Delta::Text { slot, text }
                    | Delta::Refusal { slot, text }
                    | Delta::Reasoning { slot, text }
                    | Delta::Arguments { slot, text } => (slot, "text", text),
                    Delta::Call { slot, name } => (slot, "name", name),
                };
                out.serialize_entry("slot", slot)?;
                out.serialize_entry(key, text)?;
            }
        }
        out.end()
    }
}
