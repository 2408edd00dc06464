//! Tools that a client runs: their calls wait for results, over restarts and on every node.

use serde_json::{Value, json};
use windlass_engine::core::EffectClass;
use windlass_server::windlass_engine;
use windlass_testkit::nodes::Nodes;
use windlass_testkit::provider::{call, calls, say};
use windlass_testkit::tools::ScriptedTool;

use crate::client::{OTHER, READER};
use crate::world::{NOW, Running, World, facts, problem};

fn tool(name: &str) -> Value {
    json!({
        "name": name, "description": "Opens a file.", "effect": "effectful", "timeout_ms": 60_000,
        "parameters": {"type": "object", "properties": {"path": {"type": "string"}}},
    })
}

/// The calls of a session that wait for a client, once there are so many.
async fn waiting(server: &Running, id: &str, count: usize) -> Vec<Value> {
    let path = format!("/sessions/{id}/client-calls");
    loop {
        let page = server.get(&path).send().await.is(200);
        let calls = page["calls"].as_array().unwrap();
        if calls.len() == count {
            return calls.clone();
        }
        let all = facts(server, id).await;
        let over = all.iter().any(|fact| fact["kind"] == "TurnSettled");
        assert!(!over, "the turn ended without a call: {all:?}");
    }
}

async fn send(server: &Running, id: &str, input: &Value) -> u64 {
    let sent = server.post(&format!("/sessions/{id}/turns"), input).send().await;
    sent.is(202)["turn"].as_u64().unwrap()
}

#[tokio::test]
async fn a_call_waits_for_its_client_over_restarts() {
    let world = World::new([call("open", json!({"path": "a"})), say("done")], []);
    let server = world.serve().await;
    let id = server.open(&json!({"permissions": "auto", "client_tools": [tool("open")]})).await;
    let turn = send(&server, &id, &json!({"text": "open a"})).await;
    let before = waiting(&server, &id, 1).await;
    let at = before[0]["call"].as_u64().unwrap();
    assert_eq!(
        before[0],
        json!({
            "session": id, "turn": turn, "call": at, "tool": "open", "effect": "effectful",
            "arguments": "{\"path\":\"a\"}", "idempotency_key": format!("{id}.{at}"),
            "deadline": NOW + 60_000,
        })
    );
    let view = server.get(&format!("/sessions/{id}")).send().await.is(200);
    assert_eq!((&view["state"], &view["asking"]), (&json!("running"), &json!(0)));
    server.kill();
    let server = world.serve().await;
    assert_eq!(waiting(&server, &id, 1).await, before);
    server.stop().await;
    let server = world.serve().await;
    assert_eq!(waiting(&server, &id, 1).await, before);

    let path = format!("/sessions/{id}/client-calls/{at}");
    let result = json!({"output": "opened"});
    for (token, expected) in
        [(READER, problem(403, "forbidden")), (OTHER, problem(404, "no_session"))]
    {
        let answer = server.post(&path, &result).with(token).send().await;
        assert_eq!(answer.problem(), expected);
    }
    let beside = format!("/sessions/{id}/client-calls/{}", at + 1);
    let answer = server.post(&beside, &result).send().await;
    assert_eq!(answer.problem(), problem(404, "no_call"));
    for _ in 0..2 {
        assert_eq!(server.post(&path, &result).send().await.is(202), json!({"call": at}));
    }
    for other in [json!({"output": "not opened"}), json!({"output": "opened", "failed": true})] {
        let answer = server.post(&path, &other).send().await;
        assert_eq!(answer.problem(), problem(409, "not_awaited"));
    }
    assert_eq!(server.ended(&id, turn).await["answer"], "done");
    assert_eq!(waiting_now(&server, &id).await, json!([]));
    assert_eq!(server.post(&path, &result).send().await.is(202), json!({"call": at}));
    let all = facts(&server, &id).await;
    let runs: Vec<&Value> = all
        .iter()
        .filter(|fact| matches!(fact["kind"].as_str(), Some("CallStarted" | "CallObserved")))
        .map(|fact| &fact["body"])
        .collect();
    assert_eq!(runs.len(), 2, "{runs:?}");
    assert_eq!((&runs[0]["client"], &runs[0]["attempt"]), (&json!(true), &json!(1)));
    assert_eq!(runs[1]["by"]["principal"], "ann");
}

async fn waiting_now(server: &Running, id: &str) -> Value {
    let page = server.get(&format!("/sessions/{id}/client-calls")).send().await.is(200);
    page["calls"].clone()
}

