//! Fairness: programs that compute for long leave room for others, of their tenant and of another.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use tokio::time::{Instant, advance};
use windlass_engine::core::{EffectClass, Fact, ProgramEnd, ProgramFault, PromptItem, Scope};
use windlass_engine::ports::{
    ProgramAnswer, ProgramCall, ProgramEnvironment, ProgramStep, RunningProgram,
};
use windlass_engine::{NewInput, SessionHandle, Start, TurnReport};
use windlass_testkit::faulty::FaultyStore;
use windlass_testkit::provider::ScriptedProvider;
use windlass_testkit::tools::{CounterTool, ScriptedTools};

use super::runtimes::{Ready, ended, preparing};
use super::{Stage, mode, run};
use crate::world::{Cast, World, id, me, ms, soon};

/// A runtime of two programs, each with a name: `heavy NAME` calls `pay`, and then computes until the
/// test lets it end; `light NAME` returns.
#[derive(Clone, Default)]
struct Weights(Arc<Seen>);

#[derive(Default)]
struct Seen {
    /// The names, each time that a program computes.
    begun: Mutex<Vec<String>>,
    computing: AtomicUsize,
    over: AtomicBool,
}

impl Weights {
    fn begun(&self) -> Vec<String> {
        self.0.begun.lock().unwrap().clone()
    }

    fn computing(&self) -> usize {
        self.0.computing.load(Ordering::SeqCst)
    }
}

/// Ends what computes, also when a test fails: a runtime waits for its threads when it is dropped.
struct LetGo(Weights);

impl Drop for LetGo {
    fn drop(&mut self) {
        self.0.0.over.store(true, Ordering::SeqCst);
    }
}

struct Doing {
    does: String,
    world: ProgramEnvironment,
    weights: Weights,
}

impl RunningProgram for Doing {
    fn resume(&mut self, answers: Vec<ProgramAnswer>) -> ProgramStep {
        let (weight, name) = self.does.split_once(' ').unwrap();
        if weight == "heavy" && answers.is_empty() {
            let call = ProgramCall { name: "pay".into(), arguments: "{}".to_owned() };
            return ProgramStep::Calls(vec![call]);
        }
        let seen = &self.weights.0;
        seen.computing.fetch_add(1, Ordering::SeqCst);
        seen.begun.lock().unwrap().push(name.to_owned());
        let stopped = || self.world.cancel.is_cancelled();
        while weight == "heavy" && !seen.over.load(Ordering::SeqCst) && !stopped() {
            std::thread::yield_now();
        }
        seen.computing.fetch_sub(1, Ordering::SeqCst);
        let end = match stopped() {
            true => ProgramEnd::Fault(ProgramFault::new(ProgramFault::STOPPED, "stopped")),
            false => ProgramEnd::Return { value: "1".into() },
        };
        ended(end)
    }
}

/// A stage with two places, whose models write the programs that they are told.
fn weighing(weights: &Weights, pay: &CounterTool) -> Stage {
    let provider = ScriptedProvider::responding(|request| {
        let said = request.prompt.items.iter().find_map(|item| match item {
            PromptItem::User { text } => Some(text.to_string()),
            _ => None,
        });
        run(&said.unwrap())
    });
    let tools = ScriptedTools::new([pay.tool()]);
    let cast = Cast {
        provider: Arc::new(provider.clone()),
        tools: Arc::new(tools.clone()),
        ..Cast::new([], [])
    };
    let world = World::of(FaultyStore::new(), cast).tuned(mode);
    let weights = weights.clone();
    let world = world.running(preparing(move |source, world| {
        let (does, world, weights) = (source.to_owned(), world.clone(), weights.clone());
        Ok(Box::new(Ready(move || Ok(Doing { does, world, weights }))))
    }));
    let world = world.configured(|config| config.programs_at_once = 2);
    Stage { world, provider, tools }
}

type Turn = (SessionHandle, windlass_engine::core::InputId);

/// Has a session of this name run a program, and waits until its turn at a place has begun.
async fn starts(stage: &Stage, scope: &Scope, weight: &str, name: &str) -> Turn {
    let Start::Either(mut opening) = stage.world.start() else { panic!() };
    opening.owner = scope.clone();
    let opened = stage.world.engine.open(&id(name), scope, Start::New(opening)).await;
    let conversation = opened.unwrap();
    let input = NewInput::new(scope.clone(), format!("{weight} {name}"));
    let turn = conversation.send(input).await.unwrap();
    let started = |fact: &Fact| matches!(fact, Fact::CallStarted(_));
    while !stage.world.store.log(&id(name)).iter().any(|one| started(&one.fact)) {
        tokio::task::yield_now().await;
    }
    (conversation, turn)
}

async fn ends((conversation, turn): Turn) -> TurnReport {
    soon(conversation.outcome(turn)).await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn many_heavy_programs_of_a_tenant_hold_up_no_light_one() {
    const HEAVY: usize = 12;
    let (weights, pay) = (Weights::default(), CounterTool::new("pay", EffectClass::Effectful));
    let let_go = LetGo(weights.clone());
    let stage = weighing(&weights, &pay);
    let other = Scope::Principal {
        tenant: "other".into(),
        principal: "ann".into(),
        claims: Default::default(),
    };
    let mut heavy = Vec::new();
    for n in 0..HEAVY {
        heavy.push(starts(&stage, &me(), "heavy", &format!("h{n}")).await);
    }
    while weights.computing() < 2 {
        tokio::task::yield_now().await;
    }
    // A slice later the next program has a place.
    let next = async || {
        let before = weights.begun().len();
        advance(ms(100)).await;
        // Threads of programs ask for a place in real time, perhaps only after the slice.
        while weights.begun().len() == before {
            std::thread::sleep(ms(1));
            advance(ms(1)).await;
        }
    };
    // Another tenant's program overtakes all but a few of those that wait.
    let light = starts(&stage, &other, "light", "other").await;
    (0..1_000).for_each(|_| std::thread::yield_now());
    while !weights.begun().iter().any(|name| name == "other") {
        next().await;
    }
    assert_eq!(ends(light).await.answer, "1");
    let before = weights.begun().iter().position(|name| name == "other").unwrap();
    assert!(before <= 5, "{:?}", weights.begun());
    // All have had a slice. One of them goes on, and the others wait.
    while weights.begun().into_iter().collect::<BTreeSet<_>>().len() < HEAVY + 1 {
        next().await;
    }
    advance(ms(100)).await;
    while weights.computing() > 1 {
        std::thread::sleep(ms(1));
        advance(ms(1)).await;
    }
    // A light program of the same tenant finds a place at once.
    let at = Instant::now();
    for n in 0..3 {
        let light = starts(&stage, &me(), "light", &format!("l{n}")).await;
        assert_eq!(ends(light).await.answer, "1");
    }
    assert_eq!((at.elapsed(), weights.computing()), (ms(0), 1));
    drop(let_go);
    for turn in heavy {
        assert_eq!(ends(turn).await.answer, "1");
    }
    assert_eq!((pay.total(), pay.repeated()), (HEAVY as u32, vec![]));
}
