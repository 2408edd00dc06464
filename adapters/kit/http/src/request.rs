//! Helpers for the requests of all protocols: make texts valid for the wire.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use windlass_core::{CallItem, Digest, FailureKind, Image, Retry, ToolSpec};
use windlass_ports::ProviderError;

/// Longest call id and tool name that OpenAI accepts.
const MOST_CHARS: usize = 64;

/// Appends a value as JSON.
///
/// # Errors
/// [`ProviderError`] of kind `InvalidRequest` when it cannot be written as JSON.
pub fn write<T: Serialize + ?Sized>(out: &mut Vec<u8>, value: &T) -> Result<(), ProviderError> {
    serde_json::to_writer(out, value).map_err(|error| {
        ProviderError::new(
            FailureKind::InvalidRequest,
            Retry::Never,
            format!("writing the request to the model: {error}"),
        )
    })
}

/// Returns a tool's schema, embedded as it is.
///
/// # Errors
/// [`ProviderError`] of kind `InvalidRequest` when it is not JSON.
pub fn schema(tool: &ToolSpec) -> Result<Box<RawValue>, ProviderError> {
    RawValue::from_string(tool.parameters.clone()).map_err(|error| {
        let context = format!(
            "the parameters of the tool {} are not JSON ({error}): correct its declaration",
            tool.name
        );
        ProviderError::new(FailureKind::InvalidRequest, Retry::Never, context)
    })
}

/// Starts an object of a list: writes a comma unless it is the first.
pub fn separate(out: &mut Vec<u8>) {
    if !matches!(out.last(), Some(b'[') | None) {
        out.push(b',');
    }
}

/// Returns a call's id as it is sent: an id that is too long for OpenAI is replaced by its digest.
#[must_use]
pub fn call_id(id: &str) -> Cow<'_, str> {
    if id.len() <= MOST_CHARS {
        return Cow::Borrowed(id);
    }
    Cow::Owned(format!("call_{}", Digest::EMPTY.part(id.as_bytes())))
}

/// Returns a tool's name as it is sent back. A model may have invented a name that the provider
/// rejects.
#[must_use]
pub fn tool_name(name: &str) -> Cow<'_, str> {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if !name.is_empty() && name.len() <= MOST_CHARS && name.chars().all(fits) {
        return Cow::Borrowed(name);
    }
    let fit: String =
        name.chars().map(|c| if fits(c) { c } else { '_' }).take(MOST_CHARS).collect();
    Cow::Owned(if fit.is_empty() { String::from("_") } else { fit })
}

/// Returns a call's arguments as they are sent back. Servers parse them, so arguments that are no
/// JSON object are wrapped into one: the model still sees its own text.
#[must_use]
pub fn arguments(call: &CallItem) -> Cow<'_, str> {
    // Parsed fully, since an unpaired surrogate is detected only when the text is read.
    let object = serde_json::from_str::<Map<String, Value>>(&call.arguments);
    if object.is_ok() {
        return Cow::Borrowed(&call.arguments);
    }
    Cow::Owned(serde_json::json!({ "not_a_json_object": call.arguments }).to_string())
}

/// Introduces the images of results where a protocol has no place for them in the results.
pub const RESULT_IMAGES: &str = "[The images of the tool results above:]";

/// Returns the text that replaces an image of a result which the model cannot be shown.
#[must_use]
pub fn result_image_placeholder(image: &Image) -> String {
    format!(
        "[The tool showed an image here ({}, {} bytes), which cannot be shown to you.]",
        image.media.as_str(),
        image.bytes
    )
}

/// Returns the text that replaces an image of the user which the model cannot be shown.
#[must_use]
pub fn image_placeholder(image: &Image) -> String {
    format!(
        "[The user showed an image here ({}, {} bytes), which cannot be shown to you.]",
        image.media.as_str(),
        image.bytes
    )
}
