//! Every wait of a turn has its limit, and each is the one that is said.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::json;
use windlass_engine::core::{
    EffectClass, Fact, FailureKind, InterruptSource, ObservationStatus, Retry, StopTiming,
    StreamEvent, TurnOutcome,
};
use windlass_engine::ports::{
    Provider, ProviderCapabilities, ProviderError, SampleRequest, SampleStream, StreamState,
};
use windlass_testkit::Gate;
use windlass_testkit::faulty::FaultyStore;
use windlass_testkit::provider::{Step, call, fail, say, stall};
use windlass_testkit::tools::{ScriptedTool, ScriptedTools};

use crate::world::{World, failure, hello, limits, me, ms};

async fn sampled(step: Step) -> (String, u128) {
    let world = World::new([step], []);
    let (report, took) = world.turn().await;
    (failure(&report), took.as_millis())
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_does_not_begin_to_answer() {
    let (said, took) = sampled(say("late").head_after(&Gate::new())).await;
    assert_eq!(said, "Timeout: the provider has not begun to answer for 1100 ms");
    assert_eq!(took, 1_100);
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_does_not_begin() {
    let (said, took) = sampled(stall()).await;
    assert_eq!(said, "Timeout: the provider's stream has not begun for 1200 ms");
    assert_eq!(took, 1_200);
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_stands_still() {
    let (said, took) = sampled(say("a long answer").end_after(&Gate::new())).await;
    assert_eq!(said, "Timeout: the provider's stream has stood still for 1300 ms");
    assert_eq!(took, 1_300);
}

/// A stream without an end: each read takes so long, or no time at all.
struct Endless(u64);

#[async_trait]
impl Provider for Endless {
    fn name(&self) -> &str {
        "endless"
    }

    fn capabilities(&self) -> ProviderCapabilities {
        ProviderCapabilities::default().with_tools()
    }

    async fn sample(&self, _: SampleRequest) -> Result<Box<dyn SampleStream>, ProviderError> {
        Ok(Box::new(Self(self.0)))
    }
}

#[async_trait]
impl SampleStream for Endless {
    async fn next(&mut self, events: &mut Vec<StreamEvent>) -> Result<StreamState, ProviderError> {
        if self.0 > 0 {
            tokio::time::sleep(ms(self.0)).await;
            let text = "on and on ".to_owned();
            events.push(StreamEvent::Text { slot: 0, text });
        }
        Ok(StreamState::More)
    }
}

fn endless(each_ms: u64) -> World {
    let tools = Arc::new(ScriptedTools::new([]));
    World::over(FaultyStore::new(), Arc::new(Endless(each_ms)), tools)
}

#[tokio::test(start_paused = true)]
async fn an_answer_without_an_end() {
    let world = endless(900);
    let (report, took) = world.turn().await;
    assert!(failure(&report).starts_with("Timeout: "), "{report:?}");
    assert_eq!(took, ms(10_000));
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_is_always_ready_starves_nobody() {
    let world = endless(0);
    let conversation = world.open("s").await;
    let input = conversation.send(hello()).await.unwrap();
    conversation.interrupt(InterruptSource::Person, me(), "enough", StopTiming::Now).await.unwrap();
    let report = conversation.outcome(input).await.unwrap();
    assert!(matches!(report.outcome, TurnOutcome::Interrupted { .. }));
}

#[tokio::test(start_paused = true)]
async fn the_next_attempt_waits_for_its_time() {
    let script = [fail(FailureKind::Overloaded, Retry::AfterMs(333)), say("there")];
    let mut limits = limits();
    limits.attempts = 2;
    limits.backoff_ms = 10;
    let world = World::new(script, []).limited(limits);
    let (report, took) = world.turn().await;
    assert_eq!((report.outcome, report.answer.as_str()), (TurnOutcome::Completed, "there"));
    assert_eq!(took, ms(333));
    let cut = world.log().into_iter().find_map(|recorded| match recorded.fact {
        Fact::SampleCut(cut) => cut.retry_at.map(|at| at.since_ms(recorded.ts)),
        _ => None,
    });
    assert_eq!(cut, Some(333));
}

#[tokio::test(start_paused = true)]
async fn a_turn_has_its_own_deadline() {
    let mut limits = limits();
    limits.turn_ms = 555;
    let world = World::new([stall()], []).limited(limits);
    let (report, took) = world.turn().await;
    assert!(matches!(report.outcome, TurnOutcome::Exhausted { .. }), "{report:?}");
    assert_eq!(took, ms(555));
}

#[tokio::test(start_paused = true)]
async fn a_tool_whose_time_is_up_is_told_and_has_failed() {
    let tool = ScriptedTool::new("slow", EffectClass::Effectful).stalls();
    let world = World::new([call("slow", json!({})), say("so be it")], [tool]);
    let (report, took) = world.turn().await;
    assert_eq!((report.outcome, took), (TurnOutcome::Completed, ms(5_000)));
    let (_, observation) = world.observation();
    assert_eq!(observation.status, ObservationStatus::Failed);
    let words = "Stopped: slow ran longer than its limit of 5000 ms.\n";
    assert!(observation.output.starts_with(words), "{observation:?}");
}
