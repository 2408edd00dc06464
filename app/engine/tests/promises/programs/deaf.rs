//! Deaf: a runtime that never heeds its signal. A thread cannot be ended from outside, so its program
//! ends without it, and nobody waits for it.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex};

use tokio::time::Instant;
use windlass_engine::core::{
    InterruptSource, ObservationStatus, ProgramEnd, ProgramFault, ProgramTransport, StopTiming,
    TurnOutcome,
};
use windlass_engine::ports::{
    PreparedProgram, ProgramAnswer, ProgramEnvironment, ProgramGuide, ProgramResult,
    ProgramRuntime, ProgramRuntimes, ProgramStep, RunningProgram,
};
use windlass_testkit::Errors;
use windlass_testkit::provider::{Step, say};

use super::{Stage, class, run, stage};
use crate::world::{hello, me, ms, soon};

/// A runtime of which some programs hang until the test lets go of them.
#[derive(Clone, Default)]
struct Deaf(Arc<Hangs>);

#[derive(Default)]
struct Hangs {
    begun: AtomicU32,
    over: Mutex<bool>,
    told: Condvar,
}

impl Deaf {
    fn hang(&self) {
        self.0.begun.fetch_add(1, Ordering::SeqCst);
        let over = self.0.over.lock().unwrap();
        drop(self.0.told.wait_while(over, |over| !*over).unwrap());
    }

    /// Waits until so many hang.
    async fn hanging(&self, count: u32) {
        while self.0.begun.load(Ordering::SeqCst) < count {
            tokio::task::yield_now().await;
        }
    }
}

/// Lets go of what hangs, also when a test fails: a runtime waits for its threads when it is dropped.
struct LetGo(Deaf);

impl LetGo {
    fn now(&self) {
        *self.0.0.over.lock().unwrap() = true;
        self.0.0.told.notify_all();
    }
}

impl Drop for LetGo {
    fn drop(&mut self) {
        self.now();
    }
}

struct Doing(String, Deaf);

impl ProgramRuntime for Deaf {
    fn name(&self) -> &'static str {
        "deaf"
    }

    fn guide(&self, _: &ProgramGuide) -> String {
        String::new()
    }

    fn extract(&self, answer: &str) -> Option<Result<String, ProgramFault>> {
        if answer == "hangs" {
            self.hang();
        }
        None
    }

    fn prepare(
        &self,
        source: &str,
        _: &ProgramEnvironment,
    ) -> Result<Box<dyn PreparedProgram>, ProgramFault> {
        if source == "hangs early" {
            self.hang();
        }
        Ok(Box::new(Doing(source.to_owned(), self.clone())))
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
        if self.0 == "hangs" {
            self.1.hang();
        }
        ProgramStep::Done(Box::new(ProgramResult {
            end: ProgramEnd::Return { value: "1".into() },
            prints: Vec::new(),
            retained: Vec::new(),
            alive: Vec::new(),
            defined: Vec::new(),
            steps: 1,
        }))
    }
}

/// An engine with one place, and a model that says this.
fn deaf(script: impl IntoIterator<Item = Step>) -> (Stage, Deaf, LetGo) {
    let runtime = Deaf::default();
    let mut stage = stage(script, []).tuned(|settings| {
        settings.options.program.as_mut().unwrap().runtime = "deaf".into();
    });
    let programs = ProgramRuntimes::none().with(Arc::new(runtime.clone()));
    stage.world = stage.world.running(programs).configured(|config| config.programs_at_once = 1);
    let let_go = LetGo(runtime.clone());
    (stage, runtime, let_go)
}

/// What comes, while time passes: it does not by itself while a thread computes. No program that ends
/// may compute meanwhile, since it would be raced by time.
pub(super) async fn passing<T>(future: impl Future<Output = T>) -> T {
    let mut future = std::pin::pin!(future);
    for _ in 0..100_000 {
        for _ in 0..50 {
            tokio::select! {
                biased;
                out = &mut future => return out,
                () = tokio::task::yield_now() => {}
            }
        }
        tokio::time::advance(ms(10)).await;
    }
    panic!("it does not come");
}

/// What the engine has said that a person must act on.
fn lost(errors: &Errors) -> usize {
    let said = errors.take();
    let lost = said.iter().filter(|error| error.contains("does not heed its stop signal"));
    assert_eq!(lost.count(), said.len(), "{said:?}");
    said.len()
}

