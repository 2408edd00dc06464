//! Copies: any log to any store, with what is kept beside it; cut short, it goes on; another log is left
//! alone.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::panic, reason = "a test fails by panicking")]

mod copying {
    pub(crate) mod lying;
}

use std::sync::Arc;

use copying::lying::Lying;
use windlass_engine::core::{RecordedFact, Seq, SessionId, StoredOutput};
use windlass_engine::ports::{
    BlobErrorKind, BlobStore, ChainLink, LogStore as _, MAX_APPEND_BYTES, NoBlobStore,
    StoreErrorKind, codec,
};
use windlass_engine::{CopyError, CopyTarget, copy};
use windlass_testkit::blobs::HeldBlobs;
use windlass_testkit::faulty::{Fault, FaultyStore, Operation};
use windlass_testkit::golden;
use windlass_testkit::store::fact_of_size;

fn id() -> SessionId {
    SessionId::new("s").unwrap()
}

/// A log of a golden name, made the session `s`'s, with what its observations are said to be kept as.
fn log(name: &str, kept: &[StoredOutput]) -> Vec<Arc<RecordedFact>> {
    let all = golden::read(&golden::folder()).unwrap();
    let golden = all.into_iter().find(|golden| golden.name == name).unwrap();
    let mut kept = kept.iter();
    let facts = golden::facts(&golden.log).unwrap().into_iter();
    let facts = facts.map(|mut fact| {
        fact.session = id();
        if let windlass_engine::core::Fact::CallObserved(observed) = &mut fact.fact {
            let observation = Arc::make_mut(&mut observed.observation);
            observation.stored_output = kept.next().cloned();
        }
        Arc::new(fact)
    });
    facts.collect()
}

async fn keeper(store: &FaultyStore, blobs: &HeldBlobs, facts: &[Arc<RecordedFact>]) -> CopyTarget {
    let keeper = CopyTarget { store: Arc::new(store.clone()), blobs: Arc::new(blobs.clone()) };
    if !facts.is_empty() {
        let claim = keeper.store.claim(&id()).await.unwrap();
        let (session, store) = (id(), &keeper.store);
        let appended = store.append(&session, claim.epoch, claim.last, facts);
        appended.await.unwrap();
        keeper.store.release(&id(), claim.epoch).await.unwrap();
    }
    keeper
}

async fn blob(blobs: &HeldBlobs, bytes: &[u8]) -> StoredOutput {
    let mut writer = blobs.begin(&id()).await.unwrap();
    writer.write(bytes).await.unwrap();
    writer.finish().await.unwrap()
}

fn texts(store: &FaultyStore) -> Vec<Vec<u8>> {
    let log = store.log(&id());
    log.iter().map(|fact| codec::encode(fact).unwrap()).collect()
}

/// A target that takes at most this many facts, then fails.
fn failing_at(append: usize) -> FaultyStore {
    FaultyStore::responding(move |operation, number| match operation {
        Operation::Append if number == append => vec![Fault::Fail(StoreErrorKind::Full)],
        Operation::Append
        | Operation::Claim
        | Operation::Release
        | Operation::Read
        | Operation::Probe => Vec::new(),
    })
}

#[tokio::test]
async fn a_copy_is_the_same_log_with_what_is_kept_beside_it() {
    let (here, there) = (HeldBlobs::new(1 << 20), HeldBlobs::new(1 << 20));
    let long = blob(&here, &vec![b'x'; 600_000]).await;
    let other = blob(&here, b"short").await;
    let facts = log("calls_and_their_limits", &[long.clone(), other.clone(), long.clone()]);
    let (source, target) = (FaultyStore::new(), FaultyStore::new());
    let from = keeper(&source, &here, &facts).await;
    let to = keeper(&target, &there, &[]).await;
    let copied = copy(&from, &to, &id()).await.unwrap();
    assert_eq!((copied.facts, copied.blobs, copied.missing), (facts.len() as u64, 2, 0));
    assert_eq!(copied.chain, ChainLink::of_log(&id(), facts.iter().map(|fact| &**fact)).unwrap());
    assert_eq!(copied.unclaimed, None);
    assert_eq!(texts(&source), texts(&target));
    for kept in [&long, &other] {
        assert_eq!(there.verify(&id(), &kept.sha256).await.unwrap(), *kept);
    }
    assert!(!source.claimed(&id()) && !target.claimed(&id()));
    // Again, there is nothing left to do.
    let again = copy(&from, &to, &id()).await.unwrap();
    assert_eq!((again.facts, again.blobs, again.chain), (0, 0, copied.chain));
}

