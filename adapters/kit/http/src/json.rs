//! JSON types that all protocols share: borrowed texts, usage, and tolerant readers for values of
//! undocumented types.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::Value;
use windlass_core::Usage;

use crate::error::DecodeError;

/// Parses JSON. Validates UTF-8 once for the whole input rather than for each text, since nearly
/// all input is valid.
///
/// # Errors
/// When the JSON is invalid or has another type. Invalid UTF-8 is an error only in a text that is
/// read.
pub fn read<'a, T: Deserialize<'a>>(data: &'a [u8]) -> serde_json::Result<T> {
    match std::str::from_utf8(data) {
        Ok(text) => serde_json::from_str(text),
        Err(_) => serde_json::from_slice(data),
    }
}

/// Parses a part of an answer.
///
/// # Errors
/// [`DecodeError::Protocol`] if it is not of the documented types.
pub fn parse<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, DecodeError> {
    serde_json::from_str(text).map_err(|error| {
        DecodeError::Protocol(format!("a part of the answer is not as documented ({error})"))
    })
}

/// Returns a JSON text that reads as `T`: itself, or repaired if its fields are not of the
/// documented types.
///
/// # Errors
/// [`DecodeError::Protocol`] if it is no JSON.
pub fn fit<'a, T: Deserialize<'a>>(
    text: &'a str,
    repaired: fn(Value) -> Value,
) -> Result<Cow<'a, str>, DecodeError> {
    if serde_json::from_str::<T>(text).is_ok() {
        return Ok(Cow::Borrowed(text));
    }
    Ok(Cow::Owned(repaired(parse(text)?).to_string()))
}

/// Text that borrows from the event if it contains no escape.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(transparent)]
pub struct BorrowedText<'a>(#[serde(borrow)] pub Cow<'a, str>);

impl BorrowedText<'_> {
    /// Returns the text as an owned string.
    #[must_use]
    pub fn into_string(self) -> String {
        self.0.into_owned()
    }
}

/// Returns the text unless it is missing or empty.
pub fn non_empty(text: Option<BorrowedText<'_>>) -> Option<String> {
    text.filter(|text| !text.0.is_empty()).map(BorrowedText::into_string)
}

/// Token usage with the field names of all protocols.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default)]
pub struct WireUsage {
    prompt_tokens: Option<u64>,
    input_tokens: Option<u64>,
    completion_tokens: Option<u64>,
    output_tokens: Option<u64>,
    total_tokens: Option<u64>,
    prompt_tokens_details: Option<InputDetails>,
    input_tokens_details: Option<InputDetails>,
    completion_tokens_details: Option<OutputDetails>,
    output_tokens_details: Option<OutputDetails>,
    /// Field of GitHub Copilot.
    reasoning_tokens: Option<u64>,
    /// Field of DeepSeek's own API.
    prompt_cache_hit_tokens: Option<u64>,
    /// Field of Moonshot.
    cached_tokens: Option<u64>,
    /// Field of Anthropic's API, as routers pass it on.
    cache_read_input_tokens: Option<u64>,
    /// Field of Anthropic's API for written tokens.
    cache_creation_input_tokens: Option<u64>,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default)]
struct InputDetails {
    cached_tokens: Option<u64>,
    cache_write_tokens: Option<u64>,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default)]
struct OutputDetails {
    reasoning_tokens: Option<u64>,
}

impl WireUsage {
    /// Converts into common terms; `None` for an empty object.
    #[must_use]
    pub fn to_usage(self) -> Option<Usage> {
        Some(Usage::from(self)).filter(|usage| *usage != Usage::default())
    }
}

impl From<WireUsage> for Usage {
    fn from(wire: WireUsage) -> Self {
        // Routers fill another protocol's fields with 0 when they have no value for them.
        let some = |tokens: &u64| *tokens > 0;
        let input_details = wire.prompt_tokens_details.or(wire.input_tokens_details);
        let output_details = wire.completion_tokens_details.or(wire.output_tokens_details);
        Self {
            input: wire.prompt_tokens.or(wire.input_tokens),
            output: wire.completion_tokens.or(wire.output_tokens),
            total: wire.total_tokens,
            cached_input: input_details
                .and_then(|details| details.cached_tokens)
                .or(wire.prompt_cache_hit_tokens)
                .or(wire.cached_tokens)
                .or(wire.cache_read_input_tokens.filter(some)),
            cache_write: input_details
                .and_then(|details| details.cache_write_tokens)
                .or(wire.cache_creation_input_tokens.filter(some)),
            reasoning_output: output_details
                .and_then(|details| details.reasoning_tokens)
                .or(wire.reasoning_tokens),
        }
    }
}

/// Converts an object's fields with common deviations into the documented types: numbers into
/// texts, and texts or floats into counts. Other deviating fields are dropped.
pub fn repair(object: &mut Value, texts: &[&str], counts: &[&str]) {
    let Some(fields) = object.as_object_mut() else {
        return;
    };
    for name in texts {
        if let Some(value) = fields.get_mut(*name) {
            match value {
                Value::String(_) | Value::Null => {}
                Value::Bool(_) | Value::Number(_) => *value = Value::String(value.to_string()),
                Value::Array(_) | Value::Object(_) => *value = Value::Null,
            }
        }
    }
    for name in counts {
        if let Some(value) = fields.get_mut(*name) {
            *value = count(value).map_or(Value::Null, Value::from);
        }
    }
}

/// Converts a call's arguments from an object into text.
pub fn repair_arguments(object: &mut Value) {
    if let Some(value) = object.get_mut("arguments").filter(|value| value.is_object()) {
        *value = Value::String(value.to_string());
    }
}

/// As [`repair`] for a usage object.
pub fn repair_usage(usage: &mut Value) {
    if !usage.is_object() {
        *usage = Value::Null;
        return;
    }
    let names = [
        "prompt_tokens",
        "completion_tokens",
        "total_tokens",
        "input_tokens",
        "output_tokens",
        "reasoning_tokens",
        "prompt_cache_hit_tokens",
        "cached_tokens",
        "cache_read_input_tokens",
        "cache_creation_input_tokens",
    ];
    repair(usage, &[], &names);
    for name in [
        "prompt_tokens_details",
        "completion_tokens_details",
        "input_tokens_details",
        "output_tokens_details",
    ] {
        if let Some(details) = usage.get_mut(name) {
            repair(details, &[], &["cached_tokens", "cache_write_tokens", "reasoning_tokens"]);
            if !details.is_object() {
                *details = Value::Null;
            }
        }
    }
}

fn count(value: &Value) -> Option<u64> {
    match value {
        Value::Number(number) => number.as_u64().or_else(|| {
            // A cast of a float saturates.
            number.as_f64().filter(|float| *float >= 0.0).map(|float| float as u64)
        }),
        Value::String(text) => text.parse().ok(),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Returns true if a text is one complete JSON value.
pub fn is_json(text: &str) -> bool {
    serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}
