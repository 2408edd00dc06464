//! Tests of answers that come as one JSON body in place of a stream, from their bytes.

use serde_json::{Value, json};
use windlass_core::{StopReason, StreamEvent};
use windlass_kit_http::{DecodeError, Decoder, SseCaps};
use windlass_ports::StreamState;

use super::expected::{arguments, opened};
use crate::config::Api;
use crate::decode::OpenAiDecoder;

fn read(api: Api, body: &str, most: usize) -> Result<Vec<StreamEvent>, DecodeError> {
    let events = OpenAiDecoder::new(api, "http://host/v1", "m");
    let caps = SseCaps { event: most, ..SseCaps::default() };
    let mut decoder = Decoder::new(events, caps);
    let mut out = Vec::new();
    for chunk in body.as_bytes().chunks(5) {
        assert_eq!(decoder.read(chunk, &mut out)?, StreamState::More);
    }
    assert_eq!(decoder.close(&mut out)?, StreamState::End);
    Ok(out)
}

fn whole(api: Api, body: &Value) -> Result<Vec<StreamEvent>, DecodeError> {
    read(api, &body.to_string(), usize::MAX)
}

fn completion(message: &Value) -> Value {
    json!({
        "id": "r",
        "choices": [{ "index": 0, "message": message, "finish_reason": "stop" }],
    })
}

fn done(slot: u32) -> StreamEvent {
    StreamEvent::Done { slot, text: None, opaque: None }
}

#[test]
fn a_completion_is_read_by_the_rules_of_a_chunk() {
    let call = |id: &str, name: &str| {
        let function = json!({ "name": name, "arguments": { "a": 1 } });
        json!({ "id": id, "type": "function", "function": function })
    };
    let events = whole(
        Api::Chat,
        &completion(&json!({
            "content": [{ "type": "text", "text": "Hel" }, { "type": "text", "text": "lo" }],
            "tool_calls": [call("same", "one"), call("same", "two")],
        })),
    );
    let expected = [
        StreamEvent::Opened { response_id: Some("r".into()), model: None },
        StreamEvent::Text { slot: 0, text: "Hello".into() },
        opened(1, "same", "one"),
        arguments(1, r#"{"a":1}"#),
        opened(2, "same", "two"),
        arguments(2, r#"{"a":1}"#),
        done(0),
        done(1),
        done(2),
        StreamEvent::Finished { reason: StopReason::Stop },
    ];
    let sorted = |mut events: Vec<StreamEvent>| {
        events.sort_by_key(|event| format!("{event:?}"));
        events
    };
    assert_eq!(sorted(events.unwrap()), sorted(expected.to_vec()));
}

#[test]
fn a_completion_without_a_reason_to_stop_has_only_its_whole_calls() {
    let function = |arguments: &str| json!({ "name": "f", "arguments": arguments });
    let mut body = completion(&json!({
        "content": null,
        "tool_calls": [
            { "id": "a", "function": function("{}") },
            { "id": "b", "function": function("{") },
        ],
    }));
    body["choices"][0]["finish_reason"] = Value::Null;
    let events = whole(Api::Chat, &body).unwrap();
    assert!(events.contains(&done(0)) && !events.contains(&done(1)), "{events:?}");
}

#[test]
fn what_is_no_answer_of_the_protocol_is_none() {
    let bodies = [
        json!({}),
        json!({ "ok": true }),
        json!({ "choices": [] }),
        json!({ "choices": [{ "text": "hi" }] }),
        json!({ "output": "hi" }),
        json!({ "output": [] }),
        json!({ "content": [{ "type": "text", "text": "hi" }], "type": "message" }),
        json!({ "error": { "message": "m" } }),
    ];
    for api in [Api::Chat, Api::Responses] {
        for body in &bodies {
            let read = whole(api, body);
            assert!(matches!(read, Err(DecodeError::NotAStream(_))), "{api:?} {body}: {read:?}");
        }
    }
}

#[test]
fn a_failure_in_an_answer_is_a_failure() {
    let mut failed = completion(&json!({ "content": "Hel" }));
    failed["choices"][0]["error"] = json!({ "message": "gone", "code": 502 });
    let read = whole(Api::Chat, &failed);
    assert!(matches!(&read, Err(DecodeError::Reported(e)) if e.code == "502"), "{read:?}");
    let failed = json!({
        "object": "response", "status": "failed", "output": [],
        "error": { "code": "server_error", "message": "gone" },
    });
    let read = whole(Api::Responses, &failed);
    assert!(matches!(&read, Err(DecodeError::Reported(e)) if e.code == "server_error"), "{read:?}");
}

#[test]
fn a_response_that_is_not_complete_is_no_answer() {
    for status in ["queued", "in_progress"] {
        let body = json!({ "object": "response", "status": status, "output": [] });
        let read = whole(Api::Responses, &body);
        assert!(matches!(read, Err(DecodeError::Protocol(_))), "{status}: {read:?}");
    }
    let text = json!({ "type": "message", "content": [{ "type": "output_text", "text": "Hel" }] });
    let body = json!({
        "object": "response", "status": "incomplete", "output": [text],
        "incomplete_details": { "reason": "max_output_tokens" },
    });
    let events = whole(Api::Responses, &body).unwrap();
    assert_eq!(events.last(), Some(&StreamEvent::Finished { reason: StopReason::Length }));
}

#[test]
fn one_body_is_bounded_and_cut_short_at_no_byte() {
    let body = completion(&json!({ "content": "Hello." })).to_string();
    assert!(read(Api::Chat, &body, body.len()).is_ok());
    let larger = read(Api::Chat, &body, body.len() - 1);
    assert!(matches!(larger, Err(DecodeError::TooLarge(_))), "{larger:?}");
    for at in 1..body.len() {
        let cut = read(Api::Chat, &body[..at], usize::MAX);
        assert!(matches!(cut, Err(DecodeError::Truncated)), "cut at {at}: {cut:?}");
    }
}
