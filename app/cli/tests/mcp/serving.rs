//! Sessions as tools for MCP clients.

use super::*;

/// A model that answers the agent behind the tools: it counts, and then says so. Another one calls
/// the tool `run` of that agent.
fn models() -> (ModelServer, ModelServer) {
    let after_tool =
        |request: &[u8]| String::from_utf8_lossy(request).contains("\"role\":\"tool\"");
    let inner =
        ModelServer::start(Script::respond(move |request| match after_tool(&request.body) {
            true => Reply::say("counted"),
            false => Reply::call("count", json!({"n": 1})),
        }));
    let outer =
        ModelServer::start(Script::respond(move |request| match after_tool(&request.body) {
            true => Reply::say("done"),
            false => {
                Reply::call("mcp__agent__run", json!({"prompt": "count", "idempotency_key": "k"}))
            }
        }));
    (inner.unwrap(), outer.unwrap())
}

/// The result of the call of a session's turn.
fn observed(place: &Place) -> Value {
    let log = place.log("s");
    let mut observed = log.iter().filter(|fact| fact["kind"] == "CallObserved");
    observed.next_back().unwrap()["body"]["observation"].clone()
}

#[test]
fn a_session_runs_another_one_over_both_transports() {
    let (inner, outer) = models();
    let (own, agent) = (Place::new(), Place::new());
    let tools = agent.counter("effectful");
    let (model, url) = (inner.base_url(), outer.base_url());
    let inner =
        ["--provider", "openai-chat", "--model", "m", "--base-url", &model, "--tools", &tools];
    let inner =
        [&inner[..], &["--permissions", "auto", "--workspace", agent.path().to_str().unwrap()]];
    let inner = inner.concat();
    let turn = |place: &Place| {
        let model = ["--provider", "openai-chat", "--model", "m", "--base-url", &url];
        let ran = place
            .run(&[&["run", "hi", "--session", "s", "--permissions", "auto"], &model[..]].concat());
        assert_eq!(ran.code, 0, "{}", ran.err);
        let observed = observed(place);
        assert_eq!(observed["status"], "done", "{observed}");
        assert!(observed["output"].as_str().unwrap().starts_with("counted"), "{observed}");
    };
    let windlass = env!("CARGO_BIN_EXE_windlass");
    let state = format!("WINDLASS_HOME={}", agent.state().display());
    let add = ["mcp", "add", "agent", "--trusted", "--env", &state, "--", windlass, "mcp", "serve"];
    let added = own.run(&[&add[..], &inner].concat());
    assert_eq!(added.code, 0, "{}", added.err);
    turn(&own);
    assert_eq!(agent.counted().len(), 1);
    // The same key, and the same store: nothing happens twice, whatever the transport is.
    let server = common::server::Server::start(&agent, &inner);
    let url_of = format!("http://{}/mcp", server.at());
    let other = Place::new();
    let add = ["mcp", "add", "agent", "--trusted", "--url", &url_of];
    let header = format!("authorization=Bearer {}", server.token());
    let added = other.run(&[&add[..], &["--header", &header]].concat());
    assert_eq!(added.code, 0, "{}", added.err);
    turn(&other);
    assert_eq!(agent.counted().len(), 1);
    let shown = other.run(&["mcp", "get", "agent"]).out;
    assert!(shown.starts_with("agent  ready  4 tools, protocol 2026-07-28\n"), "{shown}");
}

/// A client of `windlass mcp serve` in the older era.
struct StdioClient {
    child: std::process::Child,
    output: BufReader<std::process::ChildStdout>,
    input: Option<std::process::ChildStdin>,
}

impl StdioClient {
    fn start(place: &Place, words: &[&str]) -> Self {
        let mut command = place.command(&[&["mcp", "serve"], words].concat());
        let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let input = child.stdin.take();
        let mut client = Self { child, output, input };
        let begun = client.ask(
            "initialize",
            json!({"protocolVersion": "2025-11-25",
            // There are clients that declare this, and do not know such results in this version.
            "capabilities": {"extensions": {"io.modelcontextprotocol/tasks": {}}},
            "clientInfo": {"name": "t", "version": "1"}}),
        );
        assert_eq!(begun["serverInfo"]["name"], "windlass");
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        client
    }

    fn send(&mut self, message: &Value) {
        let mut input = self.input.as_ref().unwrap();
        writeln!(input, "{message}").unwrap();
    }

    /// The result of a request. Nothing but messages comes before it.
    fn ask(&mut self, method: &str, params: Value) -> Value {
        use std::io::BufRead as _;
        self.send(&json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params}));
        loop {
            let mut line = String::new();
            assert!(self.output.read_line(&mut line).unwrap() > 0, "it ended");
            let message: Value = serde_json::from_str(&line).unwrap();
            if message["id"] == 7 {
                assert!(message["error"].is_null(), "{message}");
                return message["result"].clone();
            }
        }
    }

    fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.ask("tools/call", json!({"name": tool, "arguments": arguments}))
    }

    /// Ends the input, and returns what was written on standard error.
    fn leave(mut self) -> Done {
        self.input = None;
        done(self.child.wait_with_output().unwrap())
    }
}

