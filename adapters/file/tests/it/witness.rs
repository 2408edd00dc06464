//! The witness: what was written and is gone is damage of the sessions that lost it, and of no others.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use windlass_core::{Seq, SessionId};
use windlass_file::{DamageLocation, FileStore, MaintenancePolicy};
use windlass_ports::{LogStore, SessionFilter, StoreErrorKind};
use windlass_testkit::store::{fact_of_size, numbered_facts};

fn id(name: &str) -> SessionId {
    SessionId::new(name).unwrap()
}

fn open(dir: &Path) -> FileStore {
    FileStore::open(dir.to_owned()).unwrap()
}

fn segment(dir: &Path, number: u32) -> PathBuf {
    dir.join(format!("lanes/0000/{number:08x}.seg"))
}

/// Appends facts behind the log's end.
async fn put(store: &FileStore, name: &str, count: u64) {
    let id = id(name);
    let claimed = store.claim(&id).await.unwrap();
    let facts = numbered_facts(&id, claimed.last, count);
    store.append(&id, claimed.epoch, claimed.last, &facts).await.unwrap();
    store.release(&id, claimed.epoch).await.unwrap();
}

/// A store with sessions `a`, `b` and `c`, closed.
async fn written() -> TempDir {
    let dir = TempDir::new().unwrap();
    let store = open(dir.path());
    for (name, count) in [("a", 3), ("b", 2), ("c", 1), ("a", 1), ("c", 4)] {
        put(&store, name, count).await;
    }
    dir
}

/// Position up to which a session can be read, if it is damaged behind it.
async fn damaged(store: &FileStore, name: &str) -> Option<u64> {
    let error = store.verify(&id(name)).await.err()?;
    let StoreErrorKind::Corrupt { after, .. } = error.kind else {
        panic!("{name}: {error}");
    };
    let claimed = store.claim(&id(name)).await.unwrap_err();
    assert_eq!(claimed.kind, error.kind, "{claimed}");
    let read = store.read(&id(name), Seq::ZERO, usize::MAX).await.unwrap_err();
    assert_eq!(read.kind, error.kind);
    let before = usize::try_from(after.0).unwrap();
    if before > 0 {
        let read = store.read(&id(name), Seq::ZERO, before).await.unwrap();
        assert_eq!(read.len(), before);
    }
    Some(after.0)
}

async fn listed(store: &FileStore) -> Vec<String> {
    let listed = store.sessions(SessionFilter::ALL_TENANTS, None, 99).await.unwrap();
    listed.into_iter().map(|listing| listing.id.to_string()).collect()
}

/// A session of which nothing is lost is read and appended to, and a new one begins.
async fn goes_on(dir: &Path, sound: &[&str]) {
    let store = open(dir);
    for name in sound.iter().chain(&["new"]) {
        put(&store, name, 2).await;
        store.verify(&id(name)).await.unwrap();
    }
}

#[tokio::test]
async fn a_segment_that_is_gone_or_emptied_is_a_loss_of_each_of_its_sessions() {
    for emptied in [false, true] {
        let dir = written().await;
        let path = segment(dir.path(), 1);
        match emptied {
            true => fs::write(&path, b"").unwrap(),
            false => fs::remove_file(&path).unwrap(),
        }
        // Also behind a process that writes, and one that opens the store again.
        for _ in 0..2 {
            let store = open(dir.path());
            assert_eq!(listed(&store).await, ["a", "b", "c"]);
            for name in ["a", "b", "c"] {
                assert_eq!(damaged(&store, name).await, Some(0), "{name}, {emptied}");
            }
            let error = store.verify(&id("c")).await.unwrap_err();
            assert!(error.context.contains("it had facts up to position 5"), "{error}");
            drop(store);
            goes_on(dir.path(), &[]).await;
            fs::remove_file(segment(dir.path(), 2)).unwrap();
            fs::remove_file(dir.path().join("witness/0000/00000002")).unwrap();
        }
    }
}

