//! Whole exchanges over a socket on this machine: what is sent, what comes of what is answered.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test may stop")]

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use windlass_core::{
    AppendList, Assembler, AssemblerLimits, AssemblerOutput, FailureKind, Item, Prompt, PromptItem,
    Retry, Seq, SessionId, TurnId,
};
use windlass_http::http_wire;
use windlass_kit_http::SseCaps;
use windlass_openai::{Api, OpenAi, OpenAiConfig, Server};
use windlass_ports::{Provider, ProviderError, SampleRequest, StreamState};
use windlass_testkit::http::{Cut, Ended, Framing, ModelServer, Reply, Request, Script};
use windlass_testkit::{Gate, Port};

/// A stream that ends with its connection, so that only its last event says that it is whole.
fn stream(body: &str) -> Reply {
    Reply::stream(body).framed(Framing::Close).header("x-request-id", "req_7")
}

fn serve(script: impl Into<Script>) -> ModelServer {
    ModelServer::start(script).unwrap()
}

fn provider(api: Api, base_url: impl Into<String>) -> OpenAi {
    let config = OpenAiConfig::new(api).with_base_url(base_url).with_api_key("sk-secret-123");
    over(&config)
}

fn over(config: &OpenAiConfig) -> OpenAi {
    OpenAi::over(config, http_wire(&config.base_url).unwrap()).unwrap()
}

fn sample_of(items: &[PromptItem]) -> SampleRequest {
    let settings = windlass_testkit::settings().with(|it| {
        it.provider = "openai".into();
        it.instructions = "Be brief.".into();
    });
    let items: AppendList<PromptItem> = items.iter().cloned().collect();
    let prompt = Prompt { settings: Arc::new(settings), items };
    SampleRequest::new(SessionId::new("s").unwrap(), TurnId(1), Seq(2), prompt)
}

fn hello() -> SampleRequest {
    sample_of(&[PromptItem::User { text: "hi".into() }])
}

/// Asks, and assembles the answer.
async fn ask(provider: &OpenAi, request: SampleRequest) -> Result<Vec<Item>, ProviderError> {
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
    assert!(assembler.ended());
    let item = |assembled| match assembled {
        AssemblerOutput::Item(item) => Some(item),
        AssemblerOutput::Delta(_) | AssemblerOutput::Ended { .. } => None,
    };
    Ok(out.into_iter().filter_map(item).collect())
}

async fn failure(api: Api, reply: Reply) -> ProviderError {
    let server = serve(reply);
    let asked = ask(&provider(api, server.base_url()), hello()).await;
    assert!(server.misses().is_empty(), "{:?}", server.misses());
    asked.unwrap_err()
}

