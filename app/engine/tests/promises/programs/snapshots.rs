//! Snapshots: each call that a program has made is in that of its cycle, however the program ended.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use windlass_engine::core::{
    CallId, EffectClass, Fact, ObservationStatus, RecordedFact, TurnSnapshot, TurnSnapshots,
};
use windlass_engine::ports::{
    CancelSignal, ProgramAnswer, ProgramCall, ProgramStep, RunningProgram,
};
use windlass_testkit::provider::say;
use windlass_testkit::tools::{CounterTool, ScriptedTool};

use super::deaf::passing;
use super::runtimes::{Ready, ended, preparing};
use super::{run, stage, value};
use crate::world::hello;

/// A runtime whose programs make three calls at once, and then compute until they are told to stop;
/// where it is deaf, until the test is over.
#[derive(Clone)]
struct Late {
    deaf: bool,
    computes: Arc<AtomicBool>,
    over: Arc<AtomicBool>,
}

struct Doing {
    late: Late,
    called: bool,
    stop: CancelSignal,
}

/// Lets go of what computes, also when a test fails.
struct LetGo(Late);

impl Drop for LetGo {
    fn drop(&mut self) {
        self.0.over.store(true, Ordering::SeqCst);
    }
}

impl RunningProgram for Doing {
    fn resume(&mut self, _: Vec<ProgramAnswer>) -> ProgramStep {
        if !std::mem::replace(&mut self.called, true) {
            let call = |name: &str| ProgramCall { name: name.into(), arguments: "{}".into() };
            return ProgramStep::Calls(["look", "broken", "pay"].map(call).into());
        }
        self.late.computes.store(true, Ordering::SeqCst);
        let told = || !self.late.deaf && self.stop.is_cancelled();
        while !told() && !self.late.over.load(Ordering::SeqCst) {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        ended(value("1"))
    }
}

fn tools() -> [ScriptedTool; 3] {
    [
        ScriptedTool::new("look", EffectClass::ReadOnly).says("seen"),
        ScriptedTool::new("broken", EffectClass::Effectful).fails_to_begin(),
        CounterTool::new("pay", EffectClass::Effectful).tool(),
    ]
}

/// The first snapshot of a log, with its calls as they are there and as the log has them.
fn first(log: &[RecordedFact]) -> TurnSnapshot {
    let mut fold = TurnSnapshots::default();
    let mut made = log.iter().filter_map(|fact| fold.apply(fact).unwrap());
    let first = made.next().unwrap();
    let called = log.iter().filter_map(|recorded| match &recorded.fact {
        Fact::ProgramCalled(_) => Some(CallId(recorded.seq.0)),
        _ => None,
    });
    let shown = first.cycle().tool_calls.iter().map(|call| call.id);
    assert!(shown.eq(called), "{:?}", first.cycle().tool_calls);
    first
}

fn calls(snapshot: &TurnSnapshot) -> Vec<(&str, Option<ObservationStatus>)> {
    let calls = snapshot.cycle().tool_calls.iter();
    calls.map(|call| (&*call.call.name, call.status())).collect()
}

#[tokio::test(start_paused = true)]
async fn after_a_timeout_each_call_is_there_also_of_a_runtime_that_is_deaf() {
    for deaf in [false, true] {
        let late = Late { deaf, computes: Arc::default(), over: Arc::default() };
        let _let_go = LetGo(late.clone());
        let mut stage = stage([run("x"), say("so be it")], tools());
        let runtime = late.clone();
        stage.world = stage.world.running(preparing(move |_, world| {
            let (late, stop) = (runtime.clone(), world.cancel.clone());
            Ok(Box::new(Ready(move || Ok(Doing { late, called: false, stop }))))
        }));
        let conversation = stage.world.open("s").await;
        let input = conversation.send(hello()).await.unwrap();
        while !late.computes.load(Ordering::SeqCst) {
            tokio::task::yield_now().await;
        }
        let report = passing(conversation.outcome(input)).await.unwrap();
        assert_eq!(report.answer, "so be it", "deaf: {deaf}");
        let first = first(&stage.world.log());
        assert_eq!(first.fault().unwrap().class, "timeout", "deaf: {deaf}");
        let (done, failed) = (ObservationStatus::Done, ObservationStatus::Failed);
        let all = [("look", Some(done)), ("broken", Some(failed)), ("pay", Some(done))];
        assert_eq!(calls(&first), all, "deaf: {deaf}");
        let told = &stage.told()[0];
        assert!(told.contains("- pay {}: done"), "deaf: {deaf}: {told}");
    }
}

#[tokio::test(start_paused = true)]
async fn of_calls_beside_each_other_each_is_there_where_one_fails() {
    let (done, failed) = (ObservationStatus::Done, ObservationStatus::Failed);
    for (source, all) in [
        ("both look {} broken {}\ncall pay {}", [("look", Some(done)), ("broken", Some(failed))]),
        ("both broken {} pay {}\ncall look {}", [("broken", Some(failed)), ("pay", Some(done))]),
    ] {
        let stage = stage([run(source), say("so be it")], tools());
        stage.world.turn().await;
        let first = first(&stage.world.log());
        assert_eq!(first.fault().unwrap().class, "tool_error", "{source}");
        assert_eq!(calls(&first), all, "{source}");
    }
}