#[tokio::test]
async fn a_segment_cut_anywhere_is_a_loss_of_the_sessions_behind_the_cut() {
    let dir = written().await;
    let path = segment(dir.path(), 1);
    let whole = fs::read(&path).unwrap();
    let witness = dir.path().join("witness/0000/00000001");
    let stated = fs::read(&witness).unwrap();
    let mut last = [None; 3];
    for cut in (0..whole.len()).rev().step_by(13) {
        // As it was left: a claim seals what is damaged and begins another segment.
        let _ = fs::remove_file(segment(dir.path(), 2));
        let _ = fs::remove_file(dir.path().join("witness/0000/00000002"));
        fs::write(&path, &whole[..cut]).unwrap();
        fs::write(&witness, &stated).unwrap();
        let store = open(dir.path());
        let mut now = [None; 3];
        for (name, now) in ["a", "b", "c"].iter().zip(&mut now) {
            *now = damaged(&store, name).await;
        }
        assert!(now[2].is_some(), "cut at {cut}: the last unit is gone");
        // What is lost stays lost, and less of it can be read.
        for (before, now) in last.iter().zip(now) {
            assert!(before.is_none_or(|before| now.is_some_and(|now| now <= before)), "{cut}");
        }
        last = now;
        assert_eq!(store.claim(&id("new")).await.unwrap().last, Seq::ZERO, "cut at {cut}");
    }
    assert_eq!(last, [Some(0); 3]);
}

#[tokio::test]
async fn zeros_in_place_of_the_last_units_are_no_torn_tail() {
    let dir = written().await;
    let path = segment(dir.path(), 1);
    let mut bytes = fs::read(&path).unwrap();
    let from = bytes.len() - 300;
    bytes[from..].fill(0);
    fs::write(&path, bytes).unwrap();
    assert_eq!(damaged(&open(dir.path()), "c").await, Some(1));
    goes_on(dir.path(), &["b"]).await;
}

#[tokio::test]
async fn a_stretch_that_was_overwritten_affects_the_sessions_with_facts_there() {
    let dir = TempDir::new().unwrap();
    let (dir, path) = (dir.path(), segment(dir.path(), 1));
    put(&open(dir), "a", 2).await;
    let from = usize::try_from(fs::metadata(&path).unwrap().len()).unwrap();
    put(&open(dir), "x", 4).await;
    let to = usize::try_from(fs::metadata(&path).unwrap().len()).unwrap();
    put(&open(dir), "b", 2).await;
    let mut bytes = fs::read(&path).unwrap();
    bytes[from..to].fill(b'#');
    fs::write(&path, bytes).unwrap();
    let store = open(dir);
    assert_eq!(listed(&store).await, ["a", "b", "x"]);
    assert_eq!(damaged(&store, "x").await, Some(0));
    drop(store);
    goes_on(dir, &["a", "b"]).await;
    // The session is given up, and its name is free.
    FileStore::erase_offline(dir, &id("x")).unwrap();
    assert_eq!(FileStore::damage(dir).unwrap(), []);
    put(&open(dir), "x", 1).await;
    assert_eq!(open(dir).verify(&id("x")).await.unwrap().last, Seq(1));
}

#[tokio::test]
async fn bytes_behind_the_end_affect_nobody_and_are_no_part_of_the_store() {
    for stray in [vec![b'#'; 5], vec![b'#'; 601], b"windlass".repeat(9_000)] {
        let dir = written().await;
        let path = segment(dir.path(), 1);
        let mut bytes = fs::read(&path).unwrap();
        bytes.extend(&stray);
        fs::write(&path, &bytes).unwrap();
        goes_on(dir.path(), &["a", "b", "c"]).await;
        assert_eq!(FileStore::damage(dir.path()).unwrap(), []);
    }
}

#[tokio::test]
async fn a_file_of_any_length_is_read_up_to_its_content() {
    let dir = written().await;
    let sparse = |number| {
        let file = fs::File::options().write(true).open(segment(dir.path(), number)).unwrap();
        file.set_len(8 << 40).unwrap();
    };
    sparse(1);
    goes_on(dir.path(), &["a", "b", "c"]).await;
    assert_eq!(FileStore::damage(dir.path()).unwrap(), []);
    // A sealed one too.
    let store = open(dir.path());
    let big = fact_of_size(&id("big"), Seq::ZERO, 16_000_000).unwrap();
    let claimed = store.claim(&id("big")).await.unwrap();
    store.append(&id("big"), claimed.epoch, Seq::ZERO, &[big]).await.unwrap();
    for after in 1..4 {
        let big = fact_of_size(&id("big"), Seq(after), 16_000_000).unwrap();
        store.append(&id("big"), claimed.epoch, Seq(after), &[big]).await.unwrap();
    }
    drop(store);
    assert!(segment(dir.path(), 2).exists());
    sparse(1);
    let store = open(dir.path());
    for _ in 0..3 {
        assert_eq!(store.verify(&id("a")).await.unwrap().last, Seq(6));
        assert_eq!(store.verify(&id("big")).await.unwrap().last, Seq(4));
    }
}