async fn tool_turn(api: Api, first: &str, second: &str) -> Vec<Request> {
    let server = serve([stream(first), stream(second)]);
    let provider = provider(api, server.base_url());
    let items = ask(&provider, hello()).await.unwrap();
    let [Item::Call(call)] = items.as_slice() else { panic!("{items:?}") };
    assert_eq!((call.name.as_str(), call.arguments.as_str()), ("add", r#"{"a":1}"#));
    let mut prompt = vec![PromptItem::User { text: "hi".into() }];
    let id: Arc<str> = call.provider_id.as_str().into();
    prompt.push(PromptItem::Call { sample: Seq(2), id: id.clone(), call: call.clone() });
    let seen = windlass_core::Observation::new(windlass_core::ObservationStatus::Done, "42");
    prompt.push(PromptItem::Result { id, observation: Arc::new(seen), edited: None });
    let items = ask(&provider, sample_of(&prompt)).await.unwrap();
    assert_eq!(items, [Item::text("It is 42.")]);
    assert!(server.misses().is_empty(), "{:?}", server.misses());
    server.requests()
}

fn body(request: &Request) -> &str {
    str::from_utf8(&request.body).unwrap()
}

#[tokio::test]
async fn a_tool_turn_over_chat_completions() {
    let sent = tool_turn(
        Api::Chat,
        concat!(
            r#"data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c","function":{"#,
            r#""name":"add","arguments":"{\"a\":1}"}}]},"finish_reason":"tool_calls"}]}"#,
            "\n\ndata: [DONE]\n\n"
        ),
        concat!(
            r#"data: {"choices":[{"delta":{"content":"It is 42."},"finish_reason":"stop"}]}"#,
            "\n\n"
        ),
    )
    .await;
    let [first, second] = sent.as_slice() else { panic!("{sent:?}") };
    assert_eq!((first.method.as_str(), first.path.as_str()), ("POST", "/v1/chat/completions"));
    assert_eq!(first.header("authorization"), Some("Bearer sk-secret-123"));
    assert_eq!(first.header("accept"), Some("text/event-stream"));
    let result = r#"{"role":"tool","tool_call_id":"c","content":"42"}"#;
    assert!(body(second).contains(result), "{}", body(second));
}

#[tokio::test]
async fn a_tool_turn_over_responses() {
    let sent = tool_turn(
        Api::Responses,
        concat!(
            r#"data: {"type":"response.output_item.done","output_index":0,"item":{"#,
            r#""type":"function_call","call_id":"c","name":"add","arguments":"{\"a\":1}"}}"#,
            "\n\n",
            r#"data: {"type":"response.completed","response":{}}"#,
            "\n\n"
        ),
        concat!(
            r#"data: {"type":"response.output_text.delta","delta":"It is 42."}"#,
            "\n\n",
            r#"data: {"type":"response.completed","response":{}}"#,
            "\n\n"
        ),
    )
    .await;
    let [first, second] = sent.as_slice() else { panic!("{sent:?}") };
    assert_eq!((first.method.as_str(), first.path.as_str()), ("POST", "/v1/responses"));
    let result = r#"{"type":"function_call_output","call_id":"c","output":"42"}"#;
    assert!(body(second).contains(result), "{}", body(second));
}

/// Asks a strict server of this kind, with a tool that has an optional property and one that takes any.
/// Returns the sent tools and the arguments of the call that comes back.
async fn strict_tools(api: Api, config: &str) -> (Vec<serde_json::Value>, String) {
    let arguments = json!({ "path": "a", "depth": null });
    let script = Script::respond(move |_| Reply::call("look", arguments.clone()));
    let server = serve(script.strict());
    let mut config: OpenAiConfig = serde_json::from_str(config).unwrap();
    config.api = api;
    let provider = over(&config.with_base_url(server.base_url()));
    let properties = json!({ "path": { "type": "string" }, "depth": { "type": "integer" } });
    let look = json!({ "type": "object", "properties": properties, "required": ["path"] });
    let any = json!({ "type": "object", "properties": {}, "additionalProperties": true });
    let mut request = hello();
    let settings = windlass_testkit::settings().with(|it| {
        it.provider = provider.name().into();
        it.tools = vec![
            windlass_testkit::tool_spec("look", "Looks.", &look.to_string()),
            windlass_testkit::tool_spec("any", "Takes any.", &any.to_string()),
        ];
    });
    request.prompt.settings = Arc::new(settings);
    let items = ask(&provider, request).await.unwrap();
    assert!(server.misses().is_empty(), "{:?}", server.misses());
    let [Item::Call(call)] = items.as_slice() else { panic!("{items:?}") };
    let requests = server.samples();
    let tools = requests[0].json.as_ref().unwrap()["tools"].as_array().unwrap();
    let tool = |tool: &serde_json::Value| tool.get("function").unwrap_or(tool).clone();
    (tools.iter().map(tool).collect(), call.arguments.clone())
}

#[tokio::test]
async fn openai_gets_strict_forms_and_the_tool_its_own_arguments() {
    for api in [Api::Chat, Api::Responses] {
        let own = r#"{"api":"chat","server":"openai"}"#;
        let (tools, arguments) = strict_tools(api, own).await;
        let look = &tools[0];
        assert_eq!(look["strict"], true, "{look:#}");
        assert_eq!(look["parameters"]["required"], json!(["depth", "path"]));
        let depth = &look["parameters"]["properties"]["depth"];
        assert_eq!(depth["type"], json!(["integer", "null"]));
        assert_ne!(tools[1]["strict"], true, "{:#}", tools[1]);
        assert_eq!(tools[1]["parameters"]["additionalProperties"], true);
        assert_eq!(arguments, r#"{"path":"a"}"#);
    }
}

#[tokio::test]
async fn other_servers_and_those_that_are_told_so_get_schemas_as_they_are() {
    for api in [Api::Chat, Api::Responses] {
        for config in [
            r#"{"api":"chat"}"#,
            r#"{"api":"chat","server":"azure"}"#,
            r#"{"api":"chat","server":"openai","quirks":{"strict_tools":false}}"#,
        ] {
            let (tools, arguments) = strict_tools(api, config).await;
            assert_ne!(tools[0]["strict"], true, "{config}");
            assert_eq!(tools[0]["parameters"]["required"], json!(["path"]), "{config}");
            assert!(arguments.contains("null"), "{config}: {arguments}");
        }
    }
}

#[test]
fn only_openai_itself_is_sent_strict_tools() {
    for server in [Server::Azure, Server::Mistral, Server::Ollama, Server::Gemini, Server::Generic]
    {
        assert!(!server.quirks().strict_tools, "{server:?}");
    }
    assert!(Server::OpenAi.quirks().strict_tools);
}

/// An answer is whole before its body has ended, so that its connection comes back a moment later. How
/// long that takes is nobody's promise: each answer is given longer than the one before.
#[tokio::test]
async fn a_connection_is_used_again() {
    let ends: Vec<Gate> = (0..100).map(|_| Gate::new()).collect();
    let reply = |end| Reply::say("a").pause_after(usize::MAX, end);
    let server = serve(Script::list(ends.iter().map(reply)));
    let provider = provider(Api::Chat, server.base_url());
    let items = [Item::text("a")];
    for (end, ms) in ends.iter().zip(0..) {
        assert_eq!(ask(&provider, hello()).await.unwrap(), items);
        let over: Vec<u64> = server.requests().iter().map(|r| r.connection).collect();
        if over.windows(2).any(|two| two[0] == two[1]) {
            return;
        }
        end.open();
        tokio::time::sleep(Duration::from_millis(ms)).await;
    }
    panic!("no connection was used twice");
}

#[tokio::test]
async fn a_cut_stream_is_no_answer() {
    let delta = "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n";
    let error = failure(Api::Chat, stream(delta)).await;
    assert_eq!((error.kind, error.retry), (FailureKind::Truncated, Retry::Soon));
    assert_eq!(error.details.request_id.as_deref(), Some("req_7"));
    for (framing, cut) in
        [(Framing::Length, Cut::Fin), (Framing::Chunked, Cut::Fin), (Framing::Chunked, Cut::Rst)]
    {
        let promised = Reply::say("one two three").framed(framing);
        let error = failure(Api::Responses, promised.cut_after(400, cut)).await;
        assert_eq!(error.kind, FailureKind::Truncated, "{framing:?} {cut:?}");
    }
}

#[tokio::test]
async fn a_page_is_no_stream() {
    let error = failure(Api::Responses, Reply::html()).await;
    assert_eq!((error.kind, error.retry), (FailureKind::Protocol, Retry::Never));
    assert!(error.context.contains("Sign in") && error.context.contains("/v1"), "{error}");
}

#[tokio::test]
async fn a_compressed_body_is_refused() {
    let reply = Reply::stream("\u{1f}\u{8b}").claiming_encoding("gzip");
    let error = failure(Api::Chat, reply).await;
    assert_eq!(error.kind, FailureKind::Protocol);
}

#[tokio::test]
async fn an_endless_line_ends() {
    let server = serve(Reply::endless_line());
    let caps = SseCaps { line: 100_000, ..SseCaps::default() };
    let provider = provider(Api::Chat, server.base_url()).with_caps(caps);
    let error = ask(&provider, hello()).await.unwrap_err();
    assert_eq!((error.kind, error.retry), (FailureKind::TooLarge, Retry::Never));
    assert!(error.context.contains("100000"), "{error}");
    assert_eq!(server.ended(0).await, Ended::HungUp);
}

#[tokio::test]
async fn a_refusal_keeps_its_status_and_hides_the_key() {
    let reply = Reply::raw(401, "no: sk-secret-123 (\u{1b}[1m)").header("x-request-id", "req_9");
    let error = failure(Api::Chat, reply).await;
    assert_eq!((error.kind, error.details.status), (FailureKind::Authentication, Some(401)));
    assert_eq!(error.details.request_id.as_deref(), Some("req_9"));
    assert!(error.context.contains("no: [redacted] (\\u{1b}[1m)"), "{error}");
    assert!(!format!("{error:?}").contains("secret"), "{error:?}");
}

#[tokio::test]
async fn a_refusal_without_an_end_is_read_in_part() {
    let reply = Reply::filled("", b'x', u64::MAX).status(500);
    let error = failure(Api::Chat, reply).await;
    assert_eq!((error.kind, error.details.status), (FailureKind::Server, Some(500)));
    assert!(error.context.len() < 1_000, "{error}");
}

#[tokio::test]
async fn a_wait_that_is_asked_for_is_passed_on() {
    let reply = Reply::error(429, "rate_limit_exceeded", "slow down").header("retry-after", "7");
    let error = failure(Api::Responses, reply).await;
    assert_eq!((error.kind, error.retry), (FailureKind::RateLimit, Retry::AfterMs(7_000)));
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let elsewhere = TcpListener::bind("127.0.0.1:0").unwrap();
    elsewhere.set_nonblocking(true).unwrap();
    let to = elsewhere.local_addr().unwrap();
    let location = format!("http://{to}/v1/chat/completions");
    let error = failure(Api::Chat, Reply::redirect(307, &location)).await;
    assert_eq!((error.kind, error.details.status), (FailureKind::Protocol, Some(307)));
    assert!(error.context.contains("base URL"), "{error}");
    let visit = elsewhere.accept().map(|_| ()).map_err(|error| error.kind());
    assert_eq!(visit, Err(std::io::ErrorKind::WouldBlock));
}

#[tokio::test]
async fn nobody_there_is_unavailable() {
    let port = Port::take().unwrap();
    let base_url = format!("http://127.0.0.1:{}/v1", port.number());
    let error = ask(&provider(Api::Chat, base_url), hello()).await.unwrap_err();
    assert_eq!((error.kind, error.retry), (FailureKind::Unavailable, Retry::Soon));
    assert!(error.context.contains("refused") && error.context.contains("base URL"), "{error}");
}

#[tokio::test]
async fn a_head_that_does_not_come_is_a_timeout() {
    let server = serve(Reply::say("too late").head_after(&Gate::new()));
    let mut request = hello();
    request.limits.connect_ms = 20;
    let error = ask(&provider(Api::Chat, server.base_url()), request).await.unwrap_err();
    assert_eq!((error.kind, error.retry), (FailureKind::Timeout, Retry::Soon));
    assert!(error.context.contains("20 ms"), "{error}");
}

#[tokio::test]
async fn models_are_listed() {
    let listed = |reply| serve(Script::list([]).models(reply));
    let models = json!({"object": "list", "data": [{"id": "m-1"}, {"id": "m-2"}]});
    let (good, page) = (listed(Reply::json(200, &models)), listed(Reply::html()));
    let wait = Duration::from_secs(30);
    let ask = async |server: &ModelServer| {
        let provider = provider(Api::Responses, server.base_url());
        provider.models(wait).await
    };
    assert_eq!(ask(&good).await.unwrap(), ["m-1", "m-2"]);
    assert_eq!(good.requests()[0].method, "GET");
    assert_eq!(good.requests()[0].path, "/v1/models");
    assert_eq!(ask(&page).await.unwrap_err().kind, FailureKind::Protocol);
}

/// A stream of `n` words, each a chunk of its own, that goes out in one write.
fn at_once(n: usize) -> (String, String) {
    let event = |delta: serde_json::Value, end: Option<&str>| {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": end});
        format!("data: {}\n\n", json!({"id": "c", "choices": [choice]}))
    };
    let words: Vec<String> = (0..n).map(|n| format!("w{n} ")).collect();
    let mut events: Vec<String> =
        words.iter().map(|word| event(json!({"content": word}), None)).collect();
    events.push(event(json!({}), Some("stop")));
    events.push("data: [DONE]\n\n".into());
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\
                transfer-encoding: chunked\r\nconnection: close\r\n\r\n";
    let chunks = events.iter().map(|event| format!("{:x}\r\n{event}\r\n", event.len()));
    let body: String = chunks.chain(["0\r\n\r\n".into()]).collect();
    (words.concat(), format!("{head}{body}"))
}

/// On several threads, since there the connection is read while the answer is decoded.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_piece_of_a_stream_is_lost_however_many_have_arrived_at_once() {
    for n in [64, 65, 1_000, 20_000, 20_000, 20_000] {
        let (text, answer) = at_once(n);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let base_url = format!("http://{}/v1", listener.local_addr().unwrap());
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut asked = Vec::new();
            while !asked.ends_with(b"}") {
                let mut some = [0; 4096];
                let read = stream.read(&mut some).unwrap();
                asked.extend_from_slice(some.get(..read).unwrap());
            }
            stream.write_all(answer.as_bytes()).unwrap();
        });
        let items = ask(&provider(Api::Chat, base_url), hello()).await.unwrap();
        let [Item::Text { text: got, .. }] = &items[..] else {
            panic!("one text was sent: {items:?}");
        };
        assert_eq!(&**got, text, "{n} words");
        server.join().unwrap();
    }
}
