//! Runs that a client of AG-UI asks for, with what it may and may not ask.

use std::env;
use std::io::Write as _;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use windlass_engine::core::{EffectClass, StopReason, StreamEvent};
use windlass_server::windlass_engine;
use windlass_testkit::provider::{Step, call, calls, say};
use windlass_testkit::tools::ScriptedTool;

use crate::client::{Answer, OTHER, READER, TOKEN};
use crate::world::{NOW, Running, World, facts, problem};

fn tool() -> ScriptedTool {
    ScriptedTool::new("look", EffectClass::Effectful).says("a file")
}

fn input(id: &str, run: &str, text: &str) -> Value {
    json!({
        "threadId": id, "runId": run, "state": {}, "tools": [], "context": [], "forwardedProps": {},
        "messages": [{"id": "1", "role": "user", "content": text}],
    })
}

async fn ask(server: &Running, id: &str, input: &Value) -> Answer {
    let path = format!("/sessions/{id}/agui");
    server.post(&path, input).send().await
}

/// The events of a run that was told to its end.
#[track_caller]
fn told(answer: &Answer) -> Vec<Value> {
    let text = String::from_utf8_lossy(&answer.body);
    assert_eq!(answer.status, 200, "{text}");
    assert_eq!(answer.header("content-type"), Some("text/event-stream"));
    let lines = text.lines().filter_map(|line| line.strip_prefix("data: "));
    lines.map(|data| serde_json::from_str(data).unwrap()).collect()
}

fn text(run: &[Value]) -> String {
    let said = run.iter().filter(|event| event["type"] == "TEXT_MESSAGE_CONTENT");
    said.map(|event| event["delta"].as_str().unwrap()).collect()
}

async fn inputs(server: &Running, id: &str) -> usize {
    let facts = facts(server, id).await;
    let queued = facts.iter().filter(|fact| fact["kind"] == "InputQueued");
    queued.count()
}

#[tokio::test]
async fn a_run_is_told_to_its_end_and_the_same_run_again_is_the_same_turn() {
    let world = World::new([say("there"), say("again")], []);
    let server = world.serve().await;
    let id = server.open(&json!({})).await;
    let mut wish = input(&id, "run-1", "hello");
    wish["context"] = json!([{"description": "the editor", "value": "a file is open"}]);
    let first = told(&ask(&server, &id, &wish).await);
    assert_eq!(first[0]["type"], "RUN_STARTED");
    assert_eq!((&first[0]["threadId"], &first[0]["runId"]), (&json!(id), &json!("run-1")));
    assert_eq!(text(&first), "there");
    let last = first.last().unwrap();
    assert_eq!((&last["type"], &last["runId"]), (&json!("RUN_FINISHED"), &json!("run-1")));
    assert_eq!(last["outcome"]["type"], "success");
    assert_eq!(told(&ask(&server, &id, &wish).await), first);
    assert_eq!(inputs(&server, &id).await, 1);
    let other = input(&id, "run-1", "another");
    assert_eq!(ask(&server, &id, &other).await.problem(), problem(422, "key_reused"));
    // The whole conversation comes with each run; what is last of it is said.
    let mut more = input(&id, "run-2", "more");
    let before = json!({"id": "0", "role": "assistant", "content": "there"});
    more["messages"].as_array_mut().unwrap().insert(0, before);
    more["state"] = json!({"a": 1});
    let second = told(&ask(&server, &id, &more).await);
    assert_eq!(text(&second), "again");
    assert_eq!(second[1]["value"], json!({"fields": ["state"]}));
    assert_eq!(inputs(&server, &id).await, 2);
}

