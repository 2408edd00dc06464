//! The envelope: a fact with its position in a log.
//!
//! On disk and on the wire an envelope is one object with the keys `v`, `minor`, `session`, `seq`,
//! `turn`, `ts`, `cause`, `kind`, `body`, in this order. `kind` must come before `body`. `minor` is
//! absent where it is 0. `cause` is present at the first fact of a decision. An encrypted fact has
//! the key `sealed` before `kind`. Unknown keys are rejected: a copy would lose them.

use alloc::sync::Arc;
use core::fmt;
use core::ops::RangeInclusive;

use serde::de::{self, Deserializer, MapAccess, Visitor};
use serde::ser::{self, SerializeStruct, Serializer};
use serde::{Deserialize, Serialize};

use crate::cause::DecisionCause;
use crate::fact::{Fact, Kind};
use crate::format::{FACT_MINOR, FACT_VERSION, FactFormat, FormatVersion};
use crate::id::{Seq, SessionId, TurnId};
use crate::json_size::json_size;
use crate::time::Timestamp;

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
            format: FactFormat::CURRENT,
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
    /// Format in which it is stored.
    pub format: FactFormat,
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
        if let Some(sealed) = &self.format.sealed {
            return sealed.bytes;
        }
        let body = if let Fact::SessionOpened(opened) = &self.fact {
            json_size(&opened.settings)
        } else {
            json_size(&Body(&self.fact))
        };
        let blobs = self.fact.blobs().map(|(_, bytes)| bytes);
        blobs.fold(body, u64::saturating_add)
    }

    /// Returns the bytes of the envelope as JSON; `None` if its body is a text of another format. An
    /// envelope with a floating-point number may have a few bytes less.
    #[must_use]
    pub fn envelope_bytes(&self) -> Option<u64> {
        self.format.body.is_none().then(|| json_size(self))
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
    /// Minor version of its body.
    #[serde(default)]
    pub minor: u32,
    /// Kind, as it was written.
    pub kind: K,
}

impl<K> EnvelopeHeader<K> {
    /// Returns the format of the envelope's body.
    #[must_use]
    pub fn format(&self) -> FormatVersion {
        FormatVersion { version: self.v, minor: self.minor }
    }
}

/// Writes a fact whose body this engine would write in the same form. The body of another is a text,
/// which the codec of the ports writes.
impl Serialize for RecordedFact {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        if self.format.body.is_some() {
            return Err(ser::Error::custom("the body of a fact of another format is a text"));
        }
        let FormatVersion { version, minor } = self.format.at;
        let sealed = &self.format.sealed;
        let optional = [minor > 0, self.cause.is_some(), sealed.is_some()];
        let keys = 7 + optional.into_iter().filter(|has| *has).count();
        let mut out = to.serialize_struct("RecordedFact", keys)?;
        out.serialize_field("v", &version)?;
        match minor {
            0 => out.skip_field("minor")?,
            minor => out.serialize_field("minor", &minor)?,
        }
        out.serialize_field("session", &self.session)?;
        out.serialize_field("seq", &self.seq)?;
        out.serialize_field("turn", &self.turn)?;
        out.serialize_field("ts", &self.ts)?;
        match &self.cause {
            Some(cause) => out.serialize_field("cause", cause)?,
            None => out.skip_field("cause")?,
        }
        match sealed {
            Some(sealed) => out.serialize_field("sealed", &**sealed)?,
            None => out.skip_field("sealed")?,
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
    Minor,
    Session,
    Seq,
    Turn,
    Ts,
    Cause,
    Sealed,
    Kind,
    Body,
}

impl<'de> Deserialize<'de> for RecordedFact {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        const FIELDS: &[&str] =
            &["v", "minor", "session", "seq", "turn", "ts", "cause", "sealed", "kind", "body"];
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
        let (mut v, mut minor, mut session, mut seq) = (None, 0, None, None);
        let (mut turn, mut ts, mut cause) = (None, None, None);
        let (mut sealed, mut kind, mut fact) = (None, None, None);
        while let Some(key) = map.next_key()? {
            match key {
                EnvelopeKey::V => v = Some(known(map.next_value()?, FACT_VERSION..=FACT_VERSION)?),
                EnvelopeKey::Minor => minor = known(map.next_value()?, 0..=FACT_MINOR)?,
                EnvelopeKey::Session => session = Some(map.next_value()?),
                EnvelopeKey::Seq => seq = Some(map.next_value()?),
                EnvelopeKey::Turn => turn = map.next_value()?,
                EnvelopeKey::Ts => ts = Some(map.next_value()?),
                EnvelopeKey::Cause => cause = Some(map.next_value()?),
                EnvelopeKey::Sealed => sealed = Some(Arc::new(map.next_value()?)),
                EnvelopeKey::Kind => kind = Some(map.next_value()?),
                EnvelopeKey::Body => {
                    let kind = kind.ok_or_else(|| de::Error::missing_field("kind"))?;
                    fact = Some(map.next_value_seed::<Kind>(kind)?);
                }
            }
        }
        let version = v.ok_or_else(|| de::Error::missing_field("v"))?;
        Ok(RecordedFact {
            format: FactFormat { at: FormatVersion { version, minor }, body: None, sealed },
            session: session.ok_or_else(|| de::Error::missing_field("session"))?,
            seq: seq.ok_or_else(|| de::Error::missing_field("seq"))?,
            turn,
            ts: ts.ok_or_else(|| de::Error::missing_field("ts"))?,
            cause,
            fact: fact.ok_or_else(|| de::Error::missing_field("body"))?,
        })
    }
}

/// Returns a version whose bodies have the form of this engine's.
fn known<E: de::Error>(v: u32, known: RangeInclusive<u32>) -> Result<u32, E> {
    if known.contains(&v) {
        Ok(v)
    } else {
        Err(E::custom("this version's bodies have another form"))
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use serde::de::IntoDeserializer;
    use serde::de::value::{Error, MapDeserializer};

    use super::*;

    #[test]
    fn another_version_is_refused_before_anything_is_missed() {
        for (v, why) in [
            (FACT_VERSION, "missing field `session`"),
            (FACT_VERSION + 1, "this version's bodies have another form"),
            (FACT_VERSION - 1, "this version's bodies have another form"),
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
