//! Grants: an answer may allow calls like the one that is asked about, for one tenant, until it is
//! revoked.

use std::sync::Arc;

use serde_json::{Value, json};
use windlass_engine::core::EffectClass;
use windlass_server::windlass_engine;
use windlass_testkit::grants::MemoryGrants;
use windlass_testkit::provider::{call, calls, say};
use windlass_testkit::tools::ScriptedTool;

use crate::client::{OTHER, READER};
use crate::world::{Running, World, facts, problem};

const COMMAND: &str =
    r#"{"type":"object","properties":{"command":{"type":"string","format":"shell"}}}"#;

fn world(commands: &[&str]) -> World {
    let script =
        commands.iter().flat_map(|line| [call("sh", json!({ "command": line })), say("done")]);
    let tool = ScriptedTool::new("sh", EffectClass::Effectful).taking(COMMAND).says("ran");
    World::new(script.collect::<Vec<_>>(), [tool])
}

async fn served(world: &World) -> Running {
    let server = world.serve().await;
    for engine in &server.engines {
        engine.set_grants(Arc::new(MemoryGrants::default()));
    }
    server
}

/// Begins a turn, and waits for its question.
async fn question(server: &Running, id: &str) -> Value {
    let path = format!("/sessions/{id}/turns");
    server.post(&path, &json!({"text": "go"})).send().await.is(202);
    loop {
        let page = server.get(&format!("/sessions/{id}/approvals")).send().await.is(200);
        if let Some(open) = page["approvals"].get(0) {
            return open.clone();
        }
    }
}

async fn answer(server: &Running, open: &Value, more: &Value) -> Value {
    let mut word = json!({"decision": "allow", "digest": open["digest"]});
    word.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let path =
        format!("/sessions/{}/approvals/{}", open["session"].as_str().unwrap(), open["call"]);
    let decided = server.post(&path, &word).send().await.is(202);
    server.ended(open["session"].as_str().unwrap(), open["turn"].as_u64().unwrap()).await;
    decided
}

#[tokio::test]
async fn calls_that_were_allowed_for_good_are_asked_about_again_once_that_is_revoked() {
    let world = world(&["git log", "git log -3", "git log; ls", "git log -5", "git log -6"]);
    let server = served(&world).await;
    let id = server.open(&json!({"permissions": "ask"})).await;
    let open = question(&server, &id).await;
    assert_eq!(open["reason"], "permissions");
    assert_eq!(open["grant"], "commands that begin with `git log`");
    let decided = answer(&server, &open, &json!({"remember": "always"})).await;
    let turn = server.turn(&id, "again").await;
    assert_eq!(turn["answer"], "done", "nobody was asked");

    let open = question(&server, &id).await;
    assert_eq!(
        (&open["grant"], &open["grant_withheld"]),
        (&Value::Null, &json!("it has more than one command"))
    );
    for (word, code) in [
        (json!({"decision": "allow", "remember": "always"}), "refused"),
        (json!({"decision": "deny", "remember": "session"}), "refused"),
        (
            json!({"decision": "allow", "remember": "session", "arguments": {"command": "ls"}}),
            "refused",
        ),
        (json!({"decision": "allow", "remember": "ever"}), "bad_request"),
    ] {
        let mut word = word;
        word["digest"] = open["digest"].clone();
        let path = format!("/sessions/{id}/approvals/{}", open["call"]);
        let refused = server.post(&path, &word).send().await.problem();
        assert_eq!(refused.1, code, "{word}");
    }
    answer(&server, &open, &json!({})).await;

    let grants = server.get("/grants").with(READER).send().await.is(200);
    assert_eq!(grants["grants"][0]["id"], decided["grant"]);
    assert_eq!(grants["grants"][0]["lifetime"], "always");
    assert_eq!(server.get("/grants").with(OTHER).send().await.is(200), json!({"grants": []}));
    let path = format!("/grants/{}", decided["grant"].as_str().unwrap());
    let revoke = || crate::client::Ask::new(server.address, "DELETE", &path);
    assert_eq!(revoke().with(READER).send().await.problem(), problem(403, "forbidden"));
    assert_eq!(revoke().with(OTHER).send().await.status, 204, "of nobody's");
    assert!(server.turn(&id, "again").await["answer"] == "done");
    assert_eq!(revoke().send().await.status, 204);
    let open = question(&server, &id).await;
    answer(&server, &open, &json!({})).await;
    let answers = facts(&server, &id).await;
    let answers = answers.iter().filter(|fact| fact["kind"] == "ApprovalAnswered");
    let used: Vec<bool> = answers.map(|fact| fact["body"]["grant"]["used"] == true).collect();
    assert_eq!(used, [false, true, false, true, false]);
}

#[tokio::test]
async fn an_answer_for_the_session_answers_the_other_open_questions_of_its_turn() {
    let lines = ["git log -1", "git log -2", "ls"].map(|line| ("sh", json!({ "command": line })));
    let tool = ScriptedTool::new("sh", EffectClass::Effectful).taking(COMMAND).says("ran");
    let world = World::new([calls(lines), say("done")], [tool]);
    let server = served(&world).await;
    let id = server.open(&json!({"permissions": "ask"})).await;
    server.post(&format!("/sessions/{id}/turns"), &json!({"text": "go"})).send().await.is(202);
    let open = crate::approvals::open(&server, &id).await;
    assert_eq!(open.len(), 3);
    let word = |at: usize| json!({"decision": "allow", "digest": open[at]["digest"], "remember": "session"});
    let path = |at: usize| format!("/sessions/{id}/approvals/{}", open[at]["call"]);
    server.post(&path(0), &word(0)).key("k").send().await.is(202);
    server.post(&path(2), &word(2)).send().await.is(202);
    let turn = server.ended(&id, open[0]["turn"].as_u64().unwrap()).await;
    assert_eq!(turn["answer"], "done");
    // Asked for once more, the first answer is the same.
    server.post(&path(0), &word(0)).key("k").send().await.is(202);
}

#[tokio::test]
async fn without_a_record_nothing_is_offered() {
    let world = world(&["git log"]);
    let server = world.serve().await;
    let id = server.open(&json!({"permissions": "ask"})).await;
    let open = question(&server, &id).await;
    assert_eq!(open["grant"], Value::Null);
    assert_eq!(open["grant_withheld"], "approvals are not remembered here");
}
