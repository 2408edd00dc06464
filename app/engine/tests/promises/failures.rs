//! Failures: a run is told how often in a row its call has failed in the turn.

use std::sync::{Arc, Mutex};

use serde_json::json;
use windlass_engine::core::{EffectClass, Observation, ObservationStatus};
use windlass_testkit::provider::{call, calls, say};
use windlass_testkit::tools::ScriptedTool;

use crate::world::World;

#[tokio::test(start_paused = true)]
async fn a_run_is_told_how_often_its_call_has_failed() {
    let told = Arc::new(Mutex::new(Vec::new()));
    let noted = told.clone();
    let tool = |name: &str| ScriptedTool::new(name, EffectClass::ReadOnly).exclusive();
    let attempt = tool("try").runs(move |call, context| {
        let works = call.arguments.contains("works");
        noted.lock().unwrap().push(context.failed_before);
        let status = if works { ObservationStatus::Done } else { ObservationStatus::Failed };
        Ok(Observation::new(status, "out"))
    });
    let other = tool("other").observes(Observation::new(ObservationStatus::Failed, "no"));
    let this = || ("try", json!({ "n": 1 }));
    let script = [
        calls([this(), this()]),
        call("other", json!({ "n": 1 })),
        calls([this()]),
        call("try", json!({ "n": 2 })),
        calls([this(), this()]),
        call("try", json!({ "works": 1 })),
        calls([this()]),
        say("done"),
    ];
    let world = World::new(script, [attempt, other]);
    assert_eq!(world.turn().await.0.answer, "done");
    assert_eq!(*told.lock().unwrap(), [0, 1, 2, 0, 0, 1, 0, 0]);
}
