//! Parting: sessions are let go with their turns open, what ran may end first, and whoever opens
//! them next goes on. And recovering: a process takes up what one before it left open.

use std::sync::Arc;

use serde_json::json;
use tokio::time::Instant;
use windlass_engine::core::{
    ApprovalAnswer, EffectClass, Fact, ObservationStatus, Permissions, Scope,
};
use windlass_engine::ports::Tenants;
use windlass_engine::{DriverEnd, Event, HandOff, SendError, Start, StartError};
use windlass_testkit::Gate;
use windlass_testkit::approver::ScriptedApprover;
use windlass_testkit::faulty::{Fault, FaultyStore, Operation};
use windlass_testkit::provider::{ScriptedProvider, call, calls, say, stall};
use windlass_testkit::tools::{CounterTool, ScriptedTools};

use crate::interrupts::Deaf;
use crate::world::{Cast, World, hello, id, me, ms, soon, until};

fn rested() -> HandOff {
    HandOff { at_rest: 1, dropped: Vec::new() }
}

fn settled(world: &World) -> usize {
    let settled = |fact: &Fact| matches!(fact, Fact::TurnSettled(_)).then_some(());
    world.picked(settled).len()
}

/// What each call of session `s` came to.
fn statuses(world: &World) -> Vec<ObservationStatus> {
    world.picked(|fact| match fact {
        Fact::CallObserved(fact) => Some(fact.observation.status),
        _ => None,
    })
}

/// The next process goes on with session `s` until its turn has settled.
async fn goes_on(world: &World) -> World {
    let next = world.next_process();
    let recovered = soon(next.engine.recover(&Tenants::All, 4)).await.unwrap();
    assert_eq!((recovered.opened, recovered.locked), (1, 0));
    until(|| !next.store.claimed(&id("s"))).await;
    assert_eq!(settled(&next), 1);
    next
}

