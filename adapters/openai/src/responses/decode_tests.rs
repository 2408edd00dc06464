//! Tests of the Responses decoder on streams made by hand.

use windlass_core::StopReason;

use super::*;
use crate::tests::expected::{arguments, opened};

fn run(events: &[&str]) -> Result<Vec<StreamEvent>, DecodeError> {
    let mut decoder = ResponsesDecoder::new("http://host/v1", "m");
    let mut out = Vec::new();
    for event in events {
        if decoder.event(b"", event.as_bytes(), &mut out)? == StreamState::End {
            return Ok(out);
        }
    }
    Err(DecodeError::Truncated)
}

const COMPLETED: &str =
    r#"{"type":"response.completed","response":{"id":"r","status":"completed"}}"#;

fn done(slot: u32, text: Option<&str>) -> StreamEvent {
    StreamEvent::Done { slot, text: text.map(Into::into), opaque: None }
}

fn text(slot: u32, text: &str) -> StreamEvent {
    StreamEvent::Text { slot, text: text.into() }
}

fn closed(events: &[StreamEvent]) -> Vec<u32> {
    let slot = |event: &StreamEvent| match event {
        StreamEvent::Done { slot, .. } => Some(*slot),
        StreamEvent::Opened { .. }
        | StreamEvent::Text { .. }
        | StreamEvent::Refusal { .. }
        | StreamEvent::Reasoning { .. }
        | StreamEvent::Citation { .. }
        | StreamEvent::Search { .. }
        | StreamEvent::CallOpened { .. }
        | StreamEvent::CallArguments { .. }
        | StreamEvent::Usage(_)
        | StreamEvent::Finished { .. } => None,
    };
    events.iter().filter_map(slot).collect()
}

#[test]
fn a_whole_answer_with_reasoning_text_and_a_call() {
    let reasoning =
        r#"{"type":"reasoning","id":"rs","summary":[{"text":"why"}],"encrypted_content":"x"}"#;
    let reasoning_done =
        format!(r#"{{"type":"response.output_item.done","output_index":0,"item":{reasoning}}}"#);
    let events = run(&[
        r#"{"type":"response.created","response":{"id":"r","model":"m-1"}}"#,
        r#"{"type":"response.output_item.added","output_index":0,"item":{"type":"reasoning","id":"rs"}}"#,
        r#"{"type":"response.reasoning_summary_text.delta","output_index":0,"summary_index":0,"delta":"why"}"#,
        &reasoning_done,
        r#"{"type":"response.output_text.delta","output_index":1,"content_index":0,"delta":"hi"}"#,
        r#"{"type":"response.output_item.done","output_index":1,"item":{"type":"message","id":"ms","content":[{"type":"output_text","text":"hi"}]}}"#,
        r#"{"type":"response.output_item.added","output_index":2,"item":{"type":"function_call","id":"fc","call_id":"c","name":"f","arguments":""}}"#,
        r#"{"type":"response.function_call_arguments.delta","output_index":2,"delta":"{}"}"#,
        r#"{"type":"response.output_item.done","output_index":2,"item":{"type":"function_call","id":"fc","call_id":"c","name":"f","arguments":"{}","status":"completed"}}"#,
        r#"{"type":"response.completed","response":{"id":"r","usage":{"input_tokens":1,"output_tokens":2,"output_tokens_details":{"reasoning_tokens":1}}}}"#,
    ]);
    let opaque = Opaque {
        provider: "openai-responses".into(),
        endpoint: "http://host/v1".into(),
        model: "m".into(),
        payload: reasoning.into(),
    };
    let usage = windlass_core::Usage {
        input: Some(1),
        output: Some(2),
        reasoning_output: Some(1),
        ..Default::default()
    };
    assert_eq!(
        events.unwrap(),
        [
            StreamEvent::Opened { response_id: Some("r".into()), model: Some("m-1".into()) },
            StreamEvent::Reasoning { slot: 0, text: "why".into() },
            StreamEvent::Done { slot: 0, text: Some("why".into()), opaque: Some(opaque) },
            text(1, "hi"),
            done(1, Some("hi")),
            opened(2, "c", "f"),
            arguments(2, "{}"),
            done(2, Some("{}")),
            StreamEvent::Usage(usage),
            StreamEvent::Finished { reason: StopReason::Stop },
        ]
    );
}

#[test]
fn only_the_terminal_event_ends_an_answer() {
    let item = r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"message","content":[{"text":"a"}]}}"#;
    assert!(matches!(run(&[item, "[DONE]"]), Err(DecodeError::Truncated)));
}

