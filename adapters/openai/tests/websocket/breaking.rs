//! What comes of answers that break off, come too late, are too large, or are errors.

use serde_json::json;
use windlass_core::{FailureKind, Item, RequestRoute, Retry};
use windlass_kit_http::SseCaps;
use windlass_ports::Provider as _;
use windlass_testkit::http::{Cut, Ended, ModelServer, Reply, Request};
use windlass_testkit::{Answer, Gate};

use crate::conversation::{Session, ask, provider, request, step, user, ways};

#[tokio::test]
async fn a_break_is_an_error_and_the_next_attempts_go_safer_ways() {
    let broken = |number| step(number).cut_after(600, Cut::Fin);
    let server = ModelServer::start([step(0), broken(1), broken(2), step(3), step(4)]).unwrap();
    let mut session = Session::new("s", provider(&server));
    session.step().await.unwrap();
    for (sent, requests) in [(RequestRoute::SocketDelta, 2), (RequestRoute::Socket, 3)] {
        let error = session.step().await.unwrap_err();
        assert_eq!((error.kind, error.retry), (FailureKind::Truncated, Retry::Soon));
        assert_eq!(session.last.as_ref().unwrap().route, sent);
        assert_eq!(session.told, Vec::<Item>::new(), "a call that is not whole is not told");
        assert_eq!(server.requests().len(), requests);
    }
    let asked = session.step().await.unwrap();
    assert_eq!(asked.route, RequestRoute::Http);
    assert!(asked.fallback_reason.unwrap().contains("failed"));
    // And not straight back.
    session.failed.clear();
    assert_eq!(session.step().await.unwrap().route, RequestRoute::Http);
    let requests = server.requests();
    let ways = ways(&requests).iter().map(|way| (way.0, way.2)).collect::<Vec<_>>();
    let post = ("POST", false);
    assert_eq!(
        ways,
        [
            (Request::MESSAGE, false),
            (Request::MESSAGE, true),
            (Request::MESSAGE, false),
            post,
            post
        ]
    );
    assert!(server.misses().is_empty(), "{:?}", server.misses());
}

#[tokio::test]
async fn an_answer_cut_at_any_byte_is_no_answer() {
    let answer = Answer::new().call("f", json!({ "a": 1 }));
    let whole = ModelServer::start(Reply::answer(answer.clone())).unwrap();
    let (mut told, _) = ask(&provider(&whole), request("s", &[user("hi")])).await.unwrap();
    assert!(matches!(told.pop(), Some(Item::Call(_))));
    let length = usize::try_from(whole.requests()[0].sent).unwrap();
    for at in (0..length).step_by(29).chain([length - 1]) {
        for cut in [Cut::Fin, Cut::Rst] {
            let reply = Reply::answer(answer.clone()).cut_after(at, cut);
            let server = ModelServer::start(reply).unwrap();
            let error = ask(&provider(&server), request("s", &[user("hi")])).await.unwrap_err();
            let kinds = [FailureKind::Truncated, FailureKind::Unavailable];
            assert!(kinds.contains(&error.kind), "{at} {cut:?}: {error:?}");
            assert_eq!((error.retry, server.requests().len()), (Retry::Soon, 1));
        }
    }
}

#[tokio::test]
async fn a_server_that_forgot_the_conversation_is_told_all_of_it() {
    for code in ["previous_response_not_found", "websocket_connection_limit_reached"] {
        let forgot = Reply::error(400, code, "gone");
        let server = ModelServer::start([step(0), forgot, step(2), step(3)]).unwrap();
        let mut session = Session::new("s", provider(&server));
        session.step().await.unwrap();
        let error = session.step().await.unwrap_err();
        assert_eq!((error.retry, error.details.status), (Retry::Soon, Some(400)), "{error}");
        assert!(error.context.contains(code) && error.context.contains("next attempt"), "{error}");
        assert_eq!(session.last.as_ref().unwrap().route, RequestRoute::SocketDelta);
        assert_eq!(session.step().await.unwrap().route, RequestRoute::Socket);
        assert_eq!(session.step().await.unwrap().route, RequestRoute::SocketDelta);
        let ways = ways(&server.requests()).iter().map(|way| way.2).collect::<Vec<_>>();
        assert_eq!(ways, [false, true, false, true]);
    }
}

