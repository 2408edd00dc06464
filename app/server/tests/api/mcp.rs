//! Sessions as tools of MCP clients of both eras, over HTTP.

use serde_json::{Value, json};
use windlass_engine::core::{EffectClass, StopReason, StreamEvent};
use windlass_server::windlass_engine;
use windlass_testkit::Gate;
use windlass_testkit::provider::{Step, call, say};
use windlass_testkit::tools::ScriptedTool;

use crate::client::{Answer, Ask, OTHER, READER, TOKEN};
use crate::world::{Running, World, facts, problem};

const OLDER: &str = "2025-11-25";
const NEWER: &str = "2026-07-28";

/// A client of a version, with what it declares to be able to do.
#[derive(Clone)]
struct Client<'a> {
    server: &'a Running,
    version: &'static str,
    capabilities: Value,
    token: &'static str,
}

impl<'a> Client<'a> {
    fn older(server: &'a Running) -> Self {
        Self { server, version: OLDER, capabilities: json!({}), token: TOKEN }
    }

    fn newer(server: &'a Running, capabilities: Value) -> Self {
        Self { server, version: NEWER, capabilities, token: TOKEN }
    }

    fn request(&self, method: &str, mut params: Value) -> Ask {
        if self.version == NEWER {
            params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!(NEWER);
            params["_meta"]["io.modelcontextprotocol/clientInfo"] =
                json!({"name": "test", "version": "1"});
            params["_meta"]["io.modelcontextprotocol/clientCapabilities"] =
                self.capabilities.clone();
        }
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let ask = self.server.post("", &body).at_root("/mcp").with(self.token);
        let ask = ask.header("Accept", "application/json, text/event-stream");
        let ask = ask.header("MCP-Protocol-Version", self.version);
        match (self.version == NEWER, params["name"].as_str(), params["taskId"].as_str()) {
            (true, Some(name), _) | (true, None, Some(name)) => {
                ask.header("Mcp-Method", method).header("Mcp-Name", name)
            }
            (true, None, None) => ask.header("Mcp-Method", method),
            (false, _, _) => ask,
        }
    }

    /// The messages of an answer.
    async fn messages(&self, method: &str, params: Value) -> Vec<Value> {
        messages(&self.request(method, params).send().await)
    }

    async fn ask(&self, method: &str, params: Value) -> Value {
        let answer = self.messages(method, params).await.pop().unwrap();
        assert!(answer["error"].is_null(), "{answer}");
        answer["result"].clone()
    }

    async fn call(&self, tool: &str, arguments: Value) -> Value {
        self.ask("tools/call", json!({"name": tool, "arguments": arguments})).await
    }

    /// The words of a call that is refused.
    async fn refused(&self, tool: &str, arguments: Value) -> String {
        let result = self.call(tool, arguments).await;
        assert_eq!(result["isError"], true, "{result}");
        result["content"][0]["text"].as_str().unwrap().to_owned()
    }
}

#[track_caller]
fn messages(answer: &Answer) -> Vec<Value> {
    let text = String::from_utf8_lossy(&answer.body);
    assert_eq!(answer.status, 200, "{text}");
    let json = |text: &str| serde_json::from_str(text).unwrap();
    match answer.header("content-type") {
        Some("application/json") => vec![json(&text)],
        _ => {
            let lines = text.lines().filter_map(|line| line.strip_prefix("data:"));
            lines.map(|data| json(data.trim())).collect()
        }
    }
}

fn state(result: &Value) -> &str {
    result["structuredContent"]["state"].as_str().unwrap_or_else(|| panic!("no state: {result}"))
}

fn look() -> ScriptedTool {
    ScriptedTool::new("look", EffectClass::Effectful).says("a file")
}

async fn count(server: &Running, session: &str, kind: &str) -> usize {
    facts(server, session).await.iter().filter(|fact| fact["kind"] == kind).count()
}

