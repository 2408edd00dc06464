//! Whole exchanges over a socket on this machine: what is sent, what comes of what is answered.

#![expect(clippy::unwrap_used, reason = "a test may stop")]

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use windlass_anthropic::{Anthropic, AnthropicConfig, Caching, Thinking};
use windlass_core::{
    Assembler, AssemblerLimits, AssemblerOutput, FailureKind, Item, Observation, ObservationStatus,
    Prompt, PromptItem, Retry, Seq, SessionId, Settings, StopReason, TurnId,
};
use windlass_http::http_wire;
use windlass_ports::{Provider, ProviderError, SampleRequest, StreamState};
use windlass_testkit::http::{Framing, ModelServer, Reply, Request, Script};

/// A stream that ends with its connection, so that only its last event says that it is whole.
fn stream(events: &[Value]) -> Reply {
    let event = |event: &Value| {
        let name = event["type"].as_str().unwrap();
        format!("event: {name}\ndata: {event}\n\n")
    };
    let body: String = events.iter().map(event).collect();
    Reply::stream(body).framed(Framing::Close).header("request-id", "req_7")
}

/// The events of a message of these blocks.
fn message(blocks: &[Value], reason: &str) -> Vec<Value> {
    let mut events = vec![json!({ "type": "message_start", "message": {
        "id": "msg_1", "usage": { "input_tokens": 4, "cache_read_input_tokens": 90, "output_tokens": 1 },
    } })];
    for (index, block) in blocks.iter().enumerate() {
        let block =
            json!({ "type": "content_block_start", "index": index, "content_block": block });
        events.push(block);
        events.push(json!({ "type": "content_block_stop", "index": index }));
    }
    let delta = json!({ "stop_reason": reason });
    events
        .push(json!({ "type": "message_delta", "delta": delta, "usage": { "output_tokens": 5 } }));
    events.push(json!({ "type": "message_stop" }));
    events
}

fn config(base_url: String) -> AnthropicConfig {
    AnthropicConfig::new()
        .with_base_url(base_url)
        .with_api_key("sk-ant-secret")
        .with_caching(Caching::Automatic)
        .with_thinking(Thinking::Adaptive)
}

fn provider(config: &AnthropicConfig) -> Anthropic {
    Anthropic::over(config, http_wire(&config.base_url).unwrap()).unwrap()
}

fn settings() -> Settings {
    windlass_testkit::settings().with(|it| {
        it.provider = "anthropic".into();
        it.instructions = "Be brief.".into();
        it.tools = vec![windlass_testkit::tool_spec(
            "add",
            "Adds.",
            r#"{"type":"object","properties":{}}"#,
        )];
        it.effort = Some("high".into());
    })
}

fn sample_of(items: &[PromptItem]) -> SampleRequest {
    let prompt = Prompt { settings: Arc::new(settings()), items: items.iter().cloned().collect() };
    SampleRequest::new(SessionId::new("s").unwrap(), TurnId(1), Seq(2), prompt)
}

fn hello() -> Vec<PromptItem> {
    vec![PromptItem::User { text: "hi".into() }]
}

/// Asks, and assembles the answer: its items, and why it stopped.
async fn ask(
    provider: &Anthropic,
    request: SampleRequest,
) -> Result<(Vec<Item>, StopReason), ProviderError> {
    let mut stream = provider.sample(request).await?;
    let mut assembler = Assembler::new(AssemblerLimits::default());
    let (mut events, mut out) = (Vec::new(), Vec::new());
    loop {
        let streaming = stream.next(&mut events).await?;
        for event in events.drain(..) {
            assembler.push(event, &mut out).unwrap();
        }
        if streaming == StreamState::End {
            break;
        }
    }
    let (mut items, mut ended) = (Vec::new(), None);
    for assembled in out {
        match assembled {
            AssemblerOutput::Item(item) => items.push(item),
            AssemblerOutput::Ended { stop, .. } => ended = Some(stop),
            AssemblerOutput::Delta(_) => {}
        }
    }
    Ok((items, ended.unwrap()))
}

async fn failure(reply: Reply) -> ProviderError {
    let server = ModelServer::start(Script::list([reply]).strict()).unwrap();
    let provider = provider(&config(server.base_url()));
    let asked = ask(&provider, sample_of(&hello())).await;
    assert!(server.misses().is_empty(), "{:?}", server.misses());
    asked.unwrap_err()
}

