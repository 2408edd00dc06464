//! What is sent over which way: only what is new, the whole, or HTTP.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::json;
use windlass_core::{FailureKind, PromptItem, RequestRoute};
use windlass_http::http_wire;
use windlass_openai::{Api, OpenAi, OpenAiConfig};
use windlass_ports::{Wire, WireError, WireRequest, WireResponse};
use windlass_testkit::http::{Cut, ModelServer, Reply, Request, Script};
use windlass_testkit::{Answer, Gate};

use crate::conversation::{
    Session, ask, asked_of, config, input, previous, provider, request, step, steps, user, ways,
};

#[tokio::test]
async fn only_what_is_new_is_sent_however_long_the_session_is() {
    let server = ModelServer::start(steps()).unwrap();
    let mut session = Session::new("s", provider(&server));
    for number in 0..200 {
        let asked = session.step().await.unwrap();
        match number {
            0 => assert_eq!((asked.route, asked.lowered.len()), (RequestRoute::Socket, 0)),
            _ => {
                assert_eq!((asked.route, asked.fallback_reason), (RequestRoute::SocketDelta, None))
            }
        }
    }
    let requests = server.requests();
    let sizes: Vec<usize> = requests.iter().skip(1).map(|sent| sent.body.len()).collect();
    assert!(sizes.iter().all(|size| *size == sizes[0]), "{sizes:?}");
    for (number, sent) in requests.iter().enumerate().skip(1) {
        assert_eq!(sent.connection, 1);
        let before = format!("resp_{:04}", number - 1);
        assert_eq!(previous(sent), Some(before.as_str()));
        let [result] = input(sent).as_slice() else { panic!("{:?}", input(sent)) };
        assert_eq!(result["type"], "function_call_output");
        assert_eq!(result["call_id"], format!("call_{:04}", number - 1));
        let json = sent.json.as_ref().unwrap();
        assert_eq!((&json["type"], &json["store"]), (&json!("response.create"), &json!(false)));
        assert_eq!(json["instructions"], "Be brief.");
        assert_eq!(json.get("stream"), None);
    }
    assert_eq!(server.handshakes().len(), 1);
    let opening = &server.handshakes()[0];
    assert_eq!(opening.header("authorization"), Some("Bearer sk-secret-123"));
    assert!(server.misses().is_empty(), "{:?}", server.misses());
}

#[tokio::test]
async fn reasoning_that_the_server_has_is_not_sent_again() {
    let first = Answer::new().sealed_reasoning("hm", "c2VhbGVk").text("Hello.");
    let server = ModelServer::start([Reply::answer(first), Reply::say("Bye.")]).unwrap();
    let mut session = Session::new("s", provider(&server));
    session.step().await.unwrap();
    session.items.push(user("and now?"));
    assert_eq!(session.step().await.unwrap().route, RequestRoute::SocketDelta);
    let sent = server.requests();
    assert_eq!(input(&sent[1]).len(), 1, "{:?}", sent[1].json);
}

#[tokio::test]
async fn a_conversation_that_does_not_go_on_is_sent_whole_over_the_same_connection() {
    let server = ModelServer::start(steps()).unwrap();
    let mut session = Session::new("s", provider(&server));
    session.step().await.unwrap();
    // A summary stands where the conversation was.
    session.items = [user("in short"), user("go on")].into_iter().collect();
    let asked = session.step().await.unwrap();
    assert_eq!(asked.route, RequestRoute::Socket);
    assert!(asked.fallback_reason.unwrap().contains("does not go on"));
    // What the model said is told otherwise.
    let mut items: Vec<PromptItem> = session.items.iter().cloned().collect();
    let at = items.len() - 2;
    let PromptItem::Call { id, call, .. } = &mut items[at] else { panic!("{items:?}") };
    *id = "renamed".into();
    let mut other = (**call).clone();
    other.provider_id = "renamed".into();
    *call = Arc::new(other);
    let PromptItem::Result { id, .. } = &mut items[at + 1] else { panic!("no result") };
    *id = "renamed".into();
    session.items = items.into_iter().collect();
    let asked = session.step().await.unwrap();
    assert_eq!(asked.route, RequestRoute::Socket);
    assert!(asked.fallback_reason.unwrap().contains("as it was given"));
    // Other settings.
    let mut settings = (*session.settings).clone();
    settings.instructions = "Be long.".into();
    session.settings = Arc::new(settings);
    let asked = session.step().await.unwrap();
    assert!(asked.fallback_reason.unwrap().contains("settings"));
    assert_eq!(session.step().await.unwrap().route, RequestRoute::SocketDelta);
    let ways = ways(&server.requests()).iter().map(|way| way.1).collect::<Vec<_>>();
    assert_eq!(ways, [1, 1, 1, 1, 1]);
    assert!(server.misses().is_empty(), "{:?}", server.misses());
}

