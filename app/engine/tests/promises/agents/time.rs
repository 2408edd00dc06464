//! Time: how long an agent has, and what of it outlives its call.

use windlass_engine::core::Timestamp;

use super::*;

/// A world whose one agent may run for so long.
fn timed(world: World, agent: AgentSpec, timeout_ms: Option<u64>) -> World {
    world.tuned(move |settings| {
        settings.tools.push(scout(agent.clone()).with(|it| it.timeout_ms = timeout_ms));
    })
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_takes_too_long_is_stopped() {
    let (provider, _) = model(|session, nth| match (session, nth) {
        ("s", 0) => send_out(),
        ("s", _) => say("done"),
        _ => stall(),
    });
    let world = world(FaultyStore::new(), provider, looks(), agent(&[], 4), 9);
    let world = world.limited(limits().with(|it| it.first_byte_ms = 30_000));
    let world = timed(world, agent(&[], 4), Some(2_000));
    let (report, _) = world.turn().await;
    assert_eq!(report.outcome, TurnOutcome::Completed);
    let (observation, took) = observed(&world.log()).remove(0);
    assert_eq!((observation.status, took), (ObservationStatus::Failed, 1));
    assert!(observation.output.contains("longer than its limit"), "{}", observation.output);
    let ended = outcome(&world.store.log(&id(CHILD)));
    assert!(matches!(ended, Some(TurnOutcome::Interrupted { .. })));
}

#[tokio::test(start_paused = true)]
async fn an_agent_has_as_long_as_its_turn_where_nothing_else_is_declared() {
    let gate = Gate::new();
    let held = gate.clone();
    let (provider, _) = model(move |session, nth| match (session, nth) {
        ("s", 0) => send_out(),
        ("s", _) => say("done"),
        _ => say("found").end_after(&held),
    });
    let world = world(FaultyStore::new(), provider, looks(), agent(&[], 4), 9);
    // Much longer than a tool may take: its model is slow, or somebody is asked.
    let world = world.limited(limits().with(|it| {
        it.call_ms = 2_000;
        it.idle_ms = 60_000;
        it.sample_ms = 60_000;
    }));
    let conversation = world.open("s").await;
    let input = conversation.send(hello()).await.unwrap();
    soon(gate.reached()).await;
    tokio::time::sleep(ms(20_000)).await;
    gate.open();
    let report = soon(conversation.outcome(input)).await.unwrap();
    assert_eq!(report.outcome, TurnOutcome::Completed);
    let (observation, _) = observed(&world.log()).remove(0);
    assert_eq!(
        (observation.status, observation.output.as_str()),
        (ObservationStatus::Done, "found")
    );
}

#[tokio::test(start_paused = true)]
async fn a_detached_agent_has_the_time_that_its_turn_had_left() {
    let (provider, _) = model(|session, nth| match (session, nth) {
        ("s", 0) => call("look", json!({})),
        ("s", 1) => send_out(),
        ("s", _) => say("done"),
        _ => stall(),
    });
    let slow = Gate::new();
    let looks = ScriptedTools::new([ScriptedTool::new("look", EffectClass::ReadOnly)
        .says("a tree")
        .after(&slow)]);
    let detached = agent(&[], 4).with(|it| it.when_parent_ends = ParentEndPolicy::Detach);
    let world = world(FaultyStore::new(), provider, looks, detached.clone(), 9);
    let world = world.limited(limits().with(|it| {
        it.turn_ms = 10_000;
        it.call_ms = 60_000;
        it.idle_ms = 60_000;
        it.first_byte_ms = 60_000;
        it.sample_ms = 60_000;
    }));
    let world = timed(world, detached, Some(1_000));
    let conversation = world.open("s").await;
    let input = conversation.send(hello()).await.unwrap();
    soon(slow.reached()).await;
    tokio::time::sleep(ms(4_000)).await;
    slow.open();
    let report = soon(conversation.outcome(input)).await.unwrap();
    assert_eq!(report.outcome, TurnOutcome::Completed);
    let log = world.log();
    let opened_at = at(&log, "TurnOpened");
    let lent = log.iter().find_map(|one| match &one.fact {
        Fact::CallStarted(started) => Some((started.grant?.turn_ms, one.ts, started)),
        _ => None,
    });
    let (lent, started, fact) = lent.unwrap();
    assert_eq!(lent, opened_at.plus_ms(10_000).since_ms(started));
    assert!(lent <= 6_000, "{lent}");
    let name = agent_session(&fact.idempotency_key).unwrap();
    until(|| outcome(&world.store.log(&name)).is_some()).await;
    let child = world.store.log(&name);
    let exhausted = TurnOutcome::Exhausted { limit: windlass_engine::core::LimitKind::WallClock };
    assert_eq!(outcome(&child), Some(exhausted));
    let ran = at(&child, "TurnSettled").since_ms(at(&child, "TurnOpened"));
    assert!((lent..10_000).contains(&ran), "{ran} ms of {lent}");
}

/// One that does not know what it is to do would not go on by itself.
#[tokio::test(start_paused = true)]
async fn a_detached_agent_whose_time_is_over_before_it_was_told_is_told_first() {
    let (provider, _) = model(|session, nth| match (session, nth) {
        ("s", 0) => send_out(),
        ("s", _) => say("done"),
        _ => say("found"),
    });
    let gate = Gate::new();
    let held = gate.clone();
    // It is claimed to be put on record, and then to be driven.
    let store = FaultyStore::responding(move |operation, nth| match (operation, nth) {
        (Operation::Claim, 2) => vec![Fault::Wait(held.clone())],
        _ => Vec::new(),
    });
    let detached = agent(&[], 4).with(|it| it.when_parent_ends = ParentEndPolicy::Detach);
    let world = world(store, provider, looks(), detached.clone(), 9);
    let world = timed(world, detached, Some(1_000));
    let conversation = world.open("s").await;
    let input = conversation.send(hello()).await.unwrap();
    soon(gate.reached()).await;
    let queued = || count(&world.store.log(&id(CHILD)), "InputQueued");
    tokio::time::sleep(ms(5_000)).await;
    assert_eq!((queued(), observed(&world.log()).len()), (0, 0));
    gate.open();
    let report = soon(conversation.outcome(input)).await.unwrap();
    assert_eq!(report.outcome, TurnOutcome::Completed);
    let (observation, _) = observed(&world.log()).remove(0);
    assert!(observation.output.contains("goes on by itself"), "{}", observation.output);
    until(|| outcome(&world.store.log(&id(CHILD))) == Some(TurnOutcome::Completed)).await;
}

/// When the first fact of a kind was written.
fn at(log: &[RecordedFact], kind: &str) -> Timestamp {
    let found = log.iter().find(|one| one.fact.kind() == kind);
    found.unwrap().ts
}
