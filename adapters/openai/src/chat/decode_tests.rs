//! Tests of the Chat Completions decoder on streams made by hand.

use super::*;
use crate::servers::{GENERIC, Server};
use crate::tests::expected::{arguments, opened};

/// Decodes events; the end of the list is the end of the stream.
fn run(events: &[&str]) -> Result<Vec<StreamEvent>, DecodeError> {
    run_as(&GENERIC, events)
}

fn run_as(quirks: &Quirks, events: &[&str]) -> Result<Vec<StreamEvent>, DecodeError> {
    let mut decoder = ChatDecoder::new("http://host/v1", "m", quirks);
    let mut out = Vec::new();
    for event in events {
        if decoder.event(b"", event.as_bytes(), &mut out)? == StreamState::End {
            return Ok(out);
        }
    }
    decoder.end(&mut out)?;
    Ok(out)
}

fn delta(delta: &str) -> String {
    format!(r#"{{"choices":[{{"index":0,"delta":{delta}}}]}}"#)
}

fn finish(reason: &str) -> String {
    format!(r#"{{"choices":[{{"index":0,"delta":{{}},"finish_reason":"{reason}"}}]}}"#)
}

fn done(slot: u32) -> StreamEvent {
    StreamEvent::Done { slot, text: None, opaque: None }
}

const STOP: StreamEvent = StreamEvent::Finished { reason: StopReason::Stop };

#[test]
fn parts_close_at_the_end_in_their_order() {
    let events = run(&[
        r#"{"id":"r1","model":"m","choices":[{"delta":{"role":"assistant","reasoning":"hm"}}]}"#,
        &delta(r#"{"content":"a\n"}"#),
        &delta(r#"{"tool_calls":[{"index":0,"id":"c","function":{"name":"f","arguments":""}}]}"#),
        &delta(r#"{"tool_calls":[{"index":0,"function":{"arguments":"{}"}}]}"#),
        &finish("tool_calls"),
        r#"{"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":4}}"#,
        "[DONE]",
    ]);
    let usage = windlass_core::Usage { input: Some(3), output: Some(4), ..Default::default() };
    assert_eq!(
        events.unwrap(),
        [
            StreamEvent::Opened { response_id: Some("r1".into()), model: Some("m".into()) },
            StreamEvent::Reasoning { slot: 0, text: "hm".into() },
            StreamEvent::Text { slot: 1, text: "a\n".into() },
            opened(2, "c", "f"),
            arguments(2, "{}"),
            StreamEvent::Usage(usage),
            done(0),
            done(1),
            done(2),
            STOP,
        ]
    );
}

#[test]
fn an_end_without_a_reason_is_no_answer_and_done_is_one() {
    assert!(matches!(run(&[&delta(r#"{"content":"a"}"#)]), Err(DecodeError::Truncated)));
    assert!(matches!(run(&[]), Err(DecodeError::Truncated)));
    let events = run(&[&delta(r#"{"content":"a"}"#), "[DONE]"]).unwrap();
    assert_eq!(events.last(), Some(&STOP));
}

#[test]
fn of_an_answer_cut_by_length_only_whole_calls_come_out() {
    let events = run(&[
        &delta(r#"{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]}"#),
        &delta(
            r#"{"tool_calls":[{"index":1,"id":"b","function":{"name":"f","arguments":"{\"x"}}]}"#,
        ),
        &finish("length"),
    ])
    .unwrap();
    assert!(events.contains(&done(0)) && !events.contains(&done(1)), "{events:?}");
    assert_eq!(events.last(), Some(&StreamEvent::Finished { reason: StopReason::Length }));
}

#[test]
fn calls_are_told_apart_in_every_dialect() {
    // No index: by id, else the last one.
    let events = run(&[
        &delta(r#"{"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{"}}]}"#),
        &delta(r#"{"tool_calls":[{"function":{"arguments":"}"}}]}"#),
        &delta(r#"{"tool_calls":[{"id":"b","function":{"name":"g","arguments":"{}"}}]}"#),
        &delta(r#"{"tool_calls":[{"id":"a","function":{"arguments":" "}}]}"#),
        &finish("tool_calls"),
    ])
    .unwrap();
    let calls = [opened(0, "a", "f"), arguments(0, "{"), arguments(0, "}")];
    assert_eq!(events[..3], calls);
    assert_eq!(events[3..6], [opened(1, "b", "g"), arguments(1, "{}"), arguments(0, " ")]);
    // One index twice: another id with a name is another call, without one it is not.
    let events = run(&[
        &delta(r#"{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]}"#),
        &delta(r#"{"tool_calls":[{"index":0,"id":"x","function":{"arguments":" "}}]}"#),
        &delta(r#"{"tool_calls":[{"index":0,"id":"b","function":{"name":"f","arguments":"{}"}}]}"#),
        &finish("stop"),
    ])
    .unwrap();
    assert_eq!(events[2..4], [arguments(0, " "), opened(1, "b", "f")]);
}

#[test]
fn a_late_id_is_waited_for() {
    let events = run(&[
        &delta(r#"{"tool_calls":[{"index":0,"function":{"name":"f","arguments":"{"}}]}"#),
        &delta(r#"{"tool_calls":[{"index":0,"id":"late","function":{"arguments":"}"}}]}"#),
        &finish("tool_calls"),
    ])
    .unwrap();
    assert_eq!(events[..2], [opened(0, "late", "f"), arguments(0, "{}")]);
}

#[test]
fn values_of_unexpected_types_are_understood() {
    let events = run(&[
        r#"{"id":7,"choices":[{"index":"0","delta":{"content":[{"type":"text","text":"a"},
            {"type":"thinking","thinking":[{"text":"t"}]}]}}]}"#,
        &delta(
            r#"{"tool_calls":[{"index":0,"id":1,"function":{"name":"f","arguments":{"k":1}}}]}"#,
        ),
        r#"{"choices":null,"usage":{"prompt_tokens":1.0,"input_tokens":9}}"#,
        &finish("stop"),
    ])
    .unwrap();
    let usage = windlass_core::Usage { input: Some(1), ..Default::default() };
    assert_eq!(
        events[..6],
        [
            StreamEvent::Opened { response_id: Some("7".into()), model: None },
            StreamEvent::Reasoning { slot: 0, text: "t".into() },
            StreamEvent::Text { slot: 1, text: "a".into() },
            opened(2, "1", "f"),
            arguments(2, r#"{"k":1}"#),
            StreamEvent::Usage(usage),
        ]
    );
}

#[test]
fn other_choices_and_what_follows_the_end_are_ignored() {
    let both =
        r#"{"choices":[{"index":1,"delta":{"content":"b"}},{"index":0,"delta":{"content":"a"}}]}"#;
    let events = run(&[both, &finish("stop"), "[DONE]", "{broken"]).unwrap();
    assert_eq!(events, [StreamEvent::Text { slot: 0, text: "a".into() }, done(0), STOP]);
}

#[test]
fn errors_in_the_stream_are_errors() {
    let error = r#"{"error":{"message":"m","code":"c"}}"#;
    assert!(
        matches!(run(&[&finish("stop"), error]), Err(DecodeError::Reported(e)) if e.code == "c")
    );
    assert!(
        matches!(run(&[r#"{"error":"m"}"#]), Err(DecodeError::Reported(e)) if e.message == "m")
    );
    assert!(matches!(run(&[&finish("error")]), Err(DecodeError::Reported(_))));
    assert!(matches!(run(&[r#"{"choices":["#]), Err(DecodeError::Protocol(_))));
    let nameless = delta(r#"{"tool_calls":[{"index":0,"id":"a"}]}"#);
    assert!(matches!(run(&[&nameless, &finish("stop")]), Err(DecodeError::Protocol(_))));
}

#[test]
fn events_that_mean_nothing_are_counted() {
    let mut decoder = ChatDecoder::new("http://host/v1", "m", &GENERIC);
    let mut out = Vec::new();
    for event in ["", "ping", r#"{"choices":[]}"#, r#"{"new":1}"#] {
        decoder.event(b"", event.as_bytes(), &mut out).unwrap();
    }
    assert_eq!((decoder.ignored(), out.len()), (4, 0));
}

#[test]
fn a_run_of_deltas_is_read_as_each_alone() {
    let chunk = |delta: &str, rest: &str| {
        format!(r#"{{"id":"r","choices":[{{"index":0,"delta":{delta}}}]{rest}}}"#)
    };
    let events = [
        chunk(r#"{"content":"a"}"#, ""),
        chunk(r#"{"content":"b\n\u00e9"}"#, ""),
        chunk(r#"{"content":""}"#, ""),
        chunk(r#"{"content":"c","refusal":"d"}"#, ""),
        chunk(r#"{"content":"e"}"#, r#","usage":{"prompt_tokens":1}"#),
        chunk(r#"{"content":"f"}"#, ""),
        chunk(r#"{"content":"g"}"#, ""),
        chunk(r#"{"reasoning":"h"}"#, ""),
    ];
    let read = |forget: bool| {
        let mut decoder = ChatDecoder::new("http://host/v1", "m", &GENERIC);
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
    assert!(recognised >= 5, "{recognised}");
}

/// The opaque forms of the parts of an answer.
fn opaques(server: Server, events: &[&str]) -> Vec<Option<String>> {
    let whole = [events, &["[DONE]"]].concat();
    let out = run_as(&server.quirks(), &whole).unwrap();
    let done = out.into_iter().filter_map(|event| {
        let StreamEvent::Done { opaque, .. } = event else {
            return None;
        };
        Some(opaque)
    });
    done.map(|opaque| {
        let opaque = opaque?;
        let made = (&*opaque.provider, &*opaque.endpoint, &*opaque.model);
        assert_eq!(made, ("openai-chat", "http://host/v1", "m"));
        Some(opaque.payload)
    })
    .collect()
}

#[test]
fn reasoning_that_goes_back_keeps_its_form_and_only_where_it_does() {
    let parts = r#"{"reasoning":"hm","reasoning_details":[{"type":"reasoning.text","text":"hm","index":0}]}"#;
    let events = [&*delta(parts), &delta(r#"{"content":"a"}"#), &finish("stop")];
    let kept = r#"[{"index":0,"text":"hm","type":"reasoning.text"}]"#;
    assert_eq!(opaques(Server::Generic, &events), [None, None]);
    assert_eq!(opaques(Server::DeepSeek, &events), [Some(CONTENT.to_owned()), None]);
    assert_eq!(opaques(Server::OpenRouter, &events), [Some(kept.to_owned()), None]);
}

#[test]
fn reasoning_that_nobody_can_read_is_kept_all_the_same() {
    let sealed =
        r#"{"content":"a","reasoning_details":[{"type":"reasoning.encrypted","data":"x"}]}"#;
    let events = [&*delta(sealed), &finish("stop")];
    let kept = r#"[{"data":"x","type":"reasoning.encrypted"}]"#;
    assert_eq!(opaques(Server::OpenRouter, &events), [None, Some(kept.to_owned())]);
    assert_eq!(opaques(Server::Generic, &events), [None]);
}

#[test]
fn what_a_call_came_with_is_kept_where_it_goes_back() {
    let extra = r#"{"google":{"thought_signature":"s"}}"#;
    let call = format!(
        r#"{{"tool_calls":[{{"index":0,"id":"c","function":{{"name":"f","arguments":"{{}}"}},"extra_content":{extra}}}]}}"#
    );
    let events = [&*delta(&call), &finish("tool_calls")];
    assert_eq!(opaques(Server::Gemini, &events), [Some(extra.to_owned())]);
    assert_eq!(opaques(Server::Generic, &events), [None]);
}

#[test]
fn reasons_to_finish_are_read_in_their_spellings() {
    for (word, wanted) in [
        ("STOP", StopReason::Stop),
        ("TOOL_CALLS", StopReason::Stop),
        ("stop_sequence", StopReason::Stop),
        ("MAX_TOKENS", StopReason::Length),
        ("content-filter", StopReason::ContentFilter),
        ("content_filter: PROHIBITED_CONTENT", StopReason::ContentFilter),
        ("SAFETY", StopReason::ContentFilter),
        ("whatever", StopReason::Other("whatever".into())),
    ] {
        let out = run(&[&delta(r#"{"content":"a"}"#), &finish(word)]).unwrap();
        let reason = wanted;
        assert_eq!(out.last(), Some(&StreamEvent::Finished { reason }), "{word}");
    }
    for word in ["error", "network_error", "abort"] {
        let fault = run(&[&finish(word)]).unwrap_err();
        assert!(matches!(fault, DecodeError::Reported(_)), "{word} {fault:?}");
    }
}

#[test]
fn where_done_always_comes_a_stream_without_it_was_cut_off() {
    let events = [&*delta(r#"{"content":"a"}"#), &finish("stop")];
    assert!(run_as(&Server::Generic.quirks(), &events).is_ok());
    let cut = run_as(&Server::OpenAi.quirks(), &events);
    assert!(matches!(cut, Err(DecodeError::Truncated)), "{cut:?}");
    let whole = [&events[..], &["[DONE]"]].concat();
    assert!(run_as(&Server::OpenAi.quirks(), &whole).is_ok());
}