#[tokio::test]
async fn a_question_ends_the_run_and_its_answer_goes_on_as_another() {
    let world = World::new([call("look", json!({})), say("done")], [tool()]);
    let server = world.serve().await;
    let id = server.open(&json!({"permissions": "ask"})).await;
    let first = told(&ask(&server, &id, &input(&id, "run-1", "look")).await);
    let outcome = &first.last().unwrap()["outcome"];
    assert_eq!(outcome["type"], "interrupt", "{first:?}");
    let interrupt = &outcome["interrupts"][0];
    let started = first.iter().find(|event| event["type"] == "TOOL_CALL_START");
    assert_eq!(interrupt["toolCallId"], started.unwrap()["toolCallId"]);
    let mut wish = input(&id, "run-2", "");
    wish["resume"] = json!([{"interruptId": interrupt["id"], "status": "resolved",
                             "payload": {"approved": true}}]);
    let second = told(&ask(&server, &id, &wish).await);
    assert_eq!((&second[0]["type"], &second[0]["runId"]), (&json!("RUN_STARTED"), &json!("run-2")));
    let result = second.iter().find(|event| event["type"] == "TOOL_CALL_RESULT");
    assert_eq!(result.unwrap()["content"], "a file");
    assert_eq!(result.unwrap()["toolCallId"], interrupt["toolCallId"]);
    assert_eq!(text(&second), "done");
    assert_eq!(second.last().unwrap()["outcome"]["type"], "success");
    let steps = |kind: &str| second.iter().filter(|event| event["type"] == kind).count();
    assert_eq!(steps("STEP_STARTED"), steps("STEP_FINISHED"));
    // The first answer counts.
    assert_eq!(ask(&server, &id, &wish).await.problem(), problem(409, "not_asked"));
}

#[tokio::test]
async fn a_front_end_runs_its_own_tools() {
    let both = calls([("open", json!({"path": "a"})), ("open", json!({"path": "b"}))]);
    let world = World::new([both, say("done")], []);
    let server = world.serve().await;
    let id = server.open(&json!({"permissions": "auto"})).await;
    let mut wish = input(&id, "run-1", "open both");
    wish["tools"] = json!([{"name": "open", "description": "Opens.", "parameters":
        {"type": "object", "properties": {"path": {"type": "string"}}}}]);
    let first = told(&ask(&server, &id, &wish).await);
    let started = first.iter().filter(|event| event["type"] == "TOOL_CALL_START");
    let ids: Vec<&Value> = started.map(|event| &event["toolCallId"]).collect();
    let [one, other] = ids[..] else {
        panic!("two calls: {first:?}");
    };
    let last = first.last().unwrap();
    assert_eq!(
        (&last["type"], &last["outcome"]["type"]),
        (&json!("RUN_FINISHED"), &json!("success"))
    );

    let mut results = input(&id, "run-2", "open both");
    let result = |id: &Value, text: &str| json!({"id": text, "role": "tool", "toolCallId": id, "content": text});
    let mut failed = result(other, "");
    failed["error"] = json!("no such file");
    results["messages"].as_array_mut().unwrap().extend([result(one, "opened"), failed]);
    let second = told(&ask(&server, &id, &results).await);
    assert_eq!((&second[0]["type"], &second[0]["runId"]), (&json!("RUN_STARTED"), &json!("run-2")));
    assert_eq!(text(&second), "done");
    assert_eq!(second.last().unwrap()["outcome"]["type"], "success");
    // The same results again are the same run; others are refused.
    assert_eq!(text(&told(&ask(&server, &id, &results).await)), "done");
    results["messages"][1]["content"] = json!("other");
    assert_eq!(ask(&server, &id, &results).await.problem(), problem(409, "not_awaited"));
    let all = facts(&server, &id).await;
    let ended: Vec<&Value> = all
        .iter()
        .filter(|fact| fact["kind"] == "CallObserved")
        .map(|fact| &fact["body"]["observation"])
        .collect();
    assert_eq!((&ended[0]["status"], &ended[0]["output"]), (&json!("done"), &json!("opened")));
    assert_eq!(
        (&ended[1]["status"], &ended[1]["output"]),
        (&json!("failed"), &json!("no such file"))
    );
}

