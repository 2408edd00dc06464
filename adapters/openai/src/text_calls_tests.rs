//! Tests of tools that take a text of a grammar: as they are offered, called and answered, and where
//! they are functions like others.

use std::sync::Arc;

use async_openai::types::responses::{
    CreateResponse, CustomToolParamFormat, InputItem, InputParam, Item, Tool,
};
use serde_json::{Value, json};
use windlass_core::{EffectClass, Settings, StreamEvent, ToolChoice, ToolGrammar, ToolSpec};
use windlass_kit_http::Dialect;

use super::*;
use crate::decode::OpenAiDecoder;
use crate::servers::GENERIC;
use crate::tests::fixtures::*;

const GRAMMAR: &str = "start: \"a\" LF\n%import common.LF\n";
const SCHEMA: &str =
    r#"{"type":"object","properties":{"patch":{"type":"string"}},"required":["patch"]}"#;

fn with_text_tool(model: &str) -> Settings {
    settings(model).with(|it| {
        it.tools.push(ToolSpec::new("apply_patch", EffectClass::Effectful).with(|it| {
            it.description = "Changes files.".into();
            it.parameters = SCHEMA.into();
            let definition = GRAMMAR.into();
            it.grammar = Some(Box::new(ToolGrammar { argument: "patch".into(), definition }));
        }));
    })
}

fn quirks() -> Quirks {
    Quirks { grammars: true, ..GENERIC }
}

