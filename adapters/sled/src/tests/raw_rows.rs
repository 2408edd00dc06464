//! Test: changed, moved, duplicated, missing or foreign rows are damage with the right last sound
//! position, and hurt no other session.
//!
//! They are changed through sled, which cannot detect that, so the store must. Each byte of each
//! value is tried. `tests/it/damage.rs` changes the database file itself.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tempfile::TempDir;
use windlass_core::{RecordedFact, Seq, SessionId};
use windlass_ports::{ChainLink, LogStore, StoreError, StoreErrorKind};
use windlass_testkit::store::{fact_of_size, numbered_facts};

use crate::SledStore;
use crate::open::database;
use crate::record::{self, RecordDraft, STORE_KEY, key, prefix};

/// Rows of a database without the one that names the store.
type Rows = BTreeMap<Vec<u8>, Vec<u8>>;

struct Bench {
    dir: TempDir,
    sound: Rows,
}

fn id(name: &str) -> SessionId {
    SessionId::new(name).unwrap()
}

/// Six facts, the fourth of them in three rows.
fn log(name: &str) -> Vec<Arc<RecordedFact>> {
    let id = id(name);
    let mut facts = numbered_facts(&id, Seq::ZERO, 3);
    facts.push(fact_of_size(&id, Seq(3), 150_000).unwrap());
    facts.extend(numbered_facts(&id, Seq(4), 2));
    facts
}

async fn write(store: &SledStore, name: &str, facts: &[Arc<RecordedFact>]) {
    let id = id(name);
    let claimed = store.claim(&id).await.unwrap();
    for (after, fact) in (0..).zip(facts) {
        let one = std::slice::from_ref(fact);
        let appended = store.append(&id, claimed.epoch, Seq(after), one).await;
        appended.unwrap();
    }
    store.release(&id, claimed.epoch).await.unwrap();
}

impl Bench {
    async fn new() -> Self {
        let dir = TempDir::new().unwrap();
        let store = SledStore::open(dir.path().join("store")).unwrap();
        for name in ["a", "b"] {
            write(&store, name, &log(name)).await;
        }
        let db = store.database().unwrap();
        let rows = db.iter().map(|row| row.unwrap());
        let rows = rows.map(|(key, value)| (key.to_vec(), value.to_vec()));
        let sound = rows.filter(|(key, _)| key != STORE_KEY).collect();
        drop((db, store));
        Self { dir, sound }
    }

    fn store(&self) -> PathBuf {
        self.dir.path().join("store")
    }

    /// Opens the store with these rows.
    async fn with(&self, rows: &Rows) -> Result<SledStore, StoreError> {
        put(&self.store().join("db"), rows);
        SledStore::open(self.store())
    }

    fn row(&self, name: &str, seq: u64) -> Vec<u8> {
        self.sound[&key(&id(name), Seq(seq), 0)].clone()
    }
}

fn put(path: &Path, rows: &Rows) {
    let db = database(path).unwrap();
    for row in db.iter() {
        let (key, _) = row.unwrap();
        if key != STORE_KEY && !rows.contains_key(&key[..]) {
            db.remove(key).unwrap();
        }
    }
    for (key, value) in rows {
        db.insert(&key[..], &value[..]).unwrap();
    }
    db.flush().unwrap();
}

/// Last sound position in an error.
fn after(error: &StoreError) -> Seq {
    let StoreErrorKind::Corrupt { after, .. } = &error.kind else {
        panic!("{:?}: {error}", error.kind);
    };
    *after
}

async fn reads(store: &SledStore, name: &str) {
    let read = store.read(&id(name), Seq::ZERO, 99).await.unwrap();
    let facts = log(name);
    assert!(read.iter().eq(facts.iter().map(|fact| &**fact)), "{name}");
    let verified = store.verify(&id(name)).await.unwrap();
    assert_eq!(verified.last, Seq(6));
    let texts = facts.iter().map(|fact| &**fact);
    assert_eq!(verified.chain, ChainLink::of_log(&id(name), texts).unwrap());
}

/// Rewrites the record of one session for another, with a valid checksum.
fn signed_over(value: &[u8], to: &SessionId, seq: Seq) -> Vec<u8> {
    let record::DecodedRecord { header, text, .. } = record::parse(value).unwrap();
    let writing = RecordDraft {
        position: (header.index, header.count),
        link: header.link,
        summary: None,
        text,
    };
    record::rows(to, seq, writing).remove(0).1
}

