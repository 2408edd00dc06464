//! Tests of request bodies.

mod around;
mod conversation;

use std::sync::Arc;

use futures_util::FutureExt as _;
use serde_json::{Value, json};
use windlass_core::{
    CallItem, FailureKind, Image, ImageMedia, LoweredPart, LoweringAction, LoweringReason,
    LoweringRecord, Observation, ObservationStatus, Opaque, OutputSchema, PromptItem,
    ReasoningItem, Seq, SessionId, Temperature, ToolChoice, TurnId,
};
use windlass_kit_http::{Bodies, RequestBody};

use super::*;
use crate::DIALECT;

const ENDPOINT: &str = "https://api.anthropic.com/v1";
const SONNET: &str = "claude-sonnet-4-6";

fn settings(model: &str) -> Settings {
    windlass_testkit::settings().with(|it| {
        it.provider = "anthropic".into();
        it.model = model.into();
        it.instructions = "Be brief.".into();
        it.tools = vec![windlass_testkit::tool_spec(
            "echo",
            "Says it again.",
            r#"{"type":"object","properties":{"b":{},"a":{}}}"#,
        )];
        it.max_output_tokens = Some(100);
    })
}

fn opaque(endpoint: &str, model: &str, payload: &str) -> PromptItem {
    let opaque = Opaque {
        provider: DIALECT.into(),
        endpoint: endpoint.into(),
        model: model.into(),
        payload: payload.into(),
    };
    let item = ReasoningItem { text: "hm".into(), opaque: Some(opaque), ..Default::default() };
    PromptItem::Reasoning { sample: Seq(3), item: Arc::new(item) }
}

fn call(sample: u64, id: &str, name: &str, arguments: &str) -> PromptItem {
    let call = CallItem {
        provider_id: id.into(),
        name: name.into(),
        arguments: arguments.into(),
        fault: None,
        rules: Vec::new(),
        possible_rules: Vec::new(),
        outside_sandbox: false,
        sha256: None,
        opaque: None,
        inline: false,
    };
    PromptItem::Call { sample: Seq(sample), id: id.into(), call: Arc::new(call) }
}

fn result(id: &str, status: ObservationStatus, output: &str) -> PromptItem {
    PromptItem::Result {
        id: id.into(),
        observation: Arc::new(Observation::new(status, output)),
        edited: None,
    }
}

fn done(id: &str, output: &str) -> PromptItem {
    result(id, ObservationStatus::Done, output)
}

fn context(text: &str) -> PromptItem {
    PromptItem::Context { text: text.into() }
}

fn user(text: &str) -> PromptItem {
    PromptItem::User { text: text.into() }
}

fn said(sample: u64, text: &str) -> PromptItem {
    PromptItem::text(Seq(sample), text)
}

fn image() -> PromptItem {
    let image = Image { media: ImageMedia::Png, sha256: "a".repeat(64), bytes: 7 };
    PromptItem::Image { image: Arc::new(image) }
}

const SIGNED: &str = r#"{"type":"thinking","thinking":"hm","signature":"c2ln"}"#;

fn conversation() -> Vec<PromptItem> {
    vec![
        context("<context from=\"workspace\">\n/w\n</context>"),
        user("hi \"you\""),
        opaque(ENDPOINT, SONNET, SIGNED),
        said(3, "Let me see."),
        call(3, "c1", "echo", r#"{"a":1}"#),
        call(3, "c:2", "no such/tool", "not json"),
        done("c1", "1"),
        result("c:2", ObservationStatus::Failed, ""),
        context("<context from=\"hook\">\nmind the gap\n</context>"),
        said(9, "Done."),
        user("thanks"),
        image(),
    ]
}

fn prompt(settings: Settings, items: &[PromptItem]) -> Prompt {
    Prompt { settings: Arc::new(settings), items: items.iter().cloned().collect() }
}

fn request(prompt: &Prompt) -> SampleRequest {
    let session = SessionId::new("s").unwrap();
    SampleRequest::new(session, TurnId(1), Seq(2), prompt.clone())
}

fn bodies() -> Bodies<MessagesEncoder> {
    Bodies::new(MessagesEncoder::new(&AnthropicConfig::new(), ENDPOINT))
}

fn written(
    bodies: &Bodies<MessagesEncoder>,
    request: &SampleRequest,
) -> Result<RequestBody, ProviderError> {
    bodies.body(request).now_or_never().unwrap()
}

fn text(bodies: &Bodies<MessagesEncoder>, prompt: &Prompt) -> String {
    let written = written(bodies, &request(prompt)).unwrap();
    String::from_utf8(written.body.to_bytes().to_vec()).unwrap()
}

fn body(prompt: &Prompt) -> String {
    text(&bodies(), prompt)
}

fn read(settings: Settings, items: &[PromptItem]) -> Value {
    serde_json::from_str(&body(&prompt(settings, items))).unwrap()
}