#[tokio::test]
async fn an_answer_that_the_limit_cut_off_is_not_gone_on_from() {
    let cut = Answer::new().text("Half").stop(windlass_core::StopReason::Length);
    let server = ModelServer::start([Reply::answer(cut), Reply::say("a")]).unwrap();
    let mut session = Session::new("s", provider(&server));
    session.step().await.unwrap();
    session.items.push(user("go on"));
    let asked = session.step().await.unwrap();
    assert_eq!(asked.route, RequestRoute::Socket);
    assert!(asked.fallback_reason.unwrap().contains("was not whole"));
}

#[tokio::test]
async fn what_the_server_ran_itself_is_gone_on_from_only_if_it_was_told() {
    for (event, route) in [("done", RequestRoute::SocketDelta), ("added", RequestRoute::Socket)] {
        let ran = format!(
            r#"{{"type":"response.output_item.{event}","output_index":5,"item":{{"id":"w","type":"web_search_call"}}}}"#
        );
        let first = Reply::say("Found.").insert_event(2, &format!("data: {ran}\n\n"));
        let server = ModelServer::start([first, Reply::say("a")]).unwrap();
        let mut session = Session::new("s", provider(&server));
        session.step().await.unwrap();
        session.items.push(user("go on"));
        assert_eq!(session.step().await.unwrap().route, route, "{event}");
    }
}

#[tokio::test]
async fn a_connection_that_was_closed_meanwhile_is_replaced_and_all_is_sent() {
    for cut in [Cut::Fin, Cut::Rst] {
        let closing = step(0).cut_after(1_000_000, cut);
        let server = ModelServer::start([closing, step(1)]).unwrap();
        let mut session = Session::new("s", provider(&server));
        session.step().await.unwrap();
        server.ended(0).await;
        // A round over the network, after which the closing has been seen.
        let wait = Duration::from_secs(30);
        session.provider.models(wait).await.unwrap();
        let asked = session.step().await.unwrap();
        assert_eq!(asked.route, RequestRoute::Socket, "{cut:?}");
        assert!(asked.fallback_reason.unwrap().contains("was closed"));
        let samples = server.samples();
        assert_eq!(ways(&samples)[1].0, Request::MESSAGE);
        assert_ne!(samples[0].connection, samples[1].connection);
        assert_eq!(input(&samples[1]).len(), 3);
        assert!(server.misses().is_empty(), "{:?}", server.misses());
    }
}

#[tokio::test]
async fn a_refused_handshake_leads_to_http_and_is_not_tried_at_every_step() {
    for (status, body) in [(404, "no"), (426, ""), (200, "<html>"), (403, "no"), (500, "no")] {
        let refused = move |_| Some(Reply::raw(status, body));
        let script = Script::respond(|request| step(request.number)).refusing(refused);
        let server = ModelServer::start(script).unwrap();
        let mut session = Session::new("s", provider(&server));
        let asked = session.step().await.unwrap();
        assert_eq!(asked.route, RequestRoute::Http);
        let instead = asked.fallback_reason.unwrap();
        assert!(instead.contains(&status.to_string()), "{instead}");
        assert_eq!(session.step().await.unwrap().route, RequestRoute::Http);
        let ways: Vec<String> = server.samples().into_iter().map(|sent| sent.method).collect();
        assert_eq!((ways, server.handshakes().len()), (vec!["POST".into(), "POST".into()], 1));
    }
}

#[tokio::test]
async fn a_redirected_handshake_is_not_followed() {
    let elsewhere = ModelServer::start(steps()).unwrap();
    let to = format!("{}/responses", elsewhere.base_url());
    let script = steps().refusing(move |_| Some(Reply::redirect(307, &to)));
    let server = ModelServer::start(script).unwrap();
    let mut session = Session::new("s", provider(&server));
    assert_eq!(session.step().await.unwrap().route, RequestRoute::Http);
    assert!(elsewhere.requests().is_empty() && elsewhere.handshakes().is_empty());
}