#[test]
fn items_close_in_the_order_of_their_indices() {
    let call = |index: u32| {
        format!(
            r#"{{"type":"response.output_item.done","output_index":{index},"item":{{"type":"function_call","call_id":"c{index}","name":"f","arguments":"{{}}"}}}}"#
        )
    };
    let added = r#"{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","call_id":"c0","name":"f"}}"#;
    let events = run(&[added, &call(1), &call(0), COMPLETED]).unwrap();
    assert_eq!(closed(&events), [0, 1]);
}

#[test]
fn the_whole_item_outweighs_what_streamed() {
    let events = run(&[
        r#"{"type":"response.output_text.delta","output_index":0,"delta":"Hell"}"#,
        r#"{"type":"response.output_text.done","output_index":0,"text":"Hello!"}"#,
        r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"message","content":[{"text":"Hello"}]}}"#,
        COMPLETED,
    ]);
    assert!(events.unwrap().contains(&done(0, Some("Hello"))));
    let events = run(&[
        r#"{"type":"response.output_text.delta","output_index":0,"delta":"Hell"}"#,
        r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"message"}}"#,
        COMPLETED,
    ]);
    assert!(events.unwrap().contains(&done(0, None)));
}

#[test]
fn items_without_index_or_announcement_are_survived() {
    let events = run(&[
        r#"{"type":"response.output_text.delta","delta":"a"}"#,
        r#"{"type":"response.output_text.delta","delta":"b"}"#,
        r#"{"type":"response.output_item.done","item":{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}}"#,
        COMPLETED,
    ])
    .unwrap();
    assert_eq!(events[..3], [text(0, "a"), text(0, "b"), opened(1, "c", "f")]);
    assert_eq!(closed(&events), [0, 1]);
}

#[test]
fn items_that_only_the_terminal_event_holds_are_taken() {
    let events = run(&[
        r#"{"type":"response.completed","response":{"output":[{"type":"message","content":[{"text":"a"},{"refusal":"b"}]},{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}]}}"#,
    ])
    .unwrap();
    assert_eq!(closed(&events), [0, 1, 2]);
}

#[test]
fn arguments_before_the_announcement_are_held_back() {
    let events = run(&[
        r#"{"type":"response.function_call_arguments.delta","output_index":0,"delta":"{}"}"#,
        r#"{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","call_id":"c","name":"f"}}"#,
        COMPLETED,
    ])
    .unwrap();
    assert_eq!(events[..3], [opened(0, "c", "f"), arguments(0, "{}"), done(0, None)]);
}