#[test]
fn a_turn_of_a_killed_server_ends_once_when_it_is_resumed() {
    let (inner, _) = models();
    let place = Place::new();
    let slow = place.counter("read_only");
    let tools = fs::read_to_string(&slow).unwrap();
    let tools = tools.replace("wc -l", "until [ -e go ]; do sleep 0.02; done; wc -l");
    fs::write(&slow, tools).unwrap();
    let url = inner.base_url();
    let words = [
        "--provider",
        "openai-chat",
        "--model",
        "m",
        "--base-url",
        &url,
        "--tools",
        &slow,
        "--permissions",
        "auto",
    ];
    let mut client = StdioClient::start(&place, &words);
    let begun = client.call("run", json!({"prompt": "count", "wait_seconds": 0}));
    let session = begun["structuredContent"]["session"].as_str().unwrap().to_owned();
    until("the tool runs", || !place.counted().is_empty());
    until("the call is in the log", || count(&place.log(&session), "CallStarted") == 1);
    signal(&client.child, "KILL");
    client.leave();
    fs::write(place.file("go"), "").unwrap();
    let mut client = StdioClient::start(&place, &words);
    // Nothing goes on before somebody asks for it.
    let left = client.call("status", json!({"session": session}));
    assert_eq!(left["structuredContent"]["state"], "running");
    let resumed = client.call("resume", json!({"session": session}));
    assert_eq!(resumed["content"][0]["text"], "counted", "{resumed}");
    assert_eq!(resumed["structuredContent"]["state"], "settled");
    let again = client.call("resume", json!({"session": session}));
    assert_eq!(again["structuredContent"], resumed["structuredContent"]);
    let left = client.leave();
    assert_eq!((left.code, left.out.as_str()), (0, ""), "{}", left.err);
    let log = place.log(&session);
    assert_eq!((count(&log, "TurnSettled"), count(&log, "InputQueued")), (1, 1));
}

/// A client of both eras in Python: `client.py WINDLASS ARGUMENTS`. It allows what it is asked about, in
/// the way of its era, and prints a line about each.
const PYTHON: &str = r#"
import asyncio, json, os, sys
from mcp import Client, StdioServerParameters
from mcp_types import ElicitResult

async def allow(context, params):
    return ElicitResult(action="accept", content={"decision": "allow"})

async def main():
    command, *args = sys.argv[1:]
    server = StdioServerParameters(command=command, args=args, env=dict(os.environ))
    for mode in ["legacy", "2026-07-28"]:
        async with Client(server, mode=mode, elicitation_callback=allow) as client:
            seen = []
            async def progress(progress, total, message):
                seen.append(message)
            result = await client.call_tool("run", {"prompt": "count"}, progress_callback=progress)
            states = [result.structured_content["state"]]
            for question in result.structured_content.get("questions", []):
                session = result.structured_content["session"]
                answer = {"session": session, "question": question["id"], "decision": "allow"}
                result = await client.call_tool("answer", answer)
                states.append(result.structured_content["state"])
            print(json.dumps([states, result.content[0].text, len(seen) > 0]))

asyncio.run(main())
"#;

#[test]
fn the_python_client_of_others_runs_a_session_in_both_eras() {
    let Some(python) = std::env::var_os("WINDLASS_TEST_MCP_PYTHON") else {
        let words =
            "SKIPPED: WINDLASS_TEST_MCP_PYTHON is not there: run this test by `cargo xtask test`";
        let _ = writeln!(std::io::stderr(), "{words}");
        return;
    };
    let (inner, _) = models();
    let place = Place::new();
    let (tools, url) = (place.counter("effectful"), inner.base_url());
    let windlass = env!("CARGO_BIN_EXE_windlass");
    let plain = place.command(&[]);
    let mut command = Command::new(python);
    command.args(["-c", PYTHON, windlass, "mcp", "serve", "--permissions", "ask"]);
    command.args([
        "--provider",
        "openai-chat",
        "--model",
        "m",
        "--base-url",
        &url,
        "--tools",
        &tools,
    ]);
    command.current_dir(place.path()).env_clear();
    command.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let ran = done(command.output().unwrap());
    assert_eq!(ran.code, 0, "{}", ran.err);
    let told =
        [json!([["waiting", "settled"], "counted", true]), json!([["settled"], "counted", true])];
    assert_eq!(lines(&ran.out), told, "{}", ran.err);
    assert_eq!(place.counted().len(), 2);
}
