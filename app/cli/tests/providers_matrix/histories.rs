//! Conversations: such as each server begins them, and such as no server would.

use std::sync::Arc;

use serde_json::json;
use windlass_engine::core::{
    Assembler, AssemblerLimits, AssemblerOutput, CallItem, Image, ImageMedia, Item, Observation,
    ObservationStatus, Opaque, PromptItem, ReasoningItem, Seq,
};
use windlass_testkit::Answer;
use windlass_testkit::http::{Dialect, GeminiApi, Protocol as _};

use crate::places::{Place, PlaceProtocol, Way};

/// How many conversations each server begins.
pub(crate) const BEGUN: usize = 5;

/// The id of a call as other servers give them: long, and with what few take.
const ODD: &str = "functions.read:0/\u{fc}|fc_0123456789012345678901234567890123456789";

/// Conversations that a server began, read by its own adapter.
pub(crate) async fn begun(place: &Place) -> Vec<(&'static str, Vec<PromptItem>)> {
    let first = vec![user("What is in there?")];
    let called = answered(place, &first, &calling(place.protocol), 2).await;
    let results = results(&called);
    let done = Answer::new().sealed_reasoning("I have it.", "c2VhbGVkLTI=").text("That is all.");
    let running: Vec<PromptItem> = [&first[..], &called, &results].concat();
    let said = answered(place, &running, &done, 9).await;
    let over = [&running[..], &said, &[user("Go on.")]].concat();
    let refused = Answer::new().refusal("I will not.");
    let refused = answered(place, &first, &refused, 2).await;
    let refused = [&first[..], &refused, &[user("Why?")]].concat();
    let thought = Answer::new().sealed_reasoning("Hm.", "c2VhbGVkLTM=");
    let thought = answered(place, &first, &thought, 2).await;
    let thought = [&first[..], &thought, &[user("Well?")]].concat();
    let steered = [&running[..], &[user("Stop.")]].concat();
    let begun = vec![
        ("a turn that is over", over),
        ("a turn that runs", running),
        ("a steer after results", steered),
        ("a refusal", refused),
        ("a thought that led nowhere", thought),
    ];
    assert_eq!(begun.len(), BEGUN);
    begun
}