#[tokio::test]
async fn a_handshake_that_refuses_the_key_is_the_answer() {
    let refusal = |_| {
        let reply = Reply::error(401, "invalid_api_key", "no: sk-secret-123");
        Some(reply.header("x-request-id", "req_9"))
    };
    let server = ModelServer::start(steps().refusing(refusal)).unwrap();
    let error = ask(&provider(&server), request("s", &[user("hi")])).await.unwrap_err();
    assert_eq!((error.kind, error.details.status), (FailureKind::Authentication, Some(401)));
    assert_eq!(error.details.request_id.as_deref(), Some("req_9"));
    assert!(
        error.details.request.is_some() && !format!("{error:?}").contains("secret"),
        "{error:?}"
    );
    assert!(server.requests().is_empty());
}

/// A wire that has no sockets, as one that replays.
struct Plain(Arc<dyn Wire>);

#[async_trait]
impl Wire for Plain {
    async fn send(&self, request: WireRequest) -> Result<WireResponse, WireError> {
        self.0.send(request).await
    }
}

#[tokio::test]
async fn a_wire_without_sockets_leads_to_http() {
    let server = ModelServer::start(steps()).unwrap();
    let config = config(&server);
    let wire = Plain(http_wire(&config.base_url).unwrap());
    let openai = OpenAi::over(&config, Arc::new(wire)).unwrap();
    let mut session = Session::new("s", openai);
    for _ in 0..2 {
        let asked = session.step().await.unwrap();
        assert_eq!(asked.route, RequestRoute::Http);
        assert!(asked.fallback_reason.unwrap().contains("no sockets"));
    }
    assert!(server.handshakes().is_empty());
}

#[test]
fn chat_completions_has_no_websockets() {
    let config = OpenAiConfig::new(Api::Chat).with_websocket();
    let error = OpenAi::over(&config, http_wire(&config.base_url).unwrap()).unwrap_err();
    assert_eq!(error.kind, FailureKind::InvalidRequest);
    let read: OpenAiConfig =
        serde_json::from_str(r#"{"api":"responses","websocket":true}"#).unwrap();
    assert!(read.websocket && !OpenAiConfig::new(Api::Responses).websocket);
}

#[tokio::test]
async fn sessions_do_not_share_a_connection_and_neither_do_requests_at_once() {
    let gate = Gate::new();
    let held = gate.clone();
    let script = Script::respond(move |request| match request.number {
        2 | 3 => step(request.number).pause_after(300, &held),
        number => step(number),
    });
    let server = ModelServer::start(script).unwrap();
    let openai = Arc::new(provider(&server));
    let mut one = Session::shared("one", openai.clone());
    let mut two = Session::shared("two", openai.clone());
    one.step().await.unwrap();
    two.step().await.unwrap();
    let mut again = one.clone();
    let opened = async {
        gate.reached().await;
        gate.open();
    };
    let (first, second, ()) = tokio::join!(one.step(), again.step(), opened);
    let mut sent = [first.unwrap().route, second.unwrap().route];
    sent.sort_by_key(|sent| *sent == RequestRoute::SocketDelta);
    assert_eq!(sent, [RequestRoute::Socket, RequestRoute::SocketDelta]);
    assert_eq!(two.step().await.unwrap().route, RequestRoute::SocketDelta);
    let over: Vec<u64> = server.requests().iter().map(|sent| sent.connection).collect();
    assert!(over[0] != over[1] && over[2] != over[3], "{over:?}");
    assert_eq!(over[1], over[4]);
    assert!(server.misses().is_empty(), "{:?}", server.misses());
}

#[tokio::test]
async fn what_is_asked_is_told_by_error_and_stream_alike() {
    let server = ModelServer::start([step(0), Reply::error(500, "server_error", "no")]).unwrap();
    let openai = provider(&server);
    let (_, told) = ask(&openai, request("s", &[user("hi")])).await.unwrap();
    let told = told.unwrap();
    assert_eq!((told.provider.as_str(), told.route), ("openai", RequestRoute::Socket));
    assert_eq!(told.bytes, server.requests()[0].body.len() as u64);
    let error = ask(&openai, request("t", &[user("hi")])).await.unwrap_err();
    let failed = asked_of(&error);
    assert_eq!((failed.route, failed.endpoint.clone()), (RequestRoute::Socket, server.base_url()));
}
