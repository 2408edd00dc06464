//! Law 12: facts round-trip, and what a newer engine wrote is refused by name.
//!
//! A fact comes back from its text form as it was, and has one text form only. A newer body
//! version and an unknown kind are told from damage. (That old versions fold to their digest is
//! shown by the golden logs.)
//!
//! It kills: a field that is not written, or written in a form that reads as something else.

use serde_json::Value;
use windlass_core::{FACT_VERSION, RecordedFact};
use windlass_ports::codec::{self, CodecError};

use super::{Broken, Held, broken, hold};

/// Writes a fact as text.
pub type Encode = fn(&RecordedFact) -> Result<Vec<u8>, CodecError>;

/// Checks one fact.
///
/// # Errors
/// [`Broken`] when it comes back as something else, or a newer one is not told.
pub fn check(encode: Encode, recorded: &RecordedFact) -> Held {
    let text = encode(recorded).map_err(|error| unread(recorded, &error))?;
    let back = codec::decode(&text).map_err(|error| unread(recorded, &error))?;
    hold(12, back == *recorded, || format!("{recorded:?}\ncomes back as {back:?}"))?;
    let again = encode(&back).map_err(|error| unread(recorded, &error))?;
    hold(12, again == text, || format!("{recorded:?} has two text forms"))?;
    hold(12, !text.contains(&b'\n'), || format!("{recorded:?} takes more than one line"))?;
    newer(&text, "v", Value::from(FACT_VERSION + 1))?;
    newer(&text, "kind", Value::from("FromTheFuture"))
}

/// Checks that a fact with one key changed is told to be newer.
fn newer(text: &[u8], key: &str, value: Value) -> Held {
    let mut envelope: serde_json::Map<String, Value> =
        serde_json::from_slice(text).map_err(|error| broken(12, error.to_string()))?;
    envelope.insert(key.to_owned(), value);
    let text = serde_json::to_vec(&envelope).map_err(|error| broken(12, error.to_string()))?;
    let answer = codec::decode(&text);
    hold(12, matches!(answer, Err(CodecError::Newer { .. })), || {
        format!("an envelope with a newer {key} reads as {answer:?}")
    })
}

fn unread(recorded: &RecordedFact, error: &CodecError) -> Broken {
    broken(12, format!("{recorded:?}: {error}"))
}
