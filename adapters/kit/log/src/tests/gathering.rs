//! The content and the order of groups.

use windlass_core::{Epoch, Seq, SessionId};
use windlass_ports::{ChainLink, StoreErrorKind};
use windlass_testkit::store::{fact_of_size, numbered_facts};

use super::scripted::{Call, Fate, Script, Stage, batch, batch_of, id, kind};
use crate::PipelineLimits;

const GATED: Script = Script {
    commits: std::collections::BTreeMap::new(),
    gated: true,
    erase_fails: false,
    pieces: 0,
};

fn at(session: &str, last: u64) -> (String, u64) {
    (session.to_owned(), last)
}

#[tokio::test]
async fn what_comes_while_one_group_is_kept_shares_the_next() {
    let stage = Stage::new(GATED);
    let (a, b) = (id("a"), id("b"));
    let (of_a, of_b) = (stage.claim(&a).await, stage.claim(&b).await);
    let first = stage.ask(batch(&a, 0, 2), of_a).await;
    stage.begun();
    let second = stage.ask(batch(&a, 2, 1), of_a).await;
    let third = stage.ask(batch(&b, 0, 1), of_b).await;
    let fourth = stage.ask(batch(&a, 3, 1), of_a).await;
    stage.go();
    stage.begun();
    stage.go();
    for answer in [first, second, third, fourth] {
        answer.await.unwrap().unwrap();
    }
    let groups = vec![vec![at("a", 2)], vec![at("a", 3), at("b", 1), at("a", 4)]];
    assert_eq!(stage.commits(), groups);
}

#[tokio::test]
async fn a_group_has_no_more_appends_than_its_bound() {
    let bounds = PipelineLimits { group_appends: 2, ..PipelineLimits::default() };
    assert_eq!(sizes_of_groups(bounds, 300).await, [1, 2, 1]);
}

#[tokio::test]
async fn a_group_is_closed_when_it_has_the_bytes() {
    let bounds = PipelineLimits { group_bytes: 500, ..PipelineLimits::default() };
    assert_eq!(sizes_of_groups(bounds, 300).await, [1, 2, 1]);
    assert_eq!(sizes_of_groups(bounds, 600).await, [1, 1, 1, 1]);
}

/// An append, and three while it is kept.
async fn sizes_of_groups(bounds: PipelineLimits, bytes: usize) -> Vec<usize> {
    let stage = Stage::bounded(GATED, bounds);
    let a = id("a");
    let epoch = stage.claim(&a).await;
    let mut answers = Vec::new();
    for after in 0..4 {
        let fact = fact_of_size(&a, Seq(after), bytes).unwrap();
        answers.push(stage.ask(batch_of(&a, after, &[fact]), epoch).await);
        if after == 0 {
            stage.begun();
        }
    }
    (0..4).for_each(|_| stage.go());
    for answer in answers {
        answer.await.unwrap().unwrap();
    }
    stage.commits().iter().map(Vec::len).collect()
}

#[tokio::test]
async fn claims_releases_and_erasures_come_between_groups_in_the_order_of_their_session() {
    let stage = Stage::new(GATED);
    let (a, b) = (id("a"), id("b"));
    let (of_a, of_b) = (stage.claim(&a).await, stage.claim(&b).await);
    let mut answers = vec![stage.ask(batch(&a, 0, 1), of_a).await];
    stage.begun();
    answers.push(stage.ask(batch(&a, 1, 1), of_a).await);
    let (pipeline, session) = (stage.pipeline.clone(), a.clone());
    let release = async move { pipeline.release(&session, of_a).await };
    answers.push(stage.begin(release).await);
    answers.push(stage.ask(batch(&b, 0, 1), of_b).await);
    let (pipeline, session) = (stage.pipeline.clone(), b.clone());
    let erase = async move { pipeline.erase(&session, of_b).await };
    answers.push(stage.begin(erase).await);
    (0..3).for_each(|_| stage.go());
    for answer in answers {
        answer.await.unwrap().unwrap();
    }
    let told = stage.told();
    let after_claims = &told[2..];
    let expected = [
        Call::Commit(vec![at("a", 1)]),
        Call::Commit(vec![at("a", 2), at("b", 1)]),
        Call::Release("a".to_owned()),
        Call::Erase("b".to_owned()),
    ];
    assert_eq!(after_claims, expected);
    assert_eq!(
        kind(stage.pipeline.append(batch(&a, 2, 1), of_a).await),
        Some(StoreErrorKind::NotClaimed)
    );
    assert_eq!(
        kind(stage.pipeline.append(batch(&b, 1, 1), of_b).await),
        Some(StoreErrorKind::NotClaimed)
    );
}

