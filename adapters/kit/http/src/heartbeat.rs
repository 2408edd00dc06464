//! Heartbeats of a stream: data that is no part of an answer and may be ignored.

use serde_json::Value;

use crate::error::DecodeError;

/// Names of heartbeats, and words in their place.
const WORDS: &[&[u8]] =
    &[b"ping", b"pong", b"keepalive", b"keep-alive", b"keep_alive", b"heartbeat"];

/// Accepts an event whose data is no JSON object, if it only shows that the connection is alive.
///
/// # Errors
/// [`DecodeError::Protocol`] if it may be a damaged part of the answer, so that ignoring it could
/// shorten the answer.
pub fn accept_heartbeat(name: &[u8], data: &[u8]) -> Result<(), DecodeError> {
    match is_heartbeat(name, data) {
        true => Ok(()),
        false => Err(DecodeError::Protocol("an event of the stream is not JSON".to_owned())),
    }
}

/// Returns true if the name or the data says so, or the data is empty, a beginning of `[DONE]`, a
/// JSON scalar or an empty array.
fn is_heartbeat(name: &[u8], data: &[u8]) -> bool {
    let data = data.trim_ascii();
    let is_word = |text: &[u8]| WORDS.iter().any(|word| text.eq_ignore_ascii_case(word));
    if b"[DONE]".starts_with(data) || is_word(name) || is_word(data) {
        return true;
    }
    match serde_json::from_slice(data) {
        Ok(Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) => true,
        Ok(Value::Array(list)) => list.is_empty(),
        Ok(Value::Object(_)) | Err(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_cannot_be_a_part_of_an_answer_is_a_heartbeat() {
        for data in
            ["", " ", "[DONE]", "[DO", "ping", "PING", "keep-alive", "null", "7", "\"now\"", "[]"]
        {
            assert!(is_heartbeat(b"", data.as_bytes()), "{data}");
        }
        assert!(is_heartbeat(b"ping", b"Wed, 25 Nov"));
        for data in
            ["choices\":[{\"delta\":{\"content\":\"B\"}}]}", "B", "[{}]", "[1]", "[1", "\"B"]
        {
            assert!(!is_heartbeat(b"", data.as_bytes()), "{data}");
        }
        assert!(!is_heartbeat(b"message", b"B"));
    }
}
