//! The failover drill: three processes of `windlass serve` on one store, fifty turns whose effects are in
//! flight, and nodes that are killed, paused past their lease, cut off from the store and drained; and a
//! store that is away for all of them, and then takes no writes, for longer than their leases.
//! Every turn settles once, each effect takes place at most once, and every client is told each fact
//! once, and no text twice as it streams.
//!
//! No assertion is about the clock of the machine: a fault strikes when enough calls wait, and is over when
//! others have gone on. How long that took is printed. That it is the lease and a second at most, the
//! engine's own tests hold it to, on a clock that stands still.
//!
//! The faults come in an order, to nodes and at moments that follow from a seed, which is printed;
//! `WINDLASS_DRILL_SEED` names another one.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "all of it is tests, which stop where they may"
)]

#[path = "../common/mod.rs"]
mod common;

mod effects;
mod faults;
mod fleet;
mod http;
mod judge;
mod model;
mod node;
mod proxy;
mod random;
mod sayer;
mod store;
mod watcher;
mod world;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use common::Place;
use effects::Effects;
use faults::Fault;
use fleet::Fleet;
use judge::Judge;
use model::Streams;
use node::Start;
use random::{Random, seed};
use sayer::SentInput;
use store::Store;
use world::World;

const NODES: usize = 3;
const SESSIONS: usize = 50;
/// Clients that watch; each session has one at least.
const WATCHERS: u64 = 60;
/// Inputs that are sent to nodes by chance at each fault.
const LETTERS: u64 = 8;
/// How many sessions have begun their call at a gate, at least, when a node is struck.
const ENOUGH: usize = 30;
/// How long all of it may take: by then it never comes to its end.
const BOUND: Duration = Duration::from_secs(540);

#[test]
fn every_turn_settles_once_on_postgres_whatever_happens_to_nodes() {
    drilled(Store::postgres());
}

#[test]
fn every_turn_settles_once_on_nats_whatever_happens_to_nodes() {
    drilled(Store::nats());
}

fn drilled(store: Option<Store>) {
    let Some(store) = store else { return };
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let drilling = async { tokio::time::timeout(BOUND, drill(&store)).await };
    let ended = runtime.unwrap().block_on(drilling);
    ended.expect("the drill does not come to its end");
}

async fn drill(store: &Store) {
    let (seed, began) = (seed(), Instant::now());
    println!("the drill on {}, seed {seed}", store.name);
    let mut random = Random::new(seed, 0);
    let faults = random.shuffled(Fault::ALL.to_vec());
    let (place, gates) = (Place::new(), faults.len());
    std::fs::create_dir(place.file("work")).unwrap();
    let effects = Effects::new(&place.file("work"), gates);
    let world = Arc::new(World::new(seed, effects));
    let streams = Streams::new(gates);
    let model = model::start(gates, &streams);
    let start = Start { place: &place, store, model: model.base_url() };
    let mut fleet = Fleet::new(start, world.clone(), NODES).await;

    let sessions = opened(&world).await;
    let mut watching = JoinSet::new();
    for which in 0..WATCHERS {
        let session = sessions[which as usize % SESSIONS].clone();
        watching.spawn(watcher::watch(world.clone(), session, 10_000 + which));
    }
    let mut saying = JoinSet::new();
    let mut mark = 0;
    for session in &sessions {
        let calls = gates * model::STEP;
        say(&mut saying, &world, session, "turn", calls, &mut mark);
    }
    world.all_show_text().await;
    streams.first.open();
    for (at, fault) in faults.into_iter().enumerate() {
        let gate = at + 1;
        let streaming = sessions.iter().filter(|session| model::streams_at(session, gate)).count();
        let most = SESSIONS - streaming;
        let least = (ENOUGH + random.below(SESSIONS - ENOUGH + 1)).min(most);
        let mut letters = Vec::new();
        for _ in 0..LETTERS {
            let delivery = *random.one(&["steer", "follow_up", "turn"]);
            letters.push((random.one(&sessions).clone(), delivery));
        }
        let meanwhile = || {
            for (session, delivery) in letters {
                say(&mut saying, &world, &session, delivery, 1, &mut mark);
            }
        };
        match fault {
            Fault::Node(blow) => {
                let struck = fleet.strike(blow, gate, &mut random, least, meanwhile);
                struck.await;
            }
            Fault::Store => fleet.outlast(gate, most, meanwhile).await,
        }
        streams.open(gate);
        world.effects.open(gate);
    }
    let said = saying.join_all().await;
    let ends = judge::at_rest(&world, &sessions).await;
    for said in &said {
        said.same_again(&world, &mut random).await;
    }
    world.ends.send_replace(Some(ends));
    let told = watching.join_all().await;
    let mut histories = BTreeMap::new();
    for session in &sessions {
        let history = judge::history(&world, &mut random, session).await;
        histories.insert(session.clone(), history);
    }
    fleet.end().await;
    assert_eq!(model.misses(), Vec::<String>::new());

    let url = store.url(store.server, "judge");
    let verified = place.run(&["verify", "--store", &url]);
    assert_eq!(verified.code, 0, "{}{}", verified.out, verified.err);
    let mut logs = BTreeMap::new();
    let opened = store.open().await;
    for session in &sessions {
        logs.insert(session.clone(), store::log(&*opened, session).await);
    }
    let judge = Judge { logs, histories, effects: &world.effects, said: &said, told: &told };
    // Of three calls one waits where a fault may strike. Of the two beside it half at least are done.
    let found = judge.judge(SESSIONS * gates);
    assert!(streams.cuts() > 0 && found.cut > 0, "no stream was cut: {found:?}");
    let connections: usize = told.iter().map(|told| told.connections).sum();
    println!(
        "{found:?}; {} streams to cut; {} clients on {connections} connections; {:.1} s",
        streams.cuts(),
        told.len(),
        began.elapsed().as_secs_f64()
    );
}

/// Opens the sessions, each at a node by chance.
async fn opened(world: &Arc<World>) -> Vec<String> {
    let mut opening = JoinSet::new();
    for which in 0..SESSIONS {
        let world = world.clone();
        opening.spawn(async move { sayer::open(&world, which).await });
    }
    opening.join_all().await
}

/// Says something worth so many calls to a session, beside all else.
fn say(
    saying: &mut JoinSet<SentInput>,
    world: &Arc<World>,
    session: &str,
    delivery: &'static str,
    calls: usize,
    mark: &mut u64,
) {
    *mark += 1;
    let (world, session, which) = (world.clone(), session.to_owned(), *mark);
    saying.spawn(async move { sayer::say(&world, &session, delivery, calls, which).await });
}
