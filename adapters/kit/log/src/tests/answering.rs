//! Answers when the backend fails, panics, hangs or is full.

use std::collections::BTreeMap;
use std::time::Duration;

use windlass_core::Seq;
use windlass_ports::StoreErrorKind;

use super::scripted::{Call, Fate, Script, Stage, batch, id, kind};
use crate::PipelineLimits;

fn with(fate: Fate, gated: bool) -> Script {
    Script { commits: BTreeMap::from([(2, fate)]), gated, ..Script::default() }
}

#[tokio::test]
async fn a_failed_group_is_answered_with_its_error_and_its_claims_are_over() {
    let stage = Stage::new(with(Fate::Fails, true));
    let (a, b, c) = (id("a"), id("b"), id("c"));
    let of_a = stage.claim(&a).await;
    let of_b = stage.claim(&b).await;
    let of_c = stage.claim(&c).await;
    let kept = stage.ask(batch(&c, 0, 1), of_c).await;
    stage.begun();
    let first = stage.ask(batch(&a, 0, 1), of_a).await;
    let second = stage.ask(batch(&b, 0, 1), of_b).await;
    // Both stand only on an append of the group.
    let conflict = stage.ask(batch(&a, 0, 2), of_a).await;
    let again = stage.ask(batch(&a, 0, 1), of_a).await;
    // These do not.
    let other_conflict = stage.ask(batch(&c, 5, 1), of_c).await;
    let recognised = stage.ask(batch(&c, 0, 1), of_c).await;
    stage.go();
    kept.await.unwrap().unwrap();
    stage.begun();
    stage.go();
    for answer in [first, second, conflict, again] {
        assert_eq!(kind(answer.await.unwrap()), Some(StoreErrorKind::Full));
    }
    let last = StoreErrorKind::Conflict { last: Seq(1) };
    assert_eq!(kind(other_conflict.await.unwrap()), Some(last));
    recognised.await.unwrap().unwrap();

    // The sessions of the group must be claimed again, and only they.
    let answer = stage.pipeline.append(batch(&a, 0, 1), of_a).await;
    assert_eq!(kind(answer), Some(StoreErrorKind::NotClaimed));
    assert_eq!(stage.pipeline.last(&a).unwrap(), Seq::ZERO);
    let of_a = stage.claim(&a).await;
    let answers = [stage.ask(batch(&a, 0, 1), of_a).await, stage.ask(batch(&c, 1, 1), of_c).await];
    (0..2).for_each(|_| stage.go());
    for answer in answers {
        answer.await.unwrap().unwrap();
    }
    let claimed = Call::Claim("a".to_owned());
    let claims = stage.told().into_iter().filter(|call| *call == claimed);
    assert_eq!(claims.count(), 2);
}

#[tokio::test]
async fn a_claim_whose_append_failed_is_released_by_the_backend() {
    let stage = Stage::new(with(Fate::Fails, false));
    let a = id("a");
    let epoch = stage.claim(&a).await;
    stage.pipeline.append(batch(&a, 0, 1), epoch).await.unwrap();
    assert!(stage.pipeline.append(batch(&a, 1, 1), epoch).await.is_err());
    stage.pipeline.release(&a, epoch).await.unwrap();
    assert_eq!(stage.told().last(), Some(&Call::Release("a".to_owned())));
    assert_eq!(stage.pipeline.last(&a), None);
}

#[tokio::test]
async fn a_backend_that_failed_stops_the_pipeline_with_its_reason() {
    for fate in [Fate::Ends, Fate::Panics] {
        let stage = Stage::new(with(fate, false));
        let (a, b) = (id("a"), id("b"));
        let epoch = stage.claim(&a).await;
        stage.pipeline.append(batch(&a, 0, 1), epoch).await.unwrap();
        stage.pipeline.check().unwrap();
        let error = stage.pipeline.append(batch(&a, 1, 1), epoch).await;
        let error = error.unwrap_err();
        let reason = match fate {
            Fate::Panics => "page 7 is not there",
            Fate::Fails | Fate::Ends => "no space is left",
        };
        assert!(error.context.contains(reason), "{error}");
        let commits = stage.commits().len();
        let claim = stage.pipeline.claim(&b).await.unwrap_err();
        // The claim tried to open the storage again, which this backend cannot.
        assert_eq!(claim.kind, StoreErrorKind::Ended);
        assert!(claim.context.contains(reason), "{claim}");
        let append = stage.pipeline.append(batch(&a, 1, 1), epoch).await;
        assert_eq!(kind(append), Some(StoreErrorKind::Ended));
        assert!(stage.pipeline.erase(&a, epoch).await.is_err());
        stage.pipeline.release(&a, epoch).await.unwrap();
        assert_eq!(stage.commits().len(), commits, "nothing is written any more");
    }
}

