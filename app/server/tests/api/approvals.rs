//! Approvals: found, and answered, by whoever comes, after a restart too.

use serde_json::{Value, json};
use windlass_engine::core::{EffectClass, Observation, ObservationStatus};
use windlass_server::windlass_engine;
use windlass_testkit::provider::{call, calls, say};
use windlass_testkit::tools::ScriptedTool;

use crate::client::{OTHER, READER};
use crate::world::{Running, World, facts, problem};

const SCHEMA: &str = r#"{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"],
    "additionalProperties":false}"#;

fn tool() -> ScriptedTool {
    ScriptedTool::new("count", EffectClass::Effectful).taking(SCHEMA).says("counted")
}

/// Begins a turn that asks, and answers the session and its questions.
async fn asked(server: &Running) -> (String, Vec<Value>) {
    let id = server.open(&json!({"permissions": "ask"})).await;
    let path = format!("/sessions/{id}/turns");
    let taken = server.post(&path, &json!({"text": "count"})).send().await;
    assert_eq!(taken.status, 202);
    (id.clone(), open(server, &id).await)
}

/// Waits until an answer is whole, and each of its calls is asked about: nothing goes on then.
pub(crate) async fn open(server: &Running, id: &str) -> Vec<Value> {
    loop {
        let all = facts(server, id).await;
        let count = |kind: &str| all.iter().filter(|fact| fact["kind"] == kind).count();
        let calls = all.iter().filter(|fact| fact["body"]["item"]["type"] == "call");
        if count("SampleEnded") == 1 && count("ApprovalAsked") == calls.count() {
            break;
        }
        assert_eq!(count("TurnSettled"), 0, "the turn ended without a question");
    }
    let path = format!("/sessions/{id}/approvals");
    let page = server.get(&path).send().await.is(200);
    page["approvals"].as_array().unwrap().clone()
}

async fn settled(server: &Running, id: &str, approval: &Value) -> Value {
    server.ended(id, approval["turn"].as_u64().unwrap()).await
}

#[tokio::test]
async fn a_question_is_answered_with_edited_arguments_after_a_restart() {
    let world = World::new([call("count", json!({"n": 1})), say("done")], [tool()]);
    let server = world.serve().await;
    let (id, before) = asked(&server).await;
    let view = server.get(&format!("/sessions/{id}")).send().await.is(200);
    assert_eq!((&view["state"], &view["asking"]), (&json!("asking"), &json!(1)));
    server.kill();

    let server = world.serve().await;
    let listed = server.get("/sessions").send().await.is(200);
    assert_eq!(listed["sessions"], json!([view]), "also where nobody drives it");
    let all = server.get("/approvals").send().await.is(200);
    assert_eq!(all, json!({"approvals": before, "next": null}));
    let approval = &before[0];
    assert_eq!(approval["tool"], "count");
    assert_eq!(approval["effect"], "effectful");
    assert_eq!(approval["arguments"], "{\"n\":1}");
    assert_eq!(approval["view"], json!(["n: 1"]));
    let foreign = server.get("/approvals").with(OTHER).send().await.is(200);
    assert_eq!(foreign["approvals"], json!([]));

    let path = format!("/sessions/{id}/approvals/{}", approval["call"]);
    let word = json!({"decision": "allow", "digest": approval["digest"],
                      "arguments": {"n": 20}});
    let answer = server.post(&path, &word).with(READER).send().await;
    assert_eq!(answer.problem(), problem(403, "forbidden"));
    let answer = server.post(&path, &word).with(OTHER).send().await;
    assert_eq!(answer.problem(), problem(404, "no_session"));
    let decided = server.post(&path, &word).send().await.is(202);
    assert_eq!(decided, json!({"call": approval["call"], "decision": "allow", "grant": null}));
    let turn = settled(&server, &id, approval).await;
    assert_eq!(turn["answer"], "done");
    let all = facts(&server, &id).await;
    let answered = all.iter().find(|fact| fact["kind"] == "ApprovalAnswered");
    let answered = &answered.expect("an answer")["body"];
    assert_eq!(answered["by"]["principal"], "ann");
    assert_eq!(answered["edit"]["text"], "{\"n\":20}");
    let observed = all.iter().find(|fact| fact["kind"] == "CallObserved").unwrap();
    assert_eq!(observed["body"]["observation"]["status"], "done");
    let answer = server.post(&path, &word).send().await;
    assert_eq!(answer.problem(), problem(409, "not_asked"));
}

