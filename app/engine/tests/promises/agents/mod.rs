//! Agents: a call that a session of its own runs, within what the turn lends it.

mod background;
mod budget;
mod crashes;
mod delivery;
mod detached;
mod ending;
mod given;
mod planning;
mod time;
mod walk;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use serde_json::json;
use windlass_engine::core::{
    AgentSpec, ApprovalAnswer, CallId, Concurrency, DetachedEndPolicy, EffectClass, Fact,
    InterruptSource, Lineage, Observation, ObservationStatus, ParentEndPolicy, Permissions,
    RecordedFact, SessionId, StopTiming, ToolSpec, TurnOutcome,
};
use windlass_engine::ports::ToolExecutor;
use windlass_engine::{StartError, agent_session};
use windlass_testkit::Gate;
use windlass_testkit::faulty::{Fault, FaultyStore, Operation};
use windlass_testkit::provider::{ScriptedProvider, Step, call, calls, say, stall};
use windlass_testkit::tools::{ScriptedTool, ScriptedTools};

use crate::world::{World, hello, id, limits, me, ms, soon, until};

/// The session of the agent that call 6 of session `s` runs.
pub(super) const CHILD: &str = "s.6";

pub(super) fn agent(tools: &[&str], samples: u32) -> AgentSpec {
    AgentSpec::new("You are a scout.").with(|it| {
        it.tools = tools.iter().map(|&tool| tool.into()).collect();
        it.samples = samples;
    })
}

pub(super) fn scout(agent: AgentSpec) -> ToolSpec {
    ToolSpec::new("scout", EffectClass::Idempotent).with(|it| {
        it.description = "Looks around.".into();
        it.parameters =
            r#"{"type":"object","properties":{"prompt":{"type":"string"}},"required":["prompt"]}"#
                .into();
        it.concurrency = Concurrency::Parallel;
        it.agent = Some(Box::new(agent));
    })
}

pub(super) fn send_out() -> Step {
    call("scout", json!({"prompt": "look around"}))
}

/// A model that answers each session by how often that one has asked, from 0.
pub(super) fn model(
    answer: impl Fn(&str, usize) -> Step + Send + Sync + 'static,
) -> (ScriptedProvider, Arc<Mutex<BTreeMap<SessionId, usize>>>) {
    let asked: Arc<Mutex<BTreeMap<SessionId, usize>>> = Arc::default();
    let counts = asked.clone();
    let provider = ScriptedProvider::responding(move |request| {
        let nth = {
            let mut counts = counts.lock().unwrap();
            let count = counts.entry(request.session.clone()).or_default();
            *count += 1;
            *count - 1
        };
        answer(request.session.as_str(), nth)
    });
    (provider, asked)
}

fn total(asked: &Mutex<BTreeMap<SessionId, usize>>) -> usize {
    asked.lock().unwrap().values().sum()
}

pub(super) fn world(
    store: FaultyStore,
    provider: ScriptedProvider,
    tools: ScriptedTools,
    agent: AgentSpec,
    samples: u32,
) -> World {
    let tools: Arc<dyn ToolExecutor> = Arc::new(tools);
    let world = World::over(store, Arc::new(provider), tools);
    let world = world.limited(limits().with(|it| {
        it.samples = samples;
        it.call_ms = 60_000;
    }));
    world.tuned(move |settings| settings.tools.push(scout(agent.clone())))
}

pub(super) fn looks() -> ScriptedTools {
    ScriptedTools::new([ScriptedTool::new("look", EffectClass::ReadOnly).says("a tree")])
}

pub(super) fn observed(log: &[RecordedFact]) -> Vec<(Observation, u32)> {
    let seen = log.iter().filter_map(|one| match &one.fact {
        Fact::CallObserved(fact) => {
            let took = fact.usage.map_or(0, |took| took.samples);
            Some(((*fact.observation).clone(), took))
        }
        _ => None,
    });
    seen.collect()
}