#[tokio::test]
async fn a_backend_that_does_not_answer_is_given_up() {
    let bounds = PipelineLimits { timeout: Duration::from_secs(1), ..PipelineLimits::default() };
    let script = Script { gated: true, ..Script::default() };
    let stage = Stage::bounded(script, bounds);
    let (a, b) = (id("a"), id("b"));
    let epoch = stage.claim(&a).await;
    let kept = stage.ask(batch(&a, 0, 1), epoch).await;
    let pipeline = stage.pipeline.clone();
    let claim = async move { pipeline.claim(&b).await.map(|_| ()) };
    let queued = stage.begin(claim).await;
    stage.begun();
    let later = stage.ask(batch(&a, 1, 1), epoch).await;
    for answer in [kept, queued, later] {
        let error = answer.await.unwrap().unwrap_err();
        assert_eq!(error.kind, StoreErrorKind::Ended);
        assert!(error.context.contains("did not answer"), "{error}");
    }
    let later = stage.pipeline.append(batch(&a, 0, 1), epoch).await;
    let later = later.unwrap_err();
    assert!(later.context.contains("did not answer"), "{later}");
    // The backend returns after its callers were answered.
    stage.go();
}

#[tokio::test]
async fn room_for_what_waits_has_a_bound_and_comes_back() {
    let bounds = PipelineLimits { waiting_bytes: 8 * 1024, ..PipelineLimits::default() };
    let script = Script { gated: true, ..Script::default() };
    let stage = Stage::bounded(script, bounds);
    let a = id("a");
    let epoch = stage.claim(&a).await;
    let mut answers = vec![stage.ask(batch(&a, 0, 1), epoch).await];
    stage.begun();
    for after in 1..4 {
        answers.push(stage.ask(batch(&a, after, 1), epoch).await);
    }
    // One is kept, one waits, and two have no room yet.
    stage.go();
    stage.begun();
    assert_eq!(stage.commits()[1].len(), 1);
    (0..3).for_each(|_| stage.go());
    for answer in answers {
        answer.await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn what_an_erasure_leaves_is_a_session_that_nobody_has() {
    let stage = Stage::new(Script::default());
    let a = id("a");
    let epoch = stage.claim(&a).await;
    stage.pipeline.append(batch(&a, 0, 3), epoch).await.unwrap();
    let older = windlass_core::Epoch(epoch.0 + 7);
    let refused = stage.pipeline.erase(&a, older).await;
    assert_eq!(kind(refused), Some(StoreErrorKind::NotClaimed));
    stage.pipeline.erase(&a, epoch).await.unwrap();
    assert_eq!(stage.pipeline.last(&a), None);
    let claimed = stage.pipeline.claim(&a).await.unwrap();
    assert_eq!(claimed.last, Seq::ZERO);
    assert!(claimed.epoch > epoch);
}

#[tokio::test]
async fn after_a_failed_erasure_a_new_claim_finds_out() {
    let script = Script { erase_fails: true, ..Script::default() };
    let stage = Stage::new(script);
    let a = id("a");
    let epoch = stage.claim(&a).await;
    let failed = stage.pipeline.erase(&a, epoch).await;
    assert_eq!(kind(failed), Some(StoreErrorKind::Io));
    let append = stage.pipeline.append(batch(&a, 0, 1), epoch).await;
    assert_eq!(kind(append), Some(StoreErrorKind::NotClaimed));
    let epoch = stage.claim(&a).await;
    stage.pipeline.append(batch(&a, 0, 1), epoch).await.unwrap();
}

#[tokio::test]
async fn maintenance_runs_when_nobody_waits_and_as_often_as_it_is_wanted() {
    let script = Script { pieces: 3, ..Script::default() };
    let stage = Stage::new(script);
    let told = stage.told.clone();
    (0..3).for_each(|_| stage.maintained());
    stage.claim(&id("a")).await;
    stage.maintained();
    drop(stage);
    // The pipeline is closed: its thread has ended.
    let told = told.lock().unwrap();
    let pieces = told.iter().filter(|call| **call == Call::Maintain).count();
    assert_eq!(pieces, 4, "{told:?}");
}
