//! Crashes: an agent whose process ended, or the one of the turn that sent it out.

use super::detached::results;
use super::*;
use windlass_engine::ports::Tenants;

/// A store that appends nothing more once this holds, while it is armed: whoever waits is dropped
/// with their process.
pub(super) fn stuck_once(
    holds: impl Fn(&FaultyStore) -> bool + Send + Sync + 'static,
    armed: &Arc<AtomicBool>,
    gate: &Gate,
) -> FaultyStore {
    let seen: Arc<OnceLock<FaultyStore>> = Arc::default();
    let (mine, gate, armed) = (seen.clone(), gate.clone(), armed.clone());
    let store = FaultyStore::responding(move |operation, _| {
        let waits = operation == Operation::Append
            && armed.load(Ordering::SeqCst)
            && mine.get().is_some_and(&holds);
        match waits {
            true => vec![Fault::Wait(gate.clone())],
            false => Vec::new(),
        }
    });
    let _ = seen.set(store.clone());
    store
}

#[tokio::test(start_paused = true)]
async fn a_result_that_a_crash_forgot_is_delivered_once() {
    let writes =
        ScriptedTools::new([ScriptedTool::new("write", EffectClass::Effectful).says("ok")]);
    let (provider, asked) = model(|session, nth| match (session, nth) {
        ("s", 0) => send_out(),
        ("s", _) => say("done"),
        (_, 0) => call("write", json!({})),
        _ => say("written"),
    });
    let (armed, gate) = (Arc::new(AtomicBool::new(true)), Gate::new());
    let ended = |store: &FaultyStore| outcome(&store.log(&id(CHILD))).is_some();
    let store = stuck_once(ended, &armed, &gate);
    let first = world(store, provider, writes.clone(), agent(&["write"], 4), 9);
    let conversation = first.open("s").await;
    conversation.send(hello()).await.unwrap();
    soon(gate.reached()).await;
    armed.store(false, Ordering::SeqCst);
    let second = first.next_process();
    let conversation = second.open("s").await;
    until(|| outcome(&second.store.log(&id("s"))).is_some()).await;
    drop(conversation);
    let log = second.log();
    assert_eq!(outcome(&log), Some(TurnOutcome::Completed));
    assert_eq!(count(&log, "CallStarted"), 2, "the call was taken up again");
    let seen = observed(&log);
    assert_eq!(seen.len(), 1);
    assert_eq!((seen[0].0.output.as_str(), seen[0].1), ("written", 2));
    let child = second.store.log(&id(CHILD));
    assert_eq!(count(&child, "InputQueued"), 1, "it was told once");
    assert_eq!(writes.runs().len(), 1, "and wrote once");
    assert_eq!(asked.lock().unwrap()[&id(CHILD)], 2, "and asked its model no more");
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_a_crash_cut_off_goes_on() {
    let writes =
        ScriptedTools::new([ScriptedTool::new("write", EffectClass::Effectful).says("ok")]);
    let cut = Arc::new(AtomicBool::new(true));
    let still = cut.clone();
    let (provider, _) = model(move |session, nth| match (session, nth) {
        ("s", 0) => send_out(),
        ("s", _) => say("done"),
        (_, 0) => call("write", json!({})),
        _ if still.load(Ordering::SeqCst) => stall(),
        _ => say("written"),
    });
    let first = world(FaultyStore::new(), provider, writes.clone(), agent(&["write"], 4), 9);
    let conversation = first.open("s").await;
    conversation.send(hello()).await.unwrap();
    until(|| count(&first.store.log(&id(CHILD)), "SampleStarted") == 2).await;
    cut.store(false, Ordering::SeqCst);
    let second = first.next_process();
    let conversation = second.open("s").await;
    until(|| outcome(&second.store.log(&id("s"))).is_some()).await;
    drop(conversation);
    let log = second.log();
    assert_eq!(outcome(&log), Some(TurnOutcome::Completed));
    let seen = observed(&log);
    assert_eq!((seen[0].0.output.as_str(), seen[0].1), ("written", 2));
    let child = second.store.log(&id(CHILD));
    assert_eq!(count(&child, "InputQueued"), 1, "it was told once");
    assert_eq!(writes.runs().len(), 1, "and wrote once");
}

/// A turn whose process ends while its agent works, which has written once. Answers the next process,
/// which has all logs.
async fn cut_off(effect: EffectClass) -> (World, ScriptedTools) {
    let writes = ScriptedTools::new([ScriptedTool::new("write", effect).says("ok")]);
    let cut = Arc::new(AtomicBool::new(true));
    let still = cut.clone();
    let (provider, _) = model(move |session, nth| match (session, nth) {
        ("s", 0) => send_out(),
        ("s", _) => say("done"),
        (_, 0 | 2) => call("write", json!({})),
        _ if still.load(Ordering::SeqCst) => stall(),
        _ => say("written"),
    });
    let first = world(FaultyStore::new(), provider, writes.clone(), agent(&["write"], 4), 9);
    let first = first.tuned(move |settings| {
        settings.tools.push(
            scout(agent(&["write"], 4)).with(|it| it.effect = effect.min(EffectClass::Idempotent)),
        );
    });
    let conversation = first.open("s").await;
    conversation.send(hello()).await.unwrap();
    until(|| count(&first.store.log(&id(CHILD)), "SampleStarted") == 2).await;
    cut.store(false, Ordering::SeqCst);
    (first.next_process(), writes)
}

#[tokio::test(start_paused = true)]
async fn an_agent_whose_log_was_left_behind_is_not_sent_out_again() {
    let (second, writes) = cut_off(EffectClass::Effectful).await;
    second.store.lose(&id(CHILD));
    let conversation = second.open("s").await;
    until(|| outcome(&second.store.log(&id("s"))).is_some()).await;
    drop(conversation);
    assert_eq!(writes.runs().len(), 1, "nothing is done a second time");
    assert_eq!(second.store.log(&id(CHILD)), []);
    let log = second.log();
    assert_eq!(outcome(&log), Some(TurnOutcome::Completed));
    let (observation, took) = observed(&log).remove(0);
    assert_eq!((observation.status, took), (ObservationStatus::Unknown, 4));
    let words = &observation.output;
    assert!(words.contains("no log of the agent's session s.6"), "{words}");
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_changes_nothing_is_sent_out_again() {
    let (second, reads) = cut_off(EffectClass::ReadOnly).await;
    second.store.lose(&id(CHILD));
    let conversation = second.open("s").await;
    until(|| outcome(&second.store.log(&id("s"))).is_some()).await;
    drop(conversation);
    assert_eq!(reads.runs().len(), 2);
    let (observation, took) = observed(&second.log()).remove(0);
    assert_eq!((observation.status, took), (ObservationStatus::Done, 2));
    assert_eq!(observation.output, "written");
}

#[tokio::test(start_paused = true)]
async fn an_agent_is_stopped_once_the_log_of_its_turn_is_gone() {
    let (second, _) = cut_off(EffectClass::Effectful).await;
    let cut = Gate::new();
    let held = cut.clone();
    let (provider, _) = model(move |_, _| say("written").end_after(&held));
    let second = second.played_by(provider);
    let (name, user) = (id(CHILD), me());
    let opening = second.engine.open(&name, &user, windlass_engine::Start::Existing);
    let child = opening.await.unwrap();
    soon(cut.reached()).await;
    assert_eq!(outcome(&second.store.log(&id(CHILD))), None);
    // Nobody drives the session that sent it out, and now nobody can.
    second.store.lose(&id("s"));
    until(|| outcome(&second.store.log(&id(CHILD))).is_some()).await;
    let ended = outcome(&second.store.log(&id(CHILD)));
    assert!(matches!(ended, Some(TurnOutcome::Interrupted { .. })), "{ended:?}");
    drop((child, cut));
}

/// A turn that is interrupted, and whose process ends before its agent has heard of it. Answers how
/// the agent ended that another process takes up.
async fn interrupted_before_a_crash(policy: ParentEndPolicy) -> Option<TurnOutcome> {
    let (gate, stuck) = (Gate::new(), Gate::new());
    let armed = Arc::new(AtomicBool::new(true));
    let (held, still) = (gate.clone(), armed.clone());
    let (provider, _) = model(move |session, nth| match (session, nth) {
        ("s", 0) => send_out(),
        _ if still.load(Ordering::SeqCst) => stall(),
        _ => say("found").end_after(&held),
    });
    let asked = |store: &FaultyStore| count(&store.log(&id("s")), "InterruptRequested") == 1;
    let store = stuck_once(asked, &armed, &stuck);
    let agent = agent(&["look"], 4).with(|it| it.when_parent_ends = policy);
    let first = world(store, provider, looks(), agent, 9);
    let conversation = first.open("s").await;
    conversation.send(hello()).await.unwrap();
    until(|| count(&first.store.log(&id(CHILD)), "SampleStarted") == 1).await;
    let stop = conversation.interrupt(InterruptSource::Person, me(), "enough", StopTiming::Now);
    stop.await.unwrap();
    soon(stuck.reached()).await;
    armed.store(false, Ordering::SeqCst);
    let second = first.next_process();
    let recovered = second.engine.recover(&Tenants::All, 4).await.unwrap();
    assert_eq!((recovered.opened, recovered.failed.len()), (2, 0));
    until(|| outcome(&second.store.log(&id("s"))).is_some()).await;
    let (observation, took) = observed(&second.log()).remove(0);
    assert_eq!((observation.status, took), (ObservationStatus::Unknown, 4));
    // Who is to be stopped is told by now, without a word of its model.
    tokio::time::sleep(ms(1_000)).await;
    gate.open();
    until(|| outcome(&second.store.log(&id(CHILD))).is_some()).await;
    outcome(&second.store.log(&id(CHILD)))
}

#[tokio::test(start_paused = true)]
async fn an_agent_whose_call_ended_with_a_crash_is_stopped() {
    let ended = interrupted_before_a_crash(ParentEndPolicy::Stop).await;
    assert!(matches!(ended, Some(TurnOutcome::Interrupted { .. })), "{ended:?}");
}

#[tokio::test(start_paused = true)]
async fn a_detached_agent_whose_call_ended_with_a_crash_runs_on() {
    let ended = interrupted_before_a_crash(ParentEndPolicy::Detach).await;
    assert_eq!(ended, Some(TurnOutcome::Completed));
}

/// A turn that is interrupted and settles while its agent cannot hear of it, and whose process ends
/// then. The model of the agent answers once the gate is open.
async fn left_behind(policy: ParentEndPolicy) -> (World, Gate) {
    let (gate, stuck) = (Gate::new(), Gate::new());
    let armed = Arc::new(AtomicBool::new(true));
    let (held, still) = (gate.clone(), armed.clone());
    let (provider, _) = model(move |session, nth| match (session, nth) {
        ("s", 0) => send_out(),
        _ if still.load(Ordering::SeqCst) => stall(),
        _ => say("found").end_after(&held),
    });
    // The first to append once the turn was asked to stop is the agent that is.
    let stops = policy == ParentEndPolicy::Stop;
    let asked =
        move |store: &FaultyStore| stops && count(&store.log(&id("s")), "InterruptRequested") == 1;
    let store = stuck_once(asked, &armed, &stuck);
    let agent = agent(&["look"], 4).with(|it| it.when_parent_ends = policy);
    let first = world(store, provider, looks(), agent, 9);
    let conversation = first.open("s").await;
    conversation.send(hello()).await.unwrap();
    until(|| count(&first.store.log(&id(CHILD)), "SampleStarted") == 1).await;
    let stop = conversation.interrupt(InterruptSource::Person, me(), "enough", StopTiming::Now);
    stop.await.unwrap();
    if stops {
        soon(stuck.reached()).await;
    }
    armed.store(false, Ordering::SeqCst);
    until(|| outcome(&first.store.log(&id("s"))).is_some()).await;
    assert_eq!(outcome(&first.store.log(&id(CHILD))), None);
    let second = first.next_process();
    assert_eq!(count(&second.store.log(&id(CHILD)), "InterruptRequested"), 0);
    (second, gate)
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_was_left_behind_is_stopped_by_whoever_takes_it_up() {
    let (second, gate) = left_behind(ParentEndPolicy::Stop).await;
    let recovered = second.engine.recover(&Tenants::All, 4).await.unwrap();
    assert_eq!((recovered.opened, recovered.failed.len()), (2, 0));
    until(|| outcome(&second.store.log(&id(CHILD))).is_some()).await;
    drop(gate);
    let child = second.store.log(&id(CHILD));
    assert!(matches!(outcome(&child), Some(TurnOutcome::Interrupted { .. })));
    // The call ended as unknown, so how the agent ended comes later.
    until(|| results(&second.log()).len() == 1).await;
    assert_eq!(observed(&second.log()).len(), 1);
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_was_left_behind_is_stopped_with_the_session_that_is_opened() {
    let (second, gate) = left_behind(ParentEndPolicy::Stop).await;
    let conversation = second.open("s").await;
    assert_eq!(second.engine.stop_detached_children(&id("s"), &me()).await.unwrap(), 1);
    until(|| outcome(&second.store.log(&id(CHILD))).is_some()).await;
    drop(gate);
    let child = second.store.log(&id(CHILD));
    assert!(matches!(outcome(&child), Some(TurnOutcome::Interrupted { .. })));
    assert_eq!(second.engine.stop_detached_children(&id("s"), &me()).await.unwrap(), 0);
    drop(conversation);
}

#[tokio::test(start_paused = true)]
async fn a_detached_agent_that_was_left_behind_runs_on() {
    let (second, gate) = left_behind(ParentEndPolicy::Detach).await;
    assert_eq!(second.engine.stop_detached_children(&id("s"), &me()).await.unwrap(), 0);
    second.engine.recover(&Tenants::All, 4).await.unwrap();
    soon(gate.reached()).await;
    gate.open();
    until(|| outcome(&second.store.log(&id(CHILD))).is_some()).await;
    assert_eq!(outcome(&second.store.log(&id(CHILD))), Some(TurnOutcome::Completed));
}
