//! The text form of a log: one JSON object per line, the envelope of `windlass-core`.
//!
//! Stores, `windlass log`, `export` and `import` all use this, so their envelopes are
//! byte-identical. A fact of an older version, or of a newer minor version, has the same text after
//! reading and writing.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use windlass_core::{
    BodyForm, BodyReader, DecisionCause, EnvelopeHeader, FactFormat, FormatVersion, RecordedFact,
    SealedFact, Seq, SessionId, Timestamp, TurnId,
};

/// Error for an envelope that cannot be decoded.
#[derive(Debug, thiserror::Error)]
pub enum CodecError {
    /// A newer engine wrote the envelope.
    #[error("{}", newer(*format, kind))]
    Newer {
        /// Format of its body.
        format: FormatVersion,
        /// Kind of the fact.
        kind: String,
    },
    /// The text is not an envelope.
    #[error("not an envelope: {0}")]
    Malformed(#[source] serde_json::Error),
}

/// Message for a fact of a newer engine, with the version to use.
fn newer(format: FormatVersion, kind: &str) -> String {
    let current = FormatVersion::CURRENT;
    let release = env!("CARGO_PKG_VERSION");
    if format > current {
        format!(
            "a fact of kind {kind} has log format {format}, written by a newer engine than this \
             one ({release}), which reads up to format {current}: use a release that reads format \
             {format}"
        )
    } else {
        format!(
            "a fact of kind {kind} was written by a newer engine than this one ({release}), whose \
             log format {current} has no such kind: use a release after {release}"
        )
    }
}

/// Capacity in bytes that fits most envelopes, so that writing them does not reallocate.
const TYPICAL_BYTES: usize = 512;

/// Envelope whose body is a text.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawEnvelope<'a> {
    v: u32,
    #[serde(default, skip_serializing_if = "is_zero")]
    minor: u32,
    session: SessionId,
    seq: Seq,
    turn: Option<TurnId>,
    ts: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cause: Option<DecisionCause>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sealed: Option<SealedFact>,
    kind: &'a str,
    #[serde(borrow)]
    body: &'a RawValue,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_zero(minor: &u32) -> bool {
    *minor == 0
}

/// Start of an envelope of this version without a minor version, whose body this engine knows.
const CURRENT_START: &[u8] = br#"{"v":1,"session":""#;
/// Key before the kind. What precedes it in an envelope has no such text.
const KIND: &[u8; 8] = br#""kind":""#;
/// Bytes in which the kind is looked for.
const KIND_WITHIN: usize = 512;

/// Finds the kind of a fact in its text without decoding it; `None` if the text does not begin as
/// this version writes it.
#[must_use]
pub fn kind(text: &[u8]) -> Option<&str> {
    let start = text.get(..text.len().min(KIND_WITHIN))?.strip_prefix(CURRENT_START)?;
    let at = start.windows(KIND.len()).position(|bytes| bytes == KIND)?;
    let kind = start.get(at + KIND.len()..)?;
    let end = kind.iter().position(|byte| *byte == b'"')?;
    std::str::from_utf8(kind.get(..end)?).ok()
}

/// Encodes an envelope, without a line end.
///
/// # Errors
/// [`CodecError::Malformed`] when the fact does not serialise, which no fact of the core does.
pub fn encode(recorded: &RecordedFact) -> Result<Vec<u8>, CodecError> {
    let mut text = Vec::with_capacity(TYPICAL_BYTES);
    let written = match &recorded.format.body {
        None => serde_json::to_writer(&mut text, recorded),
        Some(body) => encode_raw(&mut text, recorded, body),
    };
    written.map_err(CodecError::Malformed)?;
    Ok(text)
}

fn encode_raw(
    text: &mut Vec<u8>,
    recorded: &RecordedFact,
    body: &str,
) -> Result<(), serde_json::Error> {
    let FormatVersion { version, minor } = recorded.format.at;
    let envelope = RawEnvelope {
        v: version,
        minor,
        session: recorded.session.clone(),
        seq: recorded.seq,
        turn: recorded.turn,
        ts: recorded.ts,
        cause: recorded.cause,
        sealed: recorded.format.sealed.as_deref().cloned(),
        kind: recorded.fact.kind(),
        body: serde_json::from_str(body)?,
    };
    serde_json::to_writer(text, &envelope)
}

/// Decodes an envelope.
///
/// # Errors
/// [`CodecError::Newer`] when a newer engine wrote it, [`CodecError::Malformed`] when it is none.
pub fn decode(text: &[u8]) -> Result<RecordedFact, CodecError> {
    serde_json::from_slice(text).or_else(|error| {
        let header: Result<EnvelopeHeader<String>, _> = serde_json::from_slice(text);
        let form = header.map(|head| BodyReader::CURRENT.form(&head.kind, head.format()));
        match form {
            Ok(BodyForm::Older | BodyForm::NewerMinor | BodyForm::Newer) => {
                decode_as(text, &BodyReader::CURRENT)
            }
            Ok(BodyForm::Known | BodyForm::Never) | Err(_) => Err(CodecError::Malformed(error)),
        }
    })
}

/// Decodes an envelope with the versions that a reader knows. The fact keeps the text of its body.
///
/// # Errors
/// As [`decode`].
pub fn decode_as(text: &[u8], reader: &BodyReader<'_>) -> Result<RecordedFact, CodecError> {
    let head: EnvelopeHeader<String> =
        serde_json::from_slice(text).map_err(CodecError::Malformed)?;
    let format = head.format();
    if reader.form(&head.kind, format) == BodyForm::Newer {
        return Err(CodecError::Newer { format, kind: head.kind });
    }
    let raw: RawEnvelope<'_> = serde_json::from_slice(text).map_err(CodecError::Malformed)?;
    read_body(raw, reader, format).map_err(CodecError::Malformed)
}

fn read_body(
    raw: RawEnvelope<'_>,
    reader: &BodyReader<'_>,
    at: FormatVersion,
) -> Result<RecordedFact, serde_json::Error> {
    let body = raw.body.get();
    if body.contains(['\n', '\r']) {
        return Err(serde::de::Error::custom("its body has line ends"));
    }
    let tree = serde_json::from_str(body)?;
    let fact = reader.read(raw.kind, at, tree).map_err(serde::de::Error::custom)?;
    Ok(RecordedFact {
        format: FactFormat { at, body: Some(Arc::from(body)), sealed: raw.sealed.map(Arc::new) },
        session: raw.session,
        seq: raw.seq,
        turn: raw.turn,
        ts: raw.ts,
        cause: raw.cause,
        fact,
    })
}

#[cfg(test)]
#[path = "codec_tests.rs"]
mod tests;