#[tokio::test]
async fn a_run_answers_and_its_key_does_nothing_twice() {
    let world = World::new([say("there"), say("again")], []);
    let server = world.serve().await;
    let client = Client::older(&server);
    let tools = client.ask("tools/list", json!({})).await;
    let names: Vec<&Value> =
        tools["tools"].as_array().unwrap().iter().map(|tool| &tool["name"]).collect();
    assert_eq!(names, ["run", "resume", "status", "answer"]);
    let wish = json!({"prompt": "hello", "idempotency_key": "k 1"});
    let first = client.call("run", wish.clone()).await;
    assert_eq!((&first["content"][0]["text"], state(&first)), (&json!("there"), "settled"));
    let told = &first["structuredContent"];
    assert_eq!(told["outcome"], json!({"outcome": "completed"}));
    let session = told["session"].as_str().unwrap();
    assert_eq!(client.call("run", wish).await, first);
    let other = json!({"prompt": "another", "idempotency_key": "k 1"});
    assert!(client.refused("run", other).await.starts_with("key_reused"));
    let more = client.call("run", json!({"prompt": "more", "session": session})).await;
    assert_eq!(more["content"][0]["text"], "again");
    assert_eq!(more["structuredContent"]["session"], session);
    assert_eq!(count(&server, session, "InputQueued").await, 2);
    // Without a turn the latest one is meant, also of a session at rest.
    let status = client.call("status", json!({"session": session})).await;
    assert_eq!(status["structuredContent"]["turn"], more["structuredContent"]["turn"]);
    let earlier = json!({"session": session, "turn": told["turn"]});
    assert_eq!(client.call("status", earlier).await["content"][0]["text"], "there");
    assert_eq!(
        client.call("resume", json!({"session": session})).await["content"],
        status["content"]
    );
}

#[tokio::test]
async fn an_approval_waits_and_its_answer_goes_on() {
    let script = [call("look", json!({})), say("done"), call("look", json!({})), say("well")];
    let world = World::new(script, [look()]);
    let server = world.serve().await;
    let client = Client::older(&server);
    let session = server.open(&json!({"permissions": "ask"})).await;
    let asked = client.call("run", json!({"prompt": "look", "session": session})).await;
    assert_eq!(state(&asked), "waiting");
    let question = &asked["structuredContent"]["questions"][0];
    assert_eq!((&question["kind"], &question["tool"]), (&json!("approval"), &json!("look")));
    let id = question["id"].as_str().unwrap();
    let words = asked["content"][0]["text"].as_str().unwrap();
    assert!(words.contains(&format!("Call answer with question {}", json!(id))), "{words}");
    let status = client.call("status", json!({"session": session})).await;
    assert_eq!(status["structuredContent"]["questions"], json!([question]));
    let answer = |more: Value| {
        let mut answer = json!({"session": session, "question": id});
        answer.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        answer
    };
    let both = answer(json!({"decision": "allow", "text": "yes"}));
    assert!(client.refused("answer", both).await.starts_with("refused"));
    let text = answer(json!({"text": "yes"}));
    assert!(client.refused("answer", text).await.contains("a decision"));
    let done = client.call("answer", answer(json!({"decision": "allow"}))).await;
    assert_eq!((&done["content"][0]["text"], state(&done)), (&json!("done"), "settled"));
    let late = answer(json!({"decision": "deny"}));
    assert!(client.refused("answer", late).await.starts_with("not_asked"));
    let asked = client.call("run", json!({"prompt": "again", "session": session})).await;
    let id = &asked["structuredContent"]["questions"][0]["id"];
    let deny =
        json!({"session": session, "question": id, "decision": "deny", "reason": "too late"});
    assert_eq!(client.call("answer", deny).await["content"][0]["text"], "well");
    let log = facts(&server, &session).await;
    let denied = log.iter().find(|fact| fact["body"]["observation"]["status"] == "denied");
    assert!(denied.unwrap().to_string().contains("too late"));
}

