//! How soon what a node drove goes on elsewhere: many sessions at once, and where the store was away for
//! all nodes.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::time::Instant;
use windlass::core::{Fact, Recorded, SessionId};
use windlass_testkit::nodes::Nodes;
use windlass_testkit::provider::{ScriptedProvider, say, stall};

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
    met(|| sessions.iter().all(|one| count(fleet, one, asks) == 1)).await;
}

fn asks(one: &Recorded) -> bool {
    matches!(one.fact, Fact::SampleStarted(_))
}

fn settles(one: &Recorded) -> bool {
    matches!(one.fact, Fact::TurnSettled(_))
}

fn count(fleet: &Fleet, session: &SessionId, what: fn(&Recorded) -> bool) -> usize {
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
    let gone_on = |one: &SessionId| count(&fleet, one, asks) == 2;
    assert!(!lost.iter().any(gone_on), "its lease is not over");
    met(|| lost.iter().all(gone_on)).await;
    assert!(began.elapsed() <= TAKEN_OVER, "{:?}", began.elapsed());
    met(|| lost.iter().all(|one| count(&fleet, one, settles) == 1)).await;
    assert!(
        others.iter().all(|one| count(&fleet, one, asks) == 1),
        "those of nodes that live stay there"
    );
}
