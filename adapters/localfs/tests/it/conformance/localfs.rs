//! The workspace tools.

use std::sync::Arc;

use serde_json::json;
use windlass_ports::{ToolCall, ToolExecutor};
use windlass_testkit::tools::suite::{Talkative, ToolFixture};

use super::{call, world};
use crate::common::World;

impl ToolFixture for World {
    fn executor(&self) -> Arc<dyn ToolExecutor> {
        self.tools.clone()
    }

    fn calls(&self) -> Vec<ToolCall> {
        let edit = json!({"path": "a", "old": "one", "new": "two"});
        let patch = json!({"patch": "*** Begin Patch\n*** Add File: p\n+new\n*** End Patch\n"});
        vec![
            call("read_file", json!({"path": "a"})),
            call("list_dir", json!({})),
            call("grep", json!({"pattern": "one"})),
            call("glob", json!({"pattern": "a"})),
            call("edit_file", edit),
            call("apply_patch", patch),
            call("write_file", json!({"path": "new/b", "content": "b"})),
            call("shell", json!({"command": "echo c >> c"})),
        ]
    }

    fn endless(&self) -> Option<ToolCall> {
        Some(call("shell", json!({"command": "sleep 1000"})))
    }

    fn talkative(&self) -> Option<Talkative> {
        Some(Talkative {
            call: call("shell", json!({"command": "yes | head -c 200000"})),
            bytes: 200_000,
            most: 64 * 1024,
        })
    }

    fn world(&self) -> Option<String> {
        Some(world(&self.path("")))
    }
}

fn fixture() -> World {
    let fixture = World::new();
    fixture.put("a", "one\n");
    fixture
}

windlass_testkit::tool_suite!(fixture());
