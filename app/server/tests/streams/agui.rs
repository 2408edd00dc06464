//! AG-UI over real sockets: runs as they come.

use serde_json::{Value, json};
use windlass_testkit::Gate;
use windlass_testkit::provider::say;

use crate::client::{Answer, ask};
use crate::sockets::failing_for_a_moment;
use crate::world::{BLIND, OTHER, Running, TOKEN, World, halves, hello, soon};

async fn follow(server: &Running, session: &str, query: &str) -> Answer {
    let path = format!("/v1/sessions/{session}/agui{query}");
    let answer = ask(server.address, "GET", &path, Some(TOKEN), &[]).await;
    assert_eq!(answer.status, 200, "{}", answer.head);
    answer
}

fn kinds(run: &[Value]) -> Vec<&str> {
    run.iter().map(|event| event["type"].as_str().unwrap()).collect()
}

fn text(run: &[Value]) -> String {
    let said = run.iter().filter(|event| event["type"] == "TEXT_MESSAGE_CONTENT");
    said.map(|event| event["delta"].as_str().unwrap()).collect()
}

const RUN: [&str; 7] = [
    "RUN_STARTED",
    "STEP_STARTED",
    "TEXT_MESSAGE_START",
    "TEXT_MESSAGE_CONTENT",
    "TEXT_MESSAGE_END",
    "STEP_FINISHED",
    "RUN_FINISHED",
];

#[tokio::test]
async fn the_turns_of_a_session_are_told_as_runs() {
    let world = World::new([say("there"), say("again")]);
    let server = world.serve().await;
    server.turn("s").await;
    let mut stream = follow(&server, "s", "?after=0").await;
    assert!(stream.head.contains("content-type: text/event-stream\r\n"));
    let first = stream.run().await;
    assert_eq!(kinds(&first), RUN);
    assert_eq!(text(&first), "there");
    assert_eq!(first[0]["threadId"], "s");
    assert_eq!(first[6]["runId"], first[0]["runId"]);
    assert_eq!(first[6]["outcome"]["type"], "success");
    server.turn("s").await;
    let second = stream.run().await;
    assert_eq!(text(&second), "again");
    assert_ne!(second[0]["runId"], first[0]["runId"]);
}

#[tokio::test]
async fn without_a_cursor_the_run_that_goes_on_is_told_and_each_character_once() {
    let gate = Gate::new();
    let world = World::new([say("before"), halves("one ", "two", &gate)]);
    let server = world.serve().await;
    server.turn("s").await;
    let conversation = server.open("s").await;
    let input = conversation.send(hello()).await.unwrap();
    gate.reached().await;
    let mut stream = follow(&server, "s", "").await;
    let mut told = Vec::new();
    while text(&told).is_empty() {
        told.push(stream.agui().await.unwrap().1);
    }
    assert_eq!(text(&told), "one ");
    gate.open();
    told.extend(stream.run().await);
    soon(conversation.outcome(input)).await.unwrap();
    assert_eq!(text(&told), "one two");
    assert_eq!(told[0]["type"], "RUN_STARTED");
    let starts = kinds(&told).into_iter().filter(|kind| *kind == "TEXT_MESSAGE_START");
    assert_eq!(starts.count(), 1);
}

#[tokio::test]
async fn whoever_comes_back_after_any_position_is_told_the_rest_as_a_run() {
    let world = World::new([say("there")]);
    let server = world.serve().await;
    server.turn("s").await;
    let mut whole = follow(&server, "s", "?after=0").await;
    let mut positions = Vec::new();
    loop {
        let (id, event) = whole.agui().await.unwrap();
        positions.extend(id);
        if event["type"] == "RUN_FINISHED" {
            break;
        }
    }
    let last = positions.pop().unwrap();
    assert_eq!(last, world.log("s").last().unwrap().seq.0);
    for position in positions {
        let header = format!("Last-Event-ID: {position}");
        let path = "/v1/sessions/s/agui?after=0";
        let mut stream = ask(server.address, "GET", path, Some(TOKEN), &[&header]).await;
        let told = stream.run().await;
        let kinds = kinds(&told);
        assert_eq!(kinds.first(), Some(&"RUN_STARTED"), "{position}");
        let begun = kinds.iter().filter(|kind| **kind == "STEP_STARTED").count();
        let ended = kinds.iter().filter(|kind| **kind == "STEP_FINISHED").count();
        assert_eq!(begun, ended, "{position}: {kinds:?}");
    }
}

#[tokio::test]
async fn it_is_read_with_the_right_to_read_and_from_a_cursor_that_is_one() {
    let world = World::new([say("there")]);
    let mut server = world.serve().await;
    server.turn("s").await;
    let of = |token, query: &str| {
        let path = format!("/v1/sessions/s/agui{query}");
        let address = server.address;
        async move { ask(address, "GET", &path, Some(token), &[]).await.problem().await }
    };
    let problem = |status, code: &str| (status, code.to_owned());
    assert_eq!(of(BLIND, "").await, problem(403, "forbidden"));
    assert_eq!(of(OTHER, "").await, problem(404, "no_session"));
    assert_eq!(of(TOKEN, "?after=x").await, problem(400, "bad_cursor"));
    assert_eq!(of(TOKEN, "?after=999").await, problem(400, "bad_cursor"));
    let most = format!("?after={}", u64::MAX);
    assert_eq!(of(TOKEN, &most).await, problem(400, "bad_cursor"));
    // A stream that waits is told when the server goes away.
    let mut stream = follow(&server, "s", "?after=now").await;
    server.drain();
    let (_, told) = stream.agui().await.unwrap();
    assert_eq!((&told["type"], &told["code"]), (&"RUN_ERROR".into(), &"draining".into()));
    assert!(stream.agui().await.is_none(), "nothing follows");
}

#[tokio::test]
async fn a_store_that_fails_for_a_moment_is_told_in_the_run() {
    let world = failing_for_a_moment();
    let server = world.serve().await;
    let conversation = server.open("s").await;
    conversation.flush().await.unwrap();
    let mut stream = follow(&server, "s", "").await;
    conversation.send(hello()).await.unwrap();
    let run = soon(stream.run()).await;
    let states = run.iter().filter(|event| event["name"] == "windlass.Store");
    let states: Vec<&Value> = states.map(|event| &event["value"]).collect();
    assert_eq!(states.first(), Some(&&json!({"status": "failed", "reason": "full"})), "{run:?}");
    assert_eq!(run.last().unwrap()["type"], "RUN_FINISHED");
}
