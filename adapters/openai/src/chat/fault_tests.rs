//! Tests of what the Chat Completions decoder makes of failures inside of a stream.

use windlass_core::{StreamEvent, Usage};
use windlass_kit_http::{DecodeError, ReportedError};
use windlass_ports::StreamState;

use super::decode::ChatDecoder;
use crate::servers::GENERIC;
use crate::tests::expected::{arguments, opened};

/// What comes of named events, and how they end.
fn run(events: &[(&str, &str)]) -> (Vec<StreamEvent>, Option<String>, Result<(), DecodeError>) {
    let mut decoder = ChatDecoder::new("http://host/v1", "m", &GENERIC);
    let mut out = Vec::new();
    let mut read = || {
        for (name, data) in events {
            if decoder.event(name.as_bytes(), data.as_bytes(), &mut out)? == StreamState::End {
                return Ok(());
            }
        }
        decoder.end(&mut out)
    };
    let ended = read();
    (out, decoder.finish().map(str::to_owned), ended)
}

fn reported(events: &[(&str, &str)]) -> ReportedError {
    match run(events).2 {
        Err(DecodeError::Reported(reported)) => reported,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_failure_is_one_in_every_shape() {
    for (name, data, message, code) in [
        ("error", "the model is gone", "the model is gone", ""),
        ("error", r#""gone""#, "gone", ""),
        ("error", r#"{"message":"gone","code":7}"#, "gone", "7"),
        ("", r#"{"code":"c","error":"gone"}"#, "gone", "c"),
        (
            "",
            r#"{"object":"error","message":"gone","type":"T","param":null,"code":400}"#,
            "gone",
            "400",
        ),
        ("", r#"{"detail":"gone"}"#, "gone", ""),
        ("", r#"{"x_groq":{"id":"r","error":"gone"}}"#, "gone", ""),
        ("", r#"{"choices":[{"index":0,"error":{"message":"gone","code":502}}]}"#, "gone", "502"),
    ] {
        // That the server says it is done does not mend it.
        let said = reported(&[(name, data), ("", "[DONE]")]);
        assert_eq!((said.message.as_str(), said.code.as_str()), (message, code), "{data}");
    }
    for none in ["null", "{}", "\"\"", "false"] {
        let chunk = format!(
            r#"{{"error":{none},"choices":[{{"delta":{{"content":"a"}},"finish_reason":"stop"}}]}}"#
        );
        assert!(run(&[("", &chunk)]).2.is_ok(), "{none}");
    }
}

#[test]
fn what_came_with_a_failure_counts() {
    let chunk = r#"{"id":"r","error":{"message":"m"},"usage":{"prompt_tokens":3},
        "choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"error"}]}"#;
    let (events, finish, ended) = run(&[("", chunk)]);
    assert!(matches!(ended, Err(DecodeError::Reported(_))), "{ended:?}");
    assert_eq!(finish.as_deref(), Some("error"));
    let usage = Usage { input: Some(3), ..Usage::default() };
    let text = StreamEvent::Text { slot: 0, text: "a".into() };
    assert_eq!(events[1..], [StreamEvent::Usage(usage), text]);
}

#[test]
fn a_call_that_waits_for_its_id_is_shown_where_the_answer_breaks_off() {
    let call = r#"{"choices":[{"delta":{"tool_calls":[
        {"index":0,"function":{"name":"f","arguments":"{"}},{"index":1,"id":"b"}]}}]}"#;
    let shown = [opened(0, "", "f"), arguments(0, "{")];
    let (events, _, ended) = run(&[("", call)]);
    assert!(matches!(ended, Err(DecodeError::Truncated)), "{ended:?}");
    assert_eq!(events, shown);
    let (events, _, ended) = run(&[("", call), ("", r#"{"error":"m"}"#)]);
    assert!(matches!(ended, Err(DecodeError::Reported(_))), "{ended:?}");
    assert_eq!(events, shown);
}

#[test]
fn a_call_without_an_id_is_shown_where_the_answer_is_cut_by_length() {
    let call = r#"{"choices":[{"delta":{"tool_calls":[
        {"index":0,"function":{"name":"f","arguments":"{"}}]},"finish_reason":"length"}]}"#;
    let (events, _, ended) = run(&[("", call)]);
    assert!(ended.is_ok(), "{ended:?}");
    assert_eq!(events[..2], [opened(0, "", "f"), arguments(0, "{")]);
    let done = |event: &StreamEvent| matches!(event, StreamEvent::Done { .. });
    assert!(!events.iter().any(done), "{events:?}");
}

#[test]
fn usage_is_the_last_that_says_something_wherever_it_stands() {
    let told = |chunks: &[&str]| {
        let chunks: Vec<(&str, &str)> = chunks.iter().map(|chunk| ("", *chunk)).collect();
        let usage = |event: &StreamEvent| {
            if let StreamEvent::Usage(usage) = event {
                return usage.input;
            }
            None
        };
        run(&chunks).0.iter().filter_map(usage).collect::<Vec<u64>>()
    };
    let first = r#"{"choices":[],"usage":{"prompt_tokens":"3"}}"#;
    assert_eq!(told(&[first, r#"{"choices":[],"usage":{}}"#]), [3]);
    assert_eq!(told(&[first, r#"{"choices":[],"usage":{"prompt_tokens":null}}"#]), [3]);
    let groq = r#"{"choices":[],"usage":{},"x_groq":{"usage":{"prompt_tokens":4}}}"#;
    assert_eq!(told(&[first, groq]), [3, 4]);
    let moonshot =
        r#"{"choices":[{"delta":{},"finish_reason":"stop","usage":{"prompt_tokens":5.0}}]}"#;
    assert_eq!(told(&[moonshot]), [5]);
}

#[test]
fn an_id_finds_its_call_among_those_of_one_index() {
    let delta = |id: &str, text: &str| {
        let call = serde_json::json!({
            "index": 0, "id": id, "function": { "name": "f", "arguments": text }
        });
        serde_json::json!({ "choices": [{ "delta": { "tool_calls": [call] } }] }).to_string()
    };
    let deltas = [delta("a", "{"), delta("b", "["), delta("a", "}"), delta("b", "]")];
    let deltas: Vec<(&str, &str)> = deltas.iter().map(|delta| ("", delta.as_str())).collect();
    let expected = [
        opened(0, "a", "f"),
        arguments(0, "{"),
        opened(1, "b", "f"),
        arguments(1, "["),
        arguments(0, "}"),
        arguments(1, "]"),
    ];
    let mut sorted = run(&deltas).0;
    // Whether a call's first arguments come before or behind its opening is not the matter here.
    sorted.retain(|event| expected.contains(event));
    assert_eq!(sorted, expected);
}

#[test]
fn data_that_is_no_keep_alive_is_a_fault_and_not_passed_over() {
    let piece = |text: &str| format!(r#"{{"choices":[{{"delta":{{"content":"{text}"}}}}]}}"#);
    let (first, last) = (piece("A"), piece("C"));
    let stop = r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#;
    for damaged in ["choices\":[{\"delta\":{\"content\":\"B\"}}]}", "[{}]", "upstream closed"] {
        let ended = run(&[("", &first), ("", damaged), ("", &last), ("", stop)]).2;
        assert!(matches!(ended, Err(DecodeError::Protocol(_))), "{damaged}: {ended:?}");
    }
    assert!(run(&[("", &first), ("", "ping"), ("", &last), ("", stop)]).2.is_ok());
}