#[tokio::test]
async fn claims_and_releases_of_others_do_not_split_a_group() {
    let stage = Stage::new(GATED);
    let (a, b) = (id("a"), id("b"));
    let (of_a, of_b) = (stage.claim(&a).await, stage.claim(&b).await);
    let mut answers = vec![stage.ask(batch(&a, 0, 1), of_a).await];
    stage.begun();
    let release = |session: &SessionId, epoch| {
        let (pipeline, session) = (stage.pipeline.clone(), session.clone());
        async move { pipeline.release(&session, epoch).await }
    };
    let claim = |name: &str| {
        let (pipeline, session) = (stage.pipeline.clone(), id(name));
        async move { pipeline.claim(&session).await.map(|_| ()) }
    };
    answers.push(stage.begin(release(&a, of_a)).await);
    answers.push(stage.ask(batch(&b, 0, 1), of_b).await);
    answers.push(stage.begin(claim("c")).await);
    answers.push(stage.ask(batch(&b, 1, 1), of_b).await);
    // It comes after the release of its session, so it ends the group.
    let late = stage.ask(batch(&a, 1, 1), of_a).await;
    answers.push(stage.ask(batch(&b, 2, 1), of_b).await);
    answers.push(stage.begin(release(&b, of_b)).await);
    answers.push(stage.begin(claim("d")).await);
    (0..3).for_each(|_| stage.go());
    for answer in answers {
        answer.await.unwrap().unwrap();
    }
    assert_eq!(kind(late.await.unwrap()), Some(StoreErrorKind::NotClaimed));
    let told = stage.told();
    let expected = [
        Call::Commit(vec![at("a", 1)]),
        Call::Commit(vec![at("b", 1), at("b", 2)]),
        Call::Release("a".to_owned()),
        Call::Claim("c".to_owned()),
        Call::Commit(vec![at("b", 3)]),
        Call::Release("b".to_owned()),
        Call::Claim("d".to_owned()),
    ];
    assert_eq!(&told[2..], expected);
}

#[tokio::test]
async fn an_end_has_the_link_and_the_summary_of_the_whole_log() {
    let stage = Stage::new(Script::default());
    let a = id("a");
    let epoch = stage.claim(&a).await;
    assert_eq!(stage.pipeline.last(&a).unwrap(), Seq::ZERO);
    stage.pipeline.append(batch(&a, 0, 2), epoch).await.unwrap();
    stage.pipeline.append(batch(&a, 2, 3), epoch).await.unwrap();
    let facts = numbered_facts(&a, Seq::ZERO, 5);
    let facts = || facts.iter().map(AsRef::as_ref);
    assert_eq!(stage.pipeline.last(&a).unwrap(), Seq(5));
    let end = stage.end(&a);
    assert_eq!(end.last, Seq(5));
    assert_eq!(end.link, ChainLink::of_log(&a, facts()).unwrap());
    assert_eq!(end.summary, windlass_ports::SessionSummary::after(None, facts()));
    stage.pipeline.release(&a, epoch).await.unwrap();
    assert_eq!(stage.pipeline.last(&a), None);
}

#[tokio::test]
async fn an_end_is_told_only_once_it_is_kept() {
    let stage = Stage::new(GATED);
    let a = id("a");
    let epoch = stage.claim(&a).await;
    let answer = stage.ask(batch(&a, 0, 1), epoch).await;
    stage.begun();
    assert_eq!(stage.pipeline.last(&a).unwrap(), Seq::ZERO);
    stage.go();
    answer.await.unwrap().unwrap();
    assert_eq!(stage.pipeline.last(&a).unwrap(), Seq(1));
}

#[tokio::test]
async fn only_the_latest_claim_appends_and_only_at_the_end() {
    let stage = Stage::new(Script::default());
    let a = id("a");
    let first = stage.claim(&a).await;
    let append = |after, epoch| stage.pipeline.append(batch(&a, after, 1), epoch);
    append(0, first).await.unwrap();
    let second = stage.claim(&a).await;
    assert!(second > first);
    assert_eq!(kind(append(1, first).await), Some(StoreErrorKind::NotClaimed));
    assert_eq!(kind(append(1, Epoch(99)).await), Some(StoreErrorKind::NotClaimed));
    let conflict = Some(StoreErrorKind::Conflict { last: Seq(1) });
    assert_eq!(kind(append(2, second).await), conflict);
    append(1, second).await.unwrap();
    // The older claim gives nothing back.
    stage.pipeline.release(&a, first).await.unwrap();
    append(2, second).await.unwrap();
    let claims = stage.told().into_iter().filter(|call| matches!(call, Call::Claim(_)));
    assert_eq!(claims.count(), 1, "the end of a log that is claimed is known");
}

