//! The lives of a world: processes that die, and a last one in which all is fair.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;
use windlass::core::{Mode, Permissions, RequestOptions, SessionId, Settings, Timestamp, Window};
use windlass::ports::{NoBlobs, Ports};
use windlass::{Config, Engine, Start};

use crate::clock::RuntimeClock;
use crate::tools::{ChaosTools, Counters};
use crate::world::{Time, World, limits, pause};
use crate::{gates, model, moments, tools, user};

/// How long anything may take: virtual, or as the machine goes.
const FAIR: Duration = Duration::from_secs(300);

/// Lives a few lives of chaos, then a fair one.
pub(crate) fn live(world: &World) {
    let counters = Counters::new();
    for _ in 0..=world.luck.below(3) {
        chaos(world, &counters);
    }
    world.fair.store(true, Ordering::SeqCst);
    let runtime = runtime(world.time);
    runtime.block_on(settle(world, engine(world, &counters)));
    for counter in [
        &counters.effectful,
        &counters.exclusive,
        &counters.idempotent,
    ] {
        assert_eq!(counter.repeated(), Vec::new(), "calls took effect twice");
    }
}

pub(crate) fn settings(time: Time) -> Settings {
    Settings {
        provider: "scripted".into(),
        model: "m".into(),
        instructions: "Be brief.".into(),
        mode: Mode::Build,
        permissions: Permissions::Ask,
        rules: Vec::new(),
        hooks: gates::specs(),
        window: Window::default(),
        price: None,
        tools: tools::specs(),
        limits: limits(time),
        max_output_tokens: None,
        effort: None,
        redaction: None,
        base_url: None,
        options: RequestOptions::default(),
    }
}

fn runtime(time: Time) -> Runtime {
    match time {
        Time::Virtual => Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build(),
        Time::Threads => Builder::new_multi_thread()
            .worker_threads(3)
            .enable_time()
            .build(),
    }
    .unwrap()
}

/// The engine of a new process, over what the last one left.
fn engine(world: &World, counters: &Counters) -> Engine {
    // The clock goes on from process to process.
    let began = Timestamp(world.began.load(Ordering::SeqCst));
    let ports = Ports {
        provider: Arc::new(model::provider(world)),
        store: Arc::new(world.store.reopen()),
        tools: Arc::new(ChaosTools::new(world, counters)),
        blobs: Arc::new(NoBlobs),
        hooks: Arc::new(gates::ChaosHooks::new(world)),
        approver: Arc::new(gates::ChaosApprover::new(world)),
        clock: Arc::new(RuntimeClock::new(began, world.luck.draw())),
    };
    let config = Config {
        limits: limits(world.time),
        mailbox: 2,
        // Small, so that a lazy subscriber lags and pages.
        events: 16,
        page: 7,
        ..Config::default()
    };
    Engine::new(ports, config)
}

/// One process: its users live in it until it dies, or is shut down.
fn chaos(world: &World, counters: &Counters) {
    let runtime = runtime(world.time);
    let dies_after = world.luck.below(6_000);
    let gentle = world.luck.percent(25);
    // Of the other lives, some last until nobody wants anything more: then nobody may be left
    // waiting for something that does not come.
    let dies = world.luck.percent(70);
    let began = std::time::Instant::now();
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
            for _ in 0..=world.luck.below(2) {
                users.spawn(user::live(world.clone(), engine.clone(), id.clone()));
            }
        }
        let all = async { while users.join_next().await.is_some() {} };
        tokio::select! {
            left = timeout(FAIR, all) => assert!(left.is_ok(), "a user waits for ever"),
            () = death(world.time, dies_after), if dies => {}
        }
        if gentle {
            let left = timeout(FAIR, engine.shutdown("the process ends")).await;
            assert!(left.is_ok(), "the shutdown does not end");
        }
        at.elapsed()
    });
    // What runs is dropped where it stands.
    match world.time {
        Time::Virtual => {
            drop(runtime);
            assert!(
                world.seen.runs.none_left(),
                "something runs in a dead process"
            );
        }
        Time::Threads => runtime.shutdown_background(),
    }
    world
        .seen
        .crashes
        .fetch_add(u64::from(!gentle), Ordering::SeqCst);
    world.seen.life.fetch_add(1, Ordering::SeqCst);
    let passed = passed.max(began.elapsed());
    let ms = u64::try_from(passed.as_millis()).unwrap() + 1;
    world.began.fetch_add(ms, Ordering::SeqCst);
}

async fn death(time: Time, ms: u64) {
    match time {
        Time::Virtual => pause(time, ms).await,
        Time::Threads => {
            for _ in 0..ms * 8 {
                tokio::task::yield_now().await;
            }
        }
    }
}

/// Everything that waits is gone on with, until each session is at rest.
async fn settle(world: &World, engine: Engine) {
    for id in &world.sessions {
        if world.store.log(id).is_empty() {
            continue;
        }
        let settled = timeout(FAIR, settle_one(world, &engine, id)).await;
        assert!(
            settled.is_ok(),
            "session {id} does not settle in a fair world"
        );
    }
    let left = timeout(FAIR, engine.shutdown("done")).await;
    assert_eq!(
        left.ok(),
        Some(Vec::new()),
        "a fair shutdown leaves sessions"
    );
    for id in &world.sessions {
        assert!(!world.store.claimed(id), "session {id} is not let go");
    }
}

async fn settle_one(world: &World, engine: &Engine, id: &SessionId) {
    let conversation = engine.open(id, &user::me(), Start::Existing).await.unwrap();
    loop {
        let state = conversation.state().await.unwrap();
        match state.turn() {
            Some(turn) => {
                // A turn is known before it is durable; then there is nothing to wait on yet.
                conversation.flush().await.unwrap();
                conversation.await_turn(turn.id).await.unwrap();
            }
            None if state.queue.is_empty() => break,
            None => {
                // It may have gone on by itself meanwhile.
                let _ = conversation.go_on().await;
            }
        }
    }
    let last = conversation.flush().await.unwrap();
    let state = conversation.state().await.unwrap();
    let log = world.store.log(id);
    assert_eq!(
        log.len() as u64,
        last.0,
        "all that is decided is in the log"
    );
    let (folded, _) = windlass_testkit::laws::law_01_live_equals_fold::fold(&log).unwrap();
    assert_eq!(
        folded, state,
        "the live state of {id} is not the fold of its log"
    );
}
