//! Delivery: the result of a detached agent while the store fails, and where its log is lost.

use std::sync::atomic::AtomicUsize;

use tokio::time::Instant;
use windlass_engine::core::Seq;
use windlass_engine::ports::{StoreErrorKind, Tenants};

use super::detached::results;
use super::*;

/// How the agent ended, if its log is gone.
const NO_LOG: &str = "There is no log of its session s.6 here: it may have done all of its work, a \
                      part of it or nothing.";

/// The whole text of a result, with how the agent ended.
fn framed(how: &str) -> String {
    format!(
        "<context from=\"agent scout\">\nNo user wrote this: it is the result of the agent scout, \
         which call @6 started. {how}\n</context>"
    )
}

/// A store that fails where this says so.
fn failing(
    faults: impl Fn(&FaultyStore, Operation) -> Vec<Fault> + Send + Sync + 'static,
) -> FaultyStore {
    let seen: Arc<OnceLock<FaultyStore>> = Arc::default();
    let mine = seen.clone();
    let store = FaultyStore::responding(move |operation, _| {
        mine.get().map_or_else(Vec::new, |store| faults(store, operation))
    });
    let _ = seen.set(store.clone());
    store
}

fn is_detached(store: &FaultyStore) -> bool {
    count(&store.log(&id("s")), "CallObserved") == 1
}

fn corrupt() -> StoreErrorKind {
    StoreErrorKind::Corrupt { after: Seq(1), offset: None }
}

/// A world whose agent works in the background, until the gate opens.
fn background(store: FaultyStore, gate: &Gate) -> World {
    let held = gate.clone();
    let (provider, _) = model(move |session, nth| match (session, nth) {
        ("s", 0) => send_out(),
        ("s", _) => say("started"),
        _ => say("a tree").end_after(&held),
    });
    world(store, provider, looks(), agent(&["look"], 4).with(|it| it.background = true), 9)
}

/// Sends the agent out, and waits until its turn has settled.
async fn sent_out(world: &World) {
    let conversation = world.open("s").await;
    conversation.send(hello()).await.unwrap();
    until(|| outcome(&world.store.log(&id("s"))).is_some()).await;
}

/// The only result that has entered the session.
async fn result(world: &World) -> String {
    until(|| !results(&world.store.log(&id("s"))).is_empty()).await;
    let mut results = results(&world.log());
    assert_eq!(results.len(), 1, "{results:?}");
    results.remove(0).1
}

#[tokio::test(start_paused = true)]
async fn a_result_outlasts_an_outage_of_the_store() {
    // No log can be read for a while after the agent was started.
    let since: Arc<OnceLock<Instant>> = Arc::default();
    let store = failing(move |store, operation| {
        let away = operation == Operation::Read
            && is_detached(store)
            && since.get_or_init(Instant::now).elapsed() < ms(60_000);
        match away {
            true => vec![Fault::Fail(StoreErrorKind::Unavailable)],
            false => Vec::new(),
        }
    });
    let gate = Gate::new();
    let world = background(store, &gate);
    sent_out(&world).await;
    gate.open();
    tokio::time::sleep(ms(50_000)).await;
    assert_eq!(results(&world.store.log(&id("s"))), []);
    let text = result(&world).await;
    assert!(text.contains("completed") && text.contains("a tree"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn a_log_that_cannot_be_read_any_more_is_the_result() {
    let store = failing(|store, operation| match operation {
        Operation::Read if is_detached(store) => vec![Fault::Fail(corrupt())],
        Operation::Claim
        | Operation::Release
        | Operation::Append
        | Operation::Read
        | Operation::Probe => Vec::new(),
    });
    let gate = Gate::new();
    let world = background(store, &gate);
    sent_out(&world).await;
    let text = result(&world).await;
    let why = "Its session s.6 cannot be followed here: the script says that the store fails: \
               Corrupt { after: Seq(1), offset: None }. It may have done all of its work, a part \
               of it or nothing.";
    assert_eq!(text, framed(why));
    until(|| !world.store.claimed(&id("s"))).await;
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_is_erased_while_it_works_has_no_log() {
    let gate = Gate::new();
    let world = background(FaultyStore::new(), &gate);
    sent_out(&world).await;
    soon(gate.reached()).await;
    world.store.lose(&id(CHILD));
    gate.open();
    let text = result(&world).await;
    assert_eq!(text, framed(NO_LOG));
}

#[tokio::test(start_paused = true)]
async fn an_agent_whose_log_was_left_behind_has_no_result() {
    let gate = Gate::new();
    let first = background(FaultyStore::new(), &gate);
    sent_out(&first).await;
    soon(gate.reached()).await;
    let second = first.next_process();
    second.store.lose(&id(CHILD));
    let recovered = second.engine.recover(&Tenants::All, 4).await.unwrap();
    assert_eq!(recovered.failed.len(), 0);
    let text = result(&second).await;
    assert_eq!(text, framed(NO_LOG));
}

#[tokio::test(start_paused = true)]
async fn an_agent_whose_process_ended_before_its_prompt_did_nothing() {
    // The prompt is not appended; what comes after it is.
    let (armed, stuck) = (Arc::new(AtomicBool::new(true)), Gate::new());
    let (once, held) = (armed.clone(), stuck.clone());
    let store = failing(move |store, operation| {
        let prompt = operation == Operation::Append
            && !store.log(&id(CHILD)).is_empty()
            && store.appending(&id(CHILD));
        match prompt && once.swap(false, Ordering::SeqCst) {
            true => vec![Fault::Wait(held.clone())],
            false => Vec::new(),
        }
    });
    let first = background(store, &Gate::new());
    let conversation = first.open("s").await;
    conversation.send(hello()).await.unwrap();
    soon(stuck.reached()).await;
    let stop = conversation.interrupt(InterruptSource::Person, me(), "enough", StopTiming::Now);
    stop.await.unwrap();
    let second = first.next_process();
    assert_eq!(count(&second.store.log(&id(CHILD)), "InputQueued"), 0);
    second.engine.recover(&Tenants::All, 4).await.unwrap();
    let text = result(&second).await;
    assert_eq!(text, framed("The agent did nothing: it received no prompt."));
}

#[tokio::test(start_paused = true)]
async fn a_parent_that_cannot_be_opened_is_not_tried_for_ever() {
    // The parent ends with a failed append, and is damaged then.
    let (broken, claims) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let (fails, counted) = (broken.clone(), claims.clone());
    let store = failing(move |store, operation| {
        let fails = fails.load(Ordering::SeqCst);
        match operation {
            Operation::Append if fails && store.appending(&id("s")) => {
                vec![Fault::Fail(StoreErrorKind::Io)]
            }
            Operation::Claim if fails => {
                counted.fetch_add(1, Ordering::SeqCst);
                vec![Fault::Fail(corrupt())]
            }
            Operation::Append
            | Operation::Claim
            | Operation::Release
            | Operation::Read
            | Operation::Probe => Vec::new(),
        }
    });
    let gate = Gate::new();
    let world = background(store, &gate);
    sent_out(&world).await;
    soon(gate.reached()).await;
    broken.store(true, Ordering::SeqCst);
    gate.open();
    until(|| claims.load(Ordering::SeqCst) > 1).await;
    tokio::time::sleep(ms(600_000)).await;
    let tried = claims.load(Ordering::SeqCst);
    tokio::time::sleep(ms(600_000)).await;
    assert_eq!(claims.load(Ordering::SeqCst), tried);
}
