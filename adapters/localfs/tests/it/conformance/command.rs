//! The user's own commands.

use std::fs;
use std::sync::Arc;

use serde_json::{Value, json};
use tempfile::TempDir;
use windlass_localfs::CommandTools;
use windlass_ports::{ToolCall, ToolExecutor};
use windlass_testkit::tools::suite::{Talkative, ToolFixture};

use super::{call, world};

/// A tools file with one command of each effect class, and a workspace.
struct Commands(TempDir);

impl Commands {
    fn new() -> Self {
        let dir = TempDir::new().unwrap();
        fs::create_dir(dir.path().join("ws")).unwrap();
        let tools = json!({"tools": [
            tool("look", "ls", "read_only"),
            tool("put", "cat > \"$WINDLASS_IDEMPOTENCY_KEY\"", "idempotent"),
            tool("count", "echo again >> count", "effectful"),
            tool("wait", "sleep 1000", "effectful"),
            tool("talk", "yes | head -c 200000", "read_only"),
        ]});
        fs::write(dir.path().join("tools.json"), tools.to_string()).unwrap();
        Self(dir)
    }
}

fn tool(name: &str, script: &str, effect: &str) -> Value {
    json!({
        "name": name,
        "description": "One of the suite's.",
        "parameters": {"type": "object"},
        "command": ["sh", "-c", script],
        "effect": effect,
    })
}

impl ToolFixture for Commands {
    fn executor(&self) -> Arc<dyn ToolExecutor> {
        let (file, workspace) = (self.0.path().join("tools.json"), self.0.path().join("ws"));
        Arc::new(CommandTools::load(&file, &workspace).unwrap())
    }

    fn calls(&self) -> Vec<ToolCall> {
        let call = |name| call(name, json!({"a": 1}));
        ["look", "put", "count"].map(call).to_vec()
    }

    fn endless(&self) -> Option<ToolCall> {
        Some(call("wait", json!({})))
    }

    fn talkative(&self) -> Option<Talkative> {
        Some(Talkative { call: call("talk", json!({})), bytes: 200_000, most: 64 * 1024 })
    }

    fn world(&self) -> Option<String> {
        Some(world(&self.0.path().join("ws")))
    }
}

windlass_testkit::tool_suite!(Commands::new());