#[tokio::test]
async fn what_was_appended_is_recognised_and_written_once() {
    let stage = Stage::new(Script::default());
    let a = id("a");
    let epoch = stage.claim(&a).await;
    let append = |after, count| stage.pipeline.append(batch(&a, after, count), epoch);
    append(0, 2).await.unwrap();
    append(0, 2).await.unwrap();
    append(2, 1).await.unwrap();
    append(2, 1).await.unwrap();
    let conflict = Some(StoreErrorKind::Conflict { last: Seq(3) });
    assert_eq!(kind(append(1, 2).await), conflict);
    assert_eq!(kind(append(2, 2).await), conflict);
    let other = fact_of_size(&a, Seq(2), 400).unwrap();
    let other = stage.pipeline.append(batch_of(&a, 2, &[other]), epoch);
    assert_eq!(kind(other.await), conflict, "other facts at the same position");
    assert_eq!(stage.commits().len(), 2);
    let later = stage.claim(&a).await;
    let again = stage.pipeline.append(batch(&a, 2, 1), later).await;
    assert_eq!(kind(again), conflict, "another claim did not append it");
}

/// Neither an older epoch of a session nor another session's may append after a failure and a
/// release.
#[tokio::test]
async fn a_session_is_claimed_from_the_backend_until_it_is_released() {
    let stage = Stage::new(Script { commits: [(1, Fate::Fails)].into(), ..Script::default() });
    let (a, b, c) = (id("a"), id("b"), id("c"));
    let of_a = stage.claim(&a).await;
    stage.claim(&b).await;
    let failed = stage.pipeline.append(batch(&a, 0, 1), of_a).await;
    assert_eq!(kind(failed), Some(StoreErrorKind::Full));
    let again = stage.claim(&a).await;
    stage.pipeline.append(batch(&a, 0, 1), again).await.unwrap();
    stage.pipeline.release(&a, again).await.unwrap();
    let of_c = stage.claim(&c).await;
    for epoch in [of_a, again, of_c] {
        let refused = stage.pipeline.append(batch(&a, 1, 1), epoch).await;
        assert_eq!(kind(refused), Some(StoreErrorKind::NotClaimed), "{epoch}");
    }
    stage.pipeline.append(batch(&c, 0, 1), of_c).await.unwrap();
    let later = stage.claim(&a).await;
    stage.pipeline.append(batch(&a, 1, 1), later).await.unwrap();
    let claim = |call| match call {
        Call::Claim(session) => Some(session),
        Call::Release(_) | Call::Commit(_) | Call::Erase(_) | Call::Maintain => None,
    };
    let claims: Vec<_> = stage.told().into_iter().filter_map(claim).collect();
    assert_eq!(claims, ["a", "b", "a", "c", "a"]);
}

#[tokio::test]
async fn an_append_that_finds_no_room_and_is_given_up_leaves_nothing() {
    let stage = Stage::bounded(
        GATED,
        PipelineLimits { waiting_bytes: 4 * 1024, ..PipelineLimits::default() },
    );
    let a = id("a");
    let epoch = stage.claim(&a).await;
    let first = stage.ask(batch(&a, 0, 1), epoch).await;
    stage.begun();
    let other = fact_of_size(&a, Seq(1), 400).unwrap();
    let given_up = stage.ask(batch_of(&a, 1, &[other]), epoch).await;
    given_up.abort();
    assert!(given_up.await.unwrap_err().is_cancelled());
    stage.go();
    first.await.unwrap().unwrap();
    for after in 1..4 {
        let next = stage.ask(batch(&a, after, 1), epoch).await;
        stage.begun();
        stage.go();
        next.await.unwrap().unwrap();
    }
    let facts = numbered_facts(&a, Seq::ZERO, 4);
    let facts = || facts.iter().map(AsRef::as_ref);
    let end = stage.end(&a);
    assert_eq!(end.link, ChainLink::of_log(&a, facts()).unwrap());
    assert_eq!(end.summary, windlass_ports::SessionSummary::after(None, facts()));
}