#[tokio::test]
async fn an_error_inside_has_the_class_that_it_has_over_http() {
    let limited = Reply::error(429, "rate_limit_exceeded", "slow down");
    let server = ModelServer::start([limited, step(1)]).unwrap();
    let mut session = Session::new("s", provider(&server));
    let error = session.step().await.unwrap_err();
    assert_eq!((error.kind, error.details.status), (FailureKind::RateLimit, Some(429)));
    // It says nothing against sockets.
    assert_eq!(session.step().await.unwrap().route, RequestRoute::Socket);
}

#[tokio::test]
async fn a_message_that_is_too_large_is_not_read() {
    const FLOOD: u64 = 32 * 1024 * 1024;
    let server = ModelServer::start(Reply::filled("{\"x\":\"", b'x', FLOOD)).unwrap();
    let caps = SseCaps::of(100_000);
    let openai = provider(&server).with_caps(caps);
    let error = ask(&openai, request("s", &[user("hi")])).await.unwrap_err();
    assert_eq!((error.kind, error.retry), (FailureKind::TooLarge, Retry::Never), "{error}");
    assert_eq!(server.ended(0).await, Ended::HungUp);
    assert!(server.requests()[0].sent < FLOOD);
}

#[tokio::test]
async fn an_answer_of_many_messages_is_too_large_too() {
    let text = Answer::new().text("x".repeat(200_000)).pieces_of(1_000);
    let server = ModelServer::start(Reply::answer(text)).unwrap();
    let openai = provider(&server).with_caps(SseCaps::of(100_000));
    let error = ask(&openai, request("s", &[user("hi")])).await.unwrap_err();
    assert_eq!(error.kind, FailureKind::TooLarge, "{error}");
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_does_not_begin_is_a_timeout_and_one_request() {
    let gate = Gate::new();
    let server = ModelServer::start(Reply::say("too late").head_after(&gate)).unwrap();
    let mut request = request("s", &[user("hi")]);
    request.limits.connect_ms = 300;
    // Time passes once the request is there: a clock that is paused goes on when nothing is to be done.
    let awake = async {
        tokio::select! {
            biased;
            () = gate.reached() => {}
            () = async { loop { tokio::task::yield_now().await } } => {}
        }
    };
    let openai = provider(&server);
    let (asked, ()) = tokio::join!(ask(&openai, request), awake);
    let error = asked.unwrap_err();
    assert_eq!((error.kind, error.retry), (FailureKind::Timeout, Retry::Soon));
    assert_eq!(server.ended(0).await, Ended::HungUp);
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn a_dropped_answer_ends_its_request() {
    let gate = Gate::new();
    let server = ModelServer::start(Reply::say("Hello.").pause_after(400, &gate)).unwrap();
    let openai = provider(&server);
    let stream = openai.sample(request("s", &[user("hi")])).await.unwrap();
    gate.reached().await;
    drop(stream);
    assert_eq!(server.ended(0).await, Ended::HungUp);
}

#[tokio::test]
async fn a_stale_event_of_the_answer_before_is_no_answer() {
    let stale = |reply: Reply| {
        reply.insert_event(
        0,
        "data: {\"type\":\"response.completed\",\"response\":{\"id\":\"resp_0000\",\"status\":\"completed\"}}\n\n",
    )
    };
    let server = ModelServer::start([step(0), stale(step(1))]).unwrap();
    let mut session = Session::new("s", provider(&server));
    session.step().await.unwrap();
    let error = session.step().await.unwrap_err();
    assert_eq!((error.kind, error.retry), (FailureKind::Protocol, Retry::Soon), "{error}");
}

#[tokio::test]
async fn the_key_is_shown_to_the_server_alone() {
    let key = "sk-secret-123";
    let words = format!("the key {key} is no good");
    let failed = json!({ "status": "failed", "error": { "message": words, "code": key } });
    let failed = json!({ "type": "response.failed", "response": failed });
    let replies = [
        Reply::error(401, "invalid_api_key", &words),
        Reply::error(400, key, &words),
        Reply::stream(format!("data: {failed}\n\n")),
        Reply::stream(format!("data: {{{key}}}\n\n")),
        Reply::say(key).cut_after(400, Cut::Fin),
    ];
    for reply in replies {
        let server = ModelServer::start(reply).unwrap();
        let error = ask(&provider(&server), request("s", &[user("hi")])).await.unwrap_err();
        assert!(!format!("{error} {error:?}").contains(key), "{error:?}");
        let [sent] = server.requests().try_into().unwrap();
        assert!(!String::from_utf8_lossy(&sent.body).contains(key) && !sent.path.contains(key));
        assert_eq!(sent.header("authorization"), Some("Bearer sk-secret-123"));
    }
}
