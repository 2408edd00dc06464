//! The envelope: a fact with its position in a log.
//!
//! On disk and on the wire an envelope is one object with the keys `v`, `session`, `seq`, `turn`,
//! `ts`, `cause`, `kind`, `body`, in this order. `kind` must come before `body`. `cause` is present
//! at the first fact of a decision. Unknown keys are rejected: a copy would lose them.

use core::fmt;

use serde::de::{self, Deserializer, MapAccess, Visitor};
use serde::ser::{SerializeStruct, Serializer};
use serde::{Deserialize, Serialize};

use crate::cause::DecisionCause;
use crate::fact::{Fact, Kind};
use crate::id::{Seq, SessionId, TurnId};
use crate::json_size::json_size;
use crate::time::Timestamp;

/// Version of fact bodies that this engine writes, and the newest that it reads.
pub const FACT_VERSION: u32 = 1;

/// A decided fact without a position in a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Draft {
    /// Turn that it belongs to, if any.
    pub turn: Option<TurnId>,
    /// Time of the decision.
    pub ts: Timestamp,
    /// Cause of the decision, at its first fact.
    pub cause: Option<DecisionCause>,
    /// Content of the fact.
    pub fact: Fact,
}

impl Draft {
    /// Returns the fact with its position in the log.
    #[must_use]
    pub fn number(self, session: &SessionId, seq: Seq) -> RecordedFact {
        RecordedFact {
            v: FACT_VERSION,
            session: session.clone(),
            seq,
            turn: self.turn,
            ts: self.ts,
            cause: self.cause,
            fact: self.fact,
        }
    }
}

/// A fact with its position in a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedFact {
    /// Version of the body.
    pub v: u32,
    /// Id of the session.
    pub session: SessionId,
    /// Position in the session's log, from 1, without gaps.
    pub seq: Seq,
    /// Turn that it belongs to, if any.
    pub turn: Option<TurnId>,
    /// Time of the decision.
    pub ts: Timestamp,
    /// Cause of the decision, at its first fact.
    pub cause: Option<DecisionCause>,
    /// Content of the fact.
    pub fact: Fact,
}

impl RecordedFact {
    /// Returns the bytes of the fact's body as JSON, with those of the outputs and images that it
    /// names. They are the same in a fork: an opening counts with its settings only.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let body = if let Fact::SessionOpened(opened) = &self.fact {
            json_size(&opened.settings)
        } else {
            json_size(&Body(&self.fact))
        };
        let blobs = self.fact.blobs().map(|(_, bytes)| bytes);
        blobs.fold(body, u64::saturating_add)
    }
}

/// A fact as an object that has only its body.
struct Body<'a>(&'a Fact);

impl Serialize for Body<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut out = to.serialize_struct("Body", 1)?;
        self.0.encode_body(&mut out)?;
        out.end()
    }
}

/// First keys of an envelope, enough to describe one that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct EnvelopeHeader<K> {
    /// Version of its body.
    pub v: u32,
    /// Kind, as it was written.
    pub kind: K,
}

impl<K: AsRef<str>> EnvelopeHeader<K> {
    /// Returns true if a newer engine wrote it: a newer body version, or an unknown kind.
    #[must_use]
    pub fn is_newer(&self) -> bool {
        self.v > FACT_VERSION || !Fact::KINDS.contains(&self.kind.as_ref())
    }
}

impl Serialize for RecordedFact {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let keys = 7 + usize::from(self.cause.is_some());
        let mut out = to.serialize_struct("RecordedFact", keys)?;
        out.serialize_field("v", &self.v)?;
        out.serialize_field("session", &self.session)?;
        out.serialize_field("seq", &self.seq)?;
        out.serialize_field("turn", &self.turn)?;
        out.serialize_field("ts", &self.ts)?;
        match &self.cause {
            Some(cause) => out.serialize_field("cause", cause)?,
            None => out.skip_field("cause")?,
        }
        out.serialize_field("kind", self.fact.kind())?;
        self.fact.encode_body(&mut out)?;
        out.end()
    }
}

