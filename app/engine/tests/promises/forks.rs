//! Forks: a session goes on twice from one point, each in its own way; the original may run meanwhile;
//! one that was cut short is nothing until it is finished.

use std::sync::{Arc, Mutex};

use serde_json::json;
use windlass_engine::core::{
    EffectClass, Fact, Hold, Image, ImageMedia, RecordedFact, Scope, Seq, decide, replay,
};
use windlass_engine::ports::{BlobStore as _, LogStore as _, StoreErrorKind};
use windlass_engine::{CopyTarget, ForkError, ForkReport, NewInput, Start, StartError, copy, load};
use windlass_testkit::Gate;
use windlass_testkit::blobs::HeldBlobs;
use windlass_testkit::faulty::{Fault, FaultyStore, Operation};
use windlass_testkit::provider::{ScriptedProvider, Step, call, say};
use windlass_testkit::tools::{ScriptedTool, ScriptedTools};

use crate::world::{Cast, World, id, me, soon};

/// Twice the same: a turn with a call, then whatever comes.
fn script(then: &[&str]) -> Vec<Step> {
    let mut script = vec![call("write", json!({})), say("first")];
    script.extend(then.iter().map(|text| say(*text)));
    script
}

fn write() -> ScriptedTool {
    ScriptedTool::new("write", EffectClass::Effectful).says("done")
}

fn last(world: &World, name: &str) -> Seq {
    Seq(world.store.log(&id(name)).len() as u64)
}

/// The session of this id decides and is shown what its log says.
fn verified(world: &World, name: &str) {
    let log = world.store.log(&id(name));
    let told = replay(decide, log.iter().cloned()).unwrap();
    assert_eq!((told.divergences, told.request_divergences), (vec![], vec![]), "{name}");
    assert_eq!(told.unverifiable_decisions, [], "{name}");
    assert_eq!(told.facts, log.len() as u64);
}

async fn say_to(world: &World, name: &str, text: &str) -> String {
    let opened = world.engine.open(&id(name), &me(), Start::Existing).await;
    let conversation = opened.unwrap();
    let input = conversation.send(NewInput::new(me(), text)).await.unwrap();
    let report = soon(conversation.outcome(input)).await.unwrap();
    report.answer
}

async fn fork(world: &World, of: &str, at: Seq, name: &str) -> Result<ForkReport, ForkError> {
    world.engine.fork(&id(of), at, &id(name), &me()).await
}

fn keys(log: &[RecordedFact]) -> Vec<String> {
    let key = |recorded: &RecordedFact| match &recorded.fact {
        Fact::CallStarted(fact) => Some(fact.idempotency_key.clone()),
        _ => None,
    };
    log.iter().filter_map(key).collect()
}

#[tokio::test(start_paused = true)]
async fn a_session_goes_on_twice_from_one_point_and_both_verify() {
    let then = [say("here"), call("write", json!({})), say("there"), say("and there again")];
    let script = script(&[]).into_iter().chain(then);
    let world = World::new(script, [write()]);
    assert_eq!(world.turn().await.0.answer, "first");
    let at = last(&world, "s");
    let forked = fork(&world, "s", at, "f").await.unwrap();
    assert_eq!((forked.last, forked.facts, forked.blobs), (at, at.0, 0));

    assert_eq!(say_to(&world, "s", "go here").await, "here");
    assert_eq!(say_to(&world, "f", "go there").await, "there");
    // A fork of the fork.
    let deeper = last(&world, "f");
    fork(&world, "f", deeper, "g").await.unwrap();
    assert_eq!(say_to(&world, "g", "once more").await, "and there again");

    for name in ["s", "f", "g"] {
        verified(&world, name);
        let whole = world.store.verify(&id(name)).await.unwrap();
        assert_eq!(whole.last, last(&world, name));
    }
    // What was called is not called again, and has the key that it had.
    let call = |name: &str| keys(&world.store.log(&id(name)));
    assert_eq!(call("s").len(), 1);
    assert_eq!(call("f").first(), call("s").first());
    assert!(call("f").iter().any(|key| key.starts_with("f.")));
    assert_eq!(call("g"), call("f"));
    // Asked again, it is there, though it has gone on.
    let again = fork(&world, "s", at, "f").await.unwrap();
    assert_eq!((again.last, again.facts), (at, 0));
}

