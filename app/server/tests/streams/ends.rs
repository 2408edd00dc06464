//! Ends of streams: each says why, and heartbeats say that there is none.

use std::time::Duration;

use serde_json::json;
use tokio::time::{Instant, sleep};
use windlass_engine::ports::StoreErrorKind;
use windlass_server::windlass_engine;
use windlass_testkit::Gate;
use windlass_testkit::faulty::{Fault, FaultyStore, Operation};
use windlass_testkit::provider::say;

use crate::client::{Answer, ask, facts, follow};
use crate::world::{Running, TOKEN, World, halves, hello, soon};

/// A stream that has told all there is.
async fn at_rest(world: &World, server: &Running) -> Answer {
    server.turn("s").await;
    let mut stream = follow(server.address, "s", "").await;
    assert_eq!(facts(&stream.up_to_settled().await), world.exported("s"));
    stream
}

async fn ends_with(mut stream: Answer, reason: &str) {
    let last = stream.next().await.expect("a last word");
    assert_eq!((last.id, last.event.as_str()), (None, "end"));
    assert_eq!(last.json(), json!({ "reason": reason }));
    assert_eq!(stream.next().await, None);
}

#[tokio::test]
async fn a_stream_at_rest_says_that_it_lives() {
    let world = World::new([say("there")]).bounded(|bounds| bounds.heartbeat_ms = 20);
    let server = world.serve().await;
    let mut stream = at_rest(&world, &server).await;
    for _ in 0..3 {
        assert_eq!(stream.block().await.unwrap(), ":\n\n");
    }
}

#[tokio::test]
async fn a_server_that_goes_away_says_so_and_lets_nobody_in() {
    let world = World::new([say("there")]);
    let mut server = world.serve().await;
    let stream = at_rest(&world, &server).await;
    server.drain();
    ends_with(stream, "draining").await;
    server.stop().await;
}

#[tokio::test]
async fn a_store_that_never_answers_holds_no_stop_up() {
    let (hangs, limit) = (Gate::new(), Duration::from_millis(1_000));
    let mut world = World::new([say("there")]).bounded(|bounds| bounds.drain_ms = 1_000);
    let never = hangs.clone();
    world.store = FaultyStore::responding(move |operation, number| match operation {
        Operation::Append if number >= 2 => vec![Fault::Wait(never.clone())],
        Operation::Release | Operation::Probe if number >= 1 => vec![Fault::Wait(never.clone())],
        Operation::Append
        | Operation::Claim
        | Operation::Read
        | Operation::Release
        | Operation::Probe => Vec::new(),
    });
    let server = world.serve().await;
    let conversation = server.open("s").await;
    conversation.flush().await.unwrap();
    let sending = tokio::spawn(async move { conversation.send(hello()).await });
    hangs.reached().await;
    let begun = Instant::now();
    server.stop().await;
    assert!(begun.elapsed() <= limit + Duration::from_millis(500), "{:?}", begun.elapsed());
    assert!(soon(sending).await.unwrap().is_err(), "nothing was acknowledged");
}

#[tokio::test]
async fn a_token_that_is_known_no_more_ends_its_streams_within_a_heartbeat() {
    let world = World::new([say("there")]).bounded(|bounds| bounds.heartbeat_ms = 20);
    let server = world.serve().await;
    let stream = at_rest(&world, &server).await;
    world.revoke();
    let mut stream = stream;
    let last = loop {
        let block = stream.block().await.unwrap();
        if block != ":\n\n" {
            break block;
        }
    };
    assert_eq!(last, "event: end\ndata: {\"reason\":\"unauthorized\"}\n\n");
    assert_eq!(stream.block().await, None);
}

#[tokio::test]
async fn an_error_of_the_store_ends_a_stream_with_what_it_means() {
    let corrupt = StoreErrorKind::Corrupt { after: windlass_engine::core::Seq(1), offset: None };
    for (kind, reason) in [
        (StoreErrorKind::Unknown, "erased"),
        (StoreErrorKind::Io, "store_away"),
        (StoreErrorKind::Unavailable, "store_away"),
        (corrupt, "damaged"),
    ] {
        let world = World::new([say("there")]);
        let server = world.serve().await;
        let stream = at_rest(&world, &server).await;
        *world.unread.lock().unwrap() = Some(kind);
        ends_with(stream, reason).await;
    }
}

#[tokio::test]
async fn a_server_whose_store_is_away_or_takes_no_writes_takes_no_work_until_it_does() {
    let world = World::new([]);
    let server = world.serve().await;
    let ready = async || ask(server.address, "GET", "/v1/ready", None, &[]).await;
    assert_eq!(ready().await.status, 200);
    for (kind, status) in [
        (Some(StoreErrorKind::Unavailable), 503),
        (None, 200),
        (Some(StoreErrorKind::Io), 503),
        (None, 200),
        (Some(StoreErrorKind::ReadOnly), 503),
        // It answers, whatever it says of one session.
        (Some(StoreErrorKind::Unknown), 200),
    ] {
        *world.unread.lock().unwrap() = kind;
        soon(async {
            // What was found out is told again for a second.
            while ready().await.status != status {
                sleep(Duration::from_millis(50)).await;
            }
        })
        .await;
    }
    *world.unread.lock().unwrap() = Some(StoreErrorKind::Io);
    sleep(Duration::from_millis(1_100)).await;
    let problem = ready().await.problem().await;
    assert_eq!(problem, (503, "store_away".to_owned()));
    let lives = ask(server.address, "GET", "/v1/health", None, &[]).await;
    assert_eq!(lives.status, 200, "it lives all the same");
    assert_eq!(lives.text().await, r#"{"status":"ok","store":"failed"}"#);
}

#[tokio::test]
async fn a_client_that_goes_away_stops_nothing() {
    let gate = Gate::new();
    let world = World::new([halves("one ", "two", &gate)]);
    let server = world.serve().await;
    let conversation = server.open("s").await;
    let input = conversation.send(hello()).await.unwrap();
    let stream = follow(server.address, "s", "").await;
    gate.reached().await;
    drop(stream);
    drop(conversation);
    gate.open();
    let told = follow(server.address, "s", "").await.up_to_settled().await;
    assert_eq!(facts(&told), world.exported("s"));
    let report = server.open("s").await.outcome(input).await.unwrap();
    assert_eq!(report.answer, "one two");
}

#[tokio::test]
async fn a_ticket_lets_one_stream_in() {
    let world = World::new([say("there")]);
    let server = world.serve().await;
    server.turn("s").await;
    let path = "/v1/sessions/s/tickets";
    let given = ask(server.address, "POST", path, Some(TOKEN), &[]).await;
    assert_eq!(given.status, 201);
    assert!(given.head.contains("cache-control: no-store"));
    let given: serde_json::Value = serde_json::from_str(&given.text().await).unwrap();
    assert_eq!(given["good_ms"], world.bounds.ticket_ms);
    let ticket = given["ticket"].as_str().unwrap();
    let path = format!("/v1/sessions/s/events?ticket={ticket}");
    let mut stream = ask(server.address, "GET", &path, None, &[]).await;
    assert_eq!(stream.status, 200, "{}", stream.head);
    assert_eq!(facts(&stream.up_to_settled().await), world.exported("s"));
    let again = ask(server.address, "GET", &path, None, &[]).await;
    assert_eq!(again.problem().await, (401, "unauthorized".to_owned()));
}
