//! Limits: whatever a program and its runtime do, the turn goes on, and soon.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use windlass_engine::core::{
    EffectClass, InterruptSource, ObservationStatus, ProgramEnd, ProgramFault, ProgramLimits,
    StopTiming, TurnOutcome,
};
use windlass_engine::ports::{
    PreparedProgram, ProgramAnswer, ProgramCall, ProgramEnvironment, ProgramGuide, ProgramResult,
    ProgramRuntime, ProgramRuntimes, ProgramStep, RunningProgram, Tenants,
};
use windlass_engine::{SendError, StartError};
use windlass_testkit::faulty::FaultyStore;
use windlass_testkit::provider::{call, say};
use windlass_testkit::tools::ScriptedTool;

use super::{class, run, stage};
use crate::world::{Cast, World, hello, id, me, ms, soon, until};

/// A runtime that does what its programs say: no better than a hostile one.
#[derive(Clone, Default)]
struct Wild {
    computes: Arc<AtomicBool>,
    stopped: Arc<AtomicU32>,
}

struct Doing {
    does: String,
    world: ProgramEnvironment,
    wild: Wild,
}

impl ProgramRuntime for Wild {
    fn name(&self) -> &'static str {
        "wild"
    }

    fn guide(&self, _: &ProgramGuide) -> String {
        String::new()
    }

    fn extract(&self, _: &str) -> Option<Result<String, ProgramFault>> {
        panic!("a panic on purpose");
    }

    fn prepare(
        &self,
        source: &str,
        world: &ProgramEnvironment,
    ) -> Result<Box<dyn PreparedProgram>, ProgramFault> {
        assert_ne!(source, "panics early", "on purpose");
        Ok(Box::new(Doing { does: source.to_owned(), world: world.clone(), wild: self.clone() }))
    }
}

impl PreparedProgram for Doing {
    fn repairs(&self) -> Vec<String> {
        Vec::new()
    }

    fn start(self: Box<Self>) -> Result<Box<dyn RunningProgram>, ProgramFault> {
        Ok(self)
    }
}

impl RunningProgram for Doing {
    fn resume(&mut self, _: Vec<ProgramAnswer>) -> ProgramStep {
        let calls = |count: usize, arguments: &str| {
            let call = ProgramCall { name: "look".into(), arguments: arguments.to_owned() };
            ProgramStep::Calls(vec![call; count])
        };
        match &*self.does {
            "spins" => {
                self.wild.computes.store(true, Ordering::SeqCst);
                while !self.world.cancel.is_cancelled() {
                    std::thread::yield_now();
                }
                self.wild.stopped.fetch_add(1, Ordering::SeqCst);
            }
            "panics" => panic!("a panic on purpose"),
            "waits for nothing" => return calls(0, "{}"),
            "calls too often" => return calls(1_001, "{}"),
            "calls with too much" => return calls(1, &"x".repeat(64 << 20)),
            _ => {}
        }
        let text = match &*self.does {
            "says too much" => "x".repeat(64 << 20),
            _ => "1".to_owned(),
        };
        ProgramStep::Done(Box::new(ProgramResult {
            end: ProgramEnd::Value { value: text.into() },
            prints: Vec::new(),
            retained: Vec::new(),
            alive: Vec::new(),
            defined: Vec::new(),
            steps: 1,
        }))
    }
}

fn wild(runtime: &Wild, source: &str) -> super::Stage {
    let look = ScriptedTool::new("look", EffectClass::ReadOnly);
    let stage = stage([run(source), say("so be it")], [look]);
    let mut stage = stage.tuned(|settings| {
        settings.options.program.as_mut().unwrap().runtime = "wild".into();
    });
    stage.world = stage.world.running(ProgramRuntimes::none().with(Arc::new(runtime.clone())));
    stage
}

