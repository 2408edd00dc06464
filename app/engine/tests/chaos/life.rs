//! The lives of a world: processes that die, and a last one in which all is fair.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;
use windlass_engine::core::{Permissions, RequestOptions, Seq, SessionId, Settings, Timestamp};
use windlass_engine::ports::{NoBlobStore, Ports, ProgramRuntimes};
use windlass_engine::{Config, Engine, Event, EventStream, Start};
use windlass_testkit::Gate;
use windlass_testkit::programs::ScriptedRuntime;

use crate::clock::RuntimeClock;
use crate::tools::{ChaosTools, Counters};
use crate::user::me;
use crate::world::{Time, World, limits, pause};
use crate::{gates, model, moments, programs, tools, user};

/// How long anything may take: virtual, or as the machine goes.
const FAIR: Duration = Duration::from_secs(300);

/// On threads, a process that is to die lives for fewer draws of luck than this.
const DRAWS: u64 = 2_000;

/// Lives a few lives of chaos, then a fair one.
pub(crate) fn live(world: &World) {
    let counters = Counters::new();
    for _ in 0..=world.luck.below(3) {
        chaos(world, &counters);
    }
    world.fair.store(true, Ordering::SeqCst);
    let runtime = runtime(world.time);
    runtime.block_on(settle(world, engine(world, &counters)));
    for counter in [&counters.effectful, &counters.exclusive, &counters.idempotent] {
        assert_eq!(counter.repeated(), Vec::new(), "calls took effect twice");
    }
}

pub(crate) fn settings(world: &World) -> Settings {
    windlass_testkit::settings().with(|it| {
        it.instructions = "Be brief.".into();
        it.permissions = Permissions::Ask;
        it.hooks = gates::specs();
        it.tools = tools::specs();
        it.limits = limits(world.time);
        it.options =
            RequestOptions::default().with(|it| it.program = world.programs.map(programs::mode));
    })
}

fn runtime(time: Time) -> Runtime {
    match time {
        Time::Virtual => Builder::new_current_thread().enable_time().start_paused(true).build(),
        Time::Threads => Builder::new_multi_thread().worker_threads(3).enable_time().build(),
    }
    .unwrap()
}

/// The engine of a new process, over what the last one left.
fn engine(world: &World, counters: &Counters) -> Engine {
    let store = Arc::new(world.store.reopen());
    // The clock goes on from process to process. It is read once the store is reopened: threads of
    // the last process may still run, and what they appended until then is older.
    let began = Timestamp(world.now());
    let ports = Ports {
        provider: Arc::new(model::provider(world)),
        store,
        tools: Arc::new(ChaosTools::new(world, counters)),
        blobs: Arc::new(NoBlobStore),
        hooks: Arc::new(gates::ChaosHooks::new(world)),
        approver: Arc::new(gates::ChaosApprover::new(world)),
        clock: Arc::new(RuntimeClock::new(began, world.luck.draw())),
        programs: ProgramRuntimes::none().with(Arc::new(ScriptedRuntime)),
    };
    let shutdown_ms = match world.time {
        Time::Virtual => Config::default().shutdown_ms,
        // Longer than anything may take: that is what fails, and it says nothing about speed.
        Time::Threads => u64::try_from(FAIR.as_millis()).unwrap() * 2,
    };
    let config = Config::default().with(|it| {
        it.limits = limits(world.time);
        it.shutdown_ms = shutdown_ms;
        it.command_buffer = 2;
        // Small, so that a lazy subscriber lags and pages.
        it.event_buffer = 16;
        it.read_page = 7;
    });
    Engine::new(ports, config)
}

/// One process: its users live in it until it dies, or is shut down.
fn chaos(world: &World, counters: &Counters) {
    let runtime = runtime(world.time);
    let gentle = world.luck.percent(25);
    let doom = Doom::drawn(world);
    let passed = runtime.block_on(async {
        let at = tokio::time::Instant::now();
        let engine = engine(world, counters);
        let mut users = tokio::task::JoinSet::new();
        if world.time == Time::Virtual && world.luck.percent(60) {
            for id in &world.sessions {
                tokio::spawn(moments::watch(world.clone(), engine.clone(), id.clone()));
            }
        }
        for id in &world.sessions {
            for _ in 0..world.luck.below(3) {
                user::look_on(world, &engine, id);
            }
            if world.luck.percent(30) {
                tokio::spawn(moves(world.clone(), engine.clone(), id.clone()));
            }
            for _ in 0..=world.luck.below(2) {
                users.spawn(user::live(world.clone(), engine.clone(), id.clone()));
            }
        }
        let all = async { while users.join_next().await.is_some() {} };
        tokio::select! {
            left = timeout(FAIR, all) => assert!(left.is_ok(), "a user waits for ever"),
            () = doom.comes() => {}
        }
        if gentle && world.luck.percent(50) {
            let within = patience(world);
            let parted = timeout(FAIR, engine.hand_off(within, "the process ends")).await;
            assert!(parted.is_ok(), "the parting does not end");
            world.seen.parted.fetch_add(1, Ordering::SeqCst);
        } else if gentle {
            let left = timeout(FAIR, engine.shutdown("the process ends")).await;
            assert!(left.is_ok(), "the shutdown does not end");
        }
        at.elapsed()
    });
    // What runs is dropped where it stands.
    match world.time {
        Time::Virtual => {
            drop(runtime);
            assert!(world.seen.runs.none_left(), "something runs in a dead process");
        }
        Time::Threads => runtime.shutdown_background(),
    }
    world.seen.crashes.fetch_add(u64::from(!gentle), Ordering::SeqCst);
    world.seen.life.fetch_add(1, Ordering::SeqCst);
    let ms = u64::try_from(passed.as_millis()).unwrap() + 1;
    world.began.fetch_add(ms, Ordering::SeqCst);
}

