//! Tests of web searches: from the bytes of an answer to items, and back into the next request.

use std::sync::Arc;

use futures_util::FutureExt as _;
use serde_json::{Value, json};
use windlass_core::{
    Assembler, AssemblerLimits, AssemblerOutput, Citation, Item, Prompt, PromptItem, Seq,
    SessionId, Settings, StopReason, TurnId, WebSearch,
};
use windlass_kit_http::{Bodies, Decoder, RequestBody, SseCaps};
use windlass_ports::{Provider as _, SampleRequest};

use crate::{AnthropicConfig, MessagesDecoder, MessagesEncoder};

const ENDPOINT: &str = "https://api.anthropic.com/v1";
const MODEL: &str = "claude-sonnet-4-5";

fn search(id: &str) -> Value {
    json!({"type": "server_tool_use", "id": id, "name": "web_search", "input": {"query": "winch age"}})
}

fn results(id: &str) -> Value {
    let page = json!({"type": "web_search_result", "url": "https://a.example/", "title": "A",
        "encrypted_content": "c2VjcmV0", "page_age": null});
    json!({"type": "web_search_tool_result", "tool_use_id": id, "content": [page]})
}

fn location(url: &str) -> Value {
    json!({"type": "web_search_result_location", "url": url, "title": "A\u{1b}[31m",
        "encrypted_index": "aW5kZXg=", "cited_text": "Winches are old."})
}

fn cited(text: &str, url: &str) -> Value {
    json!({"type": "text", "text": text, "citations": [location(url)]})
}