#[tokio::test]
async fn rows_that_are_moved_doubled_dropped_or_anothers_are_damage() {
    let bench = Bench::new().await;
    let at = |seq: u64| key(&id("a"), Seq(seq), 0);
    let part = |chunk: u16| key(&id("a"), Seq(4), chunk);
    let swapped = |left: Vec<u8>, right: Vec<u8>| {
        let mut rows = bench.sound.clone();
        let (one, other) = (rows[&left].clone(), rows[&right].clone());
        rows.extend([(left, other), (right, one)]);
        rows
    };
    let with = |key: Vec<u8>, value: Vec<u8>| {
        let mut rows = bench.sound.clone();
        rows.insert(key, value);
        rows
    };
    let without = |key: Vec<u8>| {
        let mut rows = bench.sound.clone();
        rows.remove(&key);
        rows
    };
    let moved = |from: Vec<u8>, to: Vec<u8>| {
        let mut rows = bench.sound.clone();
        let value = rows.remove(&from).unwrap();
        rows.insert(to, value);
        rows
    };
    let forged = signed_over(&bench.row("b", 3), &id("a"), Seq(3));
    let earlier = signed_over(&bench.row("a", 2), &id("a"), Seq(3));
    let damages = [
        ("two exchanged", swapped(at(2), at(3)), 1),
        ("the first and the last exchanged", swapped(at(1), at(6)), 0),
        ("parts of one exchanged", swapped(part(1), part(2)), 3),
        ("one in the next one's place", with(at(3), bench.row("a", 2)), 2),
        ("the same with its checksum made anew", with(at(3), earlier), 2),
        ("one moved to the end", moved(at(3), at(7)), 2),
        ("one dropped", without(at(3)), 2),
        ("a part dropped", without(part(1)), 3),
        ("another session's", with(at(3), bench.row("b", 3)), 2),
        ("another session's, with its checksum made anew", with(at(3), forged), 2),
    ];
    for (what, rows, stands) in damages {
        let store = match bench.with(&rows).await {
            Ok(store) => store,
            // The ends of logs are looked at when it is opened.
            Err(error) => {
                after(&error);
                assert!(what.contains("last") || what.contains("end"), "{what}: {error}");
                continue;
            }
        };
        let read = store.read(&id("a"), Seq::ZERO, 99).await;
        assert_eq!(after(&read.unwrap_err()), Seq(stands), "{what}");
        let verified = store.verify(&id("a")).await.unwrap_err();
        assert_eq!(after(&verified), Seq(stands), "{what}");
        reads(&store, "b").await;
        let before = usize::try_from(stands).unwrap();
        if before > 0 {
            let sound = store.read(&id("a"), Seq::ZERO, before).await.unwrap();
            assert_eq!(sound.len(), before, "{what}");
        }
    }
    // As they were, they are as they were.
    let store = bench.with(&bench.sound).await.unwrap();
    reads(&store, "a").await;
    reads(&store, "b").await;
}

/// The end of a log is checked against the head index file when the store is opened.
#[tokio::test]
async fn another_end_of_a_log_is_damage_when_the_store_is_opened() {
    let bench = Bench::new().await;
    let end = key(&id("a"), Seq(6), 0);
    let mut dropped = bench.sound.clone();
    dropped.remove(&end);
    let mut foreign = bench.sound.clone();
    foreign.insert(end.clone(), bench.row("b", 6));
    let mut forged = bench.sound.clone();
    forged.insert(end, signed_over(&bench.row("b", 6), &id("a"), Seq(6)));
    let mut whole = bench.sound.clone();
    for (at, value) in &bench.sound {
        if let Some(rest) = at.strip_prefix(&prefix(&id("b"))[..]) {
            whole.insert([&prefix(&id("a")), rest].concat(), value.clone());
        }
    }
    for rows in [dropped, foreign, forged, whole] {
        let error = bench.with(&rows).await.unwrap_err();
        after(&error);
        assert!(error.context.contains("restore"), "{error}");
    }
}

/// A log under another id has another first link, and its records other checksums.
#[tokio::test]
async fn a_log_that_was_doubled_under_another_id_is_damage() {
    let bench = Bench::new().await;
    for forge in [false, true] {
        let mut rows = bench.sound.clone();
        for (at, value) in &bench.sound {
            if let Some(rest) = at.strip_prefix(&prefix(&id("b"))[..]) {
                let (_, seq, chunk) = record::parse_key(at).unwrap();
                let value = match forge && chunk == 0 && seq != Seq(4) {
                    true => signed_over(value, &id("c"), seq),
                    false => value.clone(),
                };
                rows.insert([&prefix(&id("c")), rest].concat(), value);
            }
        }
        let store = match bench.with(&rows).await {
            Ok(store) => store,
            Err(error) => {
                after(&error);
                continue;
            }
        };
        for error in [
            store.read(&id("c"), Seq::ZERO, 99).await.map(drop),
            store.verify(&id("c")).await.map(drop),
            store.claim(&id("c")).await.map(drop),
        ] {
            after(&error.unwrap_err());
        }
        reads(&store, "a").await;
        reads(&store, "b").await;
    }
}

#[tokio::test]
async fn a_bit_that_changed_in_any_byte_of_a_row_is_damage() {
    let dir = TempDir::new().unwrap();
    let store = SledStore::open(dir.path().join("store")).unwrap();
    // The last of the first log is in two rows, and as small as that can be.
    let mut facts = numbered_facts(&id("a"), Seq::ZERO, 3);
    facts.push(fact_of_size(&id("a"), Seq(3), record::CHUNK + 50).unwrap());
    write(&store, "a", &facts).await;
    write(&store, "b", &log("b")).await;
    let db = store.database().unwrap();
    let rows = db.scan_prefix(prefix(&id("a"))).map(|row| row.unwrap());
    let rows: Vec<_> = rows.collect();
    assert_eq!(rows.len(), 5);
    for (key, value) in rows {
        let (_, seq, chunk) = record::parse_key(&key).unwrap();
        for byte in 0..value.len() {
            // What fills the long one up is one letter: its ends are tried, and some between.
            if chunk == 0 && (600..value.len() - 50).contains(&byte) && byte % 4_096 != 0 {
                continue;
            }
            let mut changed = value.to_vec();
            changed[byte] ^= 1 << (byte % 8);
            db.insert(&key, changed).unwrap();
            let read = store.read(&id("a"), Seq::ZERO, 99).await.unwrap_err();
            let stands = after(&read);
            assert!(stands < seq, "{seq}.{chunk}, byte {byte}: {read}");
            let verified = store.verify(&id("a")).await.unwrap_err();
            assert_eq!(after(&verified), stands, "{seq}.{chunk}, byte {byte}");
        }
        db.insert(&key, value).unwrap();
    }
    assert_eq!(store.verify(&id("a")).await.unwrap().last, Seq(4));
    reads(&store, "b").await;
}