/// How long what runs may go on in a process that parts, in milliseconds.
fn patience(world: &World) -> u64 {
    world.luck.below(match world.time {
        Time::Virtual => 1_000,
        Time::Threads => 5,
    })
}

/// Somebody moves a session now and then, though it comes back.
async fn moves(world: World, engine: Engine, id: SessionId) {
    for _ in 0..world.luck.below(5) {
        pause(world.time, 20 + world.luck.below(3_000)).await;
        let parted = engine.hand_off_session(&id, patience(&world), "it moves").await;
        let parted = parted.at_rest + parted.dropped.len();
        world.seen.parted.fetch_add(parted as u64, Ordering::SeqCst);
    }
}

/// What a process dies of.
enum Doom {
    /// So many milliseconds of virtual time.
    Time(u64),
    /// What happens in it: so many draws, or a tool that takes it along.
    Draws(Gate),
    /// Nothing: it lasts until nobody wants anything more. Then nobody may be left waiting for
    /// something that does not come.
    Nothing,
}

impl Doom {
    fn drawn(world: &World) -> Self {
        let luck = &world.luck;
        luck.no_gate();
        match (world.time, luck.below(100)) {
            (Time::Virtual, 0..70) => Self::Time(luck.below(6_000)),
            (Time::Threads, 0..70) => Self::Draws(luck.gate_after(luck.below(DRAWS))),
            (Time::Threads, 70..85) => Self::Draws(luck.gate_after(u64::MAX)),
            (Time::Virtual | Time::Threads, _) => Self::Nothing,
        }
    }

    /// Waits for it.
    async fn comes(self) {
        match self {
            Self::Time(ms) => pause(Time::Virtual, ms).await,
            Self::Draws(gate) => gate.pass().await,
            Self::Nothing => std::future::pending().await,
        }
    }
}

/// Everything that waits is gone on with, until each session is at rest.
async fn settle(world: &World, engine: Engine) {
    let mut watches = Vec::new();
    for id in &world.sessions {
        if world.store.log(id).is_empty() {
            continue;
        }
        watches.push(engine.subscribe(id, &me(), Some(Seq::ZERO)));
        let settled = timeout(FAIR, settle_one(world, &engine, id)).await;
        assert!(settled.is_ok(), "session {id} does not settle in a fair world");
    }
    let left = timeout(FAIR, engine.shutdown("done")).await;
    assert_eq!(left.ok(), Some(Vec::new()), "a fair shutdown leaves sessions");
    for id in &world.sessions {
        assert!(!world.store.claimed(id), "session {id} is not let go");
    }
    for watch in watches {
        let all = timeout(FAIR, sees_all(world, watch)).await;
        assert!(all.is_ok(), "a watch does not come to the end of its log");
    }
}

/// Whoever looks on from the beginning sees each fact once, to the end.
async fn sees_all(world: &World, mut watch: EventStream) {
    let log = world.store.log(watch.id());
    let mut seen = Vec::new();
    while seen.len() < log.len() {
        if let Event::Fact(fact) = watch.next().await.unwrap() {
            seen.push((**fact).clone());
        }
    }
    assert_eq!(seen, log, "what a watch of {} saw is its log", watch.id());
}

async fn settle_one(world: &World, engine: &Engine, id: &SessionId) {
    let conversation = engine.open(id, &me(), Start::Existing).await.unwrap();
    loop {
        let state = conversation.state().await.unwrap();
        match state.turn() {
            Some(turn) => {
                // A turn is known before it is durable; then there is nothing to wait on yet.
                conversation.flush().await.unwrap();
                conversation.outcome(turn.id).await.unwrap();
            }
            None if state.queue.is_empty() => break,
            None => {
                // It may have gone on by itself meanwhile.
                let _ = conversation.resume().await;
            }
        }
    }
    let last = conversation.flush().await.unwrap();
    let state = conversation.state().await.unwrap();
    let log = world.store.log(id);
    assert_eq!(log.len() as u64, last.0, "all that is decided is in the log");
    let (folded, _) = windlass_testkit::laws::law_01_live_equals_fold::fold(&log).unwrap();
    assert_eq!(folded, state, "the live state of {id} is not the fold of its log");
}
