//! Tests of what becomes of the pieces of an answer.

use windlass_core::{Citation, Item, Opaque, StopReason, StreamEvent};

use super::*;

fn decode(events: &[&str]) -> Result<Vec<StreamEvent>, DecodeError> {
    let mut decoder = GeminiDecoder::new("http://host/v1beta", "m");
    let mut out = Vec::new();
    for event in events {
        decoder.event(b"", event.as_bytes(), &mut out)?;
    }
    decoder.end(&mut out).map(|()| out)
}

fn sealed(payload: &str) -> Option<Opaque> {
    Some(Opaque {
        provider: "gemini-generate".into(),
        endpoint: "http://host/v1beta".into(),
        model: "m".into(),
        payload: payload.into(),
    })
}

#[test]
fn thoughts_words_and_calls_are_parts_in_their_order() {
    let events = decode(&[
        r#"{"candidates":[{"content":{"parts":[{"text":"h","thought":true}]}}],"responseId":"r","modelVersion":"v"}"#,
        r#"{"candidates":[{"content":{"parts":[{"text":"m","thought":true,"thoughtSignature":"s"},{"text":"A"}]}}]}"#,
        r#"{"candidates":[{"content":{"parts":[{"text":"B"},{"functionCall":{"name":"f","args":{"n": 1.0}},"thoughtSignature":"t"}]}}]}"#,
        r#"{"candidates":[{"finishReason":"STOP"}]}"#,
    ])
    .unwrap();
    let text = |slot, text: &str| StreamEvent::Text { slot, text: text.into() };
    let thought = |text: &str| StreamEvent::Reasoning { slot: 0, text: text.into() };
    let done = |slot, opaque| StreamEvent::Done { slot, text: None, opaque };
    assert_eq!(
        events,
        [
            StreamEvent::Opened { response_id: Some("r".into()), model: Some("v".into()) },
            thought("h"),
            thought("m"),
            done(0, sealed(r#"{"text":"hm","thought":true,"thoughtSignature":"s"}"#)),
            text(1, "A"),
            text(1, "B"),
            done(1, None),
            StreamEvent::CallOpened { slot: 2, id: String::new(), name: "f".into() },
            StreamEvent::CallArguments { slot: 2, text: r#"{"n": 1.0}"#.into() },
            done(2, sealed(r#"{"thoughtSignature":"t"}"#)),
            StreamEvent::Finished { reason: StopReason::Stop },
        ]
    );
}

#[test]
fn a_signature_of_words_goes_back_behind_them() {
    let events = decode(&[
        r#"{"candidates":[{"content":{"parts":[{"text":"A"}]}}]}"#,
        r#"{"candidates":[{"content":{"parts":[{"text":"","thoughtSignature":"s"}]},"finishReason":"STOP"}]}"#,
    ])
    .unwrap();
    let seal = sealed(r#"{"text":"","thoughtSignature":"s"}"#);
    let done = |opaque| StreamEvent::Done { slot: 1, text: None, opaque };
    assert!(events.contains(&done(seal)), "{events:?}");
}

#[test]
fn without_a_reason_to_finish_there_is_no_answer() {
    let half = r#"{"candidates":[{"content":{"parts":[{"text":"A"}]}}]}"#;
    assert!(matches!(decode(&[half]), Err(DecodeError::Truncated)));
    assert!(matches!(decode(&[]), Err(DecodeError::Truncated)));
}

#[test]
fn what_the_model_or_a_filter_spoiled_is_an_error() {
    for (event, code) in [
        (r#"{"candidates":[{"finishReason":"MALFORMED_FUNCTION_CALL"}]}"#, "tool_use_failed"),
        (r#"{"promptFeedback":{"blockReason":"SAFETY"}}"#, "content_filter"),
        (r#"{"error":{"code":503,"message":"busy","status":"UNAVAILABLE"}}"#, "503"),
    ] {
        match decode(&[event]) {
            Err(DecodeError::Reported(reported)) => assert_eq!(reported.code, code),
            other => panic!("{event}: {other:?}"),
        }
    }
}

#[test]
fn tokens_of_thoughts_count_as_the_answers() {
    let usage = r#"{"usageMetadata":{"promptTokenCount":9,"candidatesTokenCount":2,"thoughtsTokenCount":3,"totalTokenCount":14}}"#;
    let events = decode(&[usage, r#"{"candidates":[{"finishReason":"MAX_TOKENS"}]}"#]).unwrap();
    let usage = Usage {
        input: Some(9),
        output: Some(5),
        total: Some(14),
        cached_input: None,
        cache_write: None,
        reasoning_output: Some(3),
    };
    assert!(events.contains(&StreamEvent::Usage(usage)), "{events:?}");
    assert_eq!(events.last(), Some(&StreamEvent::Finished { reason: StopReason::Length }));
}

#[test]
fn a_grounded_answer_keeps_its_sources_and_searches() {
    let text = "É😀 is old.";
    let support = |start: u64, end: u64, index: u64| {
        serde_json::json!({
            "segment": { "startIndex": start, "endIndex": end }, "groundingChunkIndices": [index, 99],
        })
    };
    let web = |uri: &str| serde_json::json!({ "web": { "uri": uri, "title": "A" } });
    let grounding = serde_json::json!({
        "webSearchQueries": ["winch age"],
        "groundingChunks": [web("https://a.example/"), web("javascript:alert(1)"), 7, web("https://b.example/")],
        "groundingSupports": [support(2, 6, 0), support(3, 6, 0), support(0, 99, 1), 7],
    });
    let said =
        serde_json::json!({ "candidates": [{ "content": { "parts": [{ "text": text }] } }] });
    let seal = r#"{"candidates":[{"content":{"parts":[{"text":"","thoughtSignature":"s"}]}}]}"#;
    let last = serde_json::json!({ "candidates": [{ "finishReason": "STOP", "groundingMetadata": grounding }] });
    let events = decode(&[&said.to_string(), seal, &last.to_string()]).unwrap();
    let mut assembler = windlass_core::Assembler::new(windlass_core::AssemblerLimits::default());
    let mut out = Vec::new();
    events.into_iter().for_each(|event| assembler.push(event, &mut out).unwrap());
    let items: Vec<Item> = out
        .into_iter()
        .filter_map(|part| match part {
            windlass_core::AssemblerOutput::Item(item) => Some(item),
            windlass_core::AssemblerOutput::Delta(_)
            | windlass_core::AssemblerOutput::Ended { .. } => None,
        })
        .collect();
    let [Item::Text { citations, .. }, Item::Reasoning(seal), Item::Reasoning(step)] = &items[..]
    else {
        panic!("{items:?}");
    };
    let cited = |url: &str, span: Option<(u64, u64)>| Citation {
        url: url.into(),
        title: "A".into(),
        span: span.map(|(start, end)| windlass_core::TextSpan { start, end }),
    };
    let a = "https://a.example/";
    assert_eq!(
        **citations,
        [cited(a, Some((2, 6))), cited(a, None), cited("https://b.example/", None)]
    );
    assert!(seal.opaque.is_some() && seal.searches.is_empty());
    assert_eq!(step.searches, ["winch age"]);
}

#[test]
fn searches_beside_calls_go_back_as_they_came() {
    let call = r#"{"toolCall":{"toolType":"GOOGLE_SEARCH_WEB","args":{"queries":["winch age"]},"id":"x"},"thoughtSignature":"s"}"#;
    let found = r#"{"toolResponse":{"toolType":"GOOGLE_SEARCH_WEB","response":{"r":1},"id":"x"}}"#;
    let event = format!(
        r#"{{"candidates":[{{"content":{{"parts":[{call},{found},{{"text":"Old."}}]}},"finishReason":"STOP","groundingMetadata":{{"webSearchQueries":["winch age"]}}}}]}}"#
    );
    let events = decode(&[&event]).unwrap();
    let searches =
        events.iter().filter(|event| matches!(event, StreamEvent::Search { .. })).count();
    assert_eq!(searches, 1);
    let kept: Vec<&str> = events
        .iter()
        .filter_map(|event| {
            let StreamEvent::Done { opaque: Some(opaque), .. } = event else { return None };
            Some(&*opaque.payload)
        })
        .collect();
    assert_eq!(kept, [call, found]);
}
