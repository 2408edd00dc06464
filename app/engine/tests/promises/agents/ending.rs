//! Ending: what becomes of an agent when the call that sent it out ends first.

use super::detached::results;
use super::*;

/// A turn that is interrupted while its agent asks the model. Answers the log of the agent, once it
/// is at rest.
async fn interrupted(policy: ParentEndPolicy) -> (World, Vec<RecordedFact>) {
    let gate = Gate::new();
    let held = gate.clone();
    let (provider, _) = model(move |session, nth| match (session, nth) {
        ("s", 0) => send_out(),
        _ => say("found").end_after(&held),
    });
    let agent = agent(&["look"], 4).with(|it| it.when_parent_ends = policy);
    let world = world(FaultyStore::new(), provider, looks(), agent, 9);
    let conversation = world.open("s").await;
    let input = conversation.send(hello()).await.unwrap();
    soon(gate.reached()).await;
    let stop = conversation.interrupt(InterruptSource::Person, me(), "enough", StopTiming::Now);
    stop.await.unwrap();
    let report = soon(conversation.outcome(input)).await.unwrap();
    assert!(matches!(report.outcome, TurnOutcome::Interrupted { .. }));
    gate.open();
    until(|| outcome(&world.store.log(&id(CHILD))).is_some()).await;
    let child = world.store.log(&id(CHILD));
    (world, child)
}

#[tokio::test(start_paused = true)]
async fn an_agent_is_stopped_with_the_turn_that_sent_it_out() {
    let (world, child) = interrupted(ParentEndPolicy::Stop).await;
    // Its own history says that the calling session stopped it, and not the user.
    let Some(TurnOutcome::Interrupted { by: InterruptSource::Parent, .. }) = outcome(&child) else {
        panic!("{:?}", outcome(&child));
    };
    let (observation, took) = observed(&world.log()).remove(0);
    assert_eq!((observation.status, took), (ObservationStatus::Aborted, 1));
    assert!(observation.output.contains(CHILD), "{}", observation.output);
    assert!(!observation.output.contains("found"));
}

#[tokio::test(start_paused = true)]
async fn a_detached_agent_runs_on_to_its_end() {
    let (world, child) = interrupted(ParentEndPolicy::Detach).await;
    assert_eq!(outcome(&child), Some(TurnOutcome::Completed));
    let seen = observed(&world.log());
    assert_eq!(seen.len(), 1);
    until(|| results(&world.log()).len() == 1).await;
    tokio::time::sleep(ms(5_000)).await;
    let (call, text, accepted) = results(&world.log()).remove(0);
    assert_eq!((call, accepted), (CallId(6), false), "the user interrupted");
    assert!(text.contains("found"), "{text}");
    let (observation, took) = &seen[0];
    assert_eq!((observation.status, *took), (ObservationStatus::Aborted, 4));
    assert!(observation.output.contains("goes on by itself"), "{}", observation.output);
}

#[tokio::test(start_paused = true)]
async fn what_a_user_says_to_an_agent_is_not_stopped_with_its_call() {
    let (asks, gate) = (Gate::new(), Gate::new());
    let (before, held) = (asks.clone(), gate.clone());
    let (provider, _) = model(move |session, nth| match (session, nth) {
        ("s", 0) => send_out(),
        ("s", _) => say("done"),
        (_, 0) => call("look", json!({})).end_after(&before),
        _ => say("for the user").end_after(&held),
    });
    // It reaches its limit, so its call fails, and is over while the user's own turn runs.
    let world = world(FaultyStore::new(), provider, looks(), agent(&["look"], 1), 9);
    let conversation = world.open("s").await;
    let input = conversation.send(hello()).await.unwrap();
    soon(asks.reached()).await;
    let (name, user) = (id(CHILD), me());
    let opening = world.engine.open(&name, &user, windlass_engine::Start::Existing);
    let child = opening.await.unwrap();
    let mine = child.send(hello()).await.unwrap();
    asks.open();
    let report = soon(conversation.outcome(input)).await.unwrap();
    assert_eq!(report.outcome, TurnOutcome::Completed);
    soon(gate.reached()).await;
    // Whoever would stop it has had the time to.
    tokio::time::sleep(ms(1_000)).await;
    gate.open();
    let report = soon(child.outcome(mine)).await.unwrap();
    assert_eq!(report.outcome, TurnOutcome::Completed);
    assert_eq!(report.answer, "for the user");
    assert_eq!(count(&world.store.log(&id(CHILD)), "InterruptRequested"), 0);
}
