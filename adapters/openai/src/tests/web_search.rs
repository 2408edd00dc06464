//! Tests of web searches in both protocols: what is asked for, and which sources an answer keeps.

use serde_json::{Value, json};
use windlass_core::{
    Assembler, AssemblerLimits, AssemblerOutput, Citation, Item, Settings, TextSpan, WebSearch,
};
use windlass_kit_http::{Decoder, Encoder, SseCaps};

use crate::config::Api;
use crate::decode::OpenAiDecoder;
use crate::encode::OpenAiEncoder;

const TEXT: &str = "É😀 is old.";

fn items(api: Api, answer: &str) -> Vec<Item> {
    let mut decoder =
        Decoder::new(OpenAiDecoder::new(api, "http://host/v1", "m"), SseCaps::default());
    let (mut events, mut out) = (Vec::new(), Vec::new());
    decoder.read(answer.as_bytes(), &mut events).unwrap();
    let _ = decoder.close(&mut events);
    let mut assembler = Assembler::new(AssemblerLimits::default());
    events.into_iter().for_each(|event| assembler.push(event, &mut out).unwrap());
    let item = |part| match part {
        AssemblerOutput::Item(item) => Some(item),
        AssemblerOutput::Delta(_) | AssemblerOutput::Ended { .. } => None,
    };
    out.into_iter().filter_map(item).collect()
}

fn stream(events: &[Value]) -> String {
    events.iter().map(|event| format!("data: {event}\n\n")).collect()
}

/// Annotations that cite the emoji, reach out of the text, and are no pages of the web.
fn annotations(nested: bool) -> Vec<Value> {
    let cite = |url: &str, start: u64, end: u64| {
        let fields = json!({"url": url, "title": "A", "start_index": start, "end_index": end});
        match nested {
            true => json!({"type": "url_citation", "url_citation": fields}),
            false => {
                let mut fields = fields;
                fields["type"] = "url_citation".into();
                fields
            }
        }
    };
    let mut list = vec![
        cite("https://a.example/", 1, 2),
        cite("https://b.example/", 3, 99),
        cite("javascript:alert(1)", 0, 1),
        json!({"type": "file_citation", "index": 1}),
        json!({"type": "url_citation"}),
        json!(7),
    ];
    list.extend((0..2_000).map(|_| cite("https://a.example/", 1, 2)));
    list
}

fn sources() -> [Citation; 2] {
    let cited = |url: &str, span| Citation { url: url.into(), title: "A".into(), span };
    let emoji = Some(TextSpan { start: 2, end: 6 });
    [cited("https://a.example/", emoji), cited("https://b.example/", None)]
}

fn texts(items: &[Item]) -> Vec<&[Citation]> {
    fn cited(item: &Item) -> Option<&[Citation]> {
        match item {
            Item::Text { citations, .. } => Some(citations),
            Item::Refusal { .. } | Item::Reasoning(_) | Item::Call(_) => None,
        }
    }
    items.iter().filter_map(cited).collect()
}

#[test]
fn a_response_keeps_its_sources_and_shows_its_searches() {
    let action = json!({"type": "search", "query": "winch age", "sources": [{"type": "url", "url": "https://a.example/"}]});
    let search =
        json!({"type": "web_search_call", "id": "w", "status": "completed", "action": action});
    let part = json!({"type": "output_text", "text": TEXT, "annotations": annotations(false)});
    let message = json!({"type": "message", "id": "m", "role": "assistant", "content": [part]});
    let done = |index: usize, item: &Value| json!({"type": "response.output_item.done", "output_index": index, "item": item});
    let end = json!({"type": "response.completed", "response": {"id": "r", "status": "completed"}});
    let delta = json!({"type": "response.output_text.delta", "output_index": 1, "content_index": 0, "delta": TEXT});
    let streamed = items(
        Api::Responses,
        &stream(&[done(0, &search), delta.clone(), done(1, &message), end.clone()]),
    );
    let body = json!({"object": "response", "id": "r", "status": "completed", "output": [search, message]});
    assert_eq!(streamed, items(Api::Responses, &body.to_string()));
    assert_eq!(texts(&streamed), [&sources()[..]]);
    let Item::Reasoning(step) = &streamed[0] else { panic!("{streamed:?}") };
    assert_eq!(step.searches, ["winch age"]);
    // Where the item never comes whole, the events of its sources count.
    let added = |annotation: &Value| {
        json!({"type": "response.output_text.annotation.added", "output_index": 1,
            "content_index": 0, "annotation": annotation})
    };
    let list = annotations(false);
    let half = items(Api::Responses, &stream(&[delta, added(&list[0]), added(&list[1]), end]));
    assert_eq!(texts(&half), [&sources()[..]]);
}

#[test]
fn a_completion_keeps_its_sources() {
    let chunk = |delta: Value, reason: Value| json!({"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]});
    let streamed = items(
        Api::Chat,
        &stream(&[
            chunk(json!({"content": "É😀"}), json!(null)),
            chunk(json!({"content": " is old."}), json!(null)),
            chunk(json!({"annotations": annotations(true)}), json!(null)),
            chunk(json!({}), json!("stop")),
        ]),
    );
    let message = json!({"role": "assistant", "content": TEXT, "annotations": annotations(true)});
    let body = json!({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]});
    assert_eq!(streamed, items(Api::Chat, &body.to_string()));
    assert_eq!(texts(&streamed), [&sources()[..]]);
}

#[test]
fn each_protocol_asks_in_its_own_way() {
    let head = |api: Api, search: WebSearch| -> Value {
        let settings =
            Settings::new("openai", "gpt-5").with(|it| it.options.web_search = Some(search));
        let mut out = Vec::new();
        OpenAiEncoder::new(api, "https://api.openai.com/v1").head(&settings, &mut out).unwrap();
        serde_json::from_str(&(String::from_utf8(out).unwrap() + "]}")).unwrap()
    };
    let bounded = WebSearch {
        max_searches: Some(3),
        allowed_domains: vec!["a.example".into()],
        blocked_domains: vec!["b.example".into()],
    };
    let sent = head(Api::Responses, bounded);
    let filters = json!({"allowed_domains": ["a.example"], "blocked_domains": ["b.example"]});
    assert_eq!(sent["tools"], json!([{"type": "web_search", "filters": filters}]));
    assert_eq!(sent["max_tool_calls"], 3);
    let wanted = json!(["reasoning.encrypted_content", "web_search_call.action.sources"]);
    assert_eq!(sent["include"], wanted);
    let sent = head(Api::Responses, WebSearch::default());
    assert_eq!(
        (&sent["tools"], &sent["max_tool_calls"]),
        (&json!([{"type": "web_search"}]), &Value::Null)
    );
    assert_eq!(head(Api::Chat, WebSearch::default())["web_search_options"], json!({}));
}
