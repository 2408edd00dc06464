//! How soon what a node drove goes on elsewhere: many sessions at once, and where the store was away for
//! all nodes.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;
use windlass_engine::core::{
    EffectClass, Fact, ObservationStatus, RecordedFact, SessionId, TurnOutcome,
};
use windlass_engine::ports::StoreErrorKind;
use windlass_testkit::Gate;
use windlass_testkit::nodes::Nodes;
use windlass_testkit::provider::{ScriptedProvider, call, say, stall};
use windlass_testkit::tools::ScriptedTool;

use crate::fleet::{Fleet, Member, TAKEN_OVER, id, me, said, soon};

/// As many as the drill of processes has, on nodes with as much room each.
const SESSIONS: usize = 50;
const ROOM: usize = 40;

/// A fleet whose model says nothing when a session asks it first, and then an answer.
fn fleet() -> Fleet {
    let mut fleet = Fleet::new([]);
    let asked: Arc<Mutex<BTreeMap<SessionId, usize>>> = Arc::default();
    fleet.provider = ScriptedProvider::responding(move |request| {
        let mut asked = asked.lock().unwrap();
        let count = asked.entry(request.session.clone()).or_default();
        *count += 1;
        if *count == 1 { stall() } else { say("there") }
    });
    fleet
}

fn names(range: std::ops::Range<usize>) -> Vec<SessionId> {
    range.map(|which| id(&format!("s{which}"))).collect()
}

/// Has a node drive these sessions, each with a turn whose model is asked.
async fn drive(fleet: &Fleet, member: &Member, sessions: &[SessionId]) {
    for session in sessions {
        let opened = member.engine.open(session, &me(), fleet.start()).await;
        let conversation = opened.unwrap();
        soon(conversation.send(said("hello"))).await.unwrap();
    }
    met(|| sessions.iter().all(|one| count_of(fleet, one, asks) == 1)).await;
}

fn asks(one: &RecordedFact) -> bool {
    matches!(one.fact, Fact::SampleStarted(_))
}

fn settles(one: &RecordedFact) -> bool {
    matches!(one.fact, Fact::TurnSettled(_))
}

fn count_of(fleet: &Fleet, session: &SessionId, what: fn(&RecordedFact) -> bool) -> usize {
    let log = fleet.logs.log(session);
    log.iter().filter(|one| what(one)).count()
}

/// Waits until something holds, and looks seldom enough for many sessions.
#[track_caller]
fn met(holds: impl Fn() -> bool) -> impl Future<Output = ()> {
    soon(async move {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
}

#[tokio::test(start_paused = true)]
async fn all_that_a_full_node_drove_goes_on_at_others_within_its_lease_and_a_second() {
    let fleet = fleet();
    let members = [(); 3].map(|()| fleet.keeper_of(ROOM));
    let sessions = names(0..SESSIONS);
    let (lost, others) = sessions.split_at(ROOM);
    let (some, rest) = others.split_at(others.len() / 2);
    for (member, sessions) in members.iter().zip([lost, some, rest]) {
        drive(&fleet, member, sessions).await;
    }
    let began = Instant::now();
    members[0].node.cut();
    tokio::time::sleep(Nodes::LEASE - Duration::from_millis(1)).await;
    let gone_on = |one: &SessionId| count_of(&fleet, one, asks) == 2;
    assert!(!lost.iter().any(gone_on), "its lease is not over");
    met(|| lost.iter().all(gone_on)).await;
    assert!(began.elapsed() <= TAKEN_OVER, "{:?}", began.elapsed());
    met(|| lost.iter().all(|one| count_of(&fleet, one, settles) == 1)).await;
    assert!(
        others.iter().all(|one| count_of(&fleet, one, asks) == 1),
        "those of nodes that live stay there"
    );
}

/// Within what time of its coming back the nodes go on, however long a store was away: each session is
/// tried again after a second, and a look and its pauses come on top.
const GONE_ON: Duration = Duration::from_secs(2);

/// A store that is away for two nodes, or takes no writes, for longer than their leases: what was out has
/// taken effect once at most, and each turn settles once, soon after the store is back.
async fn outlasted(how: StoreErrorKind) {
    let (gate, answers) = (Gate::new(), Gate::new());
    let late = answers.clone();
    let count = ScriptedTool::new("count", EffectClass::Effectful).before(&gate);
    let mut fleet = Fleet::with([], [count]);
    let asked: Arc<Mutex<BTreeMap<SessionId, usize>>> = Arc::default();
    fleet.provider = ScriptedProvider::responding(move |request| {
        let mut asked = asked.lock().unwrap();
        let times = asked.entry(request.session.clone()).or_default();
        *times += 1;
        match (*times, request.session.as_str()) {
            // Of each node one session waits for a tool, and one for the model.
            (1, "s0" | "s2") => call("count", json!({})),
            (1, _) => say("there").end_after(&late),
            (_, _) => say("there"),
        }
    });
    let members = [(); 2].map(|()| fleet.keeper());
    let sessions = names(0..4);
    for (member, sessions) in members.iter().zip(sessions.chunks(2)) {
        drive(&fleet, member, sessions).await;
    }
    met(|| fleet.tools.running() == 2).await;
    fleet.place.fail(how);
    // What is said now cannot be kept: its driver ends, and the session is claimed in vain.
    answers.open();
    // Long enough that who waits twice as long each time would wait for long after it.
    tokio::time::sleep(Nodes::LEASE + Duration::from_secs(10)).await;
    assert!(
        sessions.iter().all(|one| count_of(&fleet, one, asks) == 1),
        "nothing is written while nothing is taken"
    );
    fleet.place.heal();
    let back = Instant::now();
    met(|| sessions.iter().all(|one| count_of(&fleet, one, settles) == 1)).await;
    assert!(back.elapsed() <= GONE_ON, "{:?}", back.elapsed());
    gate.open();
    for session in &sessions {
        let log = fleet.logs.log(session);
        let settled = log.iter().filter_map(|one| match &one.fact {
            Fact::TurnSettled(fact) => Some(&fact.outcome),
            _ => None,
        });
        assert_eq!(settled.collect::<Vec<_>>(), [&TurnOutcome::Completed]);
        let seen = log.iter().filter_map(|one| match &one.fact {
            Fact::CallObserved(fact) => Some(fact.observation.status),
            _ => None,
        });
        let calls = count_of(&fleet, session, |one| matches!(one.fact, Fact::CallStarted(_)));
        assert_eq!(seen.collect::<Vec<_>>(), vec![ObservationStatus::Unknown; calls]);
    }
    assert_eq!(fleet.tools.runs().len(), 2, "no call ran twice");
}

#[tokio::test(start_paused = true)]
async fn turns_go_on_once_after_a_store_that_no_node_reached_for_longer_than_its_lease() {
    outlasted(StoreErrorKind::Unavailable).await;
}

#[tokio::test(start_paused = true)]
async fn turns_go_on_once_after_a_store_that_took_no_writes_for_longer_than_the_leases() {
    outlasted(StoreErrorKind::ReadOnly).await;
}
