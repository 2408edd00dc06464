//! Waiting: a program that waits for long holds no memory, and goes on from its record.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use windlass_engine::core::{EffectClass, Permissions, ProgramFault, TurnOutcome};
use windlass_engine::ports::{
    Approval, ApprovalRequest, Approver, ApproverError, PreparedProgram, ProgramAnswer,
    ProgramEnvironment, ProgramGuide, ProgramRuntime, ProgramRuntimes, ProgramStep, RunningProgram,
};
use windlass_testkit::approver::{ScriptedApprover, allow};
use windlass_testkit::programs::{SCRIPTED, ScriptedRuntime};
use windlass_testkit::tools::CounterTool;

use super::{Stage, acting, returned, run};
use crate::world::{hello, ms, soon, until};

/// The scripted runtime, each run of which holds 2 MiB, with the number of runs that are there.
#[derive(Clone, Default)]
struct Heavy(Arc<Runs>);

#[derive(Default)]
struct Runs {
    live: AtomicUsize,
    begun: AtomicUsize,
}

struct Prepared(Box<dyn PreparedProgram>, Heavy);

struct Running {
    run: Box<dyn RunningProgram>,
    heavy: Heavy,
    _heap: Vec<u8>,
}

impl Heavy {
    fn live(&self) -> usize {
        self.0.live.load(Ordering::SeqCst)
    }

    fn begun(&self) -> usize {
        self.0.begun.load(Ordering::SeqCst)
    }
}

impl ProgramRuntime for Heavy {
    fn name(&self) -> &'static str {
        SCRIPTED
    }

    fn guide(&self, guide: &ProgramGuide) -> String {
        ScriptedRuntime.guide(guide)
    }

    fn extract(&self, answer: &str) -> Option<Result<String, ProgramFault>> {
        ScriptedRuntime.extract(answer)
    }

    fn prepare(
        &self,
        source: &str,
        world: &ProgramEnvironment,
    ) -> Result<Box<dyn PreparedProgram>, ProgramFault> {
        let prepared = ScriptedRuntime.prepare(source, world)?;
        Ok(Box::new(Prepared(prepared, self.clone())))
    }
}

impl PreparedProgram for Prepared {
    fn repairs(&self) -> Vec<String> {
        self.0.repairs()
    }

    fn start(self: Box<Self>) -> Result<Box<dyn RunningProgram>, ProgramFault> {
        let Self(prepared, heavy) = *self;
        let run = prepared.start()?;
        heavy.0.live.fetch_add(1, Ordering::SeqCst);
        heavy.0.begun.fetch_add(1, Ordering::SeqCst);
        Ok(Box::new(Running { run, heavy, _heap: vec![1; 2 << 20] }))
    }
}

impl RunningProgram for Running {
    fn resume(&mut self, answers: Vec<ProgramAnswer>) -> ProgramStep {
        self.run.resume(answers)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.heavy.0.live.fetch_sub(1, Ordering::SeqCst);
    }
}

/// The same stage, whose programs are run by this runtime.
fn heavy(stage: Stage, runtime: &Heavy) -> Stage {
    let runtimes = ProgramRuntimes::none().with(Arc::new(runtime.clone()));
    Stage { world: stage.world.running(runtimes), ..stage }
}

#[tokio::test(start_paused = true)]
async fn programs_that_wait_for_people_let_go_of_their_memory_and_repeat_nothing() {
    const MANY: usize = 100;
    let (runtime, approver) = (Heavy::default(), ScriptedApprover::holding());
    let pay = CounterTool::new("pay", EffectClass::Effectful);
    let source = "call pay {\"n\":1}\nlet a = $LAST\ncall pay {\"n\":2}\nreturn \"both\"";
    let script = (0..MANY).map(|_| run(source));
    let stage = acting(script, [pay.tool()], |cast| cast.approver(approver.clone()));
    let stage = stage.tuned(|settings| settings.permissions = Permissions::Ask);
    let stage = heavy(stage, &runtime);
    let mut turns = Vec::new();
    for n in 0..MANY {
        let conversation = stage.world.open(&format!("s{n}")).await;
        let input = conversation.send(hello()).await.unwrap();
        turns.push((conversation, input));
    }
    for round in 1..=2 {
        until(|| approver.questions().len() == round * MANY).await;
        assert_eq!(runtime.live(), MANY, "an answer that comes soon finds the run");
        tokio::time::sleep(ms(5_100)).await;
        until(|| runtime.live() == 0).await;
        (0..MANY).for_each(|n| approver.answer((round - 1) * MANY + n, allow()));
    }
    for (conversation, input) in turns {
        let report = soon(conversation.outcome(input)).await.unwrap();
        assert_eq!((report.outcome, report.answer.as_str()), (TurnOutcome::Completed, "\"both\""));
    }
    assert_eq!((pay.total(), pay.repeated()), (2 * MANY as u32, vec![]));
    assert_eq!(runtime.begun(), 3 * MANY);
    until(|| runtime.live() == 0).await;
}

/// A person who allows everything, after 3 s.
struct Slow;

#[async_trait]
impl Approver for Slow {
    async fn ask(&self, _: ApprovalRequest) -> Result<Approval, ApproverError> {
        tokio::time::sleep(ms(3_000)).await;
        Ok(allow())
    }
}

#[tokio::test(start_paused = true)]
async fn how_long_a_run_is_held_changes_nothing_else() {
    let mut logs = Vec::new();
    // The time begins again with each call.
    for (idle_ms, begun) in [(0, 4), (2_000, 4), (5_000, 1), (600_000, 1)] {
        let runtime = Heavy::default();
        let pay = CounterTool::new("pay", EffectClass::Effectful);
        let source = "loop 3\ncall pay {}\nend\nreturn $LAST";
        let stage = acting([run(source)], [pay.tool()], |cast| cast.approver(Slow));
        let stage = stage.tuned(|settings| settings.permissions = Permissions::Ask);
        let mut stage = heavy(stage, &runtime);
        stage.world = stage.world.configured(|config| config.program_idle_ms = idle_ms);
        stage.world.turn().await;
        assert_eq!(stage.ends(), [returned("3")], "{idle_ms}");
        assert_eq!((pay.total(), runtime.begun()), (3, begun), "{idle_ms}");
        logs.push(stage.world.kinds());
    }
    assert!(logs.windows(2).all(|two| two[0] == two[1]), "{logs:?}");
}
