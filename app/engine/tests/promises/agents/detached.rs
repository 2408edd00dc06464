//! Detached: the result of an agent that outlives its call reaches the session once, as an input.

use std::sync::atomic::AtomicUsize;

use windlass_engine::core::InputId;
use windlass_engine::ports::Tenants;

use super::crashes::stuck_once;
use super::*;

fn background(when_detached_ends: DetachedEndPolicy) -> AgentSpec {
    agent(&["look"], 4).with(|it| {
        it.background = true;
        it.when_detached_ends = when_detached_ends;
    })
}

/// The results that have entered a session: the call, the text, and whether it was accepted.
pub(super) fn results(log: &[RecordedFact]) -> Vec<(CallId, String, bool)> {
    let accepted = |input: InputId| {
        log.iter().any(|one| matches!(&one.fact, Fact::InputAccepted(fact) if fact.input == input))
    };
    let queued = log.iter().filter_map(|one| match &one.fact {
        Fact::InputQueued(fact) => {
            let call = fact.result_of?;
            Some((call, fact.text.to_string(), accepted(InputId(one.seq.0))))
        }
        _ => None,
    });
    queued.collect()
}

fn settled(store: &FaultyStore, name: &str) -> usize {
    count(&store.log(&id(name)), "TurnSettled")
}

/// A model that starts an agent, says so, and then says what it is told.
fn starts(gate: &Gate) -> ScriptedProvider {
    let held = gate.clone();
    let (provider, _) = model(move |session, nth| match (session, nth) {
        ("s", 0) => send_out(),
        ("s", 1) => say("started"),
        ("s", _) => say("a tree was found"),
        _ => say("a tree").end_after(&held),
    });
    provider
}

#[tokio::test(start_paused = true)]
async fn an_agent_in_the_background_returns_at_once_and_its_result_waits() {
    let gate = Gate::new();
    let world =
        world(FaultyStore::new(), starts(&gate), looks(), background(DetachedEndPolicy::Wait), 9);
    let conversation = world.open("s").await;
    let input = conversation.send(hello()).await.unwrap();
    let report = soon(conversation.outcome(input)).await.unwrap();
    assert_eq!((report.outcome, report.answer.as_str()), (TurnOutcome::Completed, "started"));
    let (observation, took) = observed(&world.log()).remove(0);
    assert_eq!((observation.status, took), (ObservationStatus::Done, 4));
    assert!(observation.output.contains(CHILD), "{}", observation.output);
    assert_eq!(outcome(&world.store.log(&id(CHILD))), None);
    gate.open();
    until(|| results(&world.log()).len() == 1).await;
    tokio::time::sleep(ms(5_000)).await;
    let (call, text, accepted) = results(&world.log()).remove(0);
    assert_eq!((call, accepted), (CallId(6), false), "nobody asked for it yet");
    assert!(text.contains("agent scout") && text.contains("completed"), "{text}");
    assert!(text.contains("a tree"), "{text}");
    assert_eq!(settled(&world.store, "s"), 1);
    let input = conversation.send(hello()).await.unwrap();
    let report = soon(conversation.outcome(input)).await.unwrap();
    assert_eq!(report.answer, "a tree was found");
    assert!(results(&world.log())[0].2);
}

