//! Fixtures for the tests of requests.

use std::sync::Arc;

use futures_util::FutureExt as _;
use windlass_core::{
    CallItem, Observation, ObservationStatus, Opaque, Prompt, PromptItem, ReasoningItem, Seq,
    SessionId, Settings, TurnId,
};
use windlass_kit_http::{Bodies, RequestBody};
use windlass_ports::{ProviderError, SampleRequest};

use crate::config::Api;
use crate::encode::OpenAiEncoder;
use crate::quirks::Quirks;

pub(crate) const ENDPOINT: &str = "http://host/v1";

pub(crate) fn settings(model: &str) -> Settings {
    windlass_testkit::settings().with(|it| {
        it.provider = "openai".into();
        it.model = model.into();
        it.instructions = "Be brief.".into();
        it.tools = vec![windlass_testkit::tool_spec(
            "echo",
            "Says it again.",
            r#"{"type":"object","properties":{"b":{},"a":{}}}"#,
        )];
        it.max_output_tokens = Some(100);
        it.effort = Some("low".into());
    })
}

pub(crate) fn reasoning(endpoint: &str, payload: &str) -> PromptItem {
    let opaque = Opaque {
        provider: "openai-responses".into(),
        endpoint: endpoint.into(),
        model: "o9".into(),
        payload: payload.into(),
    };
    let item = ReasoningItem { text: "hm".into(), opaque: Some(opaque), ..Default::default() };
    PromptItem::Reasoning { sample: Seq(3), item: Arc::new(item) }
}

pub(crate) fn call(sample: u64, id: &str, name: &str, arguments: &str) -> PromptItem {
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

pub(crate) fn result(id: &str, output: &str) -> PromptItem {
    let observation = Arc::new(Observation::new(ObservationStatus::Done, output));
    PromptItem::Result { id: id.into(), observation, edited: None }
}

pub(crate) fn edited(result: PromptItem, arguments: &str) -> PromptItem {
    let PromptItem::Result { id, observation, .. } = result else {
        panic!("{result:?} is no result");
    };
    PromptItem::Result { id, observation, edited: Some(arguments.into()) }
}

pub(crate) fn context(text: &str) -> PromptItem {
    PromptItem::Context { text: text.into() }
}

pub(crate) fn user(text: &str) -> PromptItem {
    PromptItem::User { text: text.into() }
}

pub(crate) fn model_text(sample: u64, text: &str) -> PromptItem {
    PromptItem::text(Seq(sample), text)
}

pub(crate) const ENCRYPTED: &str =
    r#"{"type":"reasoning","id":"rs","summary":[],"encrypted_content":"x"}"#;

pub(crate) fn conversation() -> Vec<PromptItem> {
    vec![
        context("<context from=\"workspace\">\n/w\n</context>"),
        user("hi \"you\""),
        reasoning(ENDPOINT, ENCRYPTED),
        model_text(3, "Let me see."),
        call(3, "c1", "echo", r#"{"a":1}"#),
        call(3, "c2", "no such/tool", "not json"),
        result("c1", "1"),
        edited(result("c2", ""), r#"{"b":2}"#),
        context("mind the gap"),
        model_text(9, "Done."),
        user("thanks"),
    ]
}

pub(crate) fn prompt(settings: Settings, items: &[PromptItem]) -> Prompt {
    Prompt { settings: Arc::new(settings), items: items.iter().cloned().collect() }
}

/// Builds request bodies as the provider does.
pub(crate) struct RequestFixture(Bodies<OpenAiEncoder>);

impl RequestFixture {
    pub(crate) fn new(api: Api) -> Self {
        Self(Bodies::new(OpenAiEncoder::new(api, ENDPOINT)))
    }

    pub(crate) fn of(api: Api, quirks: Quirks) -> Self {
        Self(Bodies::new(OpenAiEncoder::new(api, ENDPOINT).with_quirks(quirks)))
    }

    pub(crate) fn body(&self, prompt: &Prompt) -> Result<String, ProviderError> {
        Ok(text(&self.written(&request(prompt))?))
    }

    pub(crate) fn written(&self, request: &SampleRequest) -> Result<RequestBody, ProviderError> {
        self.0.body(request).now_or_never().unwrap()
    }
}

pub(crate) fn body(api: Api, prompt: &Prompt) -> String {
    RequestFixture::new(api).body(prompt).unwrap()
}

pub(crate) fn request(prompt: &Prompt) -> SampleRequest {
    let session = SessionId::new("s").unwrap();
    SampleRequest::new(session, TurnId(1), Seq(2), prompt.clone())
}

pub(crate) fn text(written: &RequestBody) -> String {
    String::from_utf8(written.body.to_bytes().to_vec()).unwrap()
}