fn body(request: &Request) -> &Value {
    request.json.as_ref().unwrap()
}

#[tokio::test]
async fn a_tool_turn_with_thinking() {
    let thinking = json!({ "type": "thinking", "thinking": "hm", "signature": "c2ln" });
    let call = json!({ "type": "tool_use", "id": "toolu_1", "name": "add", "input": { "a": 1 } });
    let words = json!({ "type": "text", "text": "It is 42." });
    let replies = [
        stream(&message(&[thinking.clone(), call.clone()], "tool_use")),
        stream(&message(&[words], "end_turn")),
    ];
    let server = ModelServer::start(Script::list(replies).strict()).unwrap();
    let provider = provider(&config(server.base_url()));
    let (items, stop) = ask(&provider, sample_of(&hello())).await.unwrap();
    assert_eq!(stop, StopReason::Stop);
    let [Item::Reasoning(thought), Item::Call(called)] = items.as_slice() else {
        panic!("{items:?}")
    };
    assert_eq!(called.arguments, r#"{"a":1}"#);
    let (sample, id): (_, Arc<str>) = (Seq(2), called.provider_id.as_str().into());
    let mut prompt = hello();
    prompt.push(PromptItem::Reasoning { sample, item: thought.clone() });
    prompt.push(PromptItem::Call { sample, id: id.clone(), call: called.clone() });
    prompt.push(PromptItem::Result {
        id,
        observation: Arc::new(Observation::new(ObservationStatus::Done, "42")),
        edited: None,
    });
    let (items, _) = ask(&provider, sample_of(&prompt)).await.unwrap();
    let text = "It is 42.";
    assert_eq!(items, [Item::text(text)]);
    assert!(server.misses().is_empty(), "{:?}", server.misses());
    let sent = server.requests();
    let [first, second] = sent.as_slice() else { panic!("{sent:?}") };
    assert_eq!((first.method.as_str(), first.path.as_str()), ("POST", "/v1/messages"));
    assert_eq!(first.header("x-api-key"), Some("sk-ant-secret"));
    assert_eq!(first.header("anthropic-version"), Some("2023-06-01"));
    assert_eq!(first.header("accept"), Some("text/event-stream"));
    let messages = &body(second)["messages"];
    assert_eq!(messages[1]["content"], json!([thinking, call]));
    let result = json!([{ "type": "tool_result", "tool_use_id": "toolu_1", "content": "42" }]);
    assert_eq!(messages[2]["content"], result);
    // What was sent before is sent again, byte for byte, up to the end of the conversation.
    let end = first.body.windows(4).rposition(|four| four == b"]}],").unwrap();
    assert_eq!(first.body.get(..end), second.body.get(..end));
}

#[tokio::test]
async fn how_a_request_went_out_is_told() {
    let words = json!({ "type": "text", "text": "Hello." });
    let reply = || stream(&message(std::slice::from_ref(&words), "end_turn"));
    let server = ModelServer::start([reply(), reply()]).unwrap();
    let provider = provider(&config(server.base_url()));
    let mut items = hello();
    items.push(PromptItem::Context { text: "<context from=\"x\">\ny\n</context>".into() });
    for kept in [false, true] {
        let mut stream = provider.sample(sample_of(&items)).await.unwrap();
        let asked = stream.request_record().unwrap();
        assert_eq!((asked.provider.as_str(), asked.model.as_str()), ("anthropic", "m"));
        assert_eq!(asked.endpoint, server.base_url());
        assert_eq!(asked.shared_prefix_bytes > 0, kept);
        assert_eq!(asked.lowered.len(), 1, "{:?}", asked.lowered);
    }
    let sent: Vec<u64> = server.requests().iter().map(|r| r.body.len() as u64).collect();
    assert_eq!(sent.first(), sent.last());
}

#[tokio::test]
async fn a_stream_without_a_reason_to_stop_is_no_answer() {
    let words = json!({ "type": "text", "text": "Hello." });
    let mut events = message(&[words], "end_turn");
    events.pop();
    let server = ModelServer::start(stream(&events)).unwrap();
    let asked = ask(&provider(&config(server.base_url())), sample_of(&hello())).await;
    assert_eq!(asked.unwrap().1, StopReason::Stop);
    events.pop();
    let error = failure(stream(&events)).await;
    assert_eq!((error.kind, error.retry), (FailureKind::Truncated, Retry::Soon));
    assert_eq!(error.details.request_id.as_deref(), Some("req_7"));
}

#[tokio::test]
async fn its_errors_have_their_class() {
    use FailureKind as Kind;
    let long = "prompt is too long: 210000 tokens > 200000 maximum";
    let both = "input length and `max_tokens` exceed context limit: 190000 + 32000 > 200000";
    let poor = "Your credit balance is too low to access the Anthropic API.";
    let cases = [
        (400, "invalid_request_error", "messages: no", Kind::InvalidRequest, false),
        (400, "invalid_request_error", long, Kind::ContextOverflow, false),
        (400, "invalid_request_error", both, Kind::ContextOverflow, false),
        (400, "invalid_request_error", poor, Kind::Quota, false),
        (401, "authentication_error", "invalid x-api-key", Kind::Authentication, false),
        (402, "billing_error", "pay", Kind::Quota, false),
        (403, "permission_error", "no", Kind::Authentication, false),
        (404, "not_found_error", "model: m", Kind::NotFound, false),
        (413, "request_too_large", "large", Kind::ContextOverflow, false),
        (429, "rate_limit_error", "slow down", Kind::RateLimit, true),
        (500, "api_error", "oops", Kind::Server, true),
        (504, "timeout_error", "late", Kind::Timeout, true),
        (529, "overloaded_error", "Overloaded", Kind::Overloaded, true),
    ];
    for (status, class, words, kind, again) in cases {
        let body = json!({
            "type": "error", "error": { "type": class, "message": words }, "request_id": "req_8",
        });
        let reply = Reply::json(status, &body).header("request-id", "req_8");
        let error = failure(reply).await;
        assert_eq!(error.kind, kind, "{status} {class} {words}");
        assert_eq!(error.retry != Retry::Never, again, "{status} {class}");
        assert_eq!(error.details.request_id.as_deref(), Some("req_8"));
        assert!(error.context.contains(words), "{error}");
        // The same inside of an answer, where there is no status.
        let inside = failure(stream(&[body])).await;
        assert_eq!(inside.kind, kind, "{class} {words} inside of an answer");
    }
}

#[tokio::test]
async fn what_a_model_cannot_do_is_refused_before_anything_is_sent() {
    let server = ModelServer::start(Script::list([])).unwrap();
    let mut config = config(server.base_url());
    config.thinking = None;
    let error = ask(&provider(&config), sample_of(&hello())).await.unwrap_err();
    assert_eq!((error.kind, error.retry), (FailureKind::Unsupported, Retry::Never));
    assert!(error.context.contains("`thinking`"), "{error}");
    assert!(server.requests().is_empty());
}

#[test]
fn what_a_model_can_do_is_as_it_is_asked() {
    let mut config = AnthropicConfig::new();
    let can = |config: &AnthropicConfig, model: &str| {
        let known = provider(config).model(model);
        (known.reasoning, known.structured_output)
    };
    assert_eq!(can(&config, "claude-sonnet-4-5"), (true, true));
    assert_eq!(can(&config, "claude-3-opus-20240229"), (false, false));
    assert_eq!(can(&config, "my-own"), (false, false));
    config.thinking = Some(Thinking::Budget);
    assert_eq!(can(&config, "my-own"), (true, false));
    assert!(provider(&config).model("claude-sonnet-4-5").images);
}

#[tokio::test]
async fn models_are_listed() {
    let models = json!({ "data": [{ "id": "claude-a" }, { "id": "claude-b" }], "has_more": false });
    let listed = |reply| ModelServer::start(Script::list([]).models(reply)).unwrap();
    let (good, page) = (listed(Reply::json(200, &models)), listed(Reply::html()));
    let wait = Duration::from_secs(30);
    let ask = async |server: &ModelServer| provider(&config(server.base_url())).models(wait).await;
    assert_eq!(ask(&good).await.unwrap(), ["claude-a", "claude-b"]);
    assert_eq!(good.requests()[0].path, "/v1/models?limit=1000");
    assert_eq!(good.requests()[0].header("x-api-key"), Some("sk-ant-secret"));
    assert_eq!(ask(&page).await.unwrap_err().kind, FailureKind::Protocol);
}
