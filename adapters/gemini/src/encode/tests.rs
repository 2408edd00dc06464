//! Tests of whole bodies.

use std::sync::Arc;

use serde_json::{Value, json};
use windlass_core::{
    AppendList, CallItem, Observation, ObservationStatus, PromptItem, Seq, SessionId, TurnId,
};
use windlass_kit_http::Bodies;
use windlass_ports::SampleRequest;

use super::*;

fn call(id: &str, name: &str) -> PromptItem {
    let call = CallItem {
        provider_id: String::new(),
        name: name.into(),
        arguments: "{\"n\":1}".into(),
        fault: None,
        rules: Vec::new(),
        possible_rules: Vec::new(),
        outside_sandbox: false,
        sha256: None,
        opaque: None,
        inline: false,
    };
    PromptItem::Call { sample: Seq(2), id: id.into(), call: Arc::new(call) }
}

fn result(id: &str, status: ObservationStatus) -> PromptItem {
    let observation = Arc::new(Observation::new(status, "out"));
    PromptItem::Result { id: id.into(), observation, edited: None }
}

fn request(model: &str, items: &[PromptItem]) -> SampleRequest {
    let mut settings = windlass_testkit::settings();
    settings.model = model.into();
    let items: AppendList<PromptItem> = items.iter().cloned().collect();
    let prompt = Prompt { settings: Arc::new(settings), items };
    SampleRequest::new(SessionId::new("s").unwrap(), TurnId(1), Seq(2), prompt)
}

fn bodies() -> Bodies<GeminiEncoder> {
    Bodies::new(GeminiEncoder::new(&GeminiConfig::new(), "http://host/v1beta"))
}

async fn body(bodies: &Bodies<GeminiEncoder>, request: &SampleRequest) -> (Value, u64) {
    let written = bodies.body(request).await.unwrap();
    let bytes: Vec<u8> = written.body.iter().flat_map(|bytes| bytes.to_vec()).collect();
    (serde_json::from_slice(&bytes).unwrap(), written.reused_bytes)
}

#[tokio::test]
async fn results_follow_their_calls_and_name_their_tools() {
    let items = [
        PromptItem::User { text: "hi".into() },
        call("a", "f"),
        call("b", "g"),
        result("a", ObservationStatus::Done),
        result("b", ObservationStatus::Denied),
    ];
    let (sent, _) = body(&bodies(), &request("gemini-3-pro", &items)).await;
    let called = |name: &str| json!({ "name": name, "args": { "n": 1 } });
    let answered = |name: &str, key: &str| json!({ "name": name, "response": { key: "out" } });
    assert_eq!(
        sent["contents"],
        json!([
            { "role": "user", "parts": [{ "text": "hi" }] },
            { "role": "model", "parts": [
                { "functionCall": called("f"), "thoughtSignature": "skip_thought_signature_validator" },
                { "functionCall": called("g") },
            ] },
            { "role": "user", "parts": [
                { "functionResponse": answered("f", "output") },
                { "functionResponse": answered("g", "error") },
            ] },
        ])
    );
}

#[tokio::test]
async fn a_request_begins_as_the_last_one_did() {
    let mut items = vec![PromptItem::User { text: "hi".into() }];
    let all = [
        call("a", "f"),
        result("a", ObservationStatus::Done),
        PromptItem::text(Seq(9), "Done."),
        PromptItem::User { text: "more".into() },
        PromptItem::User { text: "and more".into() },
    ];
    let grown_bodies = bodies();
    for item in all {
        items.push(item);
        let request = request("gemini-2.5-pro", &items);
        let (grown, _) = body(&grown_bodies, &request).await;
        assert_eq!(grown, body(&bodies(), &request).await.0);
    }
    let (_, reused) = body(&grown_bodies, &request("gemini-2.5-pro", &items)).await;
    assert!(reused > 100, "{reused}");
}

#[tokio::test]
async fn the_model_speaks_neither_first_nor_last() {
    let said = |sample| PromptItem::text(Seq(sample), "A");
    let (sent, _) = body(&bodies(), &request("gemini-2.5-pro", &[said(2), said(5)])).await;
    let contents = sent["contents"].as_array().unwrap();
    let roles: Vec<&str> = contents.iter().filter_map(|one| one["role"].as_str()).collect();
    assert_eq!(roles, ["user", "model", "user", "model", "user"]);
    let (empty, _) = body(&bodies(), &request("gemini-2.5-pro", &[])).await;
    assert_eq!(empty["contents"].as_array().map(Vec::len), Some(1));
}

#[tokio::test]
async fn each_generation_is_asked_to_think_in_its_form() {
    for (model, wanted) in [
        ("gemini-3-pro", json!({ "thinkingLevel": "low" })),
        ("gemini-2.5-pro", json!({ "thinkingBudget": 1_024 })),
    ] {
        let mut asked = request(model, &[PromptItem::User { text: "hi".into() }]);
        Arc::make_mut(&mut asked.prompt.settings).effort = Some("low".into());
        let (sent, _) = body(&bodies(), &asked).await;
        assert_eq!(sent["generationConfig"]["thinkingConfig"], wanted);
    }
}

#[tokio::test]
async fn a_temperature_stands_in_the_generation_config() {
    let mut asked = request("gemini-2.5-pro", &[PromptItem::User { text: "hi".into() }]);
    let settings = Arc::make_mut(&mut asked.prompt.settings);
    settings.temperature = windlass_core::Temperature::from_thousandths(1_500);
    let (sent, _) = body(&bodies(), &asked).await;
    assert_eq!(sent["generationConfig"]["temperature"], 1.5);
}

#[tokio::test]
async fn the_search_stands_beside_the_tools_of_newer_models() {
    let mut request = request("gemini-3-pro", &[PromptItem::User { text: "hi".into() }]);
    let settings = Arc::make_mut(&mut request.prompt.settings);
    settings.options.web_search = Some(windlass_core::WebSearch::default());
    settings.tools.clear();
    let (alone, _) = body(&bodies(), &request).await;
    assert_eq!(alone["tools"], json!([{ "googleSearch": {} }]));
    assert!(alone.get("toolConfig").is_none());
    let tool = windlass_testkit::tool_spec("f", "F.", r#"{"type":"object"}"#);
    Arc::make_mut(&mut request.prompt.settings).tools.push(tool);
    let (both, _) = body(&bodies(), &request).await;
    assert_eq!(both["tools"][0]["functionDeclarations"][0]["name"], "f");
    assert_eq!(both["tools"][1], json!({ "googleSearch": {} }));
    assert_eq!(both["toolConfig"], json!({ "includeServerSideToolInvocations": true }));
}