#[tokio::test]
async fn an_answer_is_about_what_was_asked_and_nothing_else() {
    let script = [calls([("count", json!({"n": 1})), ("count", json!({"n": 2}))]), say("no")];
    let world = World::new(script, [tool()]);
    let server = world.serve().await;
    let (id, approvals) = asked(&server).await;
    assert_eq!(approvals.len(), 2);
    let (one, two) = (&approvals[0], &approvals[1]);
    let path = format!("/sessions/{id}/approvals/{}", one["call"]);
    let digest = &one["digest"];
    for (word, status, code) in [
        (json!({"decision": "allow", "digest": two["digest"]}), 409, "other_arguments"),
        (json!({"decision": "allow"}), 400, "bad_request"),
        (json!({"decision": "maybe", "digest": digest}), 400, "bad_request"),
        (json!({"decision": "allow", "digest": "0"}), 400, "bad_request"),
        (json!({"decision": "allow", "digest": "+".repeat(32)}), 400, "bad_request"),
        (json!({"decision": "allow", "digest": digest, "arguments": [1]}), 400, "bad_request"),
        (json!({"decision": "allow", "digest": digest, "reason": "x"}), 422, "refused"),
        (json!({"decision": "deny", "digest": digest, "arguments": {}}), 422, "refused"),
    ] {
        let answer = server.post(&path, &word).send().await;
        assert_eq!(answer.problem(), problem(status, code), "{word}");
    }
    for (call, status, code) in [("1", 409, "not_asked"), ("x", 400, "bad_request")] {
        let path = format!("/sessions/{id}/approvals/{call}");
        let word = json!({"decision": "deny", "digest": digest});
        let answer = server.post(&path, &word).send().await;
        assert_eq!(answer.problem(), problem(status, code), "{call}");
    }
    let deny = json!({"decision": "deny", "digest": digest, "reason": "too few"});
    for _ in 1..=2 {
        assert_eq!(server.post(&path, &deny).key("k").send().await.status, 202);
    }
    let allow = json!({"decision": "allow", "digest": digest});
    let answer = server.post(&path, &allow).key("k").send().await;
    assert_eq!(answer.problem(), problem(422, "key_reused"));
    let path = format!("/sessions/{id}/approvals/{}", two["call"]);
    let deny = json!({"decision": "deny", "digest": two["digest"]});
    assert_eq!(server.post(&path, &deny).send().await.status, 202);
    let turn = settled(&server, &id, one).await;
    assert_eq!(turn["answer"], "no");
    let view = server.get(&format!("/sessions/{id}")).send().await.is(200);
    assert_eq!((&view["state"], &view["asking"]), (&json!("idle"), &json!(0)));
}

#[tokio::test]
async fn all_that_a_call_gave_out_is_there_where_more_is_kept() {
    let world =
        World::new([call("count", json!({"n": 1})), call("count", json!({"n": 2})), say("ok")], []);
    let session = windlass_engine::core::SessionId::new("s").unwrap();
    let whole: Vec<u8> = (0..300_000_u32).flat_map(u32::to_le_bytes).collect();
    let mut writer = world.blobs.begin(&session).await.unwrap();
    writer.write(&whole).await.unwrap();
    let kept = writer.finish().await.unwrap();
    let long = Observation {
        output: "head".into(),
        output_bytes: whole.len() as u64,
        omitted_bytes: whole.len() as u64 - 4,
        stored_output: Some(kept),
        ..Observation::new(ObservationStatus::Done, "")
    };
    let short = Observation::new(ObservationStatus::Done, "short");
    let tool = ScriptedTool::new("count", EffectClass::ReadOnly).observes_each([long, short]);
    let world = world.with([tool]);
    let server = world.serve().await;
    world.open_named(&server, &session).await;
    server.turn("s", "count").await;
    let all = facts(&server, "s").await;
    let mut calls = all.iter().filter(|fact| fact["body"]["item"]["type"] == "call");
    let (one, two) = (calls.next().expect("a call"), calls.next().expect("another"));
    let path = |call: &Value| format!("/sessions/s/calls/{}/output", call["seq"]);
    let answer = server.get(&path(one)).send().await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("content-type"), Some("application/octet-stream"));
    assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
    assert!(answer.header("content-disposition").unwrap().starts_with("attachment"));
    assert_eq!(answer.header("content-length"), Some("1200000"));
    assert!(answer.body == whole);
    let answer = server.get(&path(two)).send().await;
    assert_eq!(answer.problem(), problem(404, "no_call"));
    let answer = server.get("/sessions/s/calls/1/output").send().await;
    assert_eq!(answer.problem(), problem(404, "no_call"));
    let answer = server.get(&path(one)).with(OTHER).send().await;
    assert_eq!(answer.problem(), problem(404, "no_session"));
}