#[tokio::test(start_paused = true)]
async fn whatever_a_runtime_does_wrong_is_a_fault_of_its_class() {
    for (source, fault) in [
        ("panics", "runtime_panicked"),
        ("panics early", "runtime_panicked"),
        ("waits for nothing", "runtime_defect"),
        ("calls too often", "calls_exceeded"),
        ("calls with too much", "call_too_large"),
        ("says too much", "outcome_too_large"),
    ] {
        let stage = wild(&Wild::default(), source);
        let (report, _) = stage.world.turn().await;
        assert_eq!(report.answer, "so be it", "{source}");
        assert_eq!(class(&stage.ends()[0]), fault, "{source}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_step_that_computes_for_too_long_is_stopped() {
    let runtime = Wild::default();
    let stage = wild(&runtime, "spins");
    let conversation = stage.world.open("s").await;
    let input = conversation.send(hello()).await.unwrap();
    // Paused time stands still while a thread computes.
    while !runtime.computes.load(Ordering::SeqCst) {
        tokio::task::yield_now().await;
    }
    tokio::time::advance(ms(5_000)).await;
    let report = soon(conversation.outcome(input)).await.unwrap();
    assert_eq!(report.answer, "so be it");
    assert_eq!(class(&stage.ends()[0]), "timeout");
    assert_eq!(runtime.stopped.load(Ordering::SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn an_interrupt_while_a_program_computes_stops_it() {
    let runtime = Wild::default();
    let stage = wild(&runtime, "spins");
    let conversation = stage.world.open("s").await;
    let input = conversation.send(hello()).await.unwrap();
    while !runtime.computes.load(Ordering::SeqCst) {
        tokio::task::yield_now().await;
    }
    let stop = conversation.interrupt(InterruptSource::Person, me(), "enough", StopTiming::Now);
    stop.await.unwrap();
    let report = soon(conversation.outcome(input)).await.unwrap();
    assert!(matches!(report.outcome, TurnOutcome::Interrupted { .. }));
    let (_, seen) = stage.world.observation();
    assert_eq!(seen.status, ObservationStatus::Aborted);
    until(|| runtime.stopped.load(Ordering::SeqCst) == 1).await;
}

#[tokio::test(start_paused = true)]
async fn a_program_that_waits_for_a_call_takes_no_place_from_others() {
    let slow = ScriptedTool::new("slow", EffectClass::ReadOnly).stalls();
    let stage = stage([run("call slow {}"), run("return 1"), run("return 1")], [slow]);
    let first = stage.world.open("first").await;
    first.send(hello()).await.unwrap();
    until(|| stage.tools.running() == 1).await;
    for name in ["second", "third"] {
        let conversation = stage.world.open(name).await;
        let input = conversation.send(hello()).await.unwrap();
        let report = soon(conversation.outcome(input)).await.unwrap();
        assert_eq!(report.answer, "1");
    }
}

#[tokio::test(start_paused = true)]
async fn the_limits_of_the_settings_hold_and_the_ceiling_of_the_engine_over_them() {
    let look = || ScriptedTool::new("look", EffectClass::ReadOnly);
    let stage_of = |calls: u32, steps: u64| {
        let script = [run("loop 20\ncall look {}\nend"), say("so be it")];
        stage(script, [look()]).tuned(move |settings| {
            let program = settings.options.program.as_mut().unwrap();
            program.limits = ProgramLimits { calls, steps, ..ProgramLimits::default() };
        })
    };
    let stage = stage_of(1_000, 9);
    stage.world.turn().await;
    assert_eq!(class(&stage.ends()[0]), "fuel_exceeded");
    let stage = stage_of(3, 1_000);
    stage.world.turn().await;
    let ends = stage.ends();
    assert_eq!(stage.runs().len(), 3, "{ends:?}");
    assert!(matches!(&ends[0], ProgramEnd::Fault(_)), "{ends:?}");
    let mut stage = stage_of(1_000, 1_000);
    stage.world = stage.world.configured(|config| config.programs.steps = 9);
    stage.world.turn().await;
    assert_eq!(class(&stage.ends()[0]), "fuel_exceeded");
}

#[tokio::test(start_paused = true)]
async fn settings_whose_programs_cannot_be_run_here_are_refused() {
    let plain = World::of(FaultyStore::new(), Cast::new([], []));
    let conversation = plain.open("plain").await;
    for (what, tune) in [
        (
            "runtime other",
            (|program| program.runtime = "other".into())
                as fn(&mut windlass_engine::core::ProgramMode),
        ),
        ("data", |program| program.data = Some("[]".into())),
        ("limit steps", |program| program.limits.steps = 0),
        ("limit value_bytes", |program| program.limits.value_bytes = 0),
    ] {
        let stage = stage([], []).tuned(move |settings| {
            tune(settings.options.program.as_mut().unwrap());
        });
        let opened = stage.world.engine.open(&id("s"), &me(), stage.world.start()).await;
        let Err(StartError::Settings(why)) = opened.map(drop) else { panic!("{what}") };
        assert!(why.contains(what), "{why}");
        let windlass_engine::Start::Either(opening) = stage.world.start() else { panic!("{what}") };
        let changed = conversation
            .configure(opening.settings, me(), windlass_engine::core::Widening::Allowed)
            .await;
        assert!(matches!(changed, Err(SendError::Settings(_))), "{what}: {changed:?}");
    }
    let taken = ScriptedTool::new("run_program", EffectClass::ReadOnly);
    let stage = stage([call("run_program", serde_json::json!({}))], [taken]);
    let opened = stage.world.engine.open(&id("s"), &me(), stage.world.start()).await;
    assert!(matches!(opened.map(drop), Err(StartError::Settings(_))));
}

#[tokio::test(start_paused = true)]
async fn a_session_whose_runtime_is_not_here_is_left_as_it_is() {
    let slow = ScriptedTool::new("slow", EffectClass::ReadOnly).stalls();
    let stage = stage([run("call slow {}")], [slow]);
    let conversation = stage.world.open("s").await;
    conversation.send(hello()).await.unwrap();
    until(|| stage.tools.running() == 1).await;
    let next = stage.world.next_process().running(ProgramRuntimes::none());
    let recovered = next.engine.recover(&Tenants::All, 1).await.unwrap();
    let missing = vec!["the program runtime scripted".to_owned()];
    assert_eq!(recovered.missing, [(id("s"), missing)]);
}
