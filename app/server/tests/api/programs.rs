//! Sessions whose model writes programs, because who opens them wishes so.

use serde_json::{Value, json};
use windlass_engine::core::EffectClass;
use windlass_server::windlass_engine;
use windlass_testkit::provider::{Step, call, say};
use windlass_testkit::tools::ScriptedTool;

use crate::world::{Running, World, facts, problem};

/// A program with several calls, all from one answer of the model.
fn three() -> Step {
    let source = "call look {\"path\":\"a\"}\nboth look {\"path\":\"b\"} look {\"path\":\"c\"}\nreturn $LAST";
    call("run_program", json!({ "source": source }))
}

fn look() -> ScriptedTool {
    ScriptedTool::new("look", EffectClass::ReadOnly).says("[1]")
}

/// Has a session do its turn, and says how often the model was asked and tools were called.
async fn asked_and_called(server: &Running, id: &str) -> (usize, usize) {
    let before = facts(server, id).await.len();
    let turn = server.turn(id, "look").await;
    assert_eq!(turn["outcome"]["outcome"], "completed", "{turn}");
    let all = facts(server, id).await;
    let count = |kind: &str| all[before..].iter().filter(|fact| fact["kind"] == kind).count();
    (count("SampleStarted"), count("ProgramCalled"))
}

#[tokio::test]
async fn a_session_has_the_runtime_that_is_wished_for_and_keeps_it() {
    let script = [three(), three(), three(), say("in words")];
    let world = World::new(script, [look()]);
    let server = world.serve().await;
    let wish = json!({"program": "scripted"});
    let opened = server.post("/sessions", &wish).key("k").send().await.is(201);
    assert_eq!(opened["program"], "scripted");
    let id = opened["id"].as_str().unwrap();
    assert_eq!(asked_and_called(&server, id).await, (1, 3));
    let at = facts(&server, id).await.len();
    server.stop().await;

    // It goes on so in another process, also where its tenant says something else by now.
    let server = world.serve().await;
    world.today.lock().unwrap().instructions = "Be long.".into();
    assert_eq!(asked_and_called(&server, id).await, (1, 3));
    let point = json!({ "at": at });
    let fork = server.post(&format!("/sessions/{id}/forks"), &point).send().await.is(201);
    assert_eq!(fork["program"], "scripted");
    let fork = fork["id"].as_str().unwrap();
    assert_eq!(asked_and_called(&server, fork).await, (1, 3));
    let plain = server.open(&json!({})).await;
    let view = server.get(&format!("/sessions/{plain}")).send().await.is(200);
    assert_eq!(view["program"], Value::Null);
    assert_eq!(asked_and_called(&server, &plain).await, (1, 0));

    // The same key is for the same wish.
    let again = server.post("/sessions", &wish).key("k").send().await.is(201);
    assert_eq!(again["id"], id);
    for other in
        [json!({"program": "scripted", "program_transport": "text"}), json!({"program": "another"})]
    {
        let answer = server.post("/sessions", &other).key("k").send().await;
        assert_eq!(answer.status, 422, "{other}");
    }
    assert_eq!(world.provider.misses(), Vec::<String>::new());
}

#[tokio::test]
async fn what_is_no_runtime_here_is_refused_and_what_does_not_read_is_said() {
    let world = World::new([], []);
    let server = world.serve().await;
    for (wish, status, code) in [
        (json!({"program": "cobol"}), 422, "refused"),
        (json!({"program": true}), 400, "bad_request"),
        (json!({"program": "scripted", "program_transport": "post"}), 400, "bad_request"),
        (json!({"program": "scripted", "program_limits": {}}), 400, "bad_request"),
    ] {
        let answer = server.post("/sessions", &wish).send().await;
        assert_eq!(answer.problem(), problem(status, code), "{wish}");
    }
    let listed = server.get("/sessions").send().await.is(200);
    assert_eq!(listed["sessions"], json!([]));
}
