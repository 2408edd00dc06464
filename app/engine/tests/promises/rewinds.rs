//! Rewinds while nobody drives the session: one fact is added, and the session is free then.

use std::collections::BTreeMap;

use windlass_engine::core::{Fact, Reject, Scope, Seq, Timestamp};
use windlass_engine::{
    ChangeError, RewindError, RewindRequest, RewindTarget, Start, StartError, rewind,
};
use windlass_testkit::provider::say;

use crate::world::{World, hello, id, me, soon};

fn request(session: &str, target: RewindTarget) -> RewindRequest {
    RewindRequest { session: id(session), target, scope: me(), now: Timestamp(1_000) }
}

/// A session with two turns, which nobody drives, and the last position before the second one.
async fn two_turns() -> (World, Seq) {
    let world = World::new([say("one"), say("two")], []);
    world.turn().await;
    // Its input is queued first.
    let between = Seq(world.log().len() as u64 + 1);
    let opened = world.engine.open(&id("s"), &me(), Start::Existing).await;
    let conversation = opened.unwrap();
    let input = conversation.send(hello()).await.unwrap();
    soon(conversation.outcome(input)).await.unwrap();
    conversation.close().await;
    (world, between)
}

#[tokio::test(start_paused = true)]
async fn the_last_turns_are_taken_out_by_one_fact() {
    let (world, between) = two_turns().await;
    let end = world.log().len();
    let rewound = rewind(&world.store, &request("s", RewindTarget::Turns(1))).await.unwrap();
    assert_eq!((rewound.to, rewound.at), (between, Some(Seq(end as u64 + 1))));
    assert!(!rewound.effects_remain);
    let log = world.log();
    assert_eq!(log.len(), end + 1);
    assert!(matches!(&log[end].fact, Fact::SessionRewound(_)), "{log:?}");
    let there = request("s", RewindTarget::Position(Seq(end as u64 + 1)));
    assert_eq!(rewind(&world.store, &there).await.unwrap().at, None);
    assert_eq!(world.log().len(), end + 1);
    let few = rewind(&world.store, &request("s", RewindTarget::Turns(2))).await;
    assert!(matches!(few, Err(RewindError::TooFewTurns { turns: 1, .. })), "{few:?}");
    assert!(!world.store.claimed(&id("s")));
}

#[tokio::test(start_paused = true)]
async fn a_session_that_is_not_there_is_not_rewound() {
    let (world, _) = two_turns().await;
    let unknown = rewind(&world.store, &request("none", RewindTarget::Turns(1))).await;
    assert!(
        matches!(unknown, Err(RewindError::Change(ChangeError::Start(StartError::Unknown(_))))),
        "{unknown:?}"
    );
    assert!(world.store.log(&id("none")).is_empty());
    let scope = Scope::Principal {
        tenant: "other".into(),
        principal: "tester".into(),
        claims: BTreeMap::new(),
    };
    // A stranger does not learn how many turns it has.
    let stranger = RewindRequest { scope, ..request("s", RewindTarget::Turns(9)) };
    let unseen = rewind(&world.store, &stranger).await;
    assert!(
        matches!(unseen, Err(RewindError::Change(ChangeError::Start(StartError::Unknown(_))))),
        "{unseen:?}"
    );
    let beyond = rewind(&world.store, &request("s", RewindTarget::Position(Seq(999)))).await;
    assert!(
        matches!(
            beyond,
            Err(RewindError::Change(ChangeError::Rejected(Reject::NoRewindPoint { .. })))
        ),
        "{beyond:?}"
    );
    assert!(!world.store.claimed(&id("s")));
}