#[tokio::test]
async fn a_copy_that_was_cut_short_goes_on_where_it_stands() {
    let (here, there) = (HeldBlobs::new(1 << 20), HeldBlobs::new(1 << 20));
    let kept = blob(&here, b"a long output").await;
    let mut facts = log("calls_and_their_limits", std::slice::from_ref(&kept));
    let from = keeper(&FaultyStore::new(), &here, &facts).await;
    let target = failing_at(1);
    let to = keeper(&target, &there, &[]).await;
    let cut = copy(&from, &to, &id()).await;
    assert!(matches!(cut, Err(CopyError::Target(error)) if error.kind == StoreErrorKind::Full));
    assert!(!target.claimed(&id()), "it is given back");
    assert_eq!(copy(&from, &to, &id()).await.unwrap().facts, facts.len() as u64);
    // A target that has a part of it and nothing beside: both are brought.
    facts.truncate(20);
    let (part, bare) = (FaultyStore::new(), HeldBlobs::new(1 << 20));
    let to = keeper(&part, &bare, &facts).await;
    let copied = copy(&from, &to, &id()).await.unwrap();
    assert_eq!(copied.blobs, 1);
    assert_eq!(copied.last, Seq(copied.facts + 20));
    assert_eq!(texts(&part), texts(&target));
}

#[tokio::test]
async fn another_log_of_that_id_is_left_alone() {
    let (here, there) = (HeldBlobs::new(1 << 20), HeldBlobs::new(1 << 20));
    let kept = blob(&here, b"a long output").await;
    let facts = log("calls_and_their_limits", &[kept]);
    let other = log("a_goal_is_met", &[]);
    let longer = log("failures_of_every_kind", &[]);
    assert!(other.len() < facts.len() && facts.len() < longer.len());
    let from = keeper(&FaultyStore::new(), &here, &facts).await;
    for held in [&other, &longer] {
        let target = FaultyStore::new();
        let to = keeper(&target, &there, held).await;
        let before = texts(&target);
        let refused = copy(&from, &to, &id()).await;
        assert!(matches!(refused, Err(CopyError::OtherSession { .. })), "{refused:?}");
        assert_eq!(texts(&target), before);
        assert!(!target.claimed(&id()));
    }
    // Nothing was written beside them either.
    let (name, _) = facts.iter().find_map(|fact| fact.fact.blobs().next()).unwrap();
    let missing = there.verify(&id(), name).await.unwrap_err();
    assert_eq!(missing.kind, BlobErrorKind::NotFound);
}

#[tokio::test]
async fn what_is_being_written_is_copied_as_far_as_it_is_and_that_is_told() {
    let blobs = HeldBlobs::new(1 << 20);
    let facts = log("a_goal_is_met", &[]);
    let source = FaultyStore::responding(|operation, number| match operation {
        Operation::Claim if number > 1 => vec![Fault::Fail(StoreErrorKind::Locked)],
        Operation::Append
        | Operation::Claim
        | Operation::Release
        | Operation::Read
        | Operation::Probe => Vec::new(),
    });
    let from = keeper(&source, &blobs, &facts).await;
    let target = FaultyStore::new();
    let to = keeper(&target, &blobs, &[]).await;
    let copied = copy(&from, &to, &id()).await.unwrap();
    assert!(copied.unclaimed.is_some());
    assert_eq!(copied.last, Seq(facts.len() as u64));
    assert_eq!(texts(&source), texts(&target));
}

#[tokio::test]
async fn a_session_that_is_not_there_is_begun_nowhere() {
    let blobs = HeldBlobs::new(1 << 20);
    let (source, target) = (FaultyStore::new(), FaultyStore::new());
    let (from, to) = (keeper(&source, &blobs, &[]).await, keeper(&target, &blobs, &[]).await);
    let unknown = copy(&from, &to, &id()).await;
    assert!(
        matches!(&unknown, Err(CopyError::Source(error)) if error.kind == StoreErrorKind::Unknown),
        "{unknown:?}"
    );
    for store in [&source, &target] {
        assert!(!store.claimed(&id()));
    }
}