#[tokio::test(start_paused = true)]
async fn the_result_of_an_agent_may_open_a_turn() {
    let gate = Gate::new();
    let world =
        world(FaultyStore::new(), starts(&gate), looks(), background(DetachedEndPolicy::Wake), 9);
    let conversation = world.open("s").await;
    let input = conversation.send(hello()).await.unwrap();
    soon(conversation.outcome(input)).await.unwrap();
    // Nobody is there any more.
    drop(conversation);
    gate.open();
    until(|| settled(&world.store, "s") == 2).await;
    let results = results(&world.log());
    assert_eq!(results.len(), 1);
    assert!(results[0].2);
    until(|| !world.store.claimed(&id("s"))).await;
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_fails_in_the_background_says_so() {
    let (provider, _) = model(|session, nth| match (session, nth) {
        ("s", 0) => send_out(),
        ("s", _) => say("started"),
        _ => call("look", json!({})),
    });
    let world =
        world(FaultyStore::new(), provider, looks(), background(DetachedEndPolicy::Wait), 9);
    let conversation = world.open("s").await;
    let input = conversation.send(hello()).await.unwrap();
    soon(conversation.outcome(input)).await.unwrap();
    until(|| results(&world.log()).len() == 1).await;
    let (_, text, _) = results(&world.log()).remove(0);
    assert!(text.contains("reached its limit of samples"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn a_long_result_is_cut() {
    let long = "x".repeat(200_000);
    let (provider, _) = model(move |session, nth| match (session, nth) {
        ("s", 0) => send_out(),
        ("s", _) => say("started"),
        _ => say(&long),
    });
    let world =
        world(FaultyStore::new(), provider, looks(), background(DetachedEndPolicy::Wait), 9);
    let conversation = world.open("s").await;
    let input = conversation.send(hello()).await.unwrap();
    soon(conversation.outcome(input)).await.unwrap();
    until(|| results(&world.log()).len() == 1).await;
    let (_, text, _) = results(&world.log()).remove(0);
    assert!(text.len() < 30_000, "{}", text.len());
    assert!(text.contains("bytes are left out here"));
}

/// A turn whose agent works in the background, whose process ends once this holds. Answers the next
/// process.
async fn cut_off(
    holds: impl Fn(&FaultyStore) -> bool + Send + Sync + 'static,
    gate: &Gate,
) -> (World, Arc<AtomicUsize>) {
    let (armed, stuck) = (Arc::new(AtomicBool::new(true)), Gate::new());
    let held = gate.clone();
    let answers = Arc::new(AtomicUsize::new(0));
    let counted = answers.clone();
    let (provider, _) = model(move |session, nth| match (session, nth) {
        ("s", 0) => send_out(),
        ("s", 1) => say("started"),
        ("s", _) => say("a tree was found"),
        _ => {
            counted.fetch_add(1, Ordering::SeqCst);
            say("a tree").end_after(&held)
        }
    });
    let store = stuck_once(holds, &armed, &stuck);
    let first = world(store, provider, looks(), background(DetachedEndPolicy::Wake), 9);
    let conversation = first.open("s").await;
    conversation.send(hello()).await.unwrap();
    until(|| settled(&first.store, "s") == 1).await;
    until(|| count(&first.store.log(&id(CHILD)), "SampleStarted") == 1).await;
    gate.open();
    soon(stuck.reached()).await;
    armed.store(false, Ordering::SeqCst);
    (first.next_process(), answers)
}

/// Recovers all sessions, and waits until the result has been answered.
async fn delivered_once(second: &World) {
    let recovered = second.engine.recover(&Tenants::All, 4).await.unwrap();
    assert_eq!(recovered.failed.len(), 0);
    until(|| settled(&second.store, "s") == 2).await;
    second.engine.recover(&Tenants::All, 4).await.unwrap();
    tokio::time::sleep(ms(20_000)).await;
    let results = results(&second.log());
    assert_eq!(results.len(), 1, "{results:?}");
    assert!(results[0].1.contains("a tree") && results[0].2, "{results:?}");
    assert_eq!(settled(&second.store, "s"), 2);
    assert_eq!(count(&second.store.log(&id(CHILD)), "InputQueued"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_result_is_delivered_if_the_process_died_before_the_agent_ended() {
    // The agent has said its answer, which nobody has noted down.
    let gate = Gate::new();
    let started = |store: &FaultyStore| {
        settled(store, "s") == 1 && count(&store.log(&id(CHILD)), "SampleStarted") == 1
    };
    let (second, answers) = cut_off(started, &gate).await;
    assert_eq!(settled(&second.store, CHILD), 0);
    delivered_once(&second).await;
    assert!(answers.load(Ordering::SeqCst) >= 2, "the sample was repeated");
}

#[tokio::test(start_paused = true)]
async fn a_result_is_delivered_if_the_process_died_before_it_was_sent() {
    let gate = Gate::new();
    let (second, answers) = cut_off(|store| settled(store, CHILD) == 1, &gate).await;
    assert_eq!(results(&second.log()), []);
    delivered_once(&second).await;
    assert_eq!(answers.load(Ordering::SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn a_result_is_not_delivered_again_if_the_process_died_after_it_was_sent() {
    let gate = Gate::new();
    let entered = |store: &FaultyStore| results(&store.log(&id("s"))).len() == 1;
    let (second, _) = cut_off(entered, &gate).await;
    delivered_once(&second).await;
}

#[tokio::test(start_paused = true)]
async fn the_answer_of_an_agent_outlives_an_interrupt_and_the_process() {
    // The agent has answered; its turn was interrupted, and its process ended before it noted the
    // answer down.
    let (armed, stuck, gate) = (Arc::new(AtomicBool::new(true)), Gate::new(), Gate::new());
    let held = gate.clone();
    let (provider, _) = model(move |session, nth| match (session, nth) {
        ("s", 0) => {
            calls([("scout", json!({"prompt": "left"})), ("scout", json!({"prompt": "right"}))])
        }
        ("s", _) => say("done"),
        ("s.6", _) => say("a tree").end_after(&held),
        _ => stall(),
    });
    let asked = |store: &FaultyStore| settled(store, CHILD) == 1;
    let store = stuck_once(asked, &armed, &stuck);
    let first = world(store, provider, looks(), agent(&["look"], 4), 20);
    let conversation = first.open("s").await;
    conversation.send(hello()).await.unwrap();
    until(|| count(&first.store.log(&id("s.8")), "SampleStarted") == 1).await;
    gate.open();
    soon(stuck.reached()).await;
    armed.store(false, Ordering::SeqCst);
    let second = first.next_process();
    let conversation = second.open("s").await;
    let stop = conversation.interrupt(InterruptSource::Person, me(), "enough", StopTiming::Now);
    stop.await.unwrap();
    until(|| settled(&second.store, "s") == 1).await;
    let log = second.log();
    let seen: Vec<_> = observed(&log).into_iter().map(|(one, _)| one.output).collect();
    let told = results(&log);
    let answered = seen.iter().any(|output| output == "a tree");
    assert!(
        answered || told.iter().any(|(_, text, _)| text.contains("a tree")),
        "{seen:?} {told:?}"
    );
}