#[test]
fn items_of_the_provider_are_kept_as_they_are_and_are_not_ours_to_run() {
    for kind in ["web_search_call", "of_next_year"] {
        let item =
            format!(r#"{{"type":"{kind}","id":"w","call_id":"c","name":"f","arguments":"{{}}"}}"#);
        let begun =
            format!(r#"{{"type":"response.output_item.added","output_index":0,"item":{item}}}"#);
        let whole =
            format!(r#"{{"type":"response.output_item.done","output_index":0,"item":{item}}}"#);
        let mut decoder = ResponsesDecoder::new("http://host/v1", "m");
        let mut out = Vec::new();
        decoder.event(b"", begun.as_bytes(), &mut out).unwrap();
        assert!(out.is_empty() && decoder.foreign());
        for event in [&whole, &whole, COMPLETED] {
            decoder.event(b"", event.as_bytes(), &mut out).unwrap();
        }
        let opaque = Some(Opaque {
            provider: DIALECT.into(),
            endpoint: "http://host/v1".into(),
            model: "m".into(),
            payload: item,
        });
        let kept = [
            StreamEvent::Reasoning { slot: 0, text: String::new() },
            StreamEvent::Done { slot: 0, text: None, opaque },
        ];
        assert_eq!(out[..2], kept);
        assert_eq!(closed(&out), [0]);
        assert!(!decoder.foreign());
    }
}

#[test]
fn an_item_of_the_provider_that_never_is_whole_is_known_beside_others() {
    let item = |id: &str| format!(r#"{{"type":"web_search_call","id":"{id}"}}"#);
    let event = |kind: &str, index: u8, id: &str| {
        let item = item(id);
        format!(r#"{{"type":"response.output_item.{kind}","output_index":{index},"item":{item}}}"#)
    };
    let foreign = |events: &[String]| {
        let mut decoder = ResponsesDecoder::new("", "");
        for event in events.iter().map(String::as_str).chain([COMPLETED]) {
            decoder.event(b"", event.as_bytes(), &mut Vec::new()).unwrap();
        }
        decoder.foreign()
    };
    assert!(foreign(&[event("done", 0, "a"), event("added", 1, "b")]));
    let repeated = [event("added", 0, "a"), event("added", 0, "a"), event("done", 0, "a")];
    assert!(!foreign(&repeated));
}

#[test]
fn an_item_of_the_provider_that_is_too_large_is_left_out_and_known_to_be() {
    let picture = "x".repeat(300 * 1024);
    let item = format!(r#"{{"type":"image_generation_call","id":"i","result":"{picture}"}}"#);
    let whole = format!(r#"{{"type":"response.output_item.done","output_index":0,"item":{item}}}"#);
    let mut decoder = ResponsesDecoder::new("", "");
    let mut out = Vec::new();
    for event in [&whole, COMPLETED] {
        decoder.event(b"", event.as_bytes(), &mut out).unwrap();
    }
    assert!(closed(&out).is_empty() && decoder.foreign());
}

#[test]
fn a_response_that_does_not_end_the_turn_is_unfinished() {
    for (end_turn, reason) in [
        ("false", StopReason::Unfinished),
        ("true", StopReason::Stop),
        ("null", StopReason::Stop),
        ("\"no\"", StopReason::Stop),
    ] {
        let response = format!(r#"{{"status":"completed","end_turn":{end_turn}}}"#);
        let completed = format!(r#"{{"type":"response.completed","response":{response}}}"#);
        let events = run(&[&completed]).unwrap();
        assert_eq!(events.last(), Some(&StreamEvent::Finished { reason }), "{end_turn}");
    }
}

#[test]
fn of_an_answer_cut_by_length_only_whole_calls_come_out() {
    let incomplete = r#"{"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"}}}"#;
    let events = run(&[
        r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","call_id":"a","name":"f","arguments":"{}","status":"completed"}}"#,
        r#"{"type":"response.output_item.done","output_index":1,"item":{"type":"function_call","call_id":"b","name":"f","arguments":"{","status":"incomplete"}}"#,
        r#"{"type":"response.output_item.added","output_index":2,"item":{"type":"function_call","call_id":"c","name":"f"}}"#,
        incomplete,
    ])
    .unwrap();
    assert_eq!(closed(&events), [0]);
    assert_eq!(events.last(), Some(&StreamEvent::Finished { reason: StopReason::Length }));
}

#[test]
fn failures_are_errors() {
    let failed = r#"{"type":"response.failed","response":{"status":"failed","error":{"code":"c","message":"m"}}}"#;
    assert!(matches!(run(&[failed]), Err(DecodeError::Reported(e)) if e.code == "c"));
    let flat = r#"{"type":"error","code":"c","message":"m"}"#;
    assert!(matches!(run(&[flat]), Err(DecodeError::Reported(e)) if e.message == "m"));
    let done = r#"{"type":"response.done","response":{"status":"cancelled"}}"#;
    assert!(matches!(run(&[done]), Err(DecodeError::Reported(_))));
    assert!(matches!(run(&["{\"type\":"]), Err(DecodeError::Protocol(_))));
    for unnamed in [
        r#"{"error":{"message":"m","code":500}}"#,
        r#"{"code":500,"message":"m"}"#,
        r#"{"detail":"m"}"#,
    ] {
        let ended = run(&[unnamed]);
        assert!(matches!(ended, Err(DecodeError::Reported(e)) if e.message == "m"), "{unnamed}");
    }
    let mut decoder = ResponsesDecoder::new("", "");
    let plain = decoder.event(b"error", b"gone", &mut Vec::new());
    assert!(matches!(plain, Err(DecodeError::Reported(e)) if e.message == "gone"));
}

#[test]
fn a_failure_has_its_cost_and_says_how_it_ended() {
    let mut decoder = ResponsesDecoder::new("", "");
    let mut out = Vec::new();
    let failed = br#"{"type":"response.failed","response":{"status":"failed","error":null,
        "usage":{"input_tokens":3}}}"#;
    let ended = decoder.event(b"", failed, &mut out);
    assert!(matches!(ended, Err(DecodeError::Reported(e)) if e.other_codes == ["failed"]));
    let usage = windlass_core::Usage { input: Some(3), ..Default::default() };
    assert_eq!(out, [StreamEvent::Usage(usage)]);
}

#[test]
fn arguments_that_came_whole_are_shown_before_their_item_is_whole() {
    let mut decoder = ResponsesDecoder::new("", "");
    let mut out = Vec::new();
    for event in [
        r#"{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","call_id":"c","name":"f"}}"#,
        r#"{"type":"response.function_call_arguments.done","output_index":0,"arguments":"{}"}"#,
    ] {
        decoder.event(b"", event.as_bytes(), &mut out).unwrap();
    }
    assert_eq!(out, [opened(0, "c", "f"), arguments(0, "{}")]);
}

#[test]
fn unknown_events_are_counted_and_a_type_outweighs_the_event_name() {
    let mut decoder = ResponsesDecoder::new("", "");
    let mut out = Vec::new();
    decoder.event(b"error", br#"{"type":"vendor.note","delta":{"a":1}}"#, &mut out).unwrap();
    decoder.event(b"", b"ping", &mut out).unwrap();
    assert_eq!((decoder.ignored(), out.len()), (2, 0));
    let delta = br#"{"delta":"a"}"#;
    decoder.event(b"response.output_text.delta", delta, &mut out).unwrap();
    assert_eq!(out, [text(0, "a")]);
}

#[test]
fn a_run_of_deltas_is_read_as_each_alone() {
    let delta = |number: u32, text: &str| {
        format!(
            r#"{{"type":"response.output_text.delta","sequence_number":{number},"output_index":0,"delta":"{text}","obfuscation":"{text}"}}"#
        )
    };
    let done = r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"message","content":[{"text":"x"}]}}"#;
    let mut events: Vec<String> = (8..12).map(|number| delta(number, "ab")).collect();
    events.extend([delta(12, "c\\n"), delta(13, ""), done.into(), delta(14, "late")]);
    let read = |forget: bool| {
        let mut decoder = ResponsesDecoder::new("", "");
        let mut out = Vec::new();
        let mut recognised = 0;
        for event in &events {
            if forget {
                decoder.like = None;
            }
            recognised += usize::from(decoder.like.is_some());
            decoder.event(b"", event.as_bytes(), &mut out).unwrap();
        }
        (out, recognised)
    };
    let (run, recognised) = read(false);
    assert_eq!(run, read(true).0);
    assert!(recognised >= 4, "{recognised}");
}