#[tokio::test]
async fn what_neither_store_keeps_is_counted() {
    let here = HeldBlobs::new(1 << 20);
    let kept = blob(&here, b"a long output").await;
    let gone = StoredOutput { sha256: "0".repeat(64), bytes: 3 };
    let facts = log("calls_and_their_limits", &[kept, gone]);
    let from = keeper(&FaultyStore::new(), &here, &facts).await;
    let to = CopyTarget { store: Arc::new(FaultyStore::new()), blobs: Arc::new(NoBlobStore) };
    let copied = copy(&from, &to, &id()).await.unwrap();
    assert_eq!((copied.blobs, copied.missing), (0, 2));
}

#[tokio::test]
async fn an_output_that_is_not_what_was_kept_is_not_copied() {
    let (here, small) = (HeldBlobs::new(1 << 20), HeldBlobs::new(5));
    let kept = blob(&here, b"a long output").await;
    let from = keeper(&FaultyStore::new(), &here, &log("calls_and_their_limits", &[kept])).await;
    let to = keeper(&FaultyStore::new(), &small, &[]).await;
    let refused = copy(&from, &to, &id()).await;
    assert!(matches!(refused, Err(CopyError::Blob { .. })), "{refused:?}");
}

/// Facts that are too much for one append, though each may stand in a log.
#[tokio::test]
async fn a_log_of_large_facts_is_copied_in_parts_that_a_store_takes() {
    const LARGE: usize = MAX_APPEND_BYTES / 5 + 1;
    let blobs = HeldBlobs::new(1 << 20);
    let (source, target) = (FaultyStore::new(), FaultyStore::new());
    let from = keeper(&source, &blobs, &[]).await;
    let to = keeper(&target, &blobs, &[]).await;
    let mut claim = source.claim(&id()).await.unwrap();
    while claim.last < Seq(5) {
        let fact = fact_of_size(&id(), claim.last, LARGE).unwrap();
        let (id, facts) = (id(), [fact]);
        let appended = source.append(&id, claim.epoch, claim.last, &facts);
        appended.await.unwrap();
        claim.last = claim.last.next();
    }
    source.release(&id(), claim.epoch).await.unwrap();
    let copied = copy(&from, &to, &id()).await.unwrap();
    assert_eq!((copied.facts, copied.last), (5, Seq(5)));
    assert_eq!(source.log(&id()), target.log(&id()));
}

#[tokio::test]
async fn a_target_that_is_further_on_is_told_as_that() {
    let blobs = HeldBlobs::new(1 << 20);
    let facts = log("a_goal_is_met", &[]);
    let from = keeper(&FaultyStore::new(), &blobs, &facts[..7]).await;
    let target = FaultyStore::new();
    let to = keeper(&target, &blobs, &facts).await;
    let refused = copy(&from, &to, &id()).await.unwrap_err();
    let CopyError::TargetAhead { source_end, target_end, .. } = &refused else {
        panic!("{refused:?}");
    };
    assert_eq!((*source_end, *target_end), (Seq(7), Seq(facts.len() as u64)));
    assert!(refused.to_string().contains("copy the other way"));
    assert_eq!(texts(&target).len(), facts.len());
    assert!(!target.claimed(&id()));
}

#[tokio::test]
async fn what_was_read_is_held_against_what_the_source_verifies() {
    let blobs = HeldBlobs::new(1 << 20);
    let facts = log("a_goal_is_met", &[]);
    let source = FaultyStore::new();
    keeper(&source, &blobs, &facts).await;
    let from = CopyTarget {
        store: Arc::new(Lying::another_chain(source)),
        blobs: Arc::new(blobs.clone()),
    };
    let to = keeper(&FaultyStore::new(), &blobs, &[]).await;
    let refused = copy(&from, &to, &id()).await;
    assert!(matches!(refused, Err(CopyError::SourceDiffers { .. })), "{refused:?}");
}

#[tokio::test]
async fn of_a_damaged_log_the_part_before_the_damage_is_copied_and_the_damage_told() {
    let blobs = HeldBlobs::new(1 << 20);
    let facts = log("a_goal_is_met", &[]);
    let source = FaultyStore::new();
    keeper(&source, &blobs, &facts).await;
    let from = CopyTarget {
        store: Arc::new(Lying::damaged_after(source, Seq(5))),
        blobs: Arc::new(blobs.clone()),
    };
    let target = FaultyStore::new();
    let to = keeper(&target, &blobs, &[]).await;
    for _ in 0..2 {
        let refused = copy(&from, &to, &id()).await;
        let Err(CopyError::Source(error)) = refused else {
            panic!("{refused:?}");
        };
        let damage = StoreErrorKind::Corrupt { after: Seq(5), offset: None };
        assert_eq!(error.kind, damage);
        assert_eq!(texts(&target).len(), 5);
    }
}