pub(super) fn outcome(log: &[RecordedFact]) -> Option<TurnOutcome> {
    log.iter().find_map(|one| match &one.fact {
        Fact::TurnSettled(fact) => Some(fact.outcome.clone()),
        _ => None,
    })
}

pub(super) fn count(log: &[RecordedFact], kind: &str) -> usize {
    log.iter().filter(|one| one.fact.kind() == kind).count()
}

#[tokio::test(start_paused = true)]
async fn a_budget_of_three_is_three_model_calls_over_the_whole_tree() {
    let (provider, asked) = model(|session, nth| match (session, nth) {
        ("s", 0) => send_out(),
        ("s", _) => say("nothing was found"),
        _ => call("look", json!({})),
    });
    let world = world(FaultyStore::new(), provider, looks(), agent(&["look"], 9), 3);
    let (report, _) = world.turn().await;
    assert_eq!(report.outcome, TurnOutcome::Completed);
    assert_eq!(total(&asked), 3);
    assert_eq!(report.spent.samples, 2);
    assert_eq!(report.spent.agents.samples, 1);
    let (observation, took) = observed(&world.log()).remove(0);
    assert_eq!((observation.status, took), (ObservationStatus::Failed, 1));
    assert!(observation.output.contains("reached its limit of samples"), "{}", observation.output);
}

#[tokio::test(start_paused = true)]
async fn agents_of_agents_share_the_budget() {
    // Each sends out another one, as long as there is something to lend, and then says so.
    let (provider, asked) = model(|_, nth| match nth {
        0 => send_out(),
        _ => say("that is all"),
    });
    let world = world(FaultyStore::new(), provider, looks(), agent(&["scout", "look"], 99), 7);
    let (report, _) = world.turn().await;
    assert_eq!(report.outcome, TurnOutcome::Completed);
    let whole = report.spent.with_agents().samples;
    assert_eq!(total(&asked), whole as usize);
    assert_eq!(whole, 7, "s 2, its agent 2, that one's 2, and one with nothing to lend 1");
    assert_eq!(
        outcome(&world.store.log(&id("s.6.6.6"))),
        Some(TurnOutcome::Exhausted { limit: windlass_engine::core::LimitKind::Samples })
    );
}

#[tokio::test(start_paused = true)]
async fn what_an_agent_says_is_the_result_of_the_call() {
    let (provider, _) = model(|session, nth| match (session, nth) {
        ("s", 0) => send_out(),
        ("s", _) => say("done"),
        (_, 0) => call("look", json!({})),
        _ => say("there is a tree"),
    });
    let world = world(FaultyStore::new(), provider.clone(), looks(), agent(&["look"], 9), 9);
    let (report, _) = world.turn().await;
    assert_eq!(report.answer, "done");
    let (observation, took) = observed(&world.log()).remove(0);
    assert_eq!(observation.output, "there is a tree");
    assert_eq!((observation.status, took), (ObservationStatus::Done, 2));
    let child = world.store.log(&id(CHILD));
    let Fact::SessionOpened(opened) = &child[0].fact else {
        panic!("{:?}", child[0]);
    };
    let of = Lineage::Child { of: id("s"), call: CallId(6) };
    assert_eq!(opened.lineage, of);
    assert_eq!(opened.settings.instructions, "You are a scout.");
    assert_eq!(opened.settings.limits.samples, 7);
    assert_eq!(*opened.owner, me());
    let names: Vec<_> = opened.settings.tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["look"]);
}