#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "lowercase")]
enum EnvelopeKey {
    V,
    Session,
    Seq,
    Turn,
    Ts,
    Cause,
    Kind,
    Body,
}

impl<'de> Deserialize<'de> for RecordedFact {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        const FIELDS: &[&str] = &["v", "session", "seq", "turn", "ts", "cause", "kind", "body"];
        from.deserialize_struct("RecordedFact", FIELDS, EnvelopeVisitor)
    }
}

struct EnvelopeVisitor;

impl<'de> Visitor<'de> for EnvelopeVisitor {
    type Value = RecordedFact;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an envelope with v, session, seq, turn, ts, cause, kind, body")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<RecordedFact, A::Error> {
        let (mut v, mut session, mut seq) = (None, None, None);
        let (mut turn, mut ts, mut cause, mut kind, mut fact) = (None, None, None, None, None);
        while let Some(key) = map.next_key()? {
            match key {
                EnvelopeKey::V => v = Some(version(map.next_value()?)?),
                EnvelopeKey::Session => session = Some(map.next_value()?),
                EnvelopeKey::Seq => seq = Some(map.next_value()?),
                EnvelopeKey::Turn => turn = map.next_value()?,
                EnvelopeKey::Ts => ts = Some(map.next_value()?),
                EnvelopeKey::Cause => cause = Some(map.next_value()?),
                EnvelopeKey::Kind => kind = Some(map.next_value()?),
                EnvelopeKey::Body => {
                    let kind = kind.ok_or_else(|| de::Error::missing_field("kind"))?;
                    fact = Some(map.next_value_seed::<Kind>(kind)?);
                }
            }
        }
        Ok(RecordedFact {
            v: v.ok_or_else(|| de::Error::missing_field("v"))?,
            session: session.ok_or_else(|| de::Error::missing_field("session"))?,
            seq: seq.ok_or_else(|| de::Error::missing_field("seq"))?,
            turn,
            ts: ts.ok_or_else(|| de::Error::missing_field("ts"))?,
            cause,
            fact: fact.ok_or_else(|| de::Error::missing_field("body"))?,
        })
    }
}

/// There is one version so far. Upcasts of older ones belong where the body is read.
fn version<E: de::Error>(v: u32) -> Result<u32, E> {
    if v == FACT_VERSION { Ok(v) } else { Err(E::custom("this engine does not read this version")) }
}

#[cfg(test)]
mod tests {
    use alloc::string::{String, ToString};

    use serde::de::IntoDeserializer;
    use serde::de::value::{Error, MapDeserializer};

    use super::*;

    fn kind(v: u32, kind: &str) -> EnvelopeHeader<String> {
        EnvelopeHeader { v, kind: kind.into() }
    }

    #[test]
    fn an_envelope_is_newer_by_its_version_or_by_its_kind() {
        for known in Fact::KINDS {
            assert!(!kind(FACT_VERSION, known).is_newer(), "{known}");
            assert!(!kind(FACT_VERSION - 1, known).is_newer(), "{known}");
            assert!(kind(FACT_VERSION + 1, known).is_newer(), "{known}");
        }
        assert!(kind(FACT_VERSION, "Unheard").is_newer());
    }

    #[test]
    fn another_version_is_refused_before_anything_is_missed() {
        for (v, why) in [
            (FACT_VERSION, "missing field `session`"),
            (FACT_VERSION + 1, "this engine does not read this version"),
            (FACT_VERSION - 1, "this engine does not read this version"),
        ] {
            let map = MapDeserializer::<_, Error>::new([("v", v)].into_iter());
            let error = RecordedFact::deserialize(map).unwrap_err();
            assert_eq!(error.to_string(), why);
        }
    }

    #[test]
    fn what_is_no_envelope_is_told_what_one_has() {
        let number = IntoDeserializer::<Error>::into_deserializer(7_u64);
        let error = RecordedFact::deserialize(number).unwrap_err();
        assert_eq!(
            error.to_string(),
            "invalid type: integer `7`, expected an envelope with v, session, seq, turn, ts, cause, kind, body"
        );
    }
}