#[tokio::test(start_paused = true)]
async fn a_program_that_hangs_ends_in_time_and_others_find_a_place() {
    let errors = Errors::catch();
    let script = [
        run("hangs"),
        say("so be it"),
        run("ends"),
        run("hangs early"),
        say("once more"),
        run("ends"),
        say("no place"),
    ];
    let (stage, runtime, let_go) = deaf(script);
    let asked = async |name: &str, hanging: u32| {
        let conversation = stage.world.open(name).await;
        let input = conversation.send(hello()).await.unwrap();
        runtime.hanging(hanging).await;
        let at = Instant::now();
        let report = passing(conversation.outcome(input)).await.unwrap();
        (report.answer, at.elapsed())
    };
    let ends = async |name: &str| {
        let conversation = stage.world.open(name).await;
        let input = conversation.send(hello()).await.unwrap();
        conversation.outcome(input).await.unwrap().answer
    };
    // The time of a call and its grace, and what time passes while the test looks.
    let bound = ms(5_000 + 700 + 100);
    let (answer, took) = asked("s", 1).await;
    assert_eq!((answer.as_str(), took <= bound), ("so be it", true), "{took:?}");
    assert_eq!(class(&stage.ends()[0]), "timeout");
    assert_eq!(lost(&errors), 1);
    assert_eq!(ends("second").await, "1", "another place stands for it");
    let (answer, took) = asked("third", 2).await;
    assert_eq!((answer.as_str(), took <= bound), ("once more", true), "{took:?}");
    assert_eq!(lost(&errors), 1);
    // As many places were lost as there are, and as many again: there is none any more.
    let (answer, took) = asked("fourth", 2).await;
    assert_eq!((answer.as_str(), took <= bound), ("no place", true), "{took:?}");
    let prompts = stage.provider.prompts();
    let told = format!("{:?}", prompts.last().unwrap().items.iter().last());
    assert!(told.contains("this process is to be restarted"), "{told}");
    // What hangs holds no shutdown up.
    let at = Instant::now();
    let left = passing(stage.world.engine.shutdown("the end")).await;
    assert_eq!(left, []);
    assert!(at.elapsed() <= ms(100), "{:?}", at.elapsed());
    assert_eq!(lost(&errors), 0);
    let_go.now();
}

#[tokio::test(start_paused = true)]
async fn what_ends_after_all_gives_its_place_back() {
    let errors = Errors::catch();
    let script = [run("hangs"), say("one"), run("hangs"), say("two"), run("ends")];
    let (stage, runtime, let_go) = deaf(script);
    for (name, hanging) in [("s", 1), ("second", 2)] {
        let conversation = stage.world.open(name).await;
        let input = conversation.send(hello()).await.unwrap();
        runtime.hanging(hanging).await;
        passing(conversation.outcome(input)).await.unwrap();
    }
    assert_eq!(lost(&errors), 2);
    let_go.now();
    let conversation = stage.world.open("third").await;
    let input = conversation.send(hello()).await.unwrap();
    let report = soon(conversation.outcome(input)).await.unwrap();
    assert_eq!(report.answer, "1");
    assert_eq!(lost(&errors), 0);
}

#[tokio::test(start_paused = true)]
async fn an_interrupt_and_a_shutdown_do_not_wait_for_a_program_that_hangs() {
    for shuts in [false, true] {
        let errors = Errors::catch();
        let (stage, runtime, _let_go) = deaf([run("hangs")]);
        let conversation = stage.world.open("s").await;
        let input = conversation.send(hello()).await.unwrap();
        runtime.hanging(1).await;
        let at = Instant::now();
        if shuts {
            assert_eq!(passing(stage.world.engine.shutdown("the end")).await, []);
        } else {
            let stop =
                conversation.interrupt(InterruptSource::Person, me(), "enough", StopTiming::Now);
            stop.await.unwrap();
        }
        let report = passing(conversation.outcome(input)).await.unwrap();
        assert!(matches!(report.outcome, TurnOutcome::Interrupted { .. }));
        assert!(at.elapsed() <= ms(100), "{:?}", at.elapsed());
        let (_, seen) = stage.world.observation();
        assert_eq!(seen.status, ObservationStatus::Aborted);
        // It still has its grace, and is told of after that.
        assert_eq!(lost(&errors), 0);
        passing(tokio::time::sleep(ms(710))).await;
        assert_eq!(lost(&errors), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_text_that_no_program_is_taken_out_of_in_time_is_told() {
    let errors = Errors::catch();
    let (stage, runtime, _let_go) = deaf([say("hangs"), say("so be it")]);
    let stage = stage.tuned(|settings| {
        let program = settings.options.program.as_mut().unwrap();
        program.runtime = "deaf".into();
        program.transport = ProgramTransport::Text;
    });
    let conversation = stage.world.open("s").await;
    let input = conversation.send(hello()).await.unwrap();
    runtime.hanging(1).await;
    let observed = async {
        while stage.observations().is_empty() {
            tokio::time::sleep(ms(100)).await;
        }
    };
    passing(observed).await;
    let report = conversation.outcome(input).await.unwrap();
    assert_eq!(report.answer, "so be it");
    assert_eq!(lost(&errors), 1);
    let (_, seen) = stage.world.observation();
    assert!(seen.output.contains("timeout"), "{}", seen.output);
}
