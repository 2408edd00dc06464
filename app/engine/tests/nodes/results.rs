//! Results of detached agents between nodes: each enters the session of its caller once, also while
//! a node hangs.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use windlass_engine::core::{AgentSpec, Fact, RecordedFact};
use windlass_engine::ports::StoreErrorKind;
use windlass_testkit::Gate;
use windlass_testkit::faulty::{Fault, FaultyStore, Operation};
use windlass_testkit::provider::say;

use crate::agents::{child, count, fleet_over, scout, sends_out_as};
use crate::fleet::{Fleet, id, said, soon, until};

fn background() -> AgentSpec {
    scout().with(|it| it.background = true)
}

/// The results that have entered session `s`.
fn results(log: &[RecordedFact]) -> Vec<String> {
    let texts = log.iter().filter_map(|one| match &one.fact {
        Fact::InputQueued(fact) if fact.result_of.is_some() => Some(fact.text.to_string()),
        _ => None,
    });
    texts.collect()
}

fn parent(fleet: &Fleet) -> Vec<RecordedFact> {
    fleet.logs.log(&id("s"))
}

#[tokio::test(start_paused = true)]
async fn an_agent_whose_prompt_waits_for_a_node_is_waited_for() {
    let fleet = fleet_over(FaultyStore::new(), || say("written"));
    let one = fleet.member_of(1);
    let _conversation = sends_out_as(&fleet, &one, background()).await;
    until(|| count(&parent(&fleet), "CallObserved") == 1).await;
    tokio::time::sleep(Duration::from_secs(300)).await;
    assert_eq!(count(&child(&fleet), "InputQueued"), 0, "no node has room for it");
    assert_eq!(results(&parent(&fleet)), <[String; 0]>::default());
    let _other = fleet.keeper();
    until(|| results(&parent(&fleet)).len() == 1).await;
    let text = results(&fleet.log()).remove(0);
    assert!(text.contains("written"), "{text}");
}

/// How appends to session `s` fail: not at all, once, or by waiting.
const WHOLE: u8 = 0;
const FAILS: u8 = 1;
const HANGS: u8 = 2;

#[tokio::test(start_paused = true)]
async fn a_result_is_stored_once_for_a_node_that_hangs() {
    let (state, hung) = (Arc::new(AtomicU8::new(WHOLE)), Gate::new());
    let seen: Arc<OnceLock<FaultyStore>> = Arc::default();
    let (mine, now, held) = (seen.clone(), state.clone(), hung.clone());
    let logs = FaultyStore::responding(move |operation, _| {
        let parent = operation == Operation::Append
            && mine.get().is_some_and(|store| store.appending(&id("s")));
        match now.load(Ordering::SeqCst) {
            FAILS if parent => {
                now.store(WHOLE, Ordering::SeqCst);
                vec![Fault::Fail(StoreErrorKind::Io)]
            }
            HANGS if parent => vec![Fault::Wait(held.clone())],
            _ => Vec::new(),
        }
    });
    let _ = seen.set(logs.clone());
    let gate = Gate::new();
    let answers = gate.clone();
    let fleet = fleet_over(logs, move || say("written").end_after(&answers));
    let (one, other) = (fleet.member(), fleet.member());
    let first = sends_out_as(&fleet, &one, background()).await;
    until(|| count(&parent(&fleet), "TurnSettled") == 1).await;
    // The session moves to the other node, while the first one still waits for its agent.
    soon(gate.reached()).await;
    state.store(FAILS, Ordering::SeqCst);
    assert!(first.send(said("again")).await.is_err());
    drop(first);
    until(|| !fleet.logs.claimed(&id("s"))).await;
    let _second = fleet.drives(&other).await;
    state.store(HANGS, Ordering::SeqCst);
    gate.open();
    until(|| fleet.place.waiting(&id("s")) > 0).await;
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert_eq!(fleet.place.waiting(&id("s")), 1);
    state.store(WHOLE, Ordering::SeqCst);
    hung.open();
    until(|| fleet.place.waiting(&id("s")) == 0).await;
    assert_eq!(results(&fleet.log()).len(), 1);
}
