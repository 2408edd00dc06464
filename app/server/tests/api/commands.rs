//! Commands: a client runs a command line in a session, as a call of its own.

use serde_json::{Value, json};
use windlass_engine::core::{EffectClass, PromptItem};
use windlass_server::windlass_engine;
use windlass_testkit::provider::{say, stall};
use windlass_testkit::tools::ScriptedTool;

use crate::client::{OTHER, READER, RUNNER};
use crate::world::{Running, World, facts, problem};

const COMMAND: &str =
    r#"{"type":"object","properties":{"command":{"type":"string","format":"shell"}}}"#;

fn shell() -> ScriptedTool {
    ScriptedTool::new("sh", EffectClass::Effectful).taking(COMMAND).says("two files")
}

async fn run(server: &Running, id: &str, command: &str) -> Value {
    let path = format!("/sessions/{id}/commands");
    server.post(&path, &json!({ "command": command })).send().await.is(202)
}

/// Runs of tools in a session.
async fn runs(server: &Running, id: &str) -> usize {
    let log = facts(server, id).await;
    log.iter().filter(|fact| fact["kind"] == "CallStarted").count()
}

#[tokio::test]
async fn a_command_runs_without_a_question_and_the_model_reads_its_result() {
    let world = World::new([say("hi"), say("I see two files")], [shell()]);
    let server = world.serve().await;
    let id = server.open(&json!({"permissions": "ask", "mode": "plan"})).await;
    server.turn(&id, "hello").await;
    let taken = run(&server, &id, "ls -l").await;
    let turn = server.ended(&id, taken["turn"].as_u64().unwrap()).await;
    assert_eq!(turn["outcome"]["outcome"], "completed", "{turn}");
    let input = server.get(&format!("/sessions/{id}/inputs/{}", taken["input"])).send().await;
    assert_eq!(input.is(200)["state"], "accepted");
    let log = facts(&server, &id).await;
    let accepted = log.iter().find(|fact| fact["body"]["input"] == taken["input"]).unwrap();
    assert_eq!(accepted["body"]["call"]["arguments"], r#"{"command":"ls -l"}"#, "{accepted}");
    assert_eq!(runs(&server, &id).await, 1);

    server.turn(&id, "what is there?").await;
    let prompts = world.provider.prompts();
    let [first, second] = prompts.as_slice() else { panic!("{} prompts", prompts.len()) };
    let before: Vec<_> = first.items.iter().collect();
    let after: Vec<_> = second.items.iter().collect();
    assert_eq!(after[..before.len()], before, "the earlier request is its beginning");
    let said = |item: &PromptItem| {
        if let PromptItem::User { text } = item { Some(text.to_string()) } else { None }
    };
    let users: Vec<String> = second.items.iter().filter_map(said).collect();
    assert!(users[1].ends_with("\n$ ls -l") && users[2].contains("two files"), "{users:?}");
    server.stop().await;
}

#[tokio::test]
async fn a_command_waits_for_the_running_turn_and_is_withdrawn_like_an_input() {
    let world = World::new([stall(), say("done")], [shell()]);
    let server = world.serve().await;
    let id = server.open(&json!({})).await;
    server.post(&format!("/sessions/{id}/turns"), &json!({"text": "go"})).send().await.is(202);
    let taken = run(&server, &id, "ls").await;
    assert_eq!(taken["turn"], Value::Null, "{taken}");
    let path = format!("/sessions/{id}/inputs/{}", taken["input"]);
    let edited = server.patch(&path, &json!({"text": "ls -a"})).send().await;
    assert_eq!(edited.problem(), problem(422, "refused"));
    server.delete(&path).send().await.is(202);
    assert_eq!(runs(&server, &id).await, 0);
    server.stop().await;
}

#[tokio::test]
async fn a_key_runs_a_command_once() {
    let world = World::new([], [shell()]);
    let server = world.serve().await;
    let id = server.open(&json!({})).await;
    let path = format!("/sessions/{id}/commands");
    let send = |command: &str| server.post(&path, &json!({ "command": command })).key("k").send();
    let taken = send("ls").await.is(202);
    server.ended(&id, taken["turn"].as_u64().unwrap()).await;
    assert_eq!(send("ls").await.is(202), taken);
    assert_eq!(send("rm").await.problem(), problem(422, "key_reused"));
    assert_eq!(runs(&server, &id).await, 1);
    server.stop().await;
}

#[tokio::test]
async fn a_command_is_refused_without_the_rights_a_tool_or_permission() {
    let world = World::new([], [shell()]);
    let server = world.serve().await;
    let id = server.open(&json!({})).await;
    let path = format!("/sessions/{id}/commands");
    let ask = || server.post(&path, &json!({"command": "ls"}));
    for token in [READER, RUNNER] {
        assert_eq!(ask().with(token).send().await.problem(), problem(403, "forbidden"));
    }
    assert_eq!(ask().with(OTHER).send().await.problem(), problem(404, "no_session"));
    let empty = server.post(&path, &json!({"command": " "})).send().await;
    assert_eq!(empty.problem(), problem(422, "refused"));
    let reads = server.open(&json!({"permissions": "read_only"})).await;
    let path = format!("/sessions/{reads}/commands");
    let refused = server.post(&path, &json!({"command": "ls"})).send().await;
    assert_eq!(refused.problem(), problem(422, "refused"));
    assert_eq!(runs(&server, &reads).await, 0);
    server.stop().await;

    let world = World::new([], [ScriptedTool::new("read", EffectClass::ReadOnly)]);
    let server = world.serve().await;
    let id = server.open(&json!({})).await;
    let path = format!("/sessions/{id}/commands");
    let refused = server.post(&path, &json!({"command": "ls"})).send().await;
    assert_eq!(refused.problem(), problem(422, "refused"));
    server.stop().await;
}
