//! The text form of a log: one JSON object per line, the envelope of `windlass-core`.
//!
//! Stores, `windlass log`, `export` and `import` all use this, so their envelopes are
//! byte-identical.

use windlass_core::{EnvelopeHeader, FACT_VERSION, RecordedFact};

/// Error for an envelope that cannot be decoded.
#[derive(Debug, thiserror::Error)]
pub enum CodecError {
    /// A newer engine wrote the envelope.
    #[error(
        "a fact of kind {kind} and version {v} was written by a newer engine than this one, \
         which reads up to version {FACT_VERSION}: use that engine"
    )]
    Newer {
        /// Version of its body.
        v: u32,
        /// Kind of the fact.
        kind: String,
    },
    /// The text is not an envelope.
    #[error("not an envelope: {0}")]
    Malformed(#[source] serde_json::Error),
}

/// Capacity in bytes that fits most envelopes, so that writing them does not reallocate.
const TYPICAL_BYTES: usize = 512;

/// Encodes an envelope, without a line end.
///
/// # Errors
/// [`CodecError::Malformed`] when the fact does not serialise, which no fact of the core does.
pub fn encode(recorded: &RecordedFact) -> Result<Vec<u8>, CodecError> {
    let mut text = Vec::with_capacity(TYPICAL_BYTES);
    serde_json::to_writer(&mut text, recorded).map_err(CodecError::Malformed)?;
    Ok(text)
}

/// Decodes an envelope.
///
/// # Errors
/// [`CodecError::Newer`] when a newer engine wrote it, [`CodecError::Malformed`] when it is none.
pub fn decode(text: &[u8]) -> Result<RecordedFact, CodecError> {
    serde_json::from_slice(text).map_err(|error| {
        match serde_json::from_slice::<EnvelopeHeader<String>>(text) {
            Ok(head) if head.is_newer() => CodecError::Newer { v: head.v, kind: head.kind },
            Ok(_) | Err(_) => CodecError::Malformed(error),
        }
    })
}
