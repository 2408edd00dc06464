//! Erasing over HTTP: a session for good, settled ones by age, each tenant its own alone.

use serde_json::json;
use windlass_engine::core::{EffectClass, Lineage, SessionId};
use windlass_server::windlass_engine;
use windlass_testkit::Gate;
use windlass_testkit::provider::{call, say};
use windlass_testkit::tools::ScriptedTool;

use crate::client::{OTHER, READER};
use crate::world::{World, problem};

#[tokio::test]
async fn an_erased_session_is_gone_for_everybody() {
    let world = World::new([say("one"), say("two")], []);
    let server = world.serve().await;
    let (id, kept) = (server.open(&json!({})).await, server.open(&json!({})).await);
    server.turn(&id, "hello").await;
    server.turn(&kept, "hello").await;
    let path = format!("/sessions/{id}");
    let erased = server.delete(&path).send().await.is(200);
    assert_eq!(erased, json!({"erased": [id]}));
    for path in [path.clone(), format!("{path}/turns"), format!("{path}/history")] {
        assert_eq!(server.get(&path).send().await.problem(), problem(404, "no_session"));
    }
    assert_eq!(server.delete(&path).send().await.problem(), problem(404, "no_session"));
    let listed = server.get("/sessions").send().await.is(200);
    assert_eq!(listed["sessions"].as_array().unwrap().len(), 1);
    assert_eq!(listed["sessions"][0]["id"], kept.as_str());
    server.stop().await;
}

#[tokio::test]
async fn erasing_needs_its_right_and_the_own_tenant() {
    let world = World::new([say("one")], []);
    let server = world.serve().await;
    let id = server.open(&json!({})).await;
    server.turn(&id, "hello").await;
    let path = format!("/sessions/{id}");
    let body = json!({"unchanged_for_s": 60});
    assert_eq!(server.delete(&path).with(READER).send().await.problem(), problem(403, "forbidden"));
    assert_eq!(
        server.post("/retention", &body).with(READER).send().await.problem(),
        problem(403, "forbidden")
    );
    assert_eq!(server.delete(&path).with(OTHER).send().await.problem(), problem(404, "no_session"));
    world.clock.advance(3_600_000);
    let others = server.post("/retention", &body).with(OTHER).send().await.is(200);
    assert_eq!(others, json!({"erased": [], "failed": [], "next": null}));
    server.get(&path).send().await.is(200);
    server.stop().await;
}

#[tokio::test]
async fn a_session_with_unfinished_work_is_not_erased() {
    let gate = Gate::new();
    let tool = ScriptedTool::new("work", EffectClass::ReadOnly).after(&gate);
    let world = World::new([call("work", json!({})), say("done")], [tool]);
    let server = world.serve().await;
    let id = server.open(&json!({})).await;
    let path = format!("/sessions/{id}");
    let text = json!({"text": "go"});
    let taken = server.post(&format!("{path}/turns"), &text).send().await.is(202);
    gate.reached().await;
    assert_eq!(server.delete(&path).send().await.problem(), problem(409, "turn_running"));
    world.clock.advance(3_600_000);
    let body = json!({"unchanged_for_s": 60});
    let retained = server.post("/retention", &body).send().await.is(200);
    assert_eq!(retained["erased"], json!([]));
    gate.open();
    server.ended(&id, taken["turn"].as_u64().unwrap()).await;
    server.delete(&path).send().await.is(200);
    server.stop().await;
}

#[tokio::test]
async fn a_retention_erases_settled_sessions_that_are_old_enough() {
    let world = World::new([say("old"), say("new")], []);
    let server = world.serve().await;
    let old = server.open(&json!({})).await;
    server.turn(&old, "hello").await;
    world.clock.advance(3_600_000);
    let new = server.open(&json!({})).await;
    server.turn(&new, "hello").await;
    world.clock.advance(60_001);
    for (body, code) in [
        (json!({"unchanged_for_s": 59}), "bad_request"),
        (json!({"unchanged_for_s": u64::MAX}), "bad_request"),
        (json!({"unchanged_for_s": 60, "after": "/"}), "bad_request"),
    ] {
        assert_eq!(server.post("/retention", &body).send().await.problem(), problem(400, code));
    }
    let age = |seconds: u64| json!({"unchanged_for_s": seconds});
    let none = server.post("/retention", &age(7_200)).send().await.is(200);
    assert_eq!(none, json!({"erased": [], "failed": [], "next": null}));
    let one = server.post("/retention", &age(3_600)).send().await.is(200);
    assert_eq!(one, json!({"erased": [old], "failed": [], "next": null}));
    server.get(&format!("/sessions/{new}")).send().await.is(200);
    let rest = server.post("/retention", &age(60)).send().await.is(200);
    assert_eq!(rest["erased"], json!([new]));
    server.stop().await;
}

#[tokio::test]
async fn the_sessions_of_agents_are_erased_on_request() {
    let world = World::new([], []);
    let server = world.serve().await;
    let root = SessionId::new("root").unwrap();
    world.open_as(&server, &root, Lineage::Root, |_| ()).await;
    let erased = server.delete("/sessions/root?agents=true").send().await.is(200);
    assert_eq!(erased, json!({"erased": ["root"]}));
    assert_eq!(
        server.delete("/sessions/root?agent=true").send().await.problem(),
        problem(404, "no_session")
    );
    world.open_as(&server, &root, Lineage::Root, |_| ()).await;
    assert_eq!(
        server.delete("/sessions/root?agent=true").send().await.problem(),
        problem(400, "bad_request")
    );
    server.stop().await;
}