#[tokio::test]
async fn a_question_of_the_model_is_answered_in_words() {
    let asks = call("ask_user", json!({"question": "Which?", "choices": ["tabs", "spaces"]}));
    let world = World::new([asks, say("tabs then")], []);
    let server = world.serve().await;
    let client = Client::older(&server);
    let asked = client.call("run", json!({"prompt": "indent"})).await;
    let told = &asked["structuredContent"];
    assert_eq!(state(&asked), "waiting");
    let question = &told["questions"][0];
    assert_eq!(question["choices"], json!(["tabs", "spaces"]));
    let answer = json!({"session": told["session"], "question": question["id"], "text": "tabs"});
    assert_eq!(client.call("answer", answer).await["content"][0]["text"], "tabs then");
    let session = told["session"].as_str().unwrap();
    let log = facts(&server, session).await;
    assert!(log.iter().any(|fact| fact["body"]["observation"]["output"] == "tabs"));
}

#[tokio::test]
async fn a_client_that_asks_its_user_gets_a_request_for_input_and_repeats_the_call() {
    let world = World::new([call("look", json!({})), say("done")], [look()]);
    let server = world.serve().await;
    let client = Client::newer(&server, json!({"elicitation": {"form": {}}}));
    let session = server.open(&json!({"permissions": "ask"})).await;
    let arguments = json!({"prompt": "look", "session": session});
    let asked = client.call("run", arguments.clone()).await;
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    let requests = asked["inputRequests"].as_object().unwrap();
    let (id, request) = requests.iter().next().unwrap();
    assert_eq!(request["method"], "elicitation/create");
    let schema = &request["params"]["requestedSchema"];
    assert_eq!(schema["properties"]["decision"]["enum"], json!(["allow", "deny"]));
    let retry = |response: Value| {
        let state = &asked["requestState"];
        json!({"name": "run", "arguments": arguments, "requestState": state,
               "inputResponses": {id.as_str(): response}})
    };
    // A dismissed request leaves the question open.
    let left = client.ask("tools/call", retry(json!({"action": "cancel"}))).await;
    assert_eq!((&left["resultType"], state(&left)), (&json!("complete"), "waiting"));
    let wrong = json!({"action": "accept", "content": {"decision": "perhaps"}});
    let again = client.ask("tools/call", retry(wrong)).await;
    assert_eq!(again, asked);
    let allow = retry(json!({"action": "accept", "content": {"decision": "allow"}}));
    let done = client.ask("tools/call", allow.clone()).await;
    assert_eq!((&done["content"][0]["text"], state(&done)), (&json!("done"), "settled"));
    // The answer may be lost, and sent again.
    assert_eq!(client.ask("tools/call", allow).await, done);
    assert_eq!(count(&server, &session, "InputQueued").await, 1);
    let mut forged = retry(json!({}));
    forged["requestState"] = json!("no such state");
    let forged = client.messages("tools/call", forged).await;
    assert_eq!(forged[0]["error"]["code"], -32602, "{forged:?}");
}

#[tokio::test]
async fn a_turn_is_a_task_for_a_client_that_knows_tasks() {
    let tasks = json!({"extensions": {"io.modelcontextprotocol/tasks": {}},
        "elicitation": {"form": {}}});
    let gate = Gate::new();
    let script = [call("look", json!({})), say("done"), say("never").end_after(&gate)];
    let world = World::new(script, [look()]);
    let server = world.serve().await;
    let client = Client::newer(&server, tasks);
    let session = server.open(&json!({"permissions": "ask"})).await;
    let created = client.call("run", json!({"prompt": "look", "session": session})).await;
    assert_eq!(created["resultType"], "task", "{created}");
    let task = json!({"taskId": created["taskId"]});
    let until = async |task: &Value, status: &str| loop {
        let told = client.ask("tasks/get", task.clone()).await;
        if told["status"] == status {
            break told;
        }
        assert_eq!(told["status"], "working", "{told}");
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    };
    let waiting = until(&task, "input_required").await;
    let id = waiting["inputRequests"].as_object().unwrap().keys().next().unwrap();
    let mut update = task.clone();
    update["inputResponses"] = json!({id: {"action": "accept", "content": {"decision": "allow"}}});
    client.ask("tasks/update", update).await;
    let done = until(&task, "completed").await;
    assert_eq!(done["result"]["content"][0]["text"], "done");
    // A task is cancelled by stopping its turn.
    let created = client.call("run", json!({"prompt": "wait", "session": session})).await;
    let task = json!({"taskId": created["taskId"]});
    world.provider.wait_asked(3).await;
    client.ask("tasks/cancel", task.clone()).await;
    until(&task, "cancelled").await;
    gate.open();
    // Another client of the tenant sees the task; another tenant does not.
    let other = Client { token: OTHER, ..client.clone() };
    let answer = other.messages("tasks/get", task.clone()).await.pop().unwrap();
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
    let unaware = Client::newer(&server, json!({}));
    let answer = unaware.request("tasks/get", task).send().await;
    assert_eq!(answer.json()["error"]["code"], -32021, "{answer:?}");
}