#[tokio::test(start_paused = true)]
async fn a_fork_is_refused_where_something_is_under_way_and_says_where_else() {
    let world = World::new(script(&[]), [write()]);
    world.turn().await;
    let end = last(&world, "s");
    // Between turns, after the call, and after the answer.
    let points = [Seq(1), Seq(2), seq_of(&world, "CallObserved"), Seq(end.0 - 1), end];
    for at in (1..end.0).map(Seq).filter(|at| !points.contains(at)) {
        let refused = fork(&world, "s", at, "f").await;
        let Err(ForkError::UnderWay { before, after, .. }) = refused else {
            panic!("{at}: {refused:?}")
        };
        let nearest = points.iter().rfind(|point| **point < at);
        assert_eq!((Some(&before), after), (nearest, next_after(&points, at)), "{at}");
    }
    for at in [0, end.0 + 1] {
        let refused = fork(&world, "s", Seq(at), "f").await;
        assert!(
            matches!(refused, Err(ForkError::NoPosition { last, .. }) if last == end),
            "{at}: {refused:?}"
        );
    }
    let unknown = fork(&world, "none", Seq(1), "f").await;
    assert!(matches!(unknown, Err(ForkError::Unknown(_))), "{unknown:?}");
    let stranger = Scope::Principal {
        tenant: "other".into(),
        principal: "tester".into(),
        claims: std::collections::BTreeMap::new(),
    };
    let unseen = world.engine.fork(&id("s"), end, &id("f"), &stranger).await;
    assert!(matches!(unseen, Err(ForkError::Unknown(_))), "{unseen:?}");
    assert!(world.store.log(&id("f")).is_empty(), "nothing was written");
    assert!(!world.store.claimed(&id("f")));
}

fn next_after(points: &[Seq], at: Seq) -> Option<Seq> {
    points.iter().find(|point| **point > at).copied()
}

fn seq_of(world: &World, kind: &str) -> Seq {
    let log = world.store.log(&id("s"));
    log.iter().find(|fact| fact.fact.kind() == kind).unwrap().seq
}

#[tokio::test(start_paused = true)]
async fn a_session_goes_on_twice_from_a_sample_in_a_turn() {
    let provider = ScriptedProvider::new(script(&["on from the result", "deeper"]));
    let tools = ScriptedTools::new([write()]);
    let cast = Cast {
        provider: Arc::new(provider.clone()),
        tools: Arc::new(tools.clone()),
        ..Cast::new([], [])
    };
    let world = World::of(FaultyStore::new(), cast);
    assert_eq!(world.turn().await.0.answer, "first");
    let at = seq_of(&world, "CallObserved");
    let forked = fork(&world, "s", at, "f").await.unwrap();
    assert_eq!((forked.last, forked.facts), (at, at.0 + 1));
    // Its turn is over, before anybody opens it.
    let settled = world.store.log(&id("f")).pop().unwrap();
    let Fact::TurnSettled(fact) = &settled.fact else { panic!("{settled:?}") };
    assert!(fact.notice.as_ref().unwrap().starts_with("The conversation was forked here"));
    let again = fork(&world, "s", at, "f").await.unwrap();
    assert_eq!((again.last, again.facts), (at, 0));

    assert_eq!(say_to(&world, "f", "go on").await, "on from the result");
    let request = format!("{:?}", provider.prompts().last().unwrap());
    for words in ["done", "The conversation was forked here", "go on"] {
        assert!(request.contains(words), "{words}: {request}");
    }
    assert!(!request.contains("\"first\""), "{request}");
    assert_eq!(tools.runs().len(), 1, "nothing is done again");
    let deeper = last(&world, "f");
    fork(&world, "f", deeper, "g").await.unwrap();
    assert_eq!(say_to(&world, "g", "and on").await, "deeper");
    for name in ["s", "f", "g"] {
        verified(&world, name);
    }
}

