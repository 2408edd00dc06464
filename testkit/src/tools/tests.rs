//! Scripted tools keep the port's laws and record what they were asked.

use windlass_core::{EffectClass, Timestamp};
use windlass_ports::CancelSource;

use super::*;
use crate::clock::ManualClock;
use crate::gate::Gate;

fn call(name: &str) -> ToolCall {
    ToolCall { name: name.into(), arguments: "{}".into() }
}

fn context(call: u64, attempt: u32, cancel: &CancelSource) -> ToolContext {
    let session = SessionId::new("s").unwrap();
    ToolContext {
        attempt,
        cancel: cancel.signal(),
        deadline: Timestamp(1_000),
        timeout_ms: 1_000,
        ..ToolContext::new(session, CallId(call))
    }
}

#[tokio::test]
async fn records_runs_and_counts_effects_by_class() {
    let never = CancelSource::new();
    for (effect, total, repeated) in [
        (EffectClass::Effectful, 3, 1),
        (EffectClass::Idempotent, 2, 0),
        (EffectClass::ReadOnly, 0, 0),
    ] {
        let counter = CounterTool::new("count", effect);
        let tools = ScriptedTools::new([counter.tool()]);
        for (id, attempt) in [(7, 1), (7, 2), (9, 1)] {
            tools.run(call("count"), context(id, attempt, &never)).await.unwrap();
        }
        assert_eq!(counter.total(), total, "{effect:?}");
        assert_eq!(counter.repeated().len(), repeated, "{effect:?}");
        let seen: Vec<_> = tools.runs().iter().map(|run| (run.id, run.attempt)).collect();
        assert_eq!(seen, [(CallId(7), 1), (CallId(7), 2), (CallId(9), 1)]);
        assert_eq!(tools.runs()[1].idempotency_key, "s.7");
    }
}

#[tokio::test]
async fn a_stuck_tool_is_aborted_timed_out_or_dropped() {
    let clock = ManualClock::new(Timestamp(0), 1);
    let tools = ScriptedTools::new([ScriptedTool::new("stuck", EffectClass::ReadOnly).stalls()])
        .with_clock(clock.clone());
    let run = |cancel: &CancelSource| {
        let (tools, context) = (tools.clone(), context(3, 1, cancel));
        tokio::spawn(async move { tools.run(call("stuck"), context).await })
    };

    let (cancel, never) = (CancelSource::new(), CancelSource::new());
    let aborted = run(&cancel);
    tools.wait_runs(1).await;
    assert_eq!(tools.running(), 1);
    cancel.cancel();
    assert_eq!(aborted.await.unwrap().unwrap().status, ObservationStatus::Aborted);

    let dropped = run(&never);
    tools.wait_runs(2).await;
    dropped.abort();
    assert_eq!(tools.ended(1).await, RunEnded::Dropped);

    let late = run(&never);
    clock.wait_sleepers(1).await;
    clock.advance(1_000);
    assert_eq!(late.await.unwrap().unwrap().status, ObservationStatus::Failed);
    assert_eq!(tools.running(), 0);
}

#[tokio::test]
async fn a_gate_after_the_effect_holds_the_answer_back() {
    let gate = Gate::new();
    let counter = CounterTool::new("count", EffectClass::Effectful);
    let tools = ScriptedTools::new([counter.tool().after(&gate)]);
    let never = CancelSource::new();
    let (run, context) = (tools.clone(), context(3, 1, &never));
    let running = tokio::spawn(async move { run.run(call("count"), context).await });
    gate.reached().await;
    assert_eq!((counter.total(), tools.runs()[0].ended), (1, None));
    gate.open();
    assert_eq!(running.await.unwrap().unwrap().output, "1");
}

#[tokio::test]
async fn says_whether_a_run_had_begun() {
    let tools = ScriptedTools::new([
        ScriptedTool::new("unable", EffectClass::Effectful).fails_to_begin(),
        ScriptedTool::new("lost", EffectClass::Effectful).is_lost(),
        ScriptedTool::new("once", EffectClass::Effectful)
            .observes_each([Observation::new(ObservationStatus::Done, "1")]),
    ]);
    let never = CancelSource::new();
    let run = async |name| tools.run(call(name), context(3, 1, &never)).await;
    assert!(!run("unable").await.unwrap_err().started());
    assert!(run("lost").await.unwrap_err().started());
    assert!(!run("unheard-of").await.unwrap_err().started());
    assert_eq!(run("once").await.unwrap().output, "1");
    assert!(!run("once").await.unwrap_err().started());
}
