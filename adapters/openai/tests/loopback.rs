//! Whole exchanges over a socket on this machine: what is sent, what comes of what is answered.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test may stop")]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use windlass_core::{
    Assembled, Assembler, Caps, Chain, FailureKind, Item, Limits, Mode, Permissions, Prompt,
    PromptItem, Retry, Seq, SessionId, Settings, TurnId,
};
use windlass_openai::{Api, OpenAi, OpenAiConfig, SseCaps};
use windlass_ports::{Provider, ProviderError, SampleRequest, Streaming};

/// Answers one connection after the other with the given bytes, then closes it. Gives out the
/// requests as they were sent.
fn serve(answers: Vec<Vec<u8>>) -> (SocketAddr, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (sender, requests) = channel();
    std::thread::spawn(move || {
        for answer in answers {
            let (mut socket, _) = listener.accept().unwrap();
            sender.send(request(&mut socket)).unwrap();
            // The other side may hang up first, for example at an endless line.
            let _ = socket.write_all(&answer);
        }
    });
    (address, requests)
}

/// Reads one request, head and body.
fn request(socket: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    let mut chunk = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&bytes).to_ascii_lowercase();
        if let Some(end) = text.find("\r\n\r\n") {
            let length = text.split("content-length: ").nth(1);
            let length = length
                .and_then(|rest| rest.split("\r\n").next())
                .unwrap_or("0");
            if bytes.len() >= end + 4 + length.parse::<usize>().unwrap() {
                return String::from_utf8(bytes).unwrap();
            }
        }
        let read = socket.read(&mut chunk).unwrap();
        assert!(read > 0, "the request broke off");
        bytes.extend_from_slice(&chunk[..read]);
    }
}

/// An answer that lasts until the connection closes.
fn answer(head: &str, body: &str) -> Vec<u8> {
    format!("HTTP/1.1 {head}\r\nconnection: close\r\n\r\n{body}").into_bytes()
}

fn stream(body: &str) -> Vec<u8> {
    answer(
        "200 OK\r\ncontent-type: text/event-stream\r\nx-request-id: req_7",
        body,
    )
}

fn provider(api: Api, address: SocketAddr) -> OpenAi {
    let config = OpenAiConfig::new(api)
        .with_base_url(format!("http://{address}/v1"))
        .with_api_key("sk-secret-123");
    OpenAi::new(&config).unwrap()
}

fn sample_of(items: &[PromptItem]) -> SampleRequest {
    let settings = Settings {
        provider: "openai".into(),
        model: "m".into(),
        instructions: "Be brief.".into(),
        mode: Mode::Build,
        permissions: Permissions::Auto,
        tools: Vec::new(),
        limits: Limits::default(),
        max_output_tokens: None,
        effort: None,
    };
    let items: Chain<PromptItem> = items.iter().cloned().collect();
    SampleRequest {
        session: SessionId::new("s").unwrap(),
        turn: TurnId(1),
        started: Seq(2),
        prompt: Prompt {
            settings: Arc::new(settings),
            items,
        },
        limits: Limits::default(),
    }
}

fn hello() -> SampleRequest {
    sample_of(&[PromptItem::User { text: "hi".into() }])
}

/// Asks, and assembles the answer.
async fn ask(provider: &OpenAi, request: SampleRequest) -> Result<Vec<Item>, ProviderError> {
    let mut stream = provider.sample(request).await?;
    let mut assembler = Assembler::new(Caps::default());
    let (mut events, mut out) = (Vec::new(), Vec::new());
    loop {
        let streaming = stream.next(&mut events).await?;
        for event in events.drain(..) {
            assembler.push(event, &mut out).unwrap();
        }
        if streaming == Streaming::End {
            break;
        }
    }
    assert!(assembler.ended());
    let item = |assembled| match assembled {
        Assembled::Item(item) => Some(item),
        Assembled::Delta(_) | Assembled::Ended { .. } => None,
    };
    Ok(out.into_iter().filter_map(item).collect())
}

async fn failure(api: Api, answer: Vec<u8>) -> ProviderError {
    let (address, _requests) = serve(vec![answer]);
    ask(&provider(api, address), hello()).await.unwrap_err()
}

