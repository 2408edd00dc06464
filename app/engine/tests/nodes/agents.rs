//! Agents whose session another node drives than the one of the turn that sent them out: what they come
//! to arrives once, whichever of the two is lost.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use serde_json::json;
use windlass_engine::core::{
    AgentSpec, Concurrency, EffectClass, Fact, InterruptSource, Lineage, ObservationStatus,
    OpenSession, RecordedFact, SessionId, StopTiming, ToolSpec, TurnOutcome,
};
use windlass_engine::{SessionHandle, Start};
use windlass_testkit::Gate;
use windlass_testkit::faulty::FaultyStore;
use windlass_testkit::nodes::{InboxFault, InboxOperation};
use windlass_testkit::provider::{ScriptedProvider, Step, call, say};
use windlass_testkit::tools::ScriptedTool;

use crate::fleet::{Fleet, Member, id, me, said, soon, until};

/// The session of the agent that call 6 of session `s` runs.
pub(crate) const CHILD: &str = "s.6";
/// What the turn may take, with its agent.
const SAMPLES: u32 = 6;

/// A fleet whose sessions have an agent, which writes once and says what its model then says.
fn fleet(says: impl Fn() -> Step + Send + Sync + 'static) -> Fleet {
    fleet_over(FaultyStore::new(), says)
}

/// The same over a store that fails.
pub(crate) fn fleet_over(
    logs: FaultyStore,
    says: impl Fn() -> Step + Send + Sync + 'static,
) -> Fleet {
    let writes = ScriptedTool::new("write", EffectClass::Effectful).says("ok");
    let mut fleet = Fleet::over(logs, [], [writes]);
    let asked: Arc<Mutex<BTreeMap<SessionId, usize>>> = Arc::default();
    fleet.provider = ScriptedProvider::responding(move |request| {
        let nth = {
            let mut asked = asked.lock().unwrap();
            let count = asked.entry(request.session.clone()).or_default();
            *count += 1;
            *count
        };
        match (request.session.as_str(), nth) {
            ("s", 1) => call("scout", json!({"prompt": "write it down"})),
            ("s", _) => say("done"),
            (_, 1) => call("write", json!({})),
            _ => says(),
        }
    });
    fleet
}

/// Has a node drive session `s`, whose model is asked then. The node has room for no other session.
async fn sends_out(fleet: &Fleet, member: &Member) -> SessionHandle {
    sends_out_as(fleet, member, scout()).await
}

/// An agent that is waited for.
pub(crate) fn scout() -> AgentSpec {
    AgentSpec::new("You are a scout.").with(|it| {
        it.tools = vec!["write".into()];
        it.samples = 4;
    })
}

/// Has a node drive session `s`, whose model then calls this agent.
pub(crate) async fn sends_out_as(
    fleet: &Fleet,
    member: &Member,
    agent: AgentSpec,
) -> SessionHandle {
    let mut settings = fleet.settings();
    settings.limits = settings.limits.with(|it| it.samples = SAMPLES);
    settings.tools.push(ToolSpec::new("scout", EffectClass::Idempotent).with(|it| {
        it.description = "Looks around.".into();
        it.parameters =
            r#"{"type":"object","properties":{"prompt":{"type":"string"}},"required":["prompt"]}"#
                .into();
        it.concurrency = Concurrency::Parallel;
        it.agent = Some(Box::new(agent));
    }));
    let start = Start::New(Box::new(OpenSession {
        owner: me(),
        workspace: None,
        settings,
        lineage: Lineage::Root,
    }));
    let opened = member.engine.open(&id("s"), &me(), start).await;
    let conversation = opened.unwrap();
    conversation.send(said("hello")).await.unwrap();
    conversation
}

pub(crate) fn count(log: &[RecordedFact], kind: &str) -> usize {
    log.iter().filter(|one| one.fact.kind() == kind).count()
}

fn outcome(log: &[RecordedFact]) -> Option<TurnOutcome> {
    log.iter().find_map(|one| match &one.fact {
        Fact::TurnSettled(fact) => Some(fact.outcome.clone()),
        _ => None,
    })
}

pub(crate) fn child(fleet: &Fleet) -> Vec<RecordedFact> {
    fleet.logs.log(&id(CHILD))
}

