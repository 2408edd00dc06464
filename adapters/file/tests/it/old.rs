//! Logs of the first format: readable where they are, and taken over when they are claimed.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tempfile::TempDir;
use windlass_core::{Recorded, Seq, SessionId};
use windlass_file::{FileStore, fuzzing};
use windlass_ports::{Link, LogStore, SessionFilter, StoreErrorKind, codec};
use windlass_testkit::store::numbered_facts;

/// A store with a log of the first format, of batches of 1, 2 and 3 facts.
struct Old {
    dir: TempDir,
    id: SessionId,
    bytes: Vec<u8>,
    facts: Vec<Arc<Recorded>>,
}

impl Old {
    fn new() -> Self {
        let dir = TempDir::new().unwrap();
        let id = SessionId::new("s").unwrap();
        let facts = numbered_facts(&id, Seq::ZERO, 6);
        let text = |fact: &Arc<Recorded>| codec::encode(fact).unwrap();
        let batches: Vec<Vec<Vec<u8>>> = [0..1, 1..3, 3..6]
            .into_iter()
            .map(|batch| facts[batch].iter().map(text).collect())
            .collect();
        let bytes = fuzzing::old_log(&id, &batches).unwrap();
        let old = Self {
            dir,
            id,
            bytes,
            facts,
        };
        old.put(&old.bytes);
        old
    }

    fn path(&self) -> PathBuf {
        self.dir.path().join("sessions/s.log")
    }

    fn put(&self, bytes: &[u8]) {
        fs::create_dir_all(self.path().parent().unwrap()).unwrap();
        fs::write(self.path(), bytes).unwrap();
    }

    fn open(&self) -> FileStore {
        open(self.dir.path())
    }

    async fn expect(&self, store: &FileStore, count: usize) {
        let read = store.read(&self.id, Seq::ZERO, usize::MAX).await.unwrap();
        let facts = self.facts.iter().map(AsRef::as_ref).take(count);
        assert!(read.iter().eq(facts));
        let verified = store.verify(&self.id).await.unwrap();
        assert_eq!(verified.chain, Link::of(&self.id, &read).unwrap());
        assert_eq!(verified.last, Seq(count as u64));
    }
}

fn open(dir: &Path) -> FileStore {
    FileStore::open(dir.to_owned()).unwrap()
}

#[tokio::test]
async fn an_old_log_is_read_where_it_is_and_taken_over_when_it_is_claimed() {
    let old = Old::new();
    let store = old.open();
    old.expect(&store, 6).await;
    let listed = store.sessions(SessionFilter::ALL, None, 9).await.unwrap();
    assert_eq!(listed.len(), 1);
    let summary = listed[0].summary.clone();
    assert_eq!(summary.as_ref().map(|summary| summary.last), Some(Seq(6)));
    assert_eq!(
        fs::read(old.path()).unwrap(),
        old.bytes,
        "reading changed it"
    );

    let claimed = store.claim(&old.id).await.unwrap();
    assert_eq!((claimed.last, claimed.repaired), (Seq(6), None));
    assert!(!old.path().exists());
    old.expect(&store, 6).await;
    let listed = store.sessions(SessionFilter::ALL, None, 9).await.unwrap();
    assert_eq!(listed.len(), 1);
    assert_eq!(listed[0].summary, summary);
    let more = numbered_facts(&old.id, Seq(6), 2);
    let appended = store.append(&old.id, claimed.epoch, Seq(6), &more).await;
    appended.unwrap();
    drop(store);
    let store = old.open();
    assert_eq!(store.verify(&old.id).await.unwrap().last, Seq(8));
}

#[tokio::test]
async fn a_takeover_that_was_cut_short_is_gone_on_with() {
    let old = Old::new();
    // All of it, and a part of it, are in the segments, and the old file is still there.
    for count in [6, 3, 1] {
        let _ = fs::remove_dir_all(old.dir.path().join("lanes"));
        let store = old.open();
        let claimed = store.claim(&old.id).await.unwrap();
        if claimed.last == Seq::ZERO {
            let facts = &old.facts[..count];
            store
                .append(&old.id, claimed.epoch, Seq::ZERO, facts)
                .await
                .unwrap();
        }
        drop(store);
        old.put(&old.bytes);
        let store = old.open();
        old.expect(&store, 6).await;
        assert_eq!(store.claim(&old.id).await.unwrap().last, Seq(6));
        assert!(!old.path().exists());
        old.expect(&store, 6).await;
    }
}

#[tokio::test]
async fn a_torn_tail_of_an_old_log_is_cut_off_and_told() {
    for cut in [1, 50, 200] {
        let old = Old::new();
        old.put(&old.bytes[..old.bytes.len() - cut]);
        let store = old.open();
        old.expect(&store, 3).await;
        let claimed = store.claim(&old.id).await.unwrap();
        assert_eq!(claimed.last, Seq(3));
        assert!(claimed.repaired.is_some_and(|repair| repair.cut_bytes > 0));
        old.expect(&store, 3).await;
    }
}

#[tokio::test]
async fn an_old_log_that_is_damaged_stays_as_it_is() {
    let old = Old::new();
    for byte in (0..old.bytes.len()).step_by(31) {
        let mut bytes = old.bytes.clone();
        bytes[byte] ^= 1 << (byte % 8);
        old.put(&bytes);
        let _ = fs::remove_dir_all(old.dir.path().join("lanes"));
        let store = old.open();
        let claimed = store.claim(&old.id).await.unwrap_err();
        let read = store.read(&old.id, Seq::ZERO, 9).await.unwrap_err();
        for error in [claimed, read] {
            let corrupt = matches!(error.kind, StoreErrorKind::Corrupt { .. });
            assert!(corrupt, "byte {byte}: {error}");
        }
        let listed = store.sessions(SessionFilter::ALL, None, 9).await.unwrap();
        assert_eq!((listed.len(), &listed[0].summary), (1, &None));
        assert_eq!(fs::read(old.path()).unwrap(), bytes);
    }
}

#[tokio::test]
async fn a_newer_old_log_is_told_from_damage() {
    let old = Old::new();
    let text = "windlass-log 2 s";
    let head = format!("{text} {:08x}\n", crc32c::crc32c(text.as_bytes()));
    old.put(head.as_bytes());
    let store = old.open();
    for error in [
        store.read(&old.id, Seq::ZERO, 9).await.unwrap_err(),
        store.verify(&old.id).await.unwrap_err(),
        store.claim(&old.id).await.unwrap_err(),
    ] {
        assert_eq!(error.kind, StoreErrorKind::Newer);
    }
    assert_eq!(fs::read(old.path()).unwrap(), head.as_bytes());
}

#[tokio::test]
async fn an_old_log_is_erased() {
    let old = Old::new();
    let store = old.open();
    let claimed = store.claim(&old.id).await.unwrap();
    old.put(&old.bytes);
    store.erase(&old.id, claimed.epoch).await.unwrap();
    assert!(!old.path().exists());
    let error = store.read(&old.id, Seq::ZERO, 9).await.unwrap_err();
    assert_eq!(error.kind, StoreErrorKind::Unknown);
}
