//! Holds the adapter to the promises of the tool port.

use std::process::Command;
use std::sync::Arc;

use serde_json::{Value, json};
use tokio::runtime::{Builder, Runtime};
use windlass_mcp::McpTools;
use windlass_ports::{ToolCall, ToolExecutor};
use windlass_testkit::tools::suite::{Talkative, ToolFixture};

use super::bench::Bench;

/// A server that runs as long as the fixture.
struct Scripted {
    bench: Bench,
    tools: Arc<McpTools>,
    _runtime: Runtime,
}

impl Scripted {
    fn new() -> Self {
        let bench = Bench::plain("plain");
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let tools = Arc::new(runtime.block_on(bench.start()));
        Self { bench, tools, _runtime: runtime }
    }
}

fn call(name: &str, arguments: Value) -> ToolCall {
    ToolCall { name: format!("mcp__s__{name}"), arguments: arguments.to_string() }
}

impl ToolFixture for Scripted {
    fn executor(&self) -> Arc<dyn ToolExecutor> {
        self.tools.clone()
    }

    fn calls(&self) -> Vec<ToolCall> {
        ["echo", "look", "set", "add"].map(|name| call(name, json!({"text": "a"}))).to_vec()
    }

    fn endless(&self) -> Option<ToolCall> {
        Some(call("wait", json!({})))
    }

    fn talkative(&self) -> Option<Talkative> {
        Some(Talkative { call: call("talk", json!({})), bytes: 200_000, most: 33 * 1024 })
    }

    fn world(&self) -> Option<String> {
        let mut command = Command::new("sh");
        let files = "cat world set 2>/dev/null; true";
        let output = command.args(["-c", files]).current_dir(self.bench.folder()).output().unwrap();
        Some(String::from_utf8(output.stdout).unwrap())
    }
}

windlass_testkit::tool_suite!(Scripted::new());
