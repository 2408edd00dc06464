//! Keeping: engines of several nodes on one store take up what nobody drives.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "../../../engine/tests/support/clock.rs"]
mod clock;
mod node;

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::time::{Instant, sleep};
use windlass_engine::core::{EffectClass, Fact, ObservationStatus};
use windlass_engine::{DriverEnd, SendError};
use windlass_testkit::Gate;
use windlass_testkit::provider::{ScriptedProvider, call, say, stall};
use windlass_testkit::tools::{CounterTool, ScriptedTools};

use node::{Node, hello, ms, soon, until};

/// What a takeover takes at most on paused time: a look, the pause of an empty node, and the steps from
/// one session to the next.
const SOON: Duration = Duration::from_millis(500);

/// A model that never answers whoever asks first, and says something to all others.
fn stalls_first(first: usize, then: usize) -> Arc<ScriptedProvider> {
    let stalling = (0..first).map(|_| stall());
    let saying = (0..then).map(|_| say("Done."));
    Arc::new(ScriptedProvider::new(stalling.chain(saying)))
}

fn observed(fact: &Fact) -> Option<ObservationStatus> {
    if let Fact::CallObserved(fact) = fact {
        return Some(fact.observation.status);
    }
    None
}

fn no_tools() -> Arc<ScriptedTools> {
    Arc::new(ScriptedTools::new([]))
}

#[tokio::test(start_paused = true)]
async fn a_turn_whose_node_stands_still_goes_on_at_another_and_its_effects_there_are_killed() {
    let gate = Gate::new();
    let pay = CounterTool::new("pay", EffectClass::Effectful);
    let provider = Arc::new(ScriptedProvider::new([call("pay", json!({})), say("Paid.")]));
    let tools = Arc::new(ScriptedTools::new([pay.tool().after(&gate)]));
    let a = Node::new(10, provider.clone(), tools.clone());
    let b = a.beside(10);
    let conversation = a.open("s").await;
    conversation.send(hello()).await.unwrap();
    soon(gate.reached()).await;
    sleep(ms(2_000)).await;
    assert_eq!(b.load.driven(), 0, "it is driven");

    let over = Instant::now();
    a.store.expire_claims();
    b.settled("s").await;
    assert!(over.elapsed() <= SOON, "{:?}", over.elapsed());
    // The call that was out is not made again: nobody knows what became of it.
    let log = b.log("s").await;
    let seen = log.iter().filter_map(|one| observed(&one.fact));
    assert_eq!(seen.collect::<Vec<_>>(), [ObservationStatus::Unknown]);
    assert_eq!(pay.total(), 1);

    // The first node finds out although it appends nothing: its own look has it ask.
    until(|| a.load.driven() == 0).await;
    assert!(over.elapsed() <= SOON, "{:?}", over.elapsed());
    assert_eq!(tools.running(), 0, "it was killed");
    let refused = soon(conversation.send(hello())).await;
    let superseded = |ended: &DriverEnd| matches!(ended, DriverEnd::Superseded(_));
    assert!(matches!(&refused, Err(SendError::Ended(ended)) if superseded(ended)), "{refused:?}");
}

#[tokio::test(start_paused = true)]
async fn a_node_that_is_full_finds_out_too_what_it_has_lost() {
    let provider = stalls_first(2, 0);
    let a = Node::new(1, provider.clone(), no_tools());
    a.begin(std::iter::once("s".to_owned())).await;
    until(|| provider.asked().len() == 1).await;
    let b = a.beside(1);
    sleep(ms(2_000)).await;
    let over = Instant::now();
    a.store.expire_claims();
    until(|| provider.asked().len() == 2 && a.load.driven() == 0).await;
    assert!(over.elapsed() <= SOON, "{:?}", over.elapsed());
    assert_eq!(b.load.driven(), 1);
}