#[tokio::test]
async fn a_client_that_leaves_stops_nothing_and_sees_the_text_as_it_comes() {
    let gate = Gate::new();
    let text = |text: &str| StreamEvent::Text { slot: 0, text: text.to_owned() };
    let done = StreamEvent::Done { slot: 0, text: None, opaque: None };
    let end = StreamEvent::Finished { reason: StopReason::Stop };
    let step = Step::default().batch([text("a long ")]).then_gate(&gate);
    let step = step.batch([text("answer"), done, end]);
    let world = World::new([step], []);
    let server = world.serve().await;
    let client = Client::older(&server);
    let wish = json!({"prompt": "hello", "idempotency_key": "k", "wait_seconds": 0});
    let begun = client.call("run", wish).await;
    assert_eq!(state(&begun), "running");
    world.provider.wait_asked(1).await;
    let session = begun["structuredContent"]["session"].as_str().unwrap();
    let with_progress = json!({"name": "run", "_meta": {"progressToken": "p"},
        "arguments": {"prompt": "hello", "idempotency_key": "k", "wait_seconds": 1}});
    let told = client.messages("tools/call", with_progress).await;
    let notes: Vec<&Value> =
        told.iter().filter(|it| it["method"] == "notifications/progress").collect();
    let numbers: Vec<f64> =
        notes.iter().map(|it| it["params"]["progress"].as_f64().unwrap()).collect();
    assert!(numbers.is_sorted_by(|a, b| a < b) && numbers.len() >= 2, "{told:?}");
    assert!(notes.iter().any(|it| it["params"]["message"] == "a long "), "{told:?}");
    assert_eq!(state(&told.last().unwrap()["result"]), "running");
    gate.open();
    let status = client.call("status", json!({"session": session, "wait_seconds": 60})).await;
    assert_eq!(
        (&status["content"][0]["text"], state(&status)),
        (&json!("a long answer"), "settled")
    );
    assert_eq!(count(&server, session, "TurnSettled").await, 1);
}

#[tokio::test]
async fn the_endpoint_has_the_guards_of_the_interface() {
    let world = World::new([], []);
    let server = world.serve().await;
    let client = Client::older(&server);
    let list = || client.request("tools/list", json!({}));
    let unknown = list().with("no token").send().await;
    assert_eq!(unknown.problem(), problem(401, "unauthorized"));
    let foreign = list().header("Origin", "https://evil.example").send().await;
    assert_eq!(foreign.problem(), problem(403, "foreign_origin"));
    let stream = server.get("").at_root("/mcp").send().await;
    assert_eq!(stream.status, 405, "{stream:?}");
    let reader = Client { token: READER, ..client.clone() };
    assert!(reader.refused("run", json!({"prompt": "x"})).await.starts_with("forbidden"));
    let session = server.open(&json!({})).await;
    let status = json!({"session": session});
    assert_eq!(state(&reader.call("status", status.clone()).await), "idle");
    let other = Client { token: OTHER, ..client.clone() };
    for of in [status, json!({"session": "none"}), json!({"session": "../x"})] {
        assert!(other.refused("status", of).await.starts_with("no_session"));
    }
    let bad = client.refused("run", json!({"prompt": "x", "idempotency_key": "\u{e4}"})).await;
    assert!(bad.starts_with("bad_request"), "{bad}");
    let bad = client.refused("status", json!({"session": "s", "sesion": 1})).await;
    assert!(bad.contains("unknown field"), "{bad}");
    let unknown = client.messages("tools/call", json!({"name": "rm", "arguments": {}})).await;
    assert_eq!(unknown[0]["error"]["code"], -32602);
}