#[tokio::test(start_paused = true)]
async fn what_a_tool_does_becomes_durable_and_the_model_is_asked_by_the_next() {
    let done = Gate::new();
    let pay = CounterTool::new("pay", EffectClass::Effectful);
    let provider = ScriptedProvider::new([call("pay", json!({})), say("Paid.")]);
    let tools = Arc::new(ScriptedTools::new([pay.tool().after(&done)]));
    let world = World::over(FaultyStore::new(), Arc::new(provider.clone()), tools.clone());
    let conversation = world.open("s").await;
    let mut watch = world.engine.subscribe(&id("s"), &me(), None);
    conversation.send(hello()).await.unwrap();
    done.reached().await;
    let engine = world.engine.clone();
    let parting = tokio::spawn(async move { engine.hand_off(5_000, "a new version").await });
    // Virtual time: by then it has been told.
    tokio::time::sleep(ms(1)).await;
    let refused = soon(conversation.send(hello())).await;
    let parted = |ended: &DriverEnd| matches!(ended, DriverEnd::HandOff { reason, .. } if reason == "a new version");
    assert!(matches!(&refused, Err(SendError::Ended(ended)) if parted(ended)), "{refused:?}");
    assert!(!parting.is_finished(), "the tool runs");
    done.open();
    assert_eq!(soon(parting).await.unwrap(), rested());
    assert!(!world.store.claimed(&id("s")), "it is let go");
    assert_eq!((provider.asked().len(), pay.total()), (1, 1));
    assert_eq!(world.kinds().last(), Some(&"CallObserved"));
    let shut = world.engine.open(&id("s"), &me(), world.start()).await;
    assert!(matches!(shut, Err(StartError::ShutDown(_))));
    let next = goes_on(&world).await;
    assert_eq!((provider.asked().len(), pay.total()), (2, 1));
    assert_eq!(statuses(&next), [ObservationStatus::Done]);
    // Who watched in the process that parted hears of the other.
    let mut facts = Vec::new();
    while facts.len() < next.log().len() - usize::from(facts.is_empty()) {
        if let Event::Fact(fact) = soon(watch.next()).await.unwrap() {
            facts.push((**fact).clone());
        }
        if facts.last() == next.log().last() {
            break;
        }
    }
    let log = next.log();
    assert!(log.ends_with(&facts), "each once, and in order");
    assert!(facts.len() + 1 >= log.len());
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_ends_in_time_settles_its_turn_and_opens_no_other() {
    let gate = Gate::new();
    let provider = ScriptedProvider::new([say("there").end_after(&gate), say("and there")]);
    let tools = Arc::new(ScriptedTools::new([]));
    let world = World::over(FaultyStore::new(), Arc::new(provider.clone()), tools);
    let conversation = world.open("s").await;
    conversation.send(hello()).await.unwrap();
    conversation.send(hello()).await.unwrap();
    gate.reached().await;
    let parting = world.engine.hand_off(5_000, "a new version");
    let opening = async {
        tokio::task::yield_now().await;
        gate.open();
    };
    let (parted, ()) = tokio::join!(soon(parting), opening);
    assert_eq!((parted, provider.asked().len()), (rested(), 1));
    assert_eq!(settled(&world), 1);
    let next = world.next_process();
    assert_eq!(next.engine.recover(&Tenants::All, 1).await.unwrap().opened, 1);
    until(|| !next.store.claimed(&id("s"))).await;
    assert_eq!((settled(&next), provider.asked().len()), (2, 2));
}

#[tokio::test(start_paused = true)]
async fn an_answer_with_calls_starts_none_and_is_asked_for_again() {
    let gate = Gate::new();
    let pay = CounterTool::new("pay", EffectClass::Effectful);
    let asks = || calls([("pay", json!({"to": 1})), ("pay", json!({"to": 2}))]);
    let script = [asks().head_after(&gate), asks(), say("Paid.")];
    let provider = ScriptedProvider::new(script);
    let tools = Arc::new(ScriptedTools::new([pay.tool()]));
    let world = World::over(FaultyStore::new(), Arc::new(provider.clone()), tools);
    let conversation = world.open("s").await;
    conversation.send(hello()).await.unwrap();
    gate.reached().await;
    let parting = world.engine.hand_off(5_000, "a new version");
    let opening = async {
        tokio::task::yield_now().await;
        gate.open();
    };
    let (parted, ()) = tokio::join!(soon(parting), opening);
    assert_eq!((parted, pay.total()), (rested(), 0));
    assert!(!world.kinds().contains(&"CallStarted"));
    let next = goes_on(&world).await;
    assert_eq!((provider.asked().len(), pay.total()), (3, 2));
    assert_eq!(statuses(&next), [ObservationStatus::Done; 2]);
}

#[tokio::test(start_paused = true)]
async fn of_tools_side_by_side_all_results_become_durable() {
    let (one, two) = (Gate::new(), Gate::new());
    let first = CounterTool::new("first", EffectClass::Effectful);
    let second = CounterTool::new("second", EffectClass::Effectful);
    let asks = calls([("first", json!({})), ("second", json!({}))]);
    let provider = ScriptedProvider::new([asks, say("Paid.")]);
    let tools = ScriptedTools::new([first.tool().after(&one), second.tool().after(&two)]);
    let world = World::over(FaultyStore::new(), Arc::new(provider.clone()), Arc::new(tools));
    let conversation = world.open("s").await;
    conversation.send(hello()).await.unwrap();
    one.reached().await;
    two.reached().await;
    let parting = world.engine.hand_off(5_000, "a new version");
    let opening = async {
        for gate in [two, one] {
            tokio::time::sleep(ms(10)).await;
            gate.open();
        }
    };
    let (parted, ()) = tokio::join!(soon(parting), opening);
    assert_eq!(parted, rested());
    assert_eq!(statuses(&world), [ObservationStatus::Done; 2]);
    let next = goes_on(&world).await;
    assert_eq!((first.total(), second.total()), (1, 1));
    assert_eq!(statuses(&next).len(), 2);
}

#[tokio::test(start_paused = true)]
async fn what_does_not_end_in_time_is_dropped_and_taken_up_by_the_next() {
    let provider = ScriptedProvider::new([stall(), say("there")]);
    let tools = Arc::new(ScriptedTools::new([]));
    let world = World::over(FaultyStore::new(), Arc::new(provider.clone()), tools);
    let conversation = world.open("s").await;
    let mut events = conversation.subscribe(None);
    conversation.send(hello()).await.unwrap();
    let at = Instant::now();
    let parted = soon(world.engine.hand_off(300, "a new version")).await;
    assert_eq!((parted.at_rest, parted.dropped), (0, vec![id("s")]));
    assert!(at.elapsed() >= ms(300) && at.elapsed() <= ms(300 + 700), "and the grace");
    assert!(!world.store.claimed(&id("s")), "it is let go");
    loop {
        if let Event::Ended(ended) = soon(events.next()).await.unwrap() {
            let dropped = matches!(&*ended, DriverEnd::HandOff { at_rest: false, .. });
            break assert!(dropped, "{ended:?}");
        }
    }
    goes_on(&world).await;
    assert_eq!(provider.asked().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn nobody_waits_for_people_and_their_question_stays_open() {
    let counter = CounterTool::new("pay", EffectClass::Effectful);
    let provider = ScriptedProvider::new([call("pay", json!({})), say("Paid.")]);
    let cast = Cast {
        provider: Arc::new(provider),
        tools: Arc::new(ScriptedTools::new([counter.tool()])),
        ..Cast::new([], [])
    };
    let world = World::of(FaultyStore::new(), cast.approver(ScriptedApprover::holding()));
    let world = world.tuned(|settings| settings.permissions = Permissions::Ask);
    let conversation = world.open("s").await;
    conversation.send(hello()).await.unwrap();
    until(|| world.kinds().contains(&"ApprovalAsked")).await;
    let at = Instant::now();
    let parted = soon(world.engine.hand_off(60_000, "a new version")).await;
    assert_eq!(parted, rested());
    assert!(at.elapsed() < ms(1_000), "{:?}", at.elapsed());
    let next = world.next_process();
    assert_eq!(next.engine.recover(&Tenants::All, 1).await.unwrap().opened, 1);
    let conversation = next.open("s").await;
    let pending = conversation.pending_approvals().await.unwrap();
    let [question] = &pending[..] else { panic!("{pending:?}") };
    let allowed = ApprovalAnswer::Allow { edit: None };
    let answered = conversation.answer(question.call, me(), question.digest, allowed);
    answered.await.unwrap();
    drop(conversation);
    until(|| !next.store.claimed(&id("s"))).await;
    assert_eq!((settled(&next), counter.total()), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_store_that_does_not_answer_costs_a_bounded_time() {
    let never = Gate::new();
    let waits = never.clone();
    let store = FaultyStore::responding(move |operation, number| match (operation, number) {
        (Operation::Append, 2..) => vec![Fault::Wait(waits.clone())],
        _ => Vec::new(),
    });
    let provider = Arc::new(ScriptedProvider::responding(|_| say("there")));
    let world = World::over(store, provider, Arc::new(ScriptedTools::new([])));
    let conversation = world.open("s").await;
    conversation.flush().await.unwrap();
    let sending = tokio::spawn(async move { conversation.send(hello()).await });
    never.reached().await;
    let at = Instant::now();
    let parted = soon(world.engine.hand_off(300, "a new version")).await;
    assert_eq!((parted.at_rest, parted.dropped), (0, vec![id("s")]));
    assert_eq!(at.elapsed(), ms(300 + 30_000));
    assert!(soon(sending).await.unwrap().is_err());
}

#[tokio::test(start_paused = true)]
async fn one_session_is_moved_and_may_come_back() {
    let deaf = Deaf::new(EffectClass::ReadOnly);
    let world = deaf.world();
    let (one, other) = (world.open("s").await, world.open("other").await);
    for conversation in [&one, &other] {
        conversation.send(hello()).await.unwrap();
    }
    until(|| deaf.runs.load(std::sync::atomic::Ordering::SeqCst) == 2).await;
    let parted = soon(world.engine.hand_off_session(&id("s"), 100, "it moves")).await;
    assert_eq!(parted.dropped, [id("s")]);
    assert!(!world.store.claimed(&id("s")) && world.store.claimed(&id("other")));
    assert_eq!(world.engine.hand_off_session(&id("s"), 100, "").await, HandOff::default());
    let again = world.open("s").await;
    assert!(again.state().await.unwrap().turn().is_some(), "its turn goes on");
    assert!(one.state().await.is_err() && other.state().await.is_ok());
}

fn tenant(name: &str) -> Scope {
    Scope::Principal {
        tenant: name.to_owned(),
        principal: "somebody".to_owned(),
        claims: std::collections::BTreeMap::new(),
    }
}

#[tokio::test(start_paused = true)]
async fn a_process_takes_up_what_its_tenant_left_open_and_says_what_it_does_not() {
    let provider = || ScriptedProvider::responding(|_| say("there"));
    let never = || ScriptedProvider::responding(|_| stall());
    let tool = CounterTool::new("pay", EffectClass::ReadOnly);
    let with = Arc::new(ScriptedTools::new([tool.tool()]));
    let without = Arc::new(ScriptedTools::new([]));
    let store = FaultyStore::new();
    let opens = async |world: &World, name: &str, owner: Scope| {
        let Start::Either(mut opening) = world.start() else { panic!("it opens either") };
        opening.owner = owner.clone();
        let start = Start::New(opening);
        let conversation = world.engine.open(&id(name), &owner, start).await.unwrap();
        let said = windlass_engine::NewInput::new(owner, "hello");
        conversation.send(said).await.unwrap();
        conversation
    };
    let world = World::over(store.clone(), Arc::new(never()), without.clone());
    for n in 0..5 {
        opens(&world, &format!("acme-{n}"), tenant("acme")).await;
    }
    opens(&world, "other-0", tenant("other")).await;
    let tooled = World::over(store.clone(), Arc::new(never()), with);
    opens(&tooled, "acme-tooled", tenant("acme")).await;
    let done = World::over(store.clone(), Arc::new(provider()), without.clone());
    let conversation = opens(&done, "acme-done", tenant("acme")).await;
    conversation.close().await;
    for world in [world, tooled] {
        world.engine.hand_off(0, "a new version").await;
    }

    let next = World::over(store.reopen(), Arc::new(provider()), without);
    let recovered = soon(next.engine.recover(&Tenants::One("acme".to_owned()), 2)).await.unwrap();
    assert_eq!((recovered.opened, recovered.locked, recovered.unnamed), (5, 0, 0));
    let lacking = vec![(id("acme-tooled"), vec!["the tool pay".to_owned()])];
    assert_eq!(recovered.missing, lacking);
    assert!(recovered.failed.is_empty());
    let open = |name: &str| {
        let log = next.store.log(&id(name));
        !matches!(log.last().unwrap().fact, Fact::TurnSettled(_))
    };
    until(|| (0..5).all(|n| !open(&format!("acme-{n}")))).await;
    assert!(open("other-0") && open("acme-tooled"), "they are left as they are");
    assert!(!next.store.claimed(&id("acme-tooled")));
}