fn plain(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

/// The answer as one body.
fn whole(blocks: &[Value], stop: &str) -> String {
    json!({"type": "message", "role": "assistant", "id": "m", "content": blocks, "stop_reason": stop})
        .to_string()
}

/// The same as a stream.
fn streamed(blocks: &[Value], stop: &str) -> String {
    let mut events = vec![json!({"type": "message_start", "message": {"id": "m"}})];
    for (index, block) in blocks.iter().enumerate() {
        let mut start = block.clone();
        let mut deltas = Vec::new();
        if let Some(text) = block.get("text") {
            (start["text"], start["citations"]) = (json!(""), json!([]));
            for citation in block["citations"].as_array().into_iter().flatten() {
                deltas.push(json!({"type": "citations_delta", "citation": citation}));
            }
            deltas.push(json!({"type": "text_delta", "text": text}));
        } else if let Some(input) = block.get("input") {
            start["input"] = json!({});
            let input = input.to_string();
            let (a, b) = input.split_at(5);
            deltas.extend(
                [a, b].map(|part| json!({"type": "input_json_delta", "partial_json": part})),
            );
        }
        events.push(json!({"type": "content_block_start", "index": index, "content_block": start}));
        let delta = |delta| json!({"type": "content_block_delta", "index": index, "delta": delta});
        events.extend(deltas.into_iter().map(delta));
        events.push(json!({"type": "content_block_stop", "index": index}));
    }
    events.push(json!({"type": "message_delta", "delta": {"stop_reason": stop}}));
    events.push(json!({"type": "message_stop"}));
    events.iter().map(|event| format!("data: {event}\n\n")).collect()
}

/// Items of an answer, and its stop reason.
fn items(answer: &str) -> (Vec<Item>, StopReason) {
    let mut decoder = Decoder::new(MessagesDecoder::new(ENDPOINT, MODEL), SseCaps::default());
    let (mut events, mut out) = (Vec::new(), Vec::new());
    decoder.read(answer.as_bytes(), &mut events).unwrap();
    let _ = decoder.close(&mut events);
    let mut assembler = Assembler::new(AssemblerLimits::default());
    events.into_iter().for_each(|event| assembler.push(event, &mut out).unwrap());
    let (mut items, mut stopped) = (Vec::new(), None);
    for part in out {
        match part {
            AssemblerOutput::Item(item) => items.push(item),
            AssemblerOutput::Ended { stop, .. } => stopped = Some(stop),
            AssemblerOutput::Delta(_) => {}
        }
    }
    (items, stopped.unwrap())
}

fn said(sample: u64, blocks: &[Value]) -> Vec<PromptItem> {
    let (items, _) = items(&streamed(blocks, "end_turn"));
    let sample = Seq(sample);
    let shown = |item| match item {
        Item::Text { text, opaque, .. } => PromptItem::Text { sample, text, opaque },
        Item::Reasoning(item) => PromptItem::Reasoning { sample, item },
        Item::Refusal { text } => PromptItem::Refusal { sample, text },
        Item::Call(call) => PromptItem::Call { sample, id: "c".into(), call },
    };
    items.into_iter().map(shown).collect()
}

fn user(text: &str) -> PromptItem {
    PromptItem::User { text: text.into() }
}

fn settings() -> Settings {
    let search = WebSearch {
        max_searches: Some(3),
        allowed_domains: vec!["a.example".into()],
        ..WebSearch::default()
    };
    Settings::new("anthropic", MODEL).with(|it| it.options.web_search = Some(search))
}

fn body(items: &[PromptItem]) -> Value {
    let prompt = Prompt { settings: Arc::new(settings()), items: items.iter().cloned().collect() };
    let request = SampleRequest::new(SessionId::new("s").unwrap(), TurnId(1), Seq(2), prompt);
    let bodies = Bodies::new(MessagesEncoder::new(&AnthropicConfig::new(), ENDPOINT));
    let written = bodies.body(&request).now_or_never().unwrap().unwrap();
    parsed(&written)
}

fn parsed(written: &RequestBody) -> Value {
    let bytes: Vec<u8> = written.body.iter().flat_map(|bytes| bytes.to_vec()).collect();
    serde_json::from_slice(&bytes).unwrap()
}

fn messages(items: &[PromptItem]) -> Value {
    body(items)["messages"].take()
}

#[test]
fn the_search_is_offered_with_its_bound_and_domains() {
    let wanted = json!({"type": "web_search_20250305", "name": "web_search", "max_uses": 3,
        "allowed_domains": ["a.example"]});
    assert_eq!(body(&[user("hi")])["tools"], json!([wanted]));
    let wire = windlass_http::http_wire(ENDPOINT).unwrap();
    let own = crate::Anthropic::over(&AnthropicConfig::new(), wire.clone()).unwrap();
    own.check_settings(&settings()).unwrap();
    let both = settings().with(|it| {
        let search = it.options.web_search.as_mut().unwrap();
        search.blocked_domains = vec!["b.example".into()];
    });
    assert!(own.check_settings(&both).unwrap_err().context.contains("both allowed and blocked"));
    let elsewhere = AnthropicConfig::new().with_base_url("http://127.0.0.1:1");
    let other = crate::Anthropic::over(&elsewhere, wire).unwrap();
    assert!(other.check_settings(&settings()).unwrap_err().context.contains("a web search"));
}

#[test]
fn an_answer_keeps_its_sources_streamed_and_whole() {
    let blocks =
        [search("s1"), results("s1"), plain("Old: "), cited("they are.", "https://a.example/")];
    let (streamed, stop) = items(&streamed(&blocks, "end_turn"));
    assert_eq!((&streamed, &stop), (&items(&whole(&blocks, "end_turn")).0, &StopReason::Stop));
    let [
        Item::Reasoning(searched),
        Item::Reasoning(_),
        Item::Text { .. },
        Item::Text { citations, .. },
    ] = &streamed[..]
    else {
        panic!("{streamed:?}");
    };
    assert_eq!(searched.searches, ["winch age"]);
    let title = "A\u{1b}[31m".to_owned();
    assert_eq!(**citations, [Citation { url: "https://a.example/".into(), title, span: None }]);
}

#[test]
fn the_next_request_holds_the_blocks_of_the_answer_in_their_order() {
    let blocks =
        [search("s1"), results("s1"), plain("Old: "), cited("they are.", "https://a.example/")];
    let first = said(3, &blocks);
    let sent = messages(&[&[user("how old?")], &first[..], &[user("and now?")]].concat());
    assert_eq!(sent[1], json!({"role": "assistant", "content": blocks}));
    // Another model cannot read them.
    let mut foreign = Prompt {
        settings: Arc::new(settings().with(|it| it.model = "claude-opus-4-5".into())),
        items: [&[user("how old?")], &first[..], &[user("and now?")]]
            .concat()
            .into_iter()
            .collect(),
    };
    let request =
        |prompt| SampleRequest::new(SessionId::new("s").unwrap(), TurnId(1), Seq(2), prompt);
    let bodies = Bodies::new(MessagesEncoder::new(&AnthropicConfig::new(), ENDPOINT));
    Arc::make_mut(&mut foreign.settings).options.web_search = None;
    let written = bodies.body(&request(foreign)).now_or_never().unwrap().unwrap();
    let sent: Value = parsed(&written);
    let plain = json!([plain("Old: "), plain("they are.")]);
    assert_eq!(sent["messages"][1]["content"], plain);
}

#[test]
fn a_paused_answer_goes_on_in_its_message() {
    let (_, stop) = items(&streamed(&[search("s1")], "pause_turn"));
    assert_eq!(stop, StopReason::Unfinished);
    let paused = [&[user("how old?")], &said(3, &[plain("I look."), search("s1")])[..]].concat();
    let sent = messages(&paused);
    let content = json!([plain("I look."), search("s1")]);
    assert_eq!(
        sent.as_array().unwrap().last().unwrap(),
        &json!({"role": "assistant", "content": content})
    );
    let rest = said(9, &[results("s1"), plain("Old.")]);
    let sent = messages(&[&paused[..], &rest[..], &[user("thanks")]].concat());
    let content = json!([plain("I look."), search("s1"), results("s1"), plain("Old.")]);
    assert_eq!(sent[1]["content"], content);
    assert_eq!(sent.as_array().unwrap().len(), 3);
    // Whoever speaks in between ends the search, which has no results then.
    let steered = messages(&[&paused[..], &[user("stop")]].concat());
    assert_eq!(steered[1]["content"], json!([plain("I look.")]));
    // Results without their search are refused too.
    let late = messages(
        &[&[user("hi")], &said(3, &[results("s9"), plain("Old.")])[..], &[user("so")]].concat(),
    );
    assert_eq!(late[1]["content"], json!([plain("Old.")]));
}

#[test]
fn a_search_that_waits_for_a_call_of_the_client_goes_back_before_its_result() {
    let call = json!({"type": "tool_use", "id": "c", "name": "echo", "input": {"a": 1}});
    let asked = said(3, &[search("s1"), call.clone()]);
    let observation = windlass_core::Observation::new(windlass_core::ObservationStatus::Done, "1");
    let result =
        PromptItem::Result { id: "c".into(), observation: Arc::new(observation), edited: None };
    let sent = messages(&[&[user("hi")], &asked[..], &[result]].concat());
    assert_eq!(sent[1]["content"], json!([search("s1"), call]));
}

#[test]
fn hostile_sources_and_searches_are_harmless() {
    let many: Vec<Value> =
        (0..5_000).map(|n| location(&format!("https://a.example/{n}"))).collect();
    let blocks = [
        json!({"type": "text", "text": "x", "citations": many}),
        cited("y", "javascript:alert(1)"),
        json!({"type": "text", "text": "z", "citations": [7, {"type": "char_location"}, null]}),
        json!({"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"query": 7}}),
    ];
    let (items, _) = items(&whole(&blocks, "end_turn"));
    let cited: Vec<usize> = items
        .iter()
        .filter_map(|item| match item {
            Item::Text { citations, .. } => Some(citations.len()),
            Item::Refusal { .. } | Item::Reasoning(_) | Item::Call(_) => None,
        })
        .collect();
    assert_eq!(cited, [Citation::MAX_PER_TEXT, 0, 0]);
}
