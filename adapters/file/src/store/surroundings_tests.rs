//! Tests of changes around an open store: another process holds a session, or the folder is removed
//! or replaced.

use std::path::{Path, PathBuf};
use std::pin::pin;
use std::{fs, future};

use tempfile::TempDir;
use tokio::time::timeout;
use windlass_testkit::store::numbered_facts;

use super::*;

/// Longer than any test runs.
const FOREVER: Duration = Duration::from_secs(3_600);
/// Longest time of a call that is not blocked.
const BOUND: Duration = Duration::from_secs(60);

fn id(name: &str) -> SessionId {
    SessionId::new(name).unwrap()
}

async fn append(store: &FileStore, name: &str, epoch: Epoch, after: u64) -> Result<(), StoreError> {
    let facts = numbered_facts(&id(name), Seq(after), 1);
    store.append(&id(name), epoch, Seq(after), &facts).await
}

#[tokio::test]
async fn no_append_waits_while_a_claim_waits_for_another_process() {
    let dir = TempDir::new().unwrap();
    let one = FileStore::open(dir.path().to_owned()).unwrap();
    let two = FileStore::open(dir.path().to_owned()).unwrap();
    let two = two.with_patience(FOREVER);
    let held = one.claim(&id("held")).await.unwrap().epoch;
    let epoch = two.claim(&id("free")).await.unwrap().epoch;
    let (session, other) = (id("held"), id("held"));
    let mut claims = [
        pin!(two.claim(&session)) as std::pin::Pin<&mut (dyn Future<Output = _> + '_)>,
        pin!(two.claim(&other)),
    ];
    for after in 0..20 {
        // They are asked for, and each time again, before the append is.
        for claim in &mut claims {
            let polled = future::poll_fn(|cx| std::task::Poll::Ready(claim.as_mut().poll(cx)));
            assert!(polled.await.is_pending(), "the session is held");
        }
        let appended = timeout(BOUND, append(&two, "free", epoch, after)).await;
        appended.expect("an append waits for a claim").unwrap();
    }
    one.release(&id("held"), held).await.unwrap();
    for claim in claims {
        let claimed = timeout(BOUND, claim).await.expect("a claim is forgotten");
        assert_eq!(claimed.unwrap().last, Seq::ZERO);
    }
}

/// A killed process that was starting a child holds its lock a moment longer.
#[tokio::test(flavor = "multi_thread")]
async fn a_lock_that_is_given_back_in_a_moment_is_waited_for() {
    let dir = TempDir::new().unwrap();
    let first = FileStore::open(dir.path().to_owned()).unwrap();
    let second = FileStore::open(dir.path().to_owned()).unwrap();
    let (second, id) = (second.with_patience(FOREVER), id("s"));
    for _ in 0..20 {
        let epoch = first.claim(&id).await.unwrap().epoch;
        let (claimed, released) = tokio::join!(second.claim(&id), first.release(&id, epoch));
        released.unwrap();
        second.release(&id, claimed.unwrap().epoch).await.unwrap();
    }
}

#[tokio::test]
async fn a_claim_is_not_waited_for_without_end() {
    let dir = TempDir::new().unwrap();
    let one = FileStore::open(dir.path().to_owned()).unwrap();
    let two = FileStore::open(dir.path().to_owned()).unwrap();
    one.claim(&id("held")).await.unwrap();
    let claimed = timeout(BOUND, two.claim(&id("held"))).await;
    let refused = claimed.expect("the claim waits").unwrap_err();
    assert_eq!(refused.kind, StoreErrorKind::Locked);
}

/// Creates a store with a claimed session of one fact.
async fn begun(root: &Path) -> (FileStore, Epoch) {
    let store = FileStore::open(root.to_owned()).unwrap();
    let epoch = store.claim(&id("s")).await.unwrap().epoch;
    append(&store, "s", epoch, 0).await.unwrap();
    (store, epoch)
}

/// Checks that a store whose files were removed acknowledges nothing.
async fn refuses(store: &FileStore, epoch: Epoch) {
    let refused = append(store, "s", epoch, 1).await.unwrap_err();
    assert_eq!(refused.kind, StoreErrorKind::Io, "{refused}");
    assert!(refused.context.contains("while the store was open"), "{refused}");
    let refused = store.claim(&id("another")).await.unwrap_err();
    assert_eq!(refused.kind, StoreErrorKind::Ended, "{refused}");
    assert!(refused.context.contains("while the store was open"), "{refused}");
}

fn segment(root: &Path) -> PathBuf {
    root.join("lanes/0000/00000001.seg")
}

#[tokio::test]
async fn a_folder_that_was_removed_takes_no_appends() {
    let dir = TempDir::new().unwrap();
    let root = dir.path().join("store");
    let (store, epoch) = begun(&root).await;
    fs::remove_dir_all(&root).unwrap();
    refuses(&store, epoch).await;
    drop(store);
    let (store, epoch) = begun(&root).await;
    append(&store, "s", epoch, 1).await.unwrap();
}

#[tokio::test]
async fn neither_a_claim_nor_erasing_makes_a_removed_folder_anew() {
    let dir = TempDir::new().unwrap();
    for erased in [false, true] {
        let root = dir.path().join("store");
        let (store, epoch) = begun(&root).await;
        fs::remove_dir_all(&root).unwrap();
        let refused = match erased {
            true => store.erase(&id("s"), epoch).await.unwrap_err(),
            false => store.claim(&id("new")).await.unwrap_err(),
        };
        assert_eq!(refused.kind, StoreErrorKind::Io, "{refused}");
        drop(store);
        assert!(!root.exists());
    }
}

#[tokio::test]
async fn a_store_in_the_place_of_another_is_left_as_it_is() {
    let dir = TempDir::new().unwrap();
    let root = dir.path().join("store");
    let aside = dir.path().join("aside");
    let (store, epoch) = begun(&root).await;
    fs::rename(&root, &aside).unwrap();
    let (other, others) = begun(&root).await;
    let before = fs::read(segment(&root)).unwrap();
    let put_aside = fs::read(segment(&aside)).unwrap();
    refuses(&store, epoch).await;
    drop(store);
    assert_eq!(fs::read(segment(&root)).unwrap(), before);
    assert_eq!(fs::read(segment(&aside)).unwrap(), put_aside);
    append(&other, "s", others, 1).await.unwrap();
    drop(other);
    fs::remove_dir_all(&root).unwrap();
    fs::rename(&aside, &root).unwrap();
    let store = FileStore::open(root).unwrap();
    assert_eq!(store.claim(&id("s")).await.unwrap().last, Seq(1));
}

#[tokio::test]
async fn without_its_lock_a_lane_is_not_written_to() {
    let dir = TempDir::new().unwrap();
    let (store, epoch) = begun(dir.path()).await;
    fs::remove_dir_all(dir.path().join("locks")).unwrap();
    // Another process now takes the lane, and goes on in the segment.
    let other = FileStore::open(dir.path().to_owned()).unwrap();
    let others = other.claim(&id("s")).await.unwrap().epoch;
    append(&other, "s", others, 1).await.unwrap();
    refuses(&store, epoch).await;
    drop(store);
    append(&other, "s", others, 2).await.unwrap();
    assert_eq!(other.verify(&id("s")).await.unwrap().last, Seq(3));
}

#[tokio::test]
async fn a_segment_that_was_removed_takes_no_appends() {
    let dir = TempDir::new().unwrap();
    let (store, epoch) = begun(dir.path()).await;
    let bytes = fs::read(segment(dir.path())).unwrap();
    fs::remove_file(segment(dir.path())).unwrap();
    fs::write(segment(dir.path()), bytes).unwrap();
    refuses(&store, epoch).await;
}