#[tokio::test(start_paused = true)]
async fn a_fork_in_a_turn_that_lost_its_end_is_settled_by_whoever_opens_it() {
    let (store, broken) = failing(Fault::Fail(StoreErrorKind::Io));
    let world = World::of(store, Cast::new(script(&["go on"]), [write()]));
    world.turn().await;
    let at = seq_of(&world, "CallObserved");
    *broken.lock().unwrap() = Some(1);
    let cut = fork(&world, "s", at, "f").await;
    assert!(matches!(cut, Err(ForkError::Store(_))), "{cut:?}");
    assert_eq!(last(&world, "f"), at);
    let conversation = world.engine.open(&id("f"), &me(), Start::Existing).await.unwrap();
    let state = conversation.state().await.unwrap();
    assert_eq!((state.turn().is_none(), state.hold), (true, Hold::Held));
    conversation.flush().await.unwrap();
    assert_eq!(last(&world, "f"), at.next());
    assert_eq!(say_to(&world, "f", "and now").await, "go on");
    verified(&world, "f");
}

#[tokio::test(start_paused = true)]
async fn an_id_that_is_taken_stays_what_it_is() {
    let world = World::new(script(&["other"]), [write()]);
    world.turn().await;
    let end = last(&world, "s");
    let running = world.open("other").await;
    for name in ["s", "other"] {
        let refused = fork(&world, "s", end, name).await;
        assert!(matches!(refused, Err(ForkError::Exists(_))), "{refused:?}");
    }
    fork(&world, "s", end, "f").await.unwrap();
    let elsewhere = fork(&world, "s", Seq(2), "f").await;
    assert!(matches!(elsewhere, Err(ForkError::Exists(_))));
    let bob = Scope::local("bob");
    let another = world.engine.fork(&id("s"), end, &id("f"), &bob).await;
    assert!(matches!(another, Err(ForkError::Exists(_))));
    // The driver of the other one was not superseded.
    running.send(NewInput::new(me(), "still here")).await.unwrap();
    // Whoever forks it has it; the system leaves it to whom it belongs.
    world.engine.fork(&id("s"), end, &id("b"), &bob).await.unwrap();
    let system = Scope::system("maintenance");
    world.engine.fork(&id("s"), end, &id("m"), &system).await.unwrap();
    let owner = |name: &str| match &world.store.log(&id(name))[0].fact {
        Fact::SessionOpened(opened) => (*opened.owner).clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!((owner("b"), owner("m")), (bob, me()));
}

#[tokio::test(start_paused = true)]
async fn the_original_runs_on_while_it_is_forked() {
    let gate = Gate::new();
    let tool = ScriptedTool::new("write", EffectClass::Effectful).says("done").before(&gate);
    let steps = [say("first"), call("write", json!({})), say("second"), say("forked")];
    let world = World::new(steps, [tool]);
    let conversation = world.open("s").await;
    let input = conversation.send(NewInput::new(me(), "one")).await.unwrap();
    soon(conversation.outcome(input)).await.unwrap();
    let point = last(&world, "s");
    let input = conversation.send(NewInput::new(me(), "two")).await.unwrap();
    soon(gate.reached()).await;
    // The tool runs, and somebody forks before it.
    fork(&world, "s", point, "f").await.unwrap();
    let now = last(&world, "s");
    let refused = fork(&world, "s", now, "g").await;
    let Err(ForkError::UnderWay { before, after, .. }) = refused else { panic!("{refused:?}") };
    // The input had come, and its turn had not opened.
    assert_eq!((before, after), (point.next(), None));
    gate.open();
    let report = soon(conversation.outcome(input)).await.unwrap();
    assert_eq!(report.answer, "second");
    assert_eq!(say_to(&world, "f", "three").await, "forked");
    verified(&world, "f");
    verified(&world, "s");
}

#[tokio::test(start_paused = true)]
async fn what_waits_waits_in_the_fork_until_somebody_says_so() {
    let gate = Gate::new();
    let steps = [call("write", json!({})), say("one"), say("two"), say("two")];
    let world = World::new(steps, [write().before(&gate)]);
    let conversation = world.open("s").await;
    let one = conversation.send(NewInput::new(me(), "one")).await.unwrap();
    soon(gate.reached()).await;
    let two = conversation.send(NewInput::new(me(), "two")).await.unwrap();
    gate.open();
    soon(conversation.outcome(one)).await.unwrap();
    soon(conversation.outcome(two)).await.unwrap();
    let log = world.store.log(&id("s"));
    let settled = log.iter().find(|fact| matches!(fact.fact, Fact::TurnSettled(_))).unwrap().seq;
    fork(&world, "s", settled, "f").await.unwrap();
    let conversation = world.engine.open(&id("f"), &me(), Start::Existing).await.unwrap();
    let state = conversation.state().await.unwrap();
    assert_eq!((state.queue.len(), state.hold), (1, Hold::Held));
    assert!(state.turn().is_none());
    assert_eq!(last(&world, "f"), settled, "nothing began");
    conversation.resume().await.unwrap();
    let report = soon(conversation.outcome(two)).await.unwrap();
    assert_eq!(report.answer, "two");
    verified(&world, "f");
}

#[tokio::test(start_paused = true)]
async fn what_is_kept_beside_the_log_is_kept_beside_the_fork() {
    let blobs = HeldBlobs::new(1 << 20);
    let png = [0x89, b'P', b'N', b'G', 0x0d, 0x0a, 0x1a, 0x0a, 1, 2, 3];
    let cast = Cast {
        provider: Arc::new(ScriptedProvider::new([say("seen"), say("again")])),
        ..Cast::new([], []).blobs(&blobs)
    };
    let world = World::of(FaultyStore::new(), cast);
    let conversation = world.open("s").await;
    let mut look = NewInput::new(me(), "look");
    look.images = vec![png.to_vec()];
    let input = conversation.send(look).await.unwrap();
    soon(conversation.outcome(input)).await.unwrap();
    let end = last(&world, "s");
    let forked = fork(&world, "s", end, "f").await.unwrap();
    assert_eq!((forked.blobs, forked.missing), (1, 0));
    let images: Vec<Image> = world
        .store
        .log(&id("f"))
        .iter()
        .filter_map(|fact| match &fact.fact {
            Fact::InputQueued(fact) => fact.images.first().cloned(),
            _ => None,
        })
        .collect();
    assert_eq!(images.len(), 1);
    assert_eq!(images[0].media, ImageMedia::Png);
    assert_eq!(blobs.bytes(&id("f"), &images[0].sha256).unwrap(), png);
    // The fork does not lean on the original.
    blobs.erase(&id("s")).await.unwrap();
    assert_eq!(say_to(&world, "f", "and now").await, "again");
}

/// A log of some pages, of turns without a tool.
async fn long(world: &World) -> Seq {
    let conversation = world.open("s").await;
    while last(world, "s").0 < 1_200 {
        let input = conversation.send(NewInput::new(me(), "more")).await.unwrap();
        soon(conversation.outcome(input)).await.unwrap();
    }
    drop(conversation);
    last(world, "s")
}

fn says(times: usize) -> Vec<Step> {
    (0..times).map(|_| say("more")).collect()
}

/// A store whose appends fail once, after as many as are said.
fn failing(fault: Fault) -> (FaultyStore, Arc<Mutex<Option<usize>>>) {
    let left = Arc::new(Mutex::new(None::<usize>));
    let armed = left.clone();
    let store = FaultyStore::responding(move |operation, _| {
        let mut left = armed.lock().unwrap();
        match (operation, left.as_mut()) {
            (Operation::Append, Some(0)) => {
                *left = None;
                vec![fault.clone()]
            }
            (Operation::Append, Some(more)) => {
                *more -= 1;
                Vec::new()
            }
            (_, _) => Vec::new(),
        }
    });
    (store, left)
}

#[tokio::test(start_paused = true)]
async fn a_fork_that_was_cut_short_is_nothing_until_it_is_finished() {
    let (store, broken) = failing(Fault::Fail(StoreErrorKind::Io));
    let world = World::of(store, Cast::new(says(400), []));
    let end = long(&world).await;
    *broken.lock().unwrap() = Some(1);
    let cut = fork(&world, "s", end, "f").await;
    assert!(matches!(cut, Err(ForkError::Store(_))), "{cut:?}");
    let there = last(&world, "f");
    assert!(there > Seq::ZERO && there < end, "{there}");
    assert!(!world.store.claimed(&id("f")), "it is given back");

    // Nobody drives it, and nobody forks it.
    for start in [Start::Existing, world.start()] {
        let opened = world.engine.open(&id("f"), &me(), start).await.map(|_| ());
        let Err(StartError::Unfinished { at, .. }) = opened else { panic!("{opened:?}") };
        assert_eq!(at, end);
    }
    let of_it = fork(&world, "f", Seq(1), "g").await;
    assert!(matches!(of_it, Err(ForkError::Unfinished(_))), "{of_it:?}");
    let elsewhere = fork(&world, "s", Seq(1), "f").await;
    assert!(matches!(elsewhere, Err(ForkError::Exists(_))), "{elsewhere:?}");
    assert_eq!(last(&world, "f"), there, "nothing was written");

    // The next process finishes it, and it is as if nothing had happened.
    let world = world.next_process();
    let forked = fork(&world, "s", end, "f").await.unwrap();
    assert_eq!(forked.facts, end.0 - there.0);
    fork(&world, "s", end, "whole").await.unwrap();
    let log = |name: &str| {
        let facts = world.store.log(&id(name)).into_iter().skip(1);
        facts.map(|fact| (fact.seq, fact.fact)).collect::<Vec<_>>()
    };
    assert!(log("f") == log("whole"));
    assert_eq!(say_to(&world, "f", "go on").await, "more");
    verified(&world, "f");
}

#[tokio::test(start_paused = true)]
async fn an_append_whose_answer_was_lost_is_found_when_it_is_forked_again() {
    let (store, broken) = failing(Fault::FailAfter(StoreErrorKind::Unavailable));
    let world = World::of(store, Cast::new(says(2), []));
    world.turn().await;
    let end = last(&world, "s");
    *broken.lock().unwrap() = Some(0);
    let away = fork(&world, "s", end, "f").await;
    assert!(matches!(away, Err(ForkError::Store(_))), "{away:?}");
    let forked = fork(&world, "s", end, "f").await.unwrap();
    assert_eq!((forked.last, forked.facts), (end, 0), "it was kept");
    assert_eq!(say_to(&world, "f", "go on").await, "more");
}

#[tokio::test(start_paused = true)]
async fn a_fork_is_copied_and_loaded_like_any_session() {
    let blobs = HeldBlobs::new(1 << 20);
    let world = World::of(FaultyStore::new(), Cast::new(says(2), []).blobs(&blobs));
    world.turn().await;
    let end = last(&world, "s");
    fork(&world, "s", end, "f").await.unwrap();
    say_to(&world, "f", "go on").await;
    world.engine.shutdown("done").await;
    let there = FaultyStore::new();
    let (from, to) = (
        CopyTarget { store: Arc::new(world.store.clone()), blobs: Arc::new(blobs.clone()) },
        CopyTarget { store: Arc::new(there.clone()), blobs: Arc::new(HeldBlobs::new(1 << 20)) },
    );
    copy(&from, &to, &id("f")).await.unwrap();
    let here = load(&world.store, &id("f"), 100).await.unwrap();
    let copied = load(&there, &id("f"), 100).await.unwrap();
    assert!(here == copied);
    assert_eq!(here.session.missing_up_to(), None);
    // A snapshot of it reads.
    let kept = serde_json::to_vec(&here).unwrap();
    let read: windlass_engine::Loaded = serde_json::from_slice(&kept).unwrap();
    assert!(read == here);
    let shut = fork(&world, "s", end, "late").await;
    assert!(matches!(shut, Err(ForkError::ShutDown(_))), "{shut:?}");
}

#[tokio::test(start_paused = true)]
async fn a_session_is_read_as_of_any_position() {
    let world = World::new(script(&["second"]), [write()]);
    drop(world.open("s").await);
    assert_eq!(say_to(&world, "s", "one").await, "first");
    let handle = world.engine.open(&id("s"), &me(), Start::Existing).await.unwrap();
    let input = handle.send(NewInput::new(me(), "two")).await.unwrap();
    soon(handle.outcome(input)).await.unwrap();
    handle.flush().await.unwrap();
    let log = world.store.log(&id("s"));
    for at in 1..=log.len() {
        let folded = handle.state_at(Seq(at as u64)).await.unwrap();
        let mut expected = windlass_engine::core::Checkpoint::open(&log[0]).unwrap();
        log[1..at].iter().for_each(|fact| expected.apply(fact).unwrap());
        assert_eq!(folded.session, expected.session, "as of {at}");
        assert_eq!(folded.last(), Seq(at as u64));
    }
    for at in [0, log.len() as u64 + 1] {
        let error = handle.state_at(Seq(at)).await.unwrap_err();
        let StartError::Store(error) = error else { panic!("{error}") };
        assert_eq!(error.kind, StoreErrorKind::Invalid);
    }
}