/// The variables that name Node, and the folder `node_modules` in which the client is.
const NODE: &str = "WINDLASS_TEST_NODE";
const MODULES: &str = "WINDLASS_TEST_AGUI";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_client_of_the_protocol_takes_what_it_is_told() {
    let (Ok(node), Ok(modules)) = (env::var(NODE), env::var(MODULES)) else {
        let _ = writeln!(
            std::io::stderr(),
            "SKIPPED: {NODE} or {MODULES} is not there: run this test by `cargo xtask test`"
        );
        return;
    };
    let thinks = [
        StreamEvent::Reasoning { slot: 0, text: "hm".to_owned() },
        StreamEvent::Done { slot: 0, text: None, opaque: None },
        StreamEvent::Text { slot: 1, text: "again".to_owned() },
        StreamEvent::Done { slot: 1, text: None, opaque: None },
        StreamEvent::Finished { reason: StopReason::Stop },
    ];
    let thinks = Step::default().batch(thinks);
    let world = World::new([call("look", json!({})), say("done"), thinks], [tool()]);
    let server = world.serve().await;
    let id = server.open(&json!({"permissions": "ask"})).await;
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/api/scripts/agui.mjs");
    let mut command = Command::new("timeout");
    command
        .args(["--kill-after=5", "240", &node, script])
        .env("AGUI_MODULES", modules)
        .env("AGUI_URL", format!("http://{}/v1/sessions/{id}/agui", server.address))
        .env("AGUI_SESSION", &id)
        .env("AGUI_TOKEN", TOKEN)
        .env("AGUI_NOW", NOW.to_string())
        .stdin(Stdio::null());
    let run = tokio::task::spawn_blocking(move || command.output());
    let output = run.await.unwrap().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}\n{errors}");
    assert!(said.contains("events"), "{said}");
}

#[tokio::test]
async fn a_question_that_is_dismissed_is_denied() {
    let world = World::new([call("look", json!({})), say("as you like")], [tool()]);
    let server = world.serve().await;
    let id = server.open(&json!({"permissions": "ask"})).await;
    let first = told(&ask(&server, &id, &input(&id, "run-1", "look")).await);
    let interrupt = &first.last().unwrap()["outcome"]["interrupts"][0];
    let mut wish = input(&id, "run-2", "");
    wish["resume"] = json!([{"interruptId": interrupt["id"], "status": "cancelled"}]);
    let second = told(&ask(&server, &id, &wish).await);
    let result = second.iter().find(|event| event["type"] == "TOOL_CALL_RESULT");
    let status = &result.unwrap()["metadata"]["windlass"]["status"];
    assert_eq!(status, "denied");
    assert_eq!(text(&second), "as you like");
}

#[tokio::test]
async fn what_cannot_be_is_refused_and_nothing_is_said() {
    let world = World::new([], []);
    let server = world.serve().await;
    let id = server.open(&json!({})).await;
    let refused = problem(422, "refused");
    for (change, expected) in [
        (json!({"threadId": "another"}), &refused),
        (json!({"messages": []}), &refused),
        (
            json!({"messages": [{"id": "1", "role": "tool", "toolCallId": "1", "content": "x"}]}),
            &problem(404, "no_call"),
        ),
        (json!({"messages": [{"id": "1", "role": "tool", "content": "x"}]}), &refused),
        (json!({"tools": [{"name": "with a blank", "description": "d"}]}), &refused),
        (json!({"messages": [{"id": "1", "role": "user", "content": ""}]}), &refused),
        (
            json!({"messages": [{"id": "1", "role": "user", "content": [{"type": "audio"}]}]}),
            &refused,
        ),
        (json!({"resume": [{"interruptId": "x", "status": "resolved"}]}), &refused),
        (json!({"runId": ""}), &problem(400, "bad_request")),
        (json!({"runId": "\u{7}"}), &problem(400, "bad_request")),
        (json!({"messages": "x"}), &problem(400, "bad_request")),
    ] {
        let mut wish = input(&id, "run-1", "hello");
        for (key, value) in change.as_object().unwrap() {
            wish[key] = value.clone();
        }
        assert_eq!(ask(&server, &id, &wish).await.problem(), *expected, "{change}");
    }
    assert_eq!(inputs(&server, &id).await, 0);
    let wish = input(&id, "run-1", "hello");
    let path = format!("/sessions/{id}/agui");
    let other = server.post(&path, &wish).with(OTHER).send().await;
    assert_eq!(other.problem(), problem(404, "no_session"));
    let reader = server.post(&path, &wish).with(READER).send().await;
    assert_eq!(reader.problem(), problem(403, "forbidden"));
}