#[tokio::test]
async fn a_segment_of_another_store_is_told() {
    let (dir, other) = (written().await, TempDir::new().unwrap());
    let store = open(other.path());
    for (name, count) in [("a", 3), ("z", 30), ("a", 9)] {
        put(&store, name, count).await;
    }
    drop(store);
    fs::copy(segment(other.path(), 1), segment(dir.path(), 1)).unwrap();
    let store = open(dir.path());
    for name in ["b", "c"] {
        assert!(damaged(&store, name).await.is_some(), "{name}");
    }
}

#[tokio::test]
async fn a_store_without_a_witness_opens_and_gets_one() {
    let dir = written().await;
    let witness = dir.path().join("witness");
    fs::remove_dir_all(&witness).unwrap();
    // Reading writes nothing.
    let store = open(dir.path());
    assert_eq!(store.verify(&id("a")).await.unwrap().last, Seq(4));
    drop(store);
    assert!(!witness.exists());
    // Whoever writes, in whatever lane, has all segments witnessed.
    let other = open(dir.path());
    put(&other, "d", 1).await;
    fs::remove_dir_all(&witness).unwrap();
    let holds = open(dir.path());
    put(&holds, "e", 1).await;
    drop((other, holds));
    put(&open(dir.path()), "e", 1).await;
    assert!(witness.join("0000/00000001").exists());
    fs::remove_file(segment(dir.path(), 1)).unwrap();
    let store = open(dir.path());
    for name in ["a", "b", "c", "d"] {
        assert!(damaged(&store, name).await.is_some(), "{name}");
    }
}

#[tokio::test]
async fn a_witness_that_is_damaged_or_older_than_its_segment_gives_no_alarm() {
    let dir = written().await;
    let witness = dir.path().join("witness/0000/00000001");
    let older = fs::read(&witness).unwrap();
    put(&open(dir.path()), "a", 7).await;
    put(&open(dir.path()), "n", 7).await;
    let newer = fs::read(&witness).unwrap();
    let sound = || async {
        let store = open(dir.path());
        for (name, last) in [("a", 11), ("b", 2), ("c", 5), ("n", 7)] {
            assert_eq!(store.verify(&id(name)).await.unwrap().last, Seq(last));
        }
        assert_eq!(FileStore::damage(dir.path()).unwrap(), []);
        assert_eq!(store.claim(&id("a")).await.unwrap().last, Seq(11));
    };
    fs::write(&witness, &older).unwrap();
    sound().await;
    for at in (0..newer.len()).step_by(37) {
        let mut changed = newer.clone();
        changed[at] ^= 0x10;
        fs::write(&witness, &changed).unwrap();
        sound().await;
        fs::write(&witness, &newer[..at]).unwrap();
        sound().await;
    }
    fs::write(&witness, &newer).unwrap();
    sound().await;
}

#[tokio::test]
async fn merging_and_erasing_give_no_alarm_and_a_merged_segment_is_witnessed() {
    let dir = written().await;
    let at_once =
        MaintenancePolicy { merge_after: Some(std::time::Duration::ZERO), erase_after: None };
    FileStore::erase_offline(dir.path(), &id("b")).unwrap();
    let store = open(dir.path());
    assert_eq!(listed(&store).await, ["a", "c"]);
    drop(store);
    FileStore::vacuum(dir.path(), at_once).unwrap();
    goes_on(dir.path(), &["a", "b", "c"]).await;
    assert_eq!(FileStore::damage(dir.path()).unwrap(), []);
}

#[tokio::test]
async fn the_loss_of_a_segment_is_accepted_for_all_its_sessions() {
    let dir = written().await;
    fs::remove_file(segment(dir.path(), 1)).unwrap();
    let at: DamageLocation = "0000/00000001@64".parse().unwrap();
    FileStore::discard(dir.path(), at).unwrap().finish().unwrap();
    assert_eq!(listed(&open(dir.path())).await, Vec::<String>::new());
    goes_on(dir.path(), &["a"]).await;
}

#[tokio::test]
async fn a_log_that_lost_its_end_is_cut_off_and_continues() {
    let dir = written().await;
    let path = segment(dir.path(), 1);
    let len = fs::metadata(&path).unwrap().len();
    fs::File::options().write(true).open(&path).unwrap().set_len(len - 100).unwrap();
    assert_eq!(damaged(&open(dir.path()), "c").await, Some(1));
    let cut = FileStore::truncate(dir.path(), &id("c"), Seq(1)).unwrap();
    cut.finish().unwrap();
    assert_eq!(open(dir.path()).verify(&id("c")).await.unwrap().last, Seq(1));
    goes_on(dir.path(), &["a", "b", "c"]).await;
    assert_eq!(FileStore::damage(dir.path()).unwrap(), []);
}
