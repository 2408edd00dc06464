//! Words: how scripts and transcripts spell the core's own enums, which is how facts spell them.

use std::borrow::Cow;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Spells a unit variant, for example `read_only`.
pub(crate) fn spell<T: Serialize>(value: &T) -> String {
    match serde_json::to_value(value) {
        Ok(Value::String(word)) => word,
        Ok(other) => other.to_string(),
        Err(error) => error.to_string(),
    }
}

/// Text as a script writes it: many times the same character as `x*600`.
pub(crate) fn short(text: &str) -> Cow<'_, str> {
    let mut letters = text.chars();
    match letters.next() {
        Some(first) if text.len() > LONG && letters.all(|letter| letter == first) => {
            Cow::Owned(format!("{first}*{}", text.chars().count()))
        }
        Some(_) | None => Cow::Borrowed(text),
    }
}

/// Reads what [`short`] writes.
pub(crate) fn long(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next();
    let count = letters.as_str().strip_prefix('*').map(str::parse);
    match (first, count) {
        (Some(first), Some(Ok(count))) => first.to_string().repeat(count),
        (_, _) => text.to_owned(),
    }
}

/// Texts up to this many bytes are written as they are.
const LONG: usize = 40;

/// Reads a unit variant.
pub(crate) fn word<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    serde_json::from_value(Value::from(text)).map_err(|error| format!("{text}: {error}"))
}
