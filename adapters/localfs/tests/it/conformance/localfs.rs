//! The workspace tools.

use std::sync::Arc;

use serde_json::json;
use windlass_core::SessionId;
use windlass_ports::{ToolCall, ToolExecutor, ToolProcessState};
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
            call("exec_command", json!({"cmd": "read d; echo $d >> d", "yield_time_ms": 0})),
            call("write_stdin", json!({"id": 9, "chars": "d\n", "yield_time_ms": 60_000})),
            call("exec_command", json!({"cmd": "sleep 1000", "yield_time_ms": 0})),
            call("list_processes", json!({})),
            call("stop_process", json!({"id": 11})),
            call("view_image", json!({"path": "i.png"})),
        ]
    }

    fn endless(&self) -> Option<ToolCall> {
        Some(call("shell", json!({"command": "sleep 1000"})))
    }

    fn lasting(&self) -> Option<ToolCall> {
        Some(call("exec_command", json!({"cmd": "sleep 1000", "yield_time_ms": 0})))
    }

    fn talkative(&self) -> Option<Talkative> {
        Some(Talkative {
            call: call("shell", json!({"command": "yes | head -c 200000"})),
            bytes: 200_000,
            most: 64 * 1024,
        })
    }

    fn world(&self) -> Option<String> {
        let processes = self.tools.processes(&SessionId::new("suite").unwrap());
        let running = processes.iter().filter(|one| one.state == ToolProcessState::Running);
        let running: Vec<_> = running.map(|process| process.id).collect();
        Some(format!("{running:?} {}", world(&self.path(""))))
    }
}

fn fixture() -> World {
    let fixture = World::new();
    fixture.put("a", "one\n");
    let head = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x02\0\0\0";
    std::fs::write(fixture.path("i.png"), head).unwrap();
    fixture
}

windlass_testkit::tool_suite!(fixture());