#[tokio::test(start_paused = true)]
async fn agents_run_beside_each_other_within_one_budget() {
    let gate = Gate::new();
    let held = gate.clone();
    let (provider, asked) = model(move |session, nth| match (session, nth) {
        ("s", 0) => calls([
            ("scout", json!({"prompt": "left"})),
            ("scout", json!({"prompt": "right"})),
            ("scout", json!({"prompt": "back"})),
        ]),
        ("s", _) => say("done"),
        (_, 0) => call("look", json!({})),
        _ => say(session).end_after(&held),
    });
    let world = world(FaultyStore::new(), provider, looks(), agent(&["look"], 2), 7);
    let conversation = world.open("s").await;
    let input = conversation.send(hello()).await.unwrap();
    // Both hold their last answers: none has waited for the other one.
    until(|| total(&asked) == 6).await;
    gate.open();
    let report = soon(conversation.outcome(input)).await.unwrap();
    assert_eq!(report.outcome, TurnOutcome::Completed);
    let seen = observed(&world.log());
    let said: Vec<_> = seen.iter().map(|(one, took)| (one.status, *took)).collect();
    use ObservationStatus::{Done, Failed};
    // The third was lent what was left, and it was not enough.
    assert_eq!(said.iter().filter(|one| **one == (Done, 2)).count(), 2, "{said:?}");
    assert_eq!(said.iter().filter(|one| **one == (Failed, 1)).count(), 1, "{said:?}");
    assert_eq!(total(&asked), 7);
    assert_eq!(report.spent.with_agents().samples, 7);
}

#[tokio::test(start_paused = true)]
async fn a_person_answers_for_an_agent_in_the_agents_session() {
    let (provider, _) = model(|session, nth| match (session, nth) {
        ("s", 0) => send_out(),
        ("s", _) => say("done"),
        (_, 0) => call("write", json!({})),
        _ => say("written"),
    });
    let writes =
        ScriptedTools::new([ScriptedTool::new("write", EffectClass::Effectful).says("ok")]);
    let waits = windlass_engine::ports::ExternalApprover;
    let cast = crate::world::Cast::new([], []);
    let cast = crate::world::Cast {
        provider: Arc::new(provider),
        tools: Arc::new(writes.clone()),
        ..cast
    };
    let world = World::of(FaultyStore::new(), cast.approver(waits));
    let world = world.limited(limits().with(|it| it.call_ms = 60_000));
    let world = world.tuned(|settings| {
        settings.permissions = Permissions::Ask;
        settings.tools.push(scout(agent(&["write"], 4)));
    });
    let conversation = world.open("s").await;
    let input = conversation.send(hello()).await.unwrap();
    // What it is told of its permissions stands before the call.
    let child = "s.7";
    let allow = ApprovalAnswer::Allow { edit: None };
    for name in ["s", child] {
        until(|| count(&world.store.log(&id(name)), "ApprovalAsked") == 1).await;
        let asked =
            world.engine.open(&id(name), &me(), windlass_engine::Start::Existing).await.unwrap();
        let pending = asked.pending_approvals().await.unwrap();
        assert_eq!(pending.len(), 1);
        let (call, arguments) = (pending[0].call, pending[0].digest);
        asked.answer(call, me(), arguments, allow.clone()).await.unwrap();
    }
    let report = soon(conversation.outcome(input)).await.unwrap();
    assert_eq!(report.outcome, TurnOutcome::Completed);
    assert_eq!(writes.runs().len(), 1);
    assert_eq!(writes.runs()[0].session, id(child));
}

#[tokio::test(start_paused = true)]
async fn a_session_that_has_the_name_of_an_agent_is_left_alone() {
    let (provider, _) = model(|session, nth| match (session, nth) {
        ("s", 0) => send_out(),
        _ => say("done"),
    });
    let world = world(FaultyStore::new(), provider, looks(), agent(&[], 4), 9);
    drop(world.open(CHILD).await);
    until(|| !world.store.claimed(&id(CHILD))).await;
    let before = world.store.log(&id(CHILD));
    let (report, _) = world.turn().await;
    assert_eq!(report.outcome, TurnOutcome::Completed);
    let (observation, took) = observed(&world.log()).remove(0);
    assert_eq!((observation.status, took), (ObservationStatus::Failed, 0));
    assert_eq!(world.store.log(&id(CHILD)), before);
}

#[test]
fn an_agents_session_has_one_name() {
    assert_eq!(agent_session("s.6"), Some(id(CHILD)));
    let long = format!("{}.6", "x".repeat(64));
    let named = agent_session(&long).unwrap();
    assert_eq!(agent_session(&long), Some(named.clone()));
    assert_ne!(agent_session(&format!("{long}6")), Some(named));
}
