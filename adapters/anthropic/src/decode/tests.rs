//! Tests of the decoder on streams made by hand.

use windlass_core::Opaque;

use super::*;
use crate::DIALECT;

const BEGIN: &str = r#"{"type":"message_start","message":{"id":"m","model":"c-1"}}"#;
const STOP: &str = r#"{"type":"message_stop"}"#;

fn run(events: &[&str]) -> Result<Vec<StreamEvent>, DecodeError> {
    let mut decoder = MessagesDecoder::new("http://host/v1", "c");
    let mut out = Vec::new();
    for event in events {
        if decoder.event(b"", event.as_bytes(), &mut out)? == StreamState::End {
            return Ok(out);
        }
    }
    decoder.end(&mut out)?;
    Ok(out)
}

fn start(index: u64, block: &str) -> String {
    format!(r#"{{"type":"content_block_start","index":{index},"content_block":{block}}}"#)
}

fn delta(index: u64, delta: &str) -> String {
    format!(r#"{{"type":"content_block_delta","index":{index},"delta":{delta}}}"#)
}

fn stop(index: u64) -> String {
    format!(r#"{{"type":"content_block_stop","index":{index}}}"#)
}

fn ended(reason: &str) -> String {
    format!(r#"{{"type":"message_delta","delta":{{"stop_reason":"{reason}"}}}}"#)
}

/// The arguments of a call in one piece.
fn json(index: u64, text: &str) -> String {
    let delta_of = serde_json::json!({ "type": "input_json_delta", "partial_json": text });
    delta(index, &delta_of.to_string())
}

const CALL: &str = r#"{"type":"tool_use","id":"a","name":"f","input":{}}"#;
const TEXT: &str = r#"{"type":"text","text":""}"#;

fn opened(slot: u32, id: &str) -> StreamEvent {
    StreamEvent::CallOpened { slot, id: id.into(), name: "f".into() }
}

fn arguments(slot: u32, text: &str) -> StreamEvent {
    let text = text.into();
    StreamEvent::CallArguments { slot, text }
}

fn text(slot: u32, text: &str) -> StreamEvent {
    let text = text.into();
    StreamEvent::Text { slot, text }
}

fn done(slot: u32) -> StreamEvent {
    StreamEvent::Done { slot, text: None, opaque: None }
}

fn finished(reason: StopReason) -> StreamEvent {
    StreamEvent::Finished { reason }
}

fn protocol(events: &[&str]) {
    let got = run(events);
    assert!(matches!(got, Err(DecodeError::Protocol(_))), "{got:?}");
}

#[test]
fn a_whole_answer() {
    let hello = r#"{"type":"text_delta","text":"Hello"}"#;
    let got = run(&[
        BEGIN,
        r#"{"type":"ping"}"#,
        &start(0, TEXT),
        &delta(0, hello),
        &stop(0),
        &start(1, CALL),
        &json(1, ""),
        &json(1, r#"{"a":"#),
        &json(1, "1}"),
        &stop(1),
        r#"{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":7}}"#,
        STOP,
    ]);
    let usage = Usage { output: Some(7), ..Usage::default() };
    let expected = vec![
        StreamEvent::Opened { response_id: Some("m".into()), model: Some("c-1".into()) },
        text(0, "Hello"),
        done(0),
        opened(1, "a"),
        arguments(1, r#"{"a":"#),
        arguments(1, "1}"),
        done(1),
        StreamEvent::Usage(usage),
        finished(StopReason::Stop),
    ];
    assert_eq!(got.unwrap(), expected);
}

#[test]
fn thinking_is_kept_as_it_goes_back() {
    let got = run(&[
        BEGIN,
        &start(0, r#"{"type":"thinking","thinking":"","signature":""}"#),
        &delta(0, r#"{"type":"thinking_delta","thinking":"h\"m"}"#),
        &delta(0, r#"{"type":"signature_delta","signature":"s1"}"#),
        &delta(0, r#"{"type":"signature_delta","signature":"s2"}"#),
        &stop(0),
        &start(1, r#"{"type":"redacted_thinking","data":"x=="}"#),
        &stop(1),
        &start(2, r#"{"type":"thinking","thinking":"unsigned"}"#),
        &stop(2),
        STOP,
    ])
    .unwrap();
    let opaque = |payload: &str| Opaque {
        provider: DIALECT.into(),
        endpoint: "http://host/v1".into(),
        model: "c".into(),
        payload: payload.into(),
    };
    let kept: Vec<Option<Opaque>> = got
        .into_iter()
        .filter_map(|event| match event {
            StreamEvent::Done { opaque, .. } => Some(opaque),
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
        })
        .collect();
    let thinking = r#"{"type":"thinking","thinking":"h\"m","signature":"s1s2"}"#;
    let redacted = r#"{"type":"redacted_thinking","data":"x=="}"#;
    assert_eq!(kept, [Some(opaque(thinking)), Some(opaque(redacted)), None]);
}

/// The slots of the parts that are done.
fn closed(events: &[&str]) -> Vec<u32> {
    let slot = |event: StreamEvent| match event {
        StreamEvent::Done { slot, .. } => Some(slot),
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
    run(events).unwrap().into_iter().filter_map(slot).collect()
}

#[test]
fn a_call_that_the_output_limit_may_have_cut_is_left_out() {
    let (call, end) = (start(0, CALL), stop(0));
    for (arguments, reason, slots) in [
        ("", "tool_use", &[0][..]),
        ("", "max_tokens", &[]),
        ("", "refusal", &[]),
        (r#"{"a""#, "tool_use", &[0]),
        (r#"{"a""#, "max_tokens", &[]),
        (r#"{"a""#, "model_context_window_exceeded", &[]),
        (r#"{"a":1}"#, "max_tokens", &[0]),
    ] {
        let (arguments, reason) = (json(0, arguments), ended(reason));
        let events = [BEGIN, &call, &arguments, &end, &reason, STOP];
        assert_eq!(closed(&events), slots, "{arguments} {reason}");
    }
    // A block after it shows that it was whole.
    let cut = ended("max_tokens");
    let next = start(1, TEXT);
    assert_eq!(closed(&[BEGIN, &call, &end, &next, &cut, STOP]), [0, 1]);
    // One that has not ended itself is whole by its arguments alone.
    let (half, all) = (json(0, r#"{"a""#), json(0, "{}"));
    assert_eq!(closed(&[BEGIN, &call, &half, &cut, STOP]), [] as [u32; 0]);
    assert_eq!(closed(&[BEGIN, &call, &all, &cut, STOP]), [0]);
    let calls = ended("tool_use");
    assert_eq!(closed(&[BEGIN, &call, &all, &calls, STOP]), [0]);
    protocol(&[BEGIN, &call, &half, &calls, STOP]);
}

#[test]
fn what_is_held_back_keeps_its_place() {
    let events = [
        BEGIN,
        &start(0, CALL),
        &start(1, r#"{"type":"tool_use","id":"b","name":"f","input":{}}"#),
        &stop(0),
        &json(1, "{}"),
        &stop(1),
        &ended("tool_use"),
        STOP,
    ];
    assert_eq!(closed(&events), [0, 1]);
}

#[test]
fn arguments_may_stand_in_the_start() {
    let call = r#"{"type":"tool_use","id":"a","name":"f","input":{"x": 1}}"#;
    let got = run(&[BEGIN, &start(0, call), &stop(0), STOP]).unwrap();
    assert_eq!(got[1..4], [opened(0, "a"), arguments(0, r#"{"x": 1}"#), done(0)]);
    let both = run(&[BEGIN, &start(0, call), &json(0, "{}"), &stop(0), STOP]).unwrap();
    assert_eq!(both[1..4], [opened(0, "a"), arguments(0, "{}"), done(0)]);
}

#[test]
fn a_search_of_the_server_is_kept_and_other_blocks_are_read_over() {
    let search = r#"{"type":"server_tool_use","id":"s","name":"web_search","input":{}}"#;
    let found = r#"{"type":"web_search_tool_result","tool_use_id":"s","content":[{"x":1}]}"#;
    let cited = delta(0, r#"{"type":"citations_delta","citation":{}}"#);
    let got = run(&[
        BEGIN,
        &start(0, search),
        &json(0, r#"{"query":"x"}"#),
        &stop(0),
        &start(1, found),
        &stop(1),
        &cited,
        &start(2, r#"{"type":"brand_new","text":"no","thinking":"no"}"#),
        &delta(2, r#"{"type":"text_delta","text":"no"}"#),
        &ended("pause_turn"),
    ]);
    let kept = |payload: &str| {
        let (provider, endpoint) = (DIALECT.into(), "http://host/v1".into());
        Some(Opaque { provider, endpoint, model: "c".into(), payload: payload.into() })
    };
    let step = |slot| StreamEvent::Reasoning { slot, text: String::new() };
    let ends = |slot, opaque| StreamEvent::Done { slot, text: None, opaque };
    let whole = search.replace("{}}", r#"{"query":"x"}}"#);
    let expected = [
        step(0),
        StreamEvent::Search { slot: 0, query: "x".into() },
        ends(0, kept(&whole)),
        step(1),
        ends(1, kept(found)),
        finished(StopReason::Unfinished),
    ];
    assert_eq!(got.unwrap()[1..], expected);
}

#[test]
fn a_block_without_its_start_or_its_end_is_survived() {
    let some = delta(3, r#"{"type":"text_delta","text":"a"}"#);
    let expected = [text(0, "a"), done(0), finished(StopReason::Stop)];
    assert_eq!(run(&[BEGIN, &some, STOP]).unwrap()[1..], expected);
    assert_eq!(run(&[BEGIN, &some, &ended("end_turn")]).unwrap()[1..], expected);
    let unnamed = r#"{"type":"content_block_delta","delta":{"text":"a"}}"#;
    assert_eq!(run(&[BEGIN, unnamed, STOP]).unwrap()[1..], expected);
    assert!(matches!(run(&[BEGIN, &some]), Err(DecodeError::Truncated)));
    assert!(matches!(run(&[]), Err(DecodeError::Truncated)));
}

#[test]
fn a_call_without_arguments_is_whole_with_the_reason_to_stop() {
    let call = start(0, r#"{"type":"tool_use","id":"a","name":"f","input":{}}"#);
    let begun = json(0, "{");
    let calls = [BEGIN, &call, &ended("tool_use"), STOP];
    assert_eq!(closed(&calls), [0]);
    assert_eq!(closed(&[BEGIN, &call, &ended("max_tokens"), STOP]), [] as [u32; 0]);
    protocol(&[BEGIN, &call, STOP]);
    protocol(&[BEGIN, &call, &ended("end_turn"), STOP]);
    protocol(&[BEGIN, &call, &begun, &ended("tool_use"), STOP]);
}

#[test]
fn what_comes_where_nothing_may_come_is_an_error() {
    let more = delta(0, r#"{"type":"text_delta","text":"a"}"#);
    protocol(&[BEGIN, &start(0, TEXT), &stop(0), &more]);
    protocol(&[BEGIN, &start(0, CALL), &more]);
    protocol(&[BEGIN, &start(0, CALL), &json(0, "{}"), &stop(0), &json(0, "x")]);
    protocol(&[BEGIN, &json(0, "{}")]);
    protocol(&[BEGIN, &start(0, TEXT), &json(0, "{}")]);
    protocol(&[BEGIN, &start(0, r#"{"type":"tool_use","id":"a"}"#)]);
    protocol(&[BEGIN, &start(0, CALL), &json(0, "{"), &start(0, TEXT)]);
    protocol(&[BEGIN, r#"{"type":"message_start","message":{"id":"n"}}"#]);
    protocol(&[BEGIN, r#"{"type":"content_block_delta","index":0,"#]);
    let unnamed = r#"{"type":"message_start","message":{}}"#;
    protocol(&[unnamed, &start(0, TEXT), unnamed]);
}

#[test]
fn what_is_said_twice_is_told_once() {
    let thinking = start(0, r#"{"type":"thinking","thinking":""}"#);
    let redacted = start(0, r#"{"type":"redacted_thinking","data":"x"}"#);
    let (call, words) = (start(0, CALL), start(0, TEXT));
    for begun in [&call, &words, &thinking, &redacted] {
        let (end, over) = (stop(0), ended("tool_use"));
        let once = run(&[BEGIN, begun, &end, &over, STOP]).unwrap();
        let twice = [BEGIN, BEGIN, begun, begun, &end, &end, &over, &over, STOP];
        assert_eq!(run(&twice).unwrap(), once);
    }
}

#[test]
fn an_error_is_one_in_every_shape() {
    let named = |name: &[u8], data: &str| {
        let mut decoder = MessagesDecoder::new("", "");
        match decoder.event(name, data.as_bytes(), &mut Vec::new()) {
            Err(DecodeError::Reported(reported)) => (reported.class, reported.message),
            other => panic!("{data}: {other:?}"),
        }
    };
    let full = r#"{"type":"error","error":{"type":"overloaded_error","message":"hot"}}"#;
    assert_eq!(named(b"error", full), ("overloaded_error".into(), "hot".into()));
    assert_eq!(named(b"", r#"{"error":{"message":"hot"}}"#).1, "hot");
    assert_eq!(named(b"error", r#"{"message":"hot"}"#).1, "hot");
    assert_eq!(named(b"error", "hot").1, "hot");
    named(b"error", r#"{"type":"error"}"#);
    let flat = r#"{"code":529,"message":"hot"}"#;
    assert_eq!(named(b"", flat).1, "hot");
    let nameless = r#"{"type":"error","error":{"message":"hot"}}"#;
    assert_eq!(named(b"", nameless), (String::new(), "hot".into()));
}

#[test]
fn usage_is_all_of_the_request_and_the_wire_s_number_comes_back() {
    let begin = r#"{"type":"message_start","message":{"id":"m","usage":{"input_tokens":3,"cache_read_input_tokens":100,"cache_creation_input_tokens":7,"output_tokens":1}}}"#;
    let end = r#"{"type":"message_delta","delta":{},"usage":{"input_tokens":null,"output_tokens":9,"output_tokens_details":{"thinking_tokens":4}}}"#;
    let usage = |events: &[&str]| {
        let mut last = None;
        for event in run(events).unwrap() {
            if let StreamEvent::Usage(usage) = event {
                last = Some(usage);
            }
        }
        last
    };
    let told = usage(&[begin, end, STOP]).unwrap();
    let expected = Usage {
        input: Some(110),
        output: Some(9),
        total: None,
        cached_input: Some(100),
        cache_write: Some(7),
        reasoning_output: Some(4),
    };
    assert_eq!(told, expected);
    assert_eq!(uncached_input(&told), Some(3));
    assert_eq!(usage(&[BEGIN, STOP]), None);
}

#[test]
fn fields_of_other_types_are_read_where_their_meaning_is_clear() {
    let got = run(&[
        r#"{"type":"message_start","message":{"id":7,"usage":{"input_tokens":"3","output_tokens":1.0}}}"#,
        r#"{"type":"content_block_start","index":"0","content_block":{"type":"tool_use","id":1,"name":"f","input":null}}"#,
        r#"{"type":"content_block_delta","index":0.0,"delta":{"type":"input_json_delta","partial_json":{"a":1}}}"#,
        &stop(0),
        r#"{"type":"message_delta","delta":null,"usage":[]}"#,
        STOP,
    ])
    .unwrap();
    assert!(got.contains(&opened(0, "1")), "{got:?}");
    assert!(got.contains(&arguments(0, r#"{"a":1}"#)), "{got:?}");
    assert!(
        matches!(&got[0], StreamEvent::Opened { response_id: Some(id), .. } if id == "7"),
        "{got:?}"
    );
}

#[test]
fn a_delta_that_is_like_the_last_is_the_same_as_if_it_was_parsed() {
    let mut events = vec![BEGIN.to_owned(), start(0, TEXT)];
    let words = ["a", "b\\n\\\"c\\\"", "", "\\u00e9", "d"];
    for (at, word) in words.iter().enumerate() {
        let padding = " ".repeat(at);
        let of = format!(r#"{{"type":"text_delta","text":"{word}"}}"#);
        let event = delta(0, &of);
        let event = event.strip_suffix('}').unwrap();
        events.push(format!("{event}{padding}}}"));
    }
    // Not the same block, and not whole.
    events.push(start(1, TEXT));
    events.push(delta(1, r#"{"type":"text_delta","text":"e"}"#));
    let events: Vec<&str> = events.iter().map(String::as_str).collect();
    let mut all = events.clone();
    all.push(STOP);
    let got = run(&all).unwrap();
    let said = |slot: u32| {
        let mut said = String::new();
        for event in &got {
            if let StreamEvent::Text { slot: at, text } = event
                && *at == slot
            {
                said.push_str(text);
            }
        }
        said
    };
    assert_eq!((&*said(0), &*said(1)), ("ab\n\"c\"\u{e9}d", "e"));
    let broken = delta(1, r#"{"type":"text_delta","text":"f"}"#);
    let broken = broken.strip_suffix('}').unwrap();
    let mut all = events;
    all.extend([broken, STOP]);
    protocol(&all);
}

#[test]
fn an_answer_of_too_many_parts_is_too_large() {
    let mut decoder = MessagesDecoder::new("", "");
    let mut out = Vec::new();
    let mut index = 0;
    let fault = loop {
        let begun = start(index, TEXT);
        if let Err(fault) = decoder.event(b"", begun.as_bytes(), &mut out) {
            break fault;
        }
        index += 1;
    };
    assert!(matches!(fault, DecodeError::TooLarge(_)), "{fault:?}");
    assert_eq!(index, 4_096);
}

fn whole(body: &str) -> Result<(bool, Vec<StreamEvent>), DecodeError> {
    let mut decoder = MessagesDecoder::new("http://host/v1", "c");
    let mut out = Vec::new();
    decoder.whole(body, &mut out).map(|read| (read, out))
}

#[test]
fn a_whole_message_in_place_of_a_stream() {
    let (read, got) = whole(
        r#"{"id":7,"type":"message","role":"assistant","model":"c-1","content":[
            {"type":"thinking","thinking":"why","signature":"s"},
            {"type":"text","text":"Hello"},
            {"type":"server_tool_use","id":"w","name":"web_search","input":{}},
            {"type":"tool_use","id":"a","name":"f","input":{"n": 1.0}},
            {"type":"tool_use","id":"b","name":"f","input":{}}
        ],"stop_reason":"tool_use","usage":{"input_tokens":"3","output_tokens":2}}"#,
    )
    .unwrap();
    assert!(read);
    let opaque = Some(Opaque {
        provider: DIALECT.into(),
        endpoint: "http://host/v1".into(),
        model: "c".into(),
        payload: r#"{"type":"thinking","thinking":"why","signature":"s"}"#.into(),
    });
    assert!(got.contains(&StreamEvent::Done { slot: 0, text: None, opaque }), "{got:?}");
    // The arguments are as they were written.
    for event in [text(1, "Hello"), done(1), opened(3, "a"), arguments(3, r#"{"n": 1.0}"#)] {
        assert!(got.contains(&event), "{event:?}: {got:?}");
    }
    assert!(got.contains(&done(3)) && got.contains(&done(4)), "{got:?}");
    assert!(matches!(&got[0], StreamEvent::Opened { response_id: Some(id), .. } if id == "7"));
    assert_eq!(got.last(), Some(&finished(StopReason::Stop)));
}

#[test]
fn a_message_of_text_alone_and_what_is_no_message() {
    let (_, got) =
        whole(r#"{"role":"assistant","content":"Hi","stop_reason":"max_tokens"}"#).unwrap();
    assert!(got.contains(&text(0, "Hi")), "{got:?}");
    assert_eq!(got.last(), Some(&finished(StopReason::Length)));
    for body in [
        "{}",
        r#"{"type":"error","error":{"message":"m"}}"#,
        r#"{"choices":[{"message":{"content":"Hi"}}]}"#,
        r#"{"type":"message","content":7}"#,
        r#"{"content":[]}"#,
    ] {
        assert_eq!(whole(body).unwrap(), (false, Vec::new()), "{body}");
    }
    let nameless = r#"{"type":"message","content":[{"type":"tool_use","id":"a"}]}"#;
    assert!(matches!(whole(nameless), Err(DecodeError::Protocol(_))));
}

#[test]
fn data_that_is_no_keep_alive_is_a_fault() {
    protocol(&[BEGIN, "type\":\"content_block_delta\"}", STOP]);
    assert!(run(&[BEGIN, "[DONE]", "ping", STOP]).is_ok());
}
