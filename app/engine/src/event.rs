//! Events: the facts and live deltas that a subscriber receives.

use std::sync::Arc;

use bytes::Bytes;
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use windlass_core::{CallId, Delta, FACT_VERSION, Seq, SessionId, Timestamp, TurnId};
use windlass_ports::codec::CodecError;

use crate::error::DriverEnd;
use crate::published::{LiveBatch, PublishedFact};
use crate::store_watch::StoreStatus;

/// Event of a session, as a subscriber receives it.
#[derive(Debug, Clone)]
pub enum Event {
    /// Durable fact. Each is returned exactly once, in order.
    Fact(PublishedFact),
    /// Live deltas. They follow the fact that starts their run or call and precede the facts that
    /// contain their text. The deltas of a part add up to its item, unless [`Event::Lagged`] comes
    /// between them.
    Live(LiveBatch),
    /// Events were dropped, since they arrived faster than the subscriber received them or were
    /// lost between nodes. The live text that was received of parts without an item is void: the
    /// next deltas of a part begin with its whole text so far, unless its item comes first. No fact
    /// is dropped.
    Lagged {
        /// Number of missed events, at least one.
        missed: u64,
    },
    /// The store failed, or works again. A stream that begins while it has failed receives that
    /// first. Streams of a bound handle do not receive it: a failure ends their driver.
    Store(StoreStatus),
    /// The session's driver ended; nothing follows.
    Ended(Arc<DriverEnd>),
}

impl Event {
    /// Returns the event as JSON texts. A fact is one text: its envelope, byte for byte as in the
    /// log and its exports. Live deltas are one envelope each. Other events have no text. No text
    /// contains a line break.
    ///
    /// The texts are made on the first call and shared by all subscribers of the event.
    ///
    /// # Errors
    /// [`CodecError::Malformed`] when a value does not serialise, which no fact of this engine
    /// does.
    pub fn json(&self) -> Result<&[Bytes], &CodecError> {
        match self {
            Self::Fact(fact) => fact.texts(),
            Self::Live(all) => all.texts(),
            Self::Lagged { .. } | Self::Store(_) | Self::Ended(_) => Ok(&[]),
        }
    }
}

/// Event that is not durable.
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
    /// Delta of a streamed answer.
    Delta {
        /// Position of the `SampleStarted` of the run.
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
    /// Returns the kind, as the envelope names it.
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

/// Serialises the envelope of a fact with a null `seq`, since it is in no log.
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
