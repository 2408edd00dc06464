//! Waiting: a program that waits for long holds no memory, and goes on from its record.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use windlass_engine::core::{EffectClass, Permissions, TurnOutcome};
use windlass_engine::ports::{
    Approval, ApprovalRequest, Approver, ApproverError, ProgramAnswer, ProgramRuntime, ProgramStep,
    RunningProgram,
};
use windlass_testkit::approver::{ScriptedApprover, allow};
use windlass_testkit::programs::ScriptedRuntime;
use windlass_testkit::tools::CounterTool;

use super::runtimes::{Ready, preparing};
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

    fn begin(self, run: Box<dyn RunningProgram>) -> Running {
        self.0.live.fetch_add(1, Ordering::SeqCst);
        self.0.begun.fetch_add(1, Ordering::SeqCst);
        Running { run, heavy: self, _heap: vec![1; 2 << 20] }
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
    let heavy = runtime.clone();
    let runtimes = preparing(move |source, world| {
        let (prepared, heavy) = (ScriptedRuntime.prepare(source, world)?, heavy.clone());
        Ok(Box::new(Ready(move || Ok(heavy.begin(prepared.start()?)))))
    });
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