#[tokio::test(start_paused = true)]
async fn the_sessions_of_a_node_that_has_gone_spread_over_the_others() {
    let provider = stalls_first(80, 0);
    let a = Node::new(100, provider.clone(), no_tools());
    a.begin((0..40).map(|number| format!("s{number}"))).await;
    until(|| provider.asked().len() == 40).await;
    let (b, c) = (a.beside(100), a.beside(100));
    sleep(ms(2_000)).await;
    assert_eq!((b.load.driven(), c.load.driven()), (0, 0));
    let over = Instant::now();
    a.store.expire_claims();
    until(|| provider.asked().len() == 80).await;
    assert!(over.elapsed() <= SOON, "{:?}", over.elapsed());
    let (by_b, by_c) = (b.load.driven(), c.load.driven());
    assert_eq!(by_b + by_c, 40);
    // Each has an order of its own, so that it is about half and half.
    assert!(by_b >= 8 && by_c >= 8, "{by_b} and {by_c}");
}

#[tokio::test(start_paused = true)]
async fn a_node_takes_up_no_more_than_it_may_and_a_fuller_one_is_later() {
    let provider = stalls_first(20, 20);
    let a = Node::new(100, provider.clone(), no_tools());
    a.begin((0..10).map(|number| format!("s{number}"))).await;
    let full = a.beside(4);
    full.begin((0..4).map(|number| format!("f{number}"))).await;
    let fuller = a.beside(8);
    fuller.begin((0..4).map(|number| format!("g{number}"))).await;
    until(|| provider.asked().len() == 18).await;
    let empty = a.beside(8);
    a.store.expire_claims();
    sleep(ms(10_000)).await;
    // Two are asked in vain, like those before; the rest are done.
    assert_eq!((full.load.driven(), fuller.load.driven()), (4, 4));
    assert_eq!(empty.load.driven(), 2);
    for number in 0..10 {
        let log = empty.log(&format!("s{number}")).await;
        let kinds: Vec<_> = log.iter().map(|one| one.fact.kind()).collect();
        assert!(kinds.contains(&"SampleCut"), "{kinds:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_node_that_parts_takes_up_none_and_what_it_lets_go_is_taken_at_once() {
    let provider = stalls_first(2, 2);
    let a = Node::new(10, provider.clone(), no_tools());
    a.begin(["s", "t"].into_iter().map(str::to_owned)).await;
    until(|| provider.asked().len() == 2).await;
    let over = Instant::now();
    let parted = a.engine.hand_off(0, "a new version").await;
    assert_eq!((parted.at_rest + parted.dropped.len(), a.load.driven()), (2, 0));
    sleep(ms(5_000)).await;
    assert_eq!((a.load.driven(), provider.asked().len()), (0, 2));
    let b = a.beside(10);
    let began = Instant::now();
    b.settled("s").await;
    b.settled("t").await;
    assert!(began.elapsed() <= SOON, "{:?}", began.elapsed());
    assert!(over.elapsed() > ms(5_000));
}

#[tokio::test(start_paused = true)]
async fn a_session_whose_tools_are_elsewhere_or_whose_tenant_is_is_left_alone() {
    let pay = CounterTool::new("pay", EffectClass::Effectful);
    let tools = Arc::new(ScriptedTools::new([pay.tool()]));
    let provider = stalls_first(1, 1);
    let a = Node::new(10, provider.clone(), tools.clone());
    a.begin(std::iter::once("s".to_owned())).await;
    until(|| provider.asked().len() == 1).await;
    let lacks = a.beside_with(10, no_tools(), None);
    let foreign = a.beside_with(10, tools.clone(), Some("another"));
    a.engine.hand_off(0, "it goes").await;
    sleep(ms(120_000)).await;
    assert_eq!(lacks.log("s").await.len(), a.log("s").await.len());
    assert_eq!((lacks.load.driven(), foreign.load.driven()), (0, 0));
    assert_eq!(provider.asked().len(), 1);
    let ours = a.beside_with(10, tools, Some("local"));
    let began = Instant::now();
    ours.settled("s").await;
    assert!(began.elapsed() <= SOON, "{:?}", began.elapsed());
}
