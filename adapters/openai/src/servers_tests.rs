//! Tests of the table of servers: what each is sent, and what the report of a request says.

use async_openai::types::chat::CreateChatCompletionRequest;
use async_openai::types::responses::CreateResponse;
use serde_json::{Value, json};
use windlass_core::{
    FailureKind, LoweredPart, LoweringAction, LoweringReason, LoweringRecord, Opaque, OutputSchema,
    Prompt, PromptItem, ToolChoice,
};

use super::*;
use crate::tests::fixtures::*;

fn sent(server: Server, prompt: &Prompt) -> Value {
    let body = RequestFixture::of(Api::Chat, server.quirks()).body(prompt).unwrap();
    serde_json::from_str(&body).unwrap()
}

fn refused(api: Api, server: Server, request: &SampleRequest) -> ProviderError {
    let error = RequestFixture::of(api, server.quirks()).written(request).unwrap_err();
    assert_eq!(error.kind, FailureKind::Unsupported, "{error}");
    error
}

/// The fields of a body but for the conversation and the tools.
fn around(body: &Value) -> Value {
    let mut around = body.clone();
    for name in ["model", "stream", "messages", "input", "tools", "instructions"] {
        around.as_object_mut().unwrap().remove(name);
    }
    around
}

#[test]
fn each_server_is_asked_in_its_own_words() {
    let usage = json!({ "include_usage": true });
    let prompt = prompt(settings("m"), &[user("hi")]);
    for (server, wanted) in [
        (
            Server::OpenAi,
            json!({ "stream_options": usage, "max_completion_tokens": 100, "reasoning_effort": "low", "prompt_cache_key": "s" }),
        ),
        (
            Server::Azure,
            json!({ "stream_options": usage, "max_completion_tokens": 100, "reasoning_effort": "low" }),
        ),
        (Server::Mistral, json!({ "max_tokens": 100, "reasoning_effort": "low" })),
        (
            Server::OpenRouter,
            json!({ "stream_options": usage, "max_tokens": 100, "reasoning": { "effort": "low" } }),
        ),
        (
            Server::Generic,
            json!({ "stream_options": usage, "max_tokens": 100, "reasoning_effort": "low" }),
        ),
    ] {
        assert_eq!(around(&sent(server, &prompt)), wanted, "{server:?}");
    }
}

#[test]
fn options_stand_where_the_conversation_stays_the_same() {
    let mut settings = settings("o9");
    settings.options.parallel_calls = Some(false);
    settings.options.reasoning_summary = Some("auto".into());
    settings.options.output_schema = Some(OutputSchema {
        name: "out".into(),
        schema: r#"{"type":"object","properties":{"b":{},"a":{}}}"#.into(),
        strict: true,
        max_re_asks: 1,
    });
    let prompt = prompt(settings, &[user("hi")]);
    let asks = RequestFixture::of(Api::Responses, Server::OpenAi.quirks());
    let mut request = request(&prompt);
    let auto = asks.written(&request).unwrap();
    request.choice = ToolChoice::Tool("echo".into());
    let named = asks.written(&request).unwrap();
    assert_eq!(named.reused_bytes as usize, text(&auto).rfind("]").unwrap());
    assert!(text(&named).ends_with(concat!(
        r#"],"max_output_tokens":100,"tool_choice":{"name":"echo","type":"function"},"#,
        r#""prompt_cache_key":"s"}"#
    )));
    assert!(text(&named).contains(concat!(
        r#""reasoning":{"effort":"low","summary":"auto"},"parallel_tool_calls":false,"#,
        r#""text":{"format":{"type":"json_schema","name":"out","#,
        r#""schema":{"type":"object","properties":{"b":{},"a":{}}},"strict":true}}"#,
    )));
    let read: CreateResponse = serde_json::from_str(&text(&named)).unwrap();
    assert_eq!(read.parallel_tool_calls, Some(false));
    assert!(read.tool_choice.is_some() && read.text.is_some());
}