/// An answer with parallel calls, some of which no tool can take.
fn calling(protocol: PlaceProtocol) -> Answer {
    // Arguments are an object there, so that none are broken.
    let broken = |arguments: &'static str| match protocol {
        PlaceProtocol::Gemini => "{}",
        PlaceProtocol::Kit(..) => arguments,
    };
    Answer::new()
        .sealed_reasoning("Let me think.", "c2VhbGVkLTE=")
        .text("Let me look.")
        .call_as("call_1", "read", r#"{"path":"a"}"#)
        .call_as("call_1", "read", broken(""))
        .call_as("", "no such tool!", r#"{"path":"b"}"#)
        .call_as(ODD, "list", broken(r#"{"path":"#))
        .call_as("call_2", "list", broken("[1]"))
        .call_as("call_3", "list", broken(r#"{"path":"\ud800"}"#))
}

fn stream(place: &Place, answer: &Answer, sample: u64) -> String {
    match place.protocol {
        PlaceProtocol::Kit(dialect, _) => {
            let events = dialect.events(answer).concat();
            match dialect {
                Dialect::Chat => own(place.name, &events),
                Dialect::Responses => items(place.name, &events, sample),
                Dialect::Messages => events,
            }
        }
        PlaceProtocol::Gemini => GeminiApi::WITH_IDS.events(answer).concat(),
    }
}

/// Items have ids of their own, as on a server; an open one shows its reasoning and seals none.
fn items(name: &str, events: &str, sample: u64) -> String {
    let lines = events.lines().map(|line| {
        let Some(data) = line.strip_prefix("data: ") else {
            return format!("{line}\n");
        };
        let mut event: serde_json::Value = serde_json::from_str(data).unwrap();
        numbered(&mut event, sample);
        if name == "open responses" {
            opened(&mut event["item"]);
            let output = event["response"]["output"].as_array_mut();
            output.into_iter().flatten().for_each(opened);
        }
        format!("data: {event}\n")
    });
    lines.collect()
}

fn numbered(value: &mut serde_json::Value, sample: u64) {
    if let Some(object) = value.as_object_mut() {
        for (key, value) in object {
            match value.as_str() {
                Some(id) if matches!(key.as_str(), "id" | "item_id") => {
                    *value = format!("{id}_{sample}").into();
                }
                Some(_) | None => numbered(value, sample),
            }
        }
    } else if let Some(list) = value.as_array_mut() {
        list.iter_mut().for_each(|value| numbered(value, sample));
    }
}

fn opened(item: &mut serde_json::Value) {
    let Some(item) = item.as_object_mut() else {
        return;
    };
    if item.remove("encrypted_content").is_some() {
        let text = json!([{ "type": "reasoning_text", "text": "Hm." }]);
        item.insert("content".into(), text);
    }
}

/// What servers of Chat Completions add of their own.
fn own(name: &str, events: &str) -> String {
    let mut index = 0;
    let lines = events.split_inclusive("\n\n").map(|event| {
        let Some(data) = event.trim().strip_prefix("data: {") else {
            return event.to_owned();
        };
        let mut chunk: serde_json::Value = serde_json::from_str(&format!("{{{data}")).unwrap();
        let delta = &mut chunk["choices"][0]["delta"];
        match name {
            "openrouter" if delta["reasoning_content"].is_string() => {
                let text = delta["reasoning_content"].take();
                let part = json!({ "type": "reasoning.text", "text": text, "index": 0, "signature": "c2ln" });
                *delta = json!({ "reasoning": part["text"], "reasoning_details": [part] });
            }
            "gemini" if delta["tool_calls"][0]["id"].is_string() => {
                if index == 0 {
                    let signature = json!({ "google": { "thought_signature": "c2lnbmF0dXJl" } });
                    delta["tool_calls"][0]["extra_content"] = signature;
                }
                index += 1;
            }
            _ => {}
        }
        format!("data: {chunk}\n\n")
    });
    lines.collect()
}

/// What the adapter reads of an answer, as the core renders it.
async fn answered(
    place: &Place,
    items: &[PromptItem],
    answer: &Answer,
    sample: u64,
) -> Vec<PromptItem> {
    let bytes = stream(place, answer, sample);
    let (_, _, events) = place.answer(items, &Way::default(), &bytes).await.unwrap();
    let caps = AssemblerLimits { bytes: usize::MAX, parts: usize::MAX };
    let (mut assembler, mut out) = (Assembler::new(caps), Vec::new());
    for event in events {
        assembler.push(event, &mut out).unwrap();
    }
    assert!(assembler.ended(), "{}: the answer has no end", place.name);
    let mut rendered = Vec::new();
    let mut ids = std::collections::BTreeSet::new();
    for (index, one) in out.into_iter().enumerate() {
        let AssemblerOutput::Item(item) = one else {
            continue;
        };
        let sample = Seq(sample);
        rendered.push(match item {
            Item::Text { text, .. } => PromptItem::text(sample, text),
            Item::Refusal { text } => PromptItem::Refusal { sample, text },
            Item::Reasoning(item) => PromptItem::Reasoning { sample, item },
            Item::Call(call) => {
                let own = &call.provider_id;
                let id = match !own.is_empty() && ids.insert(own.clone()) {
                    true => own.as_str().into(),
                    false => format!("wl_{}_{index}", sample.0).into(),
                };
                PromptItem::Call { sample, id, call }
            }
        });
    }
    rendered
}

/// A result of each call, in their order, of all kinds.
fn results(items: &[PromptItem]) -> Vec<PromptItem> {
    use ObservationStatus as Status;
    let kinds = [
        Status::Done,
        Status::Failed,
        Status::Denied,
        Status::Unknown,
        Status::Aborted,
        Status::NotStarted,
    ];
    let ids = items.iter().filter_map(|item| {
        if let PromptItem::Call { id, .. } = item {
            return Some(id.clone());
        }
        None
    });
    let result = |(id, status): (Arc<str>, &Status)| {
        let output = match *status {
            Status::Done => "it says winch",
            Status::Failed
            | Status::Denied
            | Status::Aborted
            | Status::Unknown
            | Status::NotStarted => "",
        };
        PromptItem::Result {
            id,
            observation: Arc::new(Observation::new(*status, output)),
            edited: None,
        }
    };
    ids.zip(kinds.iter().cycle()).map(result).collect()
}

pub(crate) fn user(text: &str) -> PromptItem {
    PromptItem::User { text: text.into() }
}

fn context(text: &str) -> PromptItem {
    PromptItem::Context { text: text.into() }
}

fn said(sample: u64, text: &str) -> PromptItem {
    PromptItem::text(Seq(sample), text)
}

fn refusal(sample: u64, text: &str) -> PromptItem {
    PromptItem::Refusal { sample: Seq(sample), text: text.into() }
}

fn call(sample: u64, id: &str, name: &str, arguments: &str, opaque: Option<Opaque>) -> PromptItem {
    let call = CallItem {
        provider_id: id.into(),
        name: name.into(),
        arguments: arguments.into(),
        fault: None,
        rules: Vec::new(),
        possible_rules: Vec::new(),
        outside_sandbox: false,
        sha256: None,
        opaque,
        inline: false,
    };
    PromptItem::Call { sample: Seq(sample), id: id.into(), call: Arc::new(call) }
}

fn result(id: &str, output: &str, edited: Option<&str>) -> PromptItem {
    PromptItem::Result {
        id: id.into(),
        observation: Arc::new(Observation::new(ObservationStatus::Done, output)),
        edited: edited.map(Arc::from),
    }
}

fn foreign(payload: &str) -> Opaque {
    Opaque {
        provider: "elsewhere".into(),
        endpoint: "https://elsewhere.example".into(),
        model: "other".into(),
        payload: payload.into(),
    }
}

fn thought(sample: u64, opaque: Option<Opaque>) -> PromptItem {
    PromptItem::Reasoning {
        sample: Seq(sample),
        item: Arc::new(ReasoningItem { text: "Hm.".into(), opaque, ..Default::default() }),
    }
}

fn lost(media: ImageMedia) -> PromptItem {
    PromptItem::Image { image: Arc::new(Image { media, sha256: "0".repeat(64), bytes: 9 }) }
}

/// A conversation with images that are kept, one of them of a result, and one that is not.
pub(crate) fn pictures(kept: &[Image]) -> Vec<PromptItem> {
    let shown = kept.iter().map(|image| PromptItem::Image { image: Arc::new(image.clone()) });
    let mut items = vec![user("look")];
    items.extend(shown);
    items.extend([said(2, "At what?"), lost(ImageMedia::Gif), user("at this")]);
    items.extend([call(8, "c1", "f", "{}", None), call(8, "c2", "f", "{}", None)]);
    let images = kept.iter().take(1).cloned().collect();
    let seen = Observation { images, ..Observation::new(ObservationStatus::Done, "a picture") };
    let seen = PromptItem::Result { id: "c1".into(), observation: Arc::new(seen), edited: None };
    items.extend([seen, result("c2", "words", None), said(12, "I see."), user("go on")]);
    items
}

/// Conversations that no server begins.
pub(crate) fn awkward() -> Vec<(&'static str, Vec<PromptItem>)> {
    let long = "n".repeat(200);
    let odd = "\u{1f9ca} \"quoted\" \u{0}\u{7f}\u{2028}\\";
    vec![
        ("a greeting", vec![user("hi")]),
        ("odd characters", vec![context(odd), user(odd), said(2, odd), user(odd)]),
        (
            "context first and last",
            vec![context("here"), user("hi"), said(2, "Yes?"), user("go"), context("soon")],
        ),
        (
            "context among answers",
            vec![
                user("hi"),
                call(2, "a", "read", "{}", None),
                result("a", "", None),
                context("time is short"),
                said(5, "One."),
                said(5, "Two."),
                context("time is up"),
                user("go"),
            ],
        ),
        (
            "a summary",
            vec![
                user("the request"),
                context("<summary>\nall that was done\n</summary>"),
                call(40, "a", "read", "{}", None),
                result("a", "x", None),
            ],
        ),
        (
            "edited arguments",
            vec![
                user("hi"),
                call(2, "a", "read", r#"{"path":"a"}"#, None),
                call(2, "b", "read", r#"{"path":"b"}"#, None),
                result("a", "x", Some(r#"{"path":"c"}"#)),
                result("b", "y", None),
            ],
        ),
        (
            "ids and names that nobody takes",
            vec![
                user("hi"),
                call(2, &long, &long, "{}", None),
                call(2, "call.1", "a b", "", None),
                call(2, "123456789", "", "nonsense", Some(foreign("{}"))),
                call(2, &"x".repeat(41), "read", " {\"a\":1} ", None),
                call(2, &"y".repeat(64), "read", "{\"a\":1}}", None),
                result(&long, "x", None),
                result("call.1", "x", None),
                result("123456789", "x", None),
                result(&"x".repeat(41), "x", None),
                result(&"y".repeat(64), "x", None),
            ],
        ),
        (
            "reasoning of others",
            vec![
                user("hi"),
                thought(2, Some(foreign("{\"type\":\"reasoning\"}"))),
                thought(2, None),
                said(2, "Yes?"),
                user("go"),
                thought(5, Some(foreign(""))),
                call(5, "a", "read", "{}", Some(foreign("null"))),
                result("a", "x", None),
            ],
        ),
        (
            "an answer after an answer",
            vec![
                user("hi"),
                said(2, "One."),
                said(4, "Two."),
                refusal(6, "No."),
                call(8, "a", "read", "{}", None),
                result("a", "x", None),
                said(9, "Three."),
            ],
        ),
        (
            "images that are not kept",
            vec![
                user("look"),
                lost(ImageMedia::Png),
                lost(ImageMedia::Webp),
                said(2, "At what?"),
                lost(ImageMedia::Jpeg),
            ],
        ),
        (
            "words of white space",
            vec![
                user(" \n"),
                said(2, "\n"),
                user("hi"),
                said(4, " "),
                call(4, "a", "read", "{}", None),
                result("a", " ", None),
            ],
        ),
        (
            "the user twice",
            vec![user("one"), user("two"), said(3, "Yes?"), user("three"), user("four")],
        ),
    ]
}
