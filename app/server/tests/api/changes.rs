//! Changes of files: their routes check who asks, and where the files are.

use std::sync::Arc;

use serde_json::{Value, json};
use windlass_server::windlass_engine::ports::{FileRestorer, FileToRestore, RestoreResult};
use windlass_testkit::provider::{say, stall};

use crate::client::{OTHER, READER};
use crate::world::{World, facts, problem};

/// Files that are as they were.
#[derive(Debug)]
struct SameFiles;

impl FileRestorer for SameFiles {
    fn restore(&self, _: &FileToRestore) -> RestoreResult {
        RestoreResult::Unchanged
    }

    fn preview(&self, file: &FileToRestore) -> RestoreResult {
        self.restore(file)
    }
}

#[tokio::test]
async fn a_turn_is_undone_between_turns_by_who_may_run_it() {
    let mut world = World::new([say("one"), stall()], []);
    world.files = Some(Arc::new(SameFiles));
    let server = world.serve().await;
    let id = server.open(&json!({})).await;
    let turn = server.turn(&id, "first").await["turn"].as_u64().unwrap();
    let undo = format!("/sessions/{id}/turns/{turn}/undo");
    let nothing = json!({
        "turn": turn, "files": [], "recorded": true, "ran_process": false, "lost_call": false,
    });
    let all = facts(&server, &id).await.len();
    assert_eq!(server.post(&undo, &Value::Null).send().await.is(200), nothing);
    assert_eq!(facts(&server, &id).await.len(), all, "nothing is recorded of nothing");
    for path in [format!("/sessions/{id}/turns/{turn}/diff"), format!("/sessions/{id}/diff")] {
        let diff = server.get(&path).with(READER).send().await.is(200);
        assert_eq!((&diff["files"], &diff["left_out"]), (&json!([]), &json!([])));
        let foreign = server.get(&path).with(OTHER).send().await;
        assert_eq!(foreign.problem(), problem(404, "no_session"));
    }
    for wrong in [turn + 1, 1] {
        let undo = format!("/sessions/{id}/turns/{wrong}/undo");
        let answer = server.post(&undo, &Value::Null).send().await;
        assert_eq!(answer.problem(), problem(404, "no_turn"), "{wrong}");
        let diff = format!("/sessions/{id}/turns/{wrong}/diff");
        assert_eq!(server.get(&diff).send().await.problem(), problem(404, "no_turn"), "{wrong}");
    }
    let answer = server.post(&undo, &Value::Null).with(READER).send().await;
    assert_eq!(answer.problem(), problem(403, "forbidden"));
    let turns = format!("/sessions/{id}/turns");
    server.post(&turns, &json!({"text": "go"})).send().await.is(202);
    let answer = server.post(&undo, &Value::Null).send().await;
    assert_eq!(answer.problem(), problem(409, "turn_running"));
}

#[tokio::test]
async fn files_of_elsewhere_are_not_touched() {
    let mut world = World::new([say("one")], []);
    let server = world.serve().await;
    let id = server.open(&json!({})).await;
    let turn = server.turn(&id, "first").await["turn"].as_u64().unwrap();
    let undo = format!("/sessions/{id}/turns/{turn}/undo");
    let answer = server.post(&undo, &Value::Null).send().await;
    assert_eq!(answer.problem(), problem(422, "refused"), "the server has no files");
    server.stop().await;
    world.files = Some(Arc::new(SameFiles));
    let server = world.serve().await;
    let answer = server.post(&undo, &Value::Null).send().await;
    assert_eq!(answer.problem(), problem(422, "refused"), "the session has another folder");
}
