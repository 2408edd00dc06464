//! Fetching over a scripted wire: what is followed, reported, refused and cut.

#![expect(clippy::unwrap_used, reason = "it is all test code")]

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use bytes::Bytes;
use windlass_core::{CallId, ObservationStatus, SessionId};
use windlass_ports::{
    ToolCall, ToolContext, ToolExecutor, Wire, WireBody, WireError, WireHeaders, WireRequest,
    WireResponse,
};
use windlass_testkit::tools::suite::ToolFixture;
use windlass_web::{WEB_FETCH_TOOL, WebTools};

/// Answers in order; the last one for ever.
#[derive(Default)]
struct Pages {
    answers: Mutex<VecDeque<Answer>>,
    asked: Mutex<Vec<String>>,
}

#[derive(Clone)]
struct Answer {
    status: u16,
    headers: &'static [(&'static str, &'static str)],
    body: Vec<u8>,
}

struct Whole(Option<Bytes>);

impl WireBody for Whole {
    fn poll_chunk(
        &mut self,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Result<Option<Bytes>, WireError>> {
        std::task::Poll::Ready(Ok(self.0.take()))
    }
}

#[async_trait]
impl Wire for Pages {
    async fn send(&self, request: WireRequest) -> Result<WireResponse, WireError> {
        self.asked.lock().unwrap().push(format!("{} {}", request.method, request.url));
        let mut answers = self.answers.lock().unwrap();
        let answer = match answers.len() {
            1 => answers[0].clone(),
            _ => answers.pop_front().unwrap(),
        };
        let mut headers = WireHeaders::default();
        for (name, value) in answer.headers {
            headers.push(name, *value, false);
        }
        let body = Box::new(Whole(Some(answer.body.into())));
        Ok(WireResponse { status: answer.status, headers, body })
    }
}

const HTML: &[(&str, &str)] = &[("Content-Type", "text/html; charset=utf-8")];

fn ok(body: &str) -> Answer {
    Answer { status: 200, headers: HTML, body: body.into() }
}

fn to(location: &'static [(&'static str, &'static str)]) -> Answer {
    Answer { status: 302, headers: location, body: Vec::new() }
}

fn context() -> ToolContext {
    ToolContext::new(SessionId::new("s").unwrap(), CallId(2))
}

async fn fetch(url: &str, answers: &[Answer]) -> (ObservationStatus, String, Vec<String>) {
    let pages =
        Arc::new(Pages { answers: Mutex::new(answers.to_vec().into()), ..Pages::default() });
    let tools = WebTools::new(pages.clone());
    let arguments = format!("{{\"url\":{url:?}}}");
    let call = ToolCall { name: WEB_FETCH_TOOL.into(), arguments: arguments.as_str().into() };
    let seen = tools.run(call, context()).await.unwrap();
    let asked = pages.asked.lock().unwrap().clone();
    (seen.status, seen.output, asked)
}

#[tokio::test]
async fn a_page_names_its_source_and_says_that_it_gives_no_instructions() {
    let (status, text, asked) = fetch("https://a.example/x#part", &[ok("<h1>Hi</h1>")]).await;
    assert_eq!(status, ObservationStatus::Done);
    assert!(
        text.starts_with("[https://a.example/x (text/html). This is text of the web"),
        "{text}"
    );
    assert!(text.ends_with("# Hi\n"), "{text}");
    assert_eq!(asked, ["GET https://a.example/x"]);
}

#[tokio::test]
async fn redirects_are_followed_on_a_host_and_reported_beyond_it() {
    let (status, _, asked) = fetch(
        "http://a.example/x",
        &[to(&[("location", "/y")]), to(&[("location", "https://a.example/y")]), ok("y")],
    )
    .await;
    assert_eq!(status, ObservationStatus::Done);
    assert_eq!(
        asked,
        ["GET http://a.example/x", "GET http://a.example/y", "GET https://a.example/y"]
    );
    let (status, text, asked) =
        fetch("https://a.example/x", &[to(&[("location", "https://b.example/z")])]).await;
    assert_eq!(status, ObservationStatus::Failed);
    assert!(text.contains("redirects to https://b.example/z, on another host"), "{text}");
    assert_eq!(asked.len(), 1);
    let (status, text, asked) = fetch("https://a.example/x", &[to(&[("location", "/x")])]).await;
    assert_eq!((status, asked.len()), (ObservationStatus::Failed, 6), "{text}");
}

#[tokio::test]
async fn failures_are_told_with_their_reason() {
    let gone = Answer { status: 404, headers: HTML, body: b"no such page".to_vec() };
    let (status, text, _) = fetch("https://a.example", &[gone]).await;
    assert_eq!(status, ObservationStatus::Failed);
    assert!(text.contains("status 404:\nno such page"), "{text}");
    let (status, text, asked) = fetch("file:///etc/passwd", &[ok("")]).await;
    assert_eq!((status, asked.len()), (ObservationStatus::Failed, 0), "{text}");
}

#[tokio::test]
async fn a_large_page_is_cut_and_says_so() {
    let (status, text, _) = fetch("https://a.example", &[ok(&"word ".repeat(3_000_000))]).await;
    assert_eq!(status, ObservationStatus::Done);
    assert!(text.contains("the page goes on") && text.len() < 1_100_000, "{}", text.len());
}

struct Fixture;

impl ToolFixture for Fixture {
    fn executor(&self) -> Arc<dyn ToolExecutor> {
        let answers = Mutex::new([ok("<p>page</p>")].to_vec().into());
        Arc::new(WebTools::new(Arc::new(Pages { answers, ..Pages::default() })))
    }

    fn calls(&self) -> Vec<ToolCall> {
        let arguments = r#"{"url":"https://a.example"}"#;
        vec![ToolCall { name: WEB_FETCH_TOOL.into(), arguments: arguments.into() }]
    }
}

windlass_testkit::tool_suite!(Fixture);