async fn tool_turn(api: Api, first: &str, second: &str) -> Vec<String> {
    let (address, requests) = serve(vec![stream(first), stream(second)]);
    let provider = provider(api, address);
    let items = ask(&provider, hello()).await.unwrap();
    let [Item::Call(call)] = items.as_slice() else {
        panic!("{items:?}")
    };
    assert_eq!(
        (call.name.as_str(), call.arguments.as_str()),
        ("add", r#"{"a":1}"#)
    );
    let mut prompt = vec![PromptItem::User { text: "hi".into() }];
    let id: Arc<str> = call.provider_id.as_str().into();
    prompt.push(PromptItem::Call {
        sample: Seq(2),
        id: id.clone(),
        call: call.clone(),
    });
    let seen = windlass_core::Observation::new(windlass_core::ObservationStatus::Done, "42");
    prompt.push(PromptItem::Result {
        id,
        observation: Arc::new(seen),
    });
    let items = ask(&provider, sample_of(&prompt)).await.unwrap();
    assert_eq!(
        items,
        [Item::Text {
            text: "It is 42.".into()
        }]
    );
    requests.iter().take(2).collect()
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
    assert!(
        sent[0].starts_with("POST /v1/chat/completions HTTP/1.1\r\n"),
        "{}",
        sent[0]
    );
    assert!(
        sent[0].contains("authorization: Bearer sk-secret-123\r\n"),
        "{}",
        sent[0]
    );
    assert!(
        sent[0].contains("accept: text/event-stream\r\n"),
        "{}",
        sent[0]
    );
    assert!(
        sent[1].contains(r#"{"role":"tool","tool_call_id":"c","content":"42"}"#),
        "{}",
        sent[1]
    );
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
    assert!(
        sent[0].starts_with("POST /v1/responses HTTP/1.1\r\n"),
        "{}",
        sent[0]
    );
    let result = r#"{"type":"function_call_output","call_id":"c","output":"42"}"#;
    assert!(sent[1].contains(result), "{}", sent[1]);
}

#[tokio::test]
async fn a_connection_is_used_again() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let server = std::thread::spawn(move || {
        let (mut socket, _) = listener.accept().unwrap();
        for _ in 0..2 {
            request(&mut socket);
            let body = "data: {\"choices\":[{\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
            let head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
            let chunk = format!("{head}{:x}\r\n{body}\r\n0\r\n\r\n", body.len());
            socket.write_all(chunk.as_bytes()).unwrap();
        }
    });
    let provider = provider(Api::Chat, address);
    for _ in 0..2 {
        assert_eq!(ask(&provider, hello()).await.unwrap(), []);
    }
    server.join().unwrap();
}

#[tokio::test]
async fn a_cut_stream_is_no_answer() {
    let delta = "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n";
    let error = failure(Api::Chat, stream(delta)).await;
    assert_eq!(
        (error.kind, error.retry),
        (FailureKind::Truncated, Retry::Soon)
    );
    assert_eq!(error.request_id.as_deref(), Some("req_7"));
    let promised = "200 OK\r\ncontent-length: 1000";
    let error = failure(Api::Responses, answer(promised, delta)).await;
    assert_eq!(
        (error.kind, error.status),
        (FailureKind::Truncated, Some(200))
    );
}

#[tokio::test]
async fn a_page_is_no_stream() {
    let page = "<html><head><title>Sign in</title></head></html>";
    let head = "200 OK\r\ncontent-type: text/html";
    let error = failure(Api::Responses, answer(head, page)).await;
    assert_eq!(
        (error.kind, error.retry),
        (FailureKind::Protocol, Retry::Never)
    );
    assert!(
        error.context.contains("Sign in") && error.context.contains("/v1"),
        "{error}"
    );
}

#[tokio::test]
async fn a_compressed_body_is_refused() {
    let head = "200 OK\r\ncontent-encoding: gzip";
    let error = failure(Api::Chat, answer(head, "\u{1f}\u{8b}")).await;
    assert_eq!(error.kind, FailureKind::Protocol);
}

#[tokio::test]
async fn an_endless_line_ends() {
    let body = format!("data: {}", "x".repeat(200_000));
    let (address, _requests) = serve(vec![stream(&body)]);
    let caps = SseCaps {
        line: 100_000,
        ..SseCaps::default()
    };
    let provider = provider(Api::Chat, address).with_caps(caps);
    let error = ask(&provider, hello()).await.unwrap_err();
    assert_eq!(
        (error.kind, error.retry),
        (FailureKind::TooLarge, Retry::Never)
    );
    assert!(error.context.contains("100000"), "{error}");
}

#[tokio::test]
async fn a_refusal_keeps_its_status_and_hides_the_key() {
    let head = "401 Unauthorized\r\nx-request-id: req_9";
    let error = failure(Api::Chat, answer(head, "no: sk-secret-123 (\u{1b}[1m)")).await;
    assert_eq!(
        (error.kind, error.status),
        (FailureKind::Authentication, Some(401))
    );
    assert_eq!(error.request_id.as_deref(), Some("req_9"));
    assert!(
        error.context.contains("no: [redacted] (\\u{1b}[1m)"),
        "{error}"
    );
    assert!(!format!("{error:?}").contains("secret"), "{error:?}");
}

#[tokio::test]
async fn a_refusal_without_an_end_is_read_in_part() {
    let error = failure(Api::Chat, answer("500 Oops", &"x".repeat(1_000_000))).await;
    assert_eq!((error.kind, error.status), (FailureKind::Server, Some(500)));
    assert!(error.context.len() < 1_000, "{error}");
}

#[tokio::test]
async fn a_wait_that_is_asked_for_is_passed_on() {
    let head = "429 Too Many Requests\r\nretry-after: 7";
    let body = r#"{"error":{"message":"slow down","code":"rate_limit_exceeded"}}"#;
    let error = failure(Api::Responses, answer(head, body)).await;
    assert_eq!(
        (error.kind, error.retry),
        (FailureKind::RateLimit, Retry::AfterMs(7_000))
    );
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let elsewhere = TcpListener::bind("127.0.0.1:0").unwrap();
    elsewhere.set_nonblocking(true).unwrap();
    let to = elsewhere.local_addr().unwrap();
    let head = format!("307 Temporary Redirect\r\nlocation: http://{to}/v1/chat/completions");
    let error = failure(Api::Chat, answer(&head, "")).await;
    assert_eq!(
        (error.kind, error.status),
        (FailureKind::Protocol, Some(307))
    );
    assert!(error.context.contains("base URL"), "{error}");
    let visit = elsewhere.accept().map(|_| ()).map_err(|error| error.kind());
    assert_eq!(visit, Err(std::io::ErrorKind::WouldBlock));
}

#[tokio::test]
async fn nobody_there_is_unavailable() {
    let address = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let error = ask(&provider(Api::Chat, address), hello())
        .await
        .unwrap_err();
    assert_eq!(
        (error.kind, error.retry),
        (FailureKind::Unavailable, Retry::Soon)
    );
    assert!(
        error.context.contains("refused") && error.context.contains("base URL"),
        "{error}"
    );
}

#[tokio::test]
async fn a_head_that_does_not_come_is_a_timeout() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let mut request = hello();
    request.limits.connect_ms = 20;
    let error = ask(&provider(Api::Chat, address), request)
        .await
        .unwrap_err();
    assert_eq!(
        (error.kind, error.retry),
        (FailureKind::Timeout, Retry::Soon)
    );
    assert!(error.context.contains("20 ms"), "{error}");
}

#[tokio::test]
async fn models_are_listed() {
    let body = r#"{"object":"list","data":[{"id":"m-1"},{"id":"m-2"}]}"#;
    let (address, requests) = serve(vec![answer("200 OK", body), answer("200 OK", "<html>")]);
    let provider = provider(Api::Responses, address);
    let wait = Duration::from_secs(30);
    assert_eq!(provider.models(wait).await.unwrap(), ["m-1", "m-2"]);
    assert!(
        requests
            .recv()
            .unwrap()
            .starts_with("GET /v1/models HTTP/1.1\r\n")
    );
    assert_eq!(
        provider.models(wait).await.unwrap_err().kind,
        FailureKind::Protocol
    );
}
