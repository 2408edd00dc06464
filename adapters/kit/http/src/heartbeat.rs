//! Heartbeats of a stream: data that is no part of an answer and may be ignored.

use serde_json::Value;

/// Names of heartbeats, and words in their place.
const WORDS: &[&[u8]] =
    &[b"ping", b"pong", b"keepalive", b"keep-alive", b"keep_alive", b"heartbeat"];

/// Returns true if an event whose data is no JSON object only shows that the connection is alive.
///
/// Its name or its data says so, or its data is empty, a beginning of `[DONE]`, or a JSON value that
/// holds no object. Other data may be a damaged part of the answer, so that ignoring it could shorten the
/// answer.
#[must_use]
pub fn is_heartbeat(name: &[u8], data: &[u8]) -> bool {
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
        for data in ["choices\":[{\"delta\":{\"content\":\"B\"}}]}", "B", "[{}]", "[1", "\"B"] {
            assert!(!is_heartbeat(b"", data.as_bytes()), "{data}");
        }
        assert!(!is_heartbeat(b"message", b"B"));
    }
}