#[test]
fn chat_options_are_those_of_the_protocol() {
    let mut settings = settings("m");
    settings.options.parallel_calls = Some(true);
    settings.options.output_schema = Some(OutputSchema {
        name: "out".into(),
        schema: r#"{"type":"object"}"#.into(),
        strict: true,
        max_re_asks: 1,
    });
    let prompt = prompt(settings, &[user("hi")]);
    let with = |server: Server, choice: ToolChoice| {
        let mut request = request(&prompt);
        request.choice = choice;
        let written = RequestFixture::of(Api::Chat, server.quirks()).written(&request);
        serde_json::from_str::<Value>(&text(&written.unwrap())).unwrap()
    };
    let body = with(Server::OpenAi, ToolChoice::Tool("echo".into()));
    let tool = json!({ "type": "function", "function": { "name": "echo" } });
    assert_eq!(body["tool_choice"], tool);
    let shape = json!({ "name": "out", "schema": { "type": "object" }, "strict": true });
    let format = json!({ "type": "json_schema", "json_schema": shape });
    assert_eq!(body["response_format"], format);
    assert_eq!(body["parallel_tool_calls"], true);
    let read: CreateChatCompletionRequest = serde_json::from_value(body).unwrap();
    assert!(read.tool_choice.is_some() && read.response_format.is_some());
    for (server, choice, word) in [
        (Server::OpenAi, ToolChoice::Required, "required"),
        (Server::Mistral, ToolChoice::Required, "any"),
        (Server::OpenAi, ToolChoice::None, "none"),
        // The one tool that is offered is the one that must be called.
        (Server::LmStudio, ToolChoice::Tool("echo".into()), "required"),
    ] {
        assert_eq!(with(server, choice)["tool_choice"], word, "{server:?}");
    }
    assert_eq!(with(Server::OpenAi, ToolChoice::Auto).get("tool_choice"), None);
    // Where a schema has no field, or none beside tools, it is told in words.
    for server in [Server::DeepSeek, Server::Groq, Server::LlamaCpp, Server::Gemini] {
        let body = with(server, ToolChoice::Auto);
        assert_eq!(body.get("response_format"), None, "{server:?}");
        let system = body["messages"][0]["content"].as_str().unwrap();
        assert!(system.starts_with("Be brief.\n\n") && system.ends_with(r#"{"type":"object"}"#));
    }
}

#[test]
fn what_a_server_cannot_be_told_is_refused_before_it_is_asked() {
    let plain = prompt(settings("m"), &[user("hi")]);
    let mut choice = request(&plain);
    choice.choice = ToolChoice::Required;
    refused(Api::Chat, Server::Ollama, &choice);
    let mut two = settings("m");
    let mut other = two.tools[0].clone();
    other.name = "other".into();
    two.tools.push(other);
    let mut named = request(&prompt(two, &[user("hi")]));
    named.choice = ToolChoice::Tool("echo".into());
    refused(Api::Chat, Server::LmStudio, &named);
    let mut single = settings("m");
    single.options.parallel_calls = Some(false);
    refused(Api::Chat, Server::Gemini, &request(&prompt(single, &[user("hi")])));
    let mut summary = settings("m");
    summary.options.reasoning_summary = Some("auto".into());
    refused(Api::Chat, Server::OpenAi, &request(&prompt(summary, &[user("hi")])));
    let mut toolless = settings("m");
    toolless.tools.clear();
    let mut must = request(&prompt(toolless, &[user("hi")]));
    must.choice = ToolChoice::Required;
    let error = RequestFixture::new(Api::Chat).written(&must).unwrap_err();
    assert_eq!(error.kind, FailureKind::InvalidRequest);
}

fn roles(body: &Value) -> Vec<&str> {
    let messages = body["messages"].as_array().unwrap().iter();
    messages.map(|message| message["role"].as_str().unwrap()).collect()
}

#[test]
fn a_strict_template_gets_no_two_users_and_no_user_after_a_tool() {
    let mut items = conversation();
    items.insert(8, user("and?"));
    let body = sent(Server::Mistral, &prompt(settings("m"), &items));
    assert_eq!(
        roles(&body),
        ["system", "user", "assistant", "tool", "tool", "assistant", "user", "assistant", "user"]
    );
    let ids = [&body["messages"][2]["tool_calls"][1]["id"], &body["messages"][4]["tool_call_id"]];
    assert!(ids[0] == ids[1] && ids[0].as_str().unwrap().len() == 9, "{ids:?}");
    assert_eq!(body["messages"][6]["content"], "and?\n\nmind the gap");
    let body = sent(Server::Vllm, &prompt(settings("m"), &items));
    assert_eq!(
        roles(&body),
        ["system", "user", "assistant", "tool", "tool", "user", "assistant", "user"]
    );
}

#[test]
fn a_remembered_prefix_never_shows_whatever_the_server() {
    let mut items = conversation();
    items.insert(8, user("and?"));
    items.push(user("really"));
    items.push(call(30, "c3", "echo", "{}"));
    items.push(result("c3", "x"));
    items.push(user("last"));
    for server in
        [Server::Mistral, Server::Vllm, Server::DeepSeek, Server::OpenRouter, Server::Gemini]
    {
        let asks = RequestFixture::of(Api::Chat, server.quirks());
        let mut growing = prompt(settings("gemini-3"), &[]);
        for item in &items {
            growing.items.push(item.clone());
            let kept = asks.written(&request(&growing)).unwrap();
            let fresh =
                RequestFixture::of(Api::Chat, server.quirks()).written(&request(&growing)).unwrap();
            assert_eq!(text(&kept), text(&fresh), "{server:?}");
            let sorted = |written: &windlass_kit_http::RequestBody| {
                let mut lowered = written.lowered.clone();
                lowered.sort_unstable();
                lowered
            };
            assert_eq!(sorted(&kept), sorted(&fresh), "{server:?}");
        }
    }
}

fn made(model: &str, payload: &str) -> Opaque {
    Opaque {
        provider: "openai-chat".into(),
        endpoint: ENDPOINT.into(),
        model: model.into(),
        payload: payload.into(),
    }
}

fn thought(opaque: Opaque) -> PromptItem {
    let text = String::from("hm");
    let opaque = Some(opaque);
    PromptItem::Reasoning {
        sample: windlass_core::Seq(3),
        item: std::sync::Arc::new(windlass_core::ReasoningItem {
            text,
            opaque,
            ..Default::default()
        }),
    }
}

#[test]
fn reasoning_goes_back_as_the_server_wants_it() {
    let turn = |opaque| {
        let items = [user("hi"), thought(opaque), call(3, "c", "echo", "{}"), result("c", "1")];
        prompt(settings("m"), &items)
    };
    let said = |server, opaque| sent(server, &turn(opaque))["messages"][2].clone();
    let content = made("m", r#""reasoning_content""#);
    assert_eq!(said(Server::DeepSeek, content.clone())["reasoning_content"], "hm");
    // Of another's calls it wants the field too.
    let other = made("n", r#""reasoning_content""#);
    assert_eq!(said(Server::DeepSeek, other)["reasoning_content"], "");
    assert_eq!(said(Server::OpenAi, content).get("reasoning_content"), None);
    let details = r#"[{"type":"reasoning.encrypted","data":"x"}]"#;
    let back = said(Server::OpenRouter, made("m", details));
    assert_eq!(back["reasoning_details"], serde_json::from_str::<Value>(details).unwrap());
}

#[test]
fn what_a_call_came_with_goes_back_and_others_get_a_stand_in() {
    let with = |model: &str, opaque: Option<Opaque>| {
        let PromptItem::Call { sample, id, call } = call(3, "c", "echo", "{}") else {
            panic!("no call");
        };
        let call = windlass_core::CallItem { opaque, ..(*call).clone() };
        let call = PromptItem::Call { sample, id, call: std::sync::Arc::new(call) };
        let items = [user("hi"), call, result("c", "1")];
        let body = sent(Server::Gemini, &prompt(settings(model), &items));
        body["messages"][2]["tool_calls"][0].get("extra_content").cloned()
    };
    let own = r#"{"google":{"thought_signature":"s"}}"#;
    let stand_in = json!({ "google": { "thought_signature": "skip_thought_signature_validator" } });
    assert_eq!(with("gemini-2.5", Some(made("gemini-2.5", own))), serde_json::from_str(own).ok());
    assert_eq!(with("gemini-2.5", Some(made("other", own))), None);
    assert_eq!(with("gemini-2.5", None), None);
    assert_eq!(with("models/gemini-3-pro", None), Some(stand_in));
}

#[test]
fn the_report_tells_all_that_is_not_as_it_was() {
    let long = "x".repeat(80);
    let refusal = PromptItem::Refusal { sample: windlass_core::Seq(9), text: "no".into() };
    let image = windlass_core::Image {
        media: windlass_core::ImageMedia::Png,
        sha256: "00".into(),
        bytes: 3,
    };
    let image = PromptItem::Image { image: std::sync::Arc::new(image) };
    let items = [
        context("c"),
        user("hi"),
        image,
        reasoning("http://other/v1", ENCRYPTED),
        call(3, &long, "no such/tool", "not json"),
        result(&long, "1"),
        refusal,
        reasoning(ENDPOINT, "{}"),
        user("and?"),
    ];
    let asked = prompt(settings("o9"), &items);
    let lowered = |api, server: Server| {
        let written = RequestFixture::of(api, server.quirks()).written(&request(&asked)).unwrap();
        let mut lowered = written.lowered;
        lowered.sort_unstable();
        lowered
    };
    let one = |what, how, why| LoweringRecord { part: what, action: how, reason: why, count: 1 };
    let down = |what, why| one(what, LoweringAction::Downgraded, why);
    let common = vec![
        down(LoweredPart::Refusal, LoweringReason::Unsupported),
        down(LoweredPart::CallId, LoweringReason::Invalid),
        down(LoweredPart::ToolName, LoweringReason::Invalid),
        down(LoweredPart::Arguments, LoweringReason::Invalid),
    ];
    let with = |more: &[LoweringRecord]| {
        let mut all = common.clone();
        all.extend_from_slice(more);
        all.sort_unstable();
        all
    };
    let missing = down(LoweredPart::Image, LoweringReason::Missing);
    let placeless = down(LoweredPart::Image, LoweringReason::Unsupported);
    let dropped = |why, count| {
        let (what, how) = (LoweredPart::Reasoning, LoweringAction::Dropped);
        LoweringRecord { part: what, action: how, reason: why, count }
    };
    let context = down(LoweredPart::Context, LoweringReason::Unsupported);
    let (foreign, unfit) =
        (dropped(LoweringReason::Foreign, 1), dropped(LoweringReason::Invalid, 1));
    let nowhere = dropped(LoweringReason::Unsupported, 2);
    assert_eq!(lowered(Api::Responses, Server::OpenAi), with(&[missing, foreign, unfit]));
    assert_eq!(lowered(Api::Responses, Server::Vllm), with(&[missing, foreign, unfit, context]));
    assert_eq!(lowered(Api::Chat, Server::OpenAi), with(&[missing, nowhere]));
    assert_eq!(lowered(Api::Chat, Server::Vllm), with(&[missing, nowhere, context]));
    let elsewhere = dropped(LoweringReason::Foreign, 2);
    assert_eq!(lowered(Api::Chat, Server::DeepSeek), with(&[placeless, elsewhere]));
}
