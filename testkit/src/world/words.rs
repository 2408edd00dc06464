//! Words: how scripts and transcripts spell the core's own enums, which is how facts spell them.

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

/// Reads a unit variant.
pub(crate) fn word<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    serde_json::from_value(Value::from(text)).map_err(|error| format!("{text}: {error}"))
}
