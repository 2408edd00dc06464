//! The layer strikes where its plan says, and nowhere else. That it kills is shown where it may: by
//! processes of their own, in the tests of the command.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use windlass_core::{Seq, SessionId};
use windlass_ports::{LogStore, StoreErrorKind};
use windlass_testkit::crash::{CrashingStore, Plan};
use windlass_testkit::faulty::FaultyStore;
use windlass_testkit::store::numbered_facts;

/// Claims, appends three times, and tells what each append answered and what was kept.
async fn appended(plan: &str) -> (Vec<Result<(), StoreErrorKind>>, usize, u64) {
    let id = SessionId::new("s").unwrap();
    let inner = FaultyStore::new();
    let plan: Option<Plan> = Some(plan.parse().unwrap());
    let store = CrashingStore::new(Arc::new(inner.clone()), plan);
    let epoch = store.claim(&id).await.unwrap().epoch;
    let mut answers = Vec::new();
    for _ in 0..3 {
        let last = Seq(inner.log(&id).len() as u64);
        let facts = numbered_facts(&id, last, 1);
        let answer = store.append(&id, epoch, last, &facts).await;
        answers.push(answer.map_err(|error| error.kind));
    }
    let syncs = store.syncs().load(Ordering::SeqCst);
    (answers, inner.log(&id).len(), syncs)
}

#[tokio::test]
async fn a_disk_fails_once_before_or_after_it_has_kept_the_facts() {
    let once = vec![Ok(()), Err(StoreErrorKind::Io), Ok(())];
    assert_eq!(appended("io:3").await, (once.clone(), 2, 4));
    assert_eq!(appended("io-kept:3").await, (once, 3, 4));
}

#[tokio::test]
async fn a_full_disk_stays_full() {
    let full = vec![Ok(()), Err(StoreErrorKind::Full), Err(StoreErrorKind::Full)];
    assert_eq!(appended("full:3").await, (full, 1, 4));
}

#[tokio::test]
async fn a_plan_that_is_not_reached_changes_nothing() {
    assert_eq!(appended("io:5").await, (vec![Ok(()); 3], 3, 4));
}

#[tokio::test]
async fn a_claim_is_a_sync_too() {
    let id = SessionId::new("s").unwrap();
    let inner = Arc::new(FaultyStore::new());
    let plan: Plan = "full:1".parse().unwrap();
    let store = CrashingStore::new(inner.clone(), Some(plan));
    let error = store.claim(&id).await.unwrap_err();
    assert_eq!(error.kind, StoreErrorKind::Full);
    assert!(error.context.contains("claiming session s"), "{error}");
    assert!(!inner.claimed(&id));
}