#[tokio::test]
async fn a_result_is_taken_at_every_node() {
    let world = World::new([calls([("open", json!({})), ("open", json!({}))]), say("done")], []);
    let place = Nodes::over(world.store.clone());
    let (one, other) = (place.node(), place.node());
    let (drives, asked) = (world.serve_as(Some(&one)).await, world.serve_as(Some(&other)).await);
    let id = drives.open(&json!({"permissions": "auto", "client_tools": [tool("open")]})).await;
    let turn = send(&drives, &id, &json!({"text": "open"})).await;
    let calls = waiting(&asked, &id, 2).await;
    for (server, open) in [(&asked, &calls[0]), (&drives, &calls[1]), (&asked, &calls[1])] {
        let path = format!("/sessions/{id}/client-calls/{}", open["call"]);
        server.post(&path, &json!({"output": "opened"})).send().await.is(202);
    }
    let path = format!("/sessions/{id}/client-calls/{}", calls[0]["call"]);
    let answer = drives.post(&path, &json!({"output": "other"})).send().await;
    assert_eq!(answer.problem(), problem(409, "not_awaited"));
    assert_eq!(asked.ended(&id, turn).await["answer"], "done");
}

#[tokio::test]
async fn a_person_decides_before_a_client_gets_a_call() {
    let world = World::new([call("open", json!({})), say("as you like")], []);
    let server = world.serve().await;
    let id = server.open(&json!({"permissions": "ask", "client_tools": [tool("open")]})).await;
    let turn = send(&server, &id, &json!({"text": "open"})).await;
    let question = crate::approvals::open(&server, &id).await.remove(0);
    assert_eq!(waiting_now(&server, &id).await, json!([]));
    let early = format!("/sessions/{id}/client-calls/{}", question["call"]);
    let answer = server.post(&early, &json!({"output": "opened"})).send().await;
    assert_eq!(answer.problem(), problem(404, "no_call"));
    let path = format!("/sessions/{id}/approvals/{}", question["call"]);
    let word = json!({"decision": "deny", "digest": question["digest"]});
    server.post(&path, &word).send().await.is(202);
    assert_eq!(server.ended(&id, turn).await["answer"], "as you like");
}

#[tokio::test]
async fn tools_stay_until_others_are_declared() {
    let own = ScriptedTool::new("look", EffectClass::ReadOnly).says("a file");
    let world = World::new([say("one"), say("two"), say("three")], [own]);
    let server = world.serve().await;
    let id = server.open(&json!({"client_tools": [tool("open")]})).await;
    server.turn(&id, "first").await;
    world.today.lock().unwrap().instructions = "Be briefer.".into();
    server.turn(&id, "second").await;
    let turn = send(&server, &id, &json!({"text": "third", "client_tools": [tool("close")]})).await;
    server.ended(&id, turn).await;
    let all = facts(&server, &id).await;
    let settings = all.iter().filter_map(|fact| fact["body"]["settings"]["tools"].as_array());
    let names: Vec<Vec<&str>> = settings
        .map(|tools| tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect())
        .collect();
    assert_eq!(names, [["look", "open"], ["look", "open"], ["look", "close"]]);
}

#[tokio::test]
async fn what_cannot_be_a_tool_is_refused() {
    let own = ScriptedTool::new("look", EffectClass::ReadOnly).says("a file");
    let world = World::new([], [own]);
    let server = world.serve().await;
    let id = server.open(&json!({})).await;
    let many: Vec<Value> = (0..65).map(|nth| tool(&format!("t{nth}"))).collect();
    let with = |field: &str, value: Value| {
        let mut tool = tool("open");
        tool[field] = value;
        json!([tool])
    };
    for bad in [
        json!([tool("look")]),
        json!([tool("open"), tool("open")]),
        json!(many),
        with("name", json!("with a blank")),
        with("name", json!("")),
        with("description", json!("x".repeat(8_193))),
        with("parameters", json!({"type": "string"})),
        with("parameters", json!({"type": "object", "properties": {"a": {"type": "odd"}}})),
        with("timeout_ms", json!(999)),
        with("timeout_ms", json!(604_800_001)),
    ] {
        let answer = server.post("/sessions", &json!({"client_tools": bad})).send().await;
        assert_eq!(answer.problem(), problem(422, "refused"), "{bad}");
        let input = json!({"text": "hello", "client_tools": bad});
        let answer = server.post(&format!("/sessions/{id}/turns"), &input).send().await;
        assert_eq!(answer.problem(), problem(422, "refused"), "{bad}");
    }
    for bad in [with("effect", json!("odd")), with("more", json!(1)), json!([1]), json!(null)] {
        let answer = server.post("/sessions", &json!({"client_tools": bad})).send().await;
        assert_eq!(answer.problem(), problem(400, "bad_request"), "{bad}");
    }
    assert_eq!(facts(&server, &id).await.len(), 1);
}

#[tokio::test]
async fn a_key_finds_the_session_with_the_same_tools_alone() {
    let world = World::new([], []);
    let server = world.serve().await;
    let open = |tools: Value| server.post("/sessions", &json!({"client_tools": tools})).key("k");
    let first = open(json!([tool("open")])).send().await.is(201);
    assert_eq!(open(json!([tool("open")])).send().await.is(201)["id"], first["id"]);
    for other in [json!([]), json!([tool("close")])] {
        assert_eq!(open(other).send().await.problem(), problem(422, "key_reused"));
    }
}
