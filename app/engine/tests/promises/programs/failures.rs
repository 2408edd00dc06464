//! Failures: a program receives the failure of the program before it in the same turn, in any process.

use serde_json::{Value, json};
use windlass_engine::core::EffectClass;
use windlass_testkit::Gate;
use windlass_testkit::provider::say;
use windlass_testkit::tools::ScriptedTool;

use super::{run, stage};
use crate::world::{hello, soon, until};

const BREAKS: &str = "return $data.nothing";
const ASKS: &str = "return $data.fail";

fn read(answer: &str) -> Value {
    serde_json::from_str(answer).unwrap()
}

#[tokio::test(start_paused = true)]
async fn the_next_program_of_the_turn_receives_the_failure() {
    let stage = stage([run(BREAKS), run(ASKS)], []);
    let (report, _) = stage.world.turn().await;
    let failure = read(&report.answer);
    assert_eq!(failure["reason"], "runtime_error");
    assert!(failure["message"].as_str().unwrap().contains("nothing"), "{failure}");
    assert_eq!(failure["details"], json!({}));
}

#[tokio::test(start_paused = true)]
async fn a_program_that_succeeds_and_a_new_turn_clear_the_failure() {
    let stage =
        stage([run(BREAKS), run("value 1"), run(ASKS), run(BREAKS), say("no"), run(ASKS)], []);
    let conversation = stage.world.open("s").await;
    for answer in ["null", "no", "null"] {
        let input = conversation.send(hello()).await.unwrap();
        let report = soon(conversation.outcome(input)).await.unwrap();
        assert_eq!(report.answer, answer);
    }
}

#[tokio::test(start_paused = true)]
async fn the_next_process_has_the_failure_too() {
    let gate = Gate::new();
    let look = ScriptedTool::new("look", EffectClass::ReadOnly).says("seen").before(&gate);
    let waits = "call look {\"before\":\"$data.fail\"}\nreturn $data.fail";
    let stage = stage([run(BREAKS), run(waits)], [look]);
    let conversation = stage.world.open("s").await;
    let input = conversation.send(hello()).await.unwrap();
    until(|| stage.tools.running() == 1).await;
    let next = stage.world.next_process();
    gate.open();
    let conversation = next.open("s").await;
    let report = soon(conversation.outcome(input)).await.unwrap();
    assert_eq!(read(&report.answer)["reason"], "runtime_error");
}
