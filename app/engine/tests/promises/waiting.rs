//! Inputs that wait while nobody drives their session: a change is recorded, and starts nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use windlass_engine::core::{Fact, InputId, Reject, Scope, Seq, Timestamp};
use windlass_engine::ports::StoreErrorKind;
use windlass_engine::{
    ChangeError, ChangeRequest, InputChange, StartError, change_input, load, waiting_inputs,
};
use windlass_testkit::faulty::{Fault, FaultyStore, Operation};
use windlass_testkit::provider::say;

use crate::world::{Cast, World, id, me};

/// The input that a fork of this session holds.
const INPUT: InputId = InputId(2);

fn request(session: &str, change: InputChange) -> ChangeRequest {
    let now = Timestamp(1_000);
    ChangeRequest { session: id(session), input: INPUT, change, scope: me(), now }
}

fn edit(text: &str) -> InputChange {
    InputChange::Edit { text: text.to_owned() }
}

/// A world with a fork, `f`, in which an input waits.
async fn held() -> World {
    held_in(FaultyStore::new()).await
}

async fn held_in(store: FaultyStore) -> World {
    let world = World::of(store, Cast::new([say("one")], []));
    world.turn().await;
    world.engine.fork(&id("s"), Seq(2), &id("f"), &me()).await.unwrap();
    world
}

#[tokio::test(start_paused = true)]
async fn a_change_is_the_only_fact_that_is_added() {
    let world = held().await;
    let before = world.store.log(&id("f")).len();
    assert!(change_input(&world.store, &request("f", edit("other"))).await.unwrap());
    assert!(!change_input(&world.store, &request("f", edit("other"))).await.unwrap());
    let log = world.store.log(&id("f"));
    assert_eq!(log.len(), before + 1);
    assert!(matches!(&log[before].fact, Fact::InputEdited(_)), "{log:?}");
    let loaded = load(&world.store, &id("f"), 100).await.unwrap();
    let waiting = waiting_inputs(&loaded.session, &loaded.history);
    assert_eq!(waiting.iter().map(|one| &*one.text).collect::<Vec<_>>(), ["other"]);
    assert!(!world.store.claimed(&id("f")));
}

#[tokio::test(start_paused = true)]
async fn what_is_not_there_is_not_changed() {
    let world = held().await;
    let unknown = change_input(&world.store, &request("none", InputChange::Withdraw)).await;
    assert!(matches!(unknown, Err(ChangeError::Start(_))), "{unknown:?}");
    assert!(world.store.log(&id("none")).is_empty() && !world.store.claimed(&id("none")));
    let tenant = |tenant: &str| Scope::Principal {
        tenant: tenant.into(),
        principal: "tester".into(),
        claims: std::collections::BTreeMap::new(),
    };
    let stranger = ChangeRequest { scope: tenant("other"), ..request("f", InputChange::Withdraw) };
    let unseen = change_input(&world.store, &stranger).await;
    assert!(matches!(unseen, Err(ChangeError::Start(StartError::Unknown(_)))), "{unseen:?}");
    let accepted = change_input(&world.store, &request("s", InputChange::Withdraw)).await;
    let refused = Reject::InputNotWaiting(INPUT);
    assert!(
        matches!(&accepted, Err(ChangeError::Rejected(why)) if *why == refused),
        "{accepted:?}"
    );
    assert!(!world.store.claimed(&id("f")) && !world.store.claimed(&id("s")));
}

#[tokio::test(start_paused = true)]
async fn a_change_that_the_store_does_not_take_leaves_the_session_free() {
    let full = Arc::new(AtomicBool::new(false));
    let is_full = full.clone();
    let store = FaultyStore::responding(move |operation, _| {
        let fails = operation == Operation::Append && is_full.load(Ordering::SeqCst);
        fails.then_some(Fault::Fail(StoreErrorKind::Full)).into_iter().collect()
    });
    let world = held_in(store).await;
    full.store(true, Ordering::SeqCst);
    let failed = change_input(&world.store, &request("f", edit("other"))).await;
    assert!(matches!(failed, Err(ChangeError::Store(_))), "{failed:?}");
    assert!(!world.store.claimed(&id("f")));
    full.store(false, Ordering::SeqCst);
    assert!(change_input(&world.store, &request("f", edit("other"))).await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn a_change_is_made_also_if_the_session_is_not_released() {
    let away = Arc::new(AtomicBool::new(false));
    let is_away = away.clone();
    let store = FaultyStore::responding(move |operation, _| {
        let fails = operation == Operation::Release && is_away.load(Ordering::SeqCst);
        fails.then_some(Fault::Fail(StoreErrorKind::Unavailable)).into_iter().collect()
    });
    let world = held_in(store).await;
    away.store(true, Ordering::SeqCst);
    let changed = change_input(&world.store, &request("f", edit("other"))).await;
    assert!(matches!(changed, Ok(true)), "{changed:?}");
}