/// Waits until the agent asks its model a second time, at the node that is named.
async fn works_at(fleet: &Fleet, member: &Member) {
    until(|| count(&child(fleet), "SampleStarted") == 2).await;
    assert!(member.engine.notify_driver(&id(CHILD)), "it is driven there");
}

/// What the turn was told: once, what the agent said, and what it took over the whole tree.
async fn told_once(fleet: &Fleet) {
    until(|| outcome(&fleet.logs.log(&id("s"))).is_some()).await;
    let log = fleet.log();
    assert_eq!(outcome(&log), Some(TurnOutcome::Completed));
    let seen: Vec<_> = log
        .iter()
        .filter_map(|one| match &one.fact {
            Fact::CallObserved(fact) => Some(fact),
            _ => None,
        })
        .collect();
    assert_eq!(seen.len(), 1);
    let observation = &seen[0].observation;
    assert_eq!(
        (observation.status, observation.output.as_str()),
        (ObservationStatus::Done, "written")
    );
    assert_eq!(seen[0].usage.unwrap().samples, 2);
    let spent = log.iter().find_map(|one| match &one.fact {
        Fact::TurnSettled(fact) => Some(fact.spent.with_agents().samples),
        _ => None,
    });
    assert_eq!(spent, Some(4));
    let child = child(fleet);
    assert_eq!(count(&child, "InputQueued"), 1, "it was told once");
    assert_eq!(count(&child, "CallStarted"), 1, "and wrote once");
    assert_eq!(fleet.tools.runs().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_result_comes_from_a_node_that_took_over_from_the_one_that_was_lost() {
    let gate = Gate::new();
    let held = gate.clone();
    let fleet = fleet(move || say("written").end_after(&held));
    let (one, other) = (fleet.member_of(1), fleet.keeper());
    let _conversation = sends_out(&fleet, &one).await;
    works_at(&fleet, &other).await;
    other.node.cut();
    let third = fleet.keeper();
    until(|| count(&child(&fleet), "SampleStarted") == 3).await;
    assert!(third.engine.notify_driver(&id(CHILD)));
    assert_eq!(outcome(&fleet.log()), None);
    gate.open();
    told_once(&fleet).await;
    assert_eq!(count(&fleet.log(), "CallStarted"), 1, "it waited on");
}

#[tokio::test(start_paused = true)]
async fn a_result_comes_to_the_node_that_took_over_the_turn() {
    let gate = Gate::new();
    let held = gate.clone();
    let fleet = fleet(move || say("written").end_after(&held));
    let (one, other) = (fleet.member_of(1), fleet.keeper());
    let _conversation = sends_out(&fleet, &one).await;
    works_at(&fleet, &other).await;
    one.node.cut();
    until(|| count(&fleet.logs.log(&id("s")), "CallStarted") == 2).await;
    assert!(other.engine.notify_driver(&id("s")), "it was taken over");
    gate.open();
    told_once(&fleet).await;
    assert_eq!(count(&child(&fleet), "SampleStarted"), 2, "it was left alone");
}

#[tokio::test(start_paused = true)]
async fn an_agent_is_stopped_that_no_word_reaches_any_more() {
    let gate = Gate::new();
    let (held, letters) = (gate.clone(), Gate::new());
    let fleet = fleet(move || say("written").end_after(&held));
    let stuck = letters.clone();
    // The first letter is what it is to do. The next would have it stop.
    let fleet = fleet.failing(move |operation, number| match (operation, number) {
        (InboxOperation::Leave, 2..) => vec![InboxFault::Wait(stuck.clone())],
        _ => Vec::new(),
    });
    let (one, other) = (fleet.member_of(1), fleet.keeper());
    let conversation = sends_out(&fleet, &one).await;
    works_at(&fleet, &other).await;
    let stop = conversation.interrupt(InterruptSource::Person, me(), "enough", StopTiming::Now);
    stop.await.unwrap();
    soon(letters.reached()).await;
    assert_eq!(outcome(&child(&fleet)), None);
    until(|| outcome(&fleet.logs.log(&id("s"))).is_some()).await;
    one.node.cut();
    until(|| outcome(&child(&fleet)).is_some()).await;
    assert!(matches!(outcome(&child(&fleet)), Some(TurnOutcome::Interrupted { .. })));
    assert_eq!(fleet.place.waiting(&id(CHILD)), 0, "nobody told it");
    drop(gate);
}
