//! Forks: the same one however often it is asked for, and none where something is under way.

use serde_json::json;
use windlass_testkit::provider::say;

use crate::client::{OTHER, READER};
use crate::world::{World, facts, problem};

#[tokio::test]
async fn a_session_is_forked_once_for_a_key_and_goes_on_by_itself() {
    let world = World::new([say("one"), say("two"), say("other")], []);
    let server = world.serve().await;
    let id = server.open(&json!({})).await;
    let turn = server.turn(&id, "first").await;
    let at = facts(&server, &id).await.len();
    server.turn(&id, "second").await;
    let path = format!("/sessions/{id}/forks");
    let point = json!({ "at": at });
    let answer = server.post(&path, &point).key("k").send().await;
    let fork = answer.is(201);
    let new = fork["id"].as_str().unwrap();
    let place = format!("/v1/sessions/{new}");
    assert_eq!(answer.header("location"), Some(place.as_str()));
    assert_eq!(fork["lineage"], json!({"from": "fork", "of": id, "at": at}));
    assert_eq!(fork["title"], "first");
    let said = server.turn(new, "another").await;
    assert_eq!(said["answer"], "other");
    let again = server.post(&path, &point).key("k").send().await.is(201);
    assert_eq!(again["id"], fork["id"]);
    let anew = server.post(&path, &point).send().await.is(201);
    assert_ne!(anew["id"], fork["id"]);

    let inside = turn["turn"].as_u64().unwrap();
    for (point, key, status, code) in [
        (json!({"at": 1}), "k", 422, "key_reused"),
        (json!({ "at": inside }), "l", 409, "no_fork_here"),
        (json!({"at": 0}), "l", 409, "no_fork_here"),
        (json!({"at": 1_000}), "l", 409, "no_fork_here"),
        (json!({"at": -1}), "l", 400, "bad_request"),
        (json!({}), "l", 400, "bad_request"),
    ] {
        let answer = server.post(&path, &point).key(key).send().await;
        assert_eq!(answer.problem(), problem(status, code), "{point}");
    }
    let answer = server.post(&path, &point).with(READER).send().await;
    assert_eq!(answer.problem(), problem(403, "forbidden"));
    let answer = server.post(&path, &point).with(OTHER).send().await;
    assert_eq!(answer.problem(), problem(404, "no_session"));
    let listed = server.get("/sessions").send().await.is(200);
    assert_eq!(listed["sessions"].as_array().unwrap().len(), 3);
}

#[tokio::test]
async fn a_fork_that_would_copy_too_much_is_refused() {
    let mut world = World::new([say("one"), say("two")], []);
    world.bounds.fork_bytes = 20_000;
    let server = world.serve().await;
    let id = server.open(&json!({})).await;
    server.turn(&id, "first").await;
    let before = facts(&server, &id).await.len();
    server.turn(&id, &"a long story. ".repeat(2_000)).await;
    let after = facts(&server, &id).await.len();
    let path = format!("/sessions/{id}/forks");
    let answer = server.post(&path, &json!({ "at": after })).send().await;
    assert_eq!(answer.problem(), problem(413, "too_large"));
    let listed = server.get("/sessions").send().await.is(200);
    assert_eq!(listed["sessions"].as_array().unwrap().len(), 1, "nothing was copied");
    server.post(&path, &json!({ "at": before })).send().await.is(201);
}

#[tokio::test]
async fn a_session_is_read_as_of_a_position() {
    let world = World::new([say("one"), say("two")], []);
    let server = world.serve().await;
    let id = server.open(&json!({})).await;
    server.turn(&id, "first").await;
    let before = server.get(&format!("/sessions/{id}")).send().await.is(200);
    let log = facts(&server, &id).await;
    let at = log.len();
    server.turn(&id, "second").await;
    let then = server.get(&format!("/sessions/{id}?at={at}")).send().await.is(200);
    assert_eq!(then, before);
    let history = server.get(&format!("/sessions/{id}/history?at={at}")).send().await.is(200);
    assert_eq!((&history["facts"], &history["next"]), (&json!(log), &json!(null)));
    let part = server.get(&format!("/sessions/{id}/history?after=2&limit=2&at=4")).send().await;
    assert_eq!(part.is(200), json!({"facts": log[2..4], "next": null}));
    let path = format!("/sessions/{id}/history?after=2&limit=2&at=5");
    assert_eq!(server.get(&path).send().await.is(200)["next"], 4);
    // While its turn was open.
    let inside = server.get(&format!("/sessions/{id}?at=4")).send().await.is(200);
    assert_eq!((&inside["state"], &inside["last"]), (&json!("running"), &json!(4)));
    for path in ["?at=0", "?at=1000", "/history?at=1000", "/history?after=3&at=2"] {
        let answer = server.get(&format!("/sessions/{id}{path}")).send().await;
        assert_eq!(answer.problem(), problem(400, "bad_cursor"), "{path}");
    }
}