fn conversation() -> Vec<windlass_core::PromptItem> {
    vec![
        user("hi"),
        call(3, "c1", "apply_patch", r#"{"patch":"say \"ä\"\n"}"#),
        call(3, "c2", "echo", r#"{"a":1}"#),
        call(3, "c3", "apply_patch", r#"{"patch":"x","more":1}"#),
        call(3, "c4", "apply_patch", "not json"),
        result("c1", "done"),
        result("c2", "1"),
        result("c3", "no"),
        result("c4", "no"),
        user("thanks"),
    ]
}

#[test]
fn a_text_call_goes_out_as_it_came() {
    let prompt = prompt(with_text_tool("gpt-5.1"), &conversation());
    let body = RequestFixture::of(Api::Responses, quirks()).body(&prompt).unwrap();
    let tool = r#"{"type":"custom","name":"apply_patch","description":"Changes files.","format":{"type":"grammar","syntax":"lark","definition":"start: \"a\" LF\n%import common.LF\n"}}"#;
    assert!(body.contains(tool), "{body}");
    for item in [
        r#"{"type":"custom_tool_call","call_id":"c1","name":"apply_patch","input":"say \"ä\"\n"}"#,
        r#"{"type":"custom_tool_call_output","call_id":"c1","output":"done"}"#,
        r#"{"type":"function_call_output","call_id":"c2","output":"1"}"#,
        r#"{"type":"function_call","call_id":"c3","name":"apply_patch","arguments":"{\"patch\":\"x\",\"more\":1}"}"#,
        r#"{"type":"function_call_output","call_id":"c3","output":"no"}"#,
        r#"{"type":"function_call_output","call_id":"c4","output":"no"}"#,
    ] {
        assert!(body.contains(item), "{item}: {body}");
    }
    // These types want an id of the item, which the API does not.
    let read =
        body.replace(r#""type":"custom_tool_call","#, r#""type":"custom_tool_call","id":"i","#);
    let read: CreateResponse = serde_json::from_str(&read).unwrap();
    let offered = read.tools.unwrap();
    let Some(Tool::Custom(tool)) = offered.last() else {
        panic!("{offered:?}");
    };
    assert!(matches!(tool.format, CustomToolParamFormat::Grammar(_)), "{tool:?}");
    let InputParam::Items(items) = read.input else { panic!("{body}") };
    let calls =
        items.iter().filter(|item| matches!(item, InputItem::Item(Item::CustomToolCall(_))));
    let outputs =
        items.iter().filter(|item| matches!(item, InputItem::Item(Item::CustomToolCallOutput(_))));
    assert_eq!((calls.count(), outputs.count()), (1, 1));
}

/// A result that comes in a later request than its call is a text's all the same.
#[test]
fn a_result_is_its_calls_however_the_request_is_cut() {
    let all = conversation();
    let whole = prompt(with_text_tool("gpt-5.1"), &all);
    let expected = RequestFixture::of(Api::Responses, quirks()).body(&whole).unwrap();
    for cut in 1..all.len() {
        let fixture = RequestFixture::of(Api::Responses, quirks());
        let settings = whole.settings.clone();
        let items = all.iter().take(cut).cloned().collect();
        fixture.body(&Prompt { settings, items }).unwrap();
        assert_eq!(fixture.body(&whole).unwrap(), expected, "{cut}");
    }
}

#[test]
fn elsewhere_it_is_a_function() {
    let function = |api, model: &str, quirks| {
        let prompt = prompt(with_text_tool(model), &conversation());
        let body = RequestFixture::of(api, quirks).body(&prompt).unwrap();
        let read: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(read["tools"][1]["type"], "function", "{body}");
        assert!(!body.contains("custom"), "{body}");
    };
    function(Api::Chat, "gpt-5.1", quirks());
    function(Api::Responses, "gpt-5.1", GENERIC);
    // Models that do not take such a tool, or that nobody knows.
    function(Api::Responses, "gpt-4.1", quirks());
    function(Api::Responses, "o9", quirks());
}

#[test]
fn the_choice_of_it_names_its_kind() {
    let chosen = |tool: &str, quirks| {
        let mut request = request(&prompt(with_text_tool("gpt-5.1"), &[user("hi")]));
        request.choice = ToolChoice::Tool(tool.into());
        let written = RequestFixture::of(Api::Responses, quirks).written(&request).unwrap();
        serde_json::from_str::<Value>(&text(&written)).unwrap()["tool_choice"].clone()
    };
    assert_eq!(chosen("apply_patch", quirks()), json!({"type": "custom", "name": "apply_patch"}));
    assert_eq!(chosen("echo", quirks()), json!({"type": "function", "name": "echo"}));
    assert_eq!(chosen("apply_patch", GENERIC), json!({"type": "function", "name": "apply_patch"}));
}

/// The events of one call: its arguments as they stream, joined, and as they are whole.
fn decoded(events: &[&str]) -> (String, Option<String>) {
    let mut decoder = OpenAiDecoder::new(Api::Responses, ENDPOINT, "gpt-5.1")
        .with_grammars(Arc::new(with_text_tool("gpt-5.1")));
    let mut out = Vec::new();
    for event in events {
        decoder.event(b"", event.as_bytes(), &mut out).unwrap();
    }
    let (mut streamed, mut whole) = (String::new(), None);
    for event in out {
        match event {
            StreamEvent::CallArguments { text, .. } => streamed.push_str(&text),
            StreamEvent::Done { text, .. } => whole = text,
            StreamEvent::Opened { .. }
            | StreamEvent::Text { .. }
            | StreamEvent::Refusal { .. }
            | StreamEvent::Reasoning { .. }
            | StreamEvent::Citation { .. }
            | StreamEvent::Search { .. }
            | StreamEvent::CallOpened { .. }
            | StreamEvent::Usage(_)
            | StreamEvent::Finished { .. } => {}
        }
    }
    (streamed, whole)
}

#[test]
fn a_text_comes_back_as_its_argument() {
    let added = r#"{"type":"response.output_item.added","output_index":0,"item":{"type":"custom_tool_call","id":"i","call_id":"c","name":"apply_patch","input":""}}"#;
    let delta = |text: &str| {
        json!({"type": "response.custom_tool_call_input.delta", "output_index": 0, "delta": text})
            .to_string()
    };
    let input = "say \"ä\"\n\\";
    let whole =
        json!({"type": "response.custom_tool_call_input.done", "output_index": 0, "input": input});
    let whole = whole.to_string();
    let item = |input: &str| {
        let item = json!({"type": "custom_tool_call", "id": "i", "call_id": "c",
            "name": "apply_patch", "input": input, "status": "completed"});
        json!({"type": "response.output_item.done", "output_index": 0, "item": item}).to_string()
    };
    let (first, second) = (delta("say \"ä\""), delta("\n\\"));
    let end = r#"{"type":"response.completed","response":{"id":"r","status":"completed"}}"#;
    let expected = json!({ "patch": input }).to_string();
    for events in [
        vec![added, &first, &second, &whole, &item(input), end],
        vec![added, &first, &second, &item(input), end],
        vec![added, &whole, end],
        vec![&item(input), end],
        vec![&first, &second, added, end],
    ] {
        let (streamed, whole) = decoded(&events);
        assert_eq!(streamed, expected, "{events:?}");
        assert_eq!(whole.unwrap_or(streamed), expected, "{events:?}");
    }
    assert_eq!(decoded(&[added, &item(""), end]).0, r#"{"patch":""}"#);
    // A server that calls it as a function has sent the argument itself.
    let function =
        item(input).replace("custom_tool_call", "function_call").replace("input", "arguments");
    let arguments = decoded(&[&function, end]).0;
    assert_eq!(arguments, input);
    // Without the grammar nothing is made of a text.
    let other = item(input).replace("apply_patch", "echo");
    assert_eq!(decoded(&[&other, end]).0, input);
}
