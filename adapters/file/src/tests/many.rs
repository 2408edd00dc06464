//! Tests of reads of many logs at once: few calls, and the results of reads of one log, also of logs
//! that are damaged, erased or being repaired.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tempfile::TempDir;
use windlass_core::{Epoch, RecordedFact, Seq, SessionId};
use windlass_ports::{LogStore, SessionFilter, StoreError, StoredCheckpoint, VerifiedLog, codec};
use windlass_testkit::store::{numbered_facts, sample_facts};

use crate::FileStore;
use crate::disk::{RealDisk, calls};
use crate::reader::StoreReader;

const VERSION: &str = "1";
/// Size of a segment. Many sessions have facts in several segments.
const SMALL: u64 = 4 * 1024;

fn open(dir: &Path) -> FileStore {
    FileStore::on(Arc::new(RealDisk), dir.to_owned(), SMALL).unwrap()
}

fn ids(count: usize) -> Vec<SessionId> {
    (0..count).map(|number| SessionId::new(&format!("s-{number:03}")).unwrap()).collect()
}

/// Appends to sessions in turn, so that their units are interleaved.
async fn append(store: &FileStore, ids: &[SessionId], rounds: usize) {
    let mut claims: Vec<(Epoch, Seq)> = Vec::new();
    for id in ids {
        let claim = store.claim(id).await.unwrap();
        claims.push((claim.epoch, claim.last));
    }
    for round in 0..rounds {
        for (id, (epoch, last)) in ids.iter().zip(&mut claims) {
            let facts = numbered_facts(id, *last, 1 + round as u64 % 3);
            store.append(id, *epoch, *last, &facts).await.unwrap();
            *last = last.plus(facts.len() as u64);
        }
    }
}

/// Creates a store in which two processes wrote by turns, with sealed and unsealed segments. Some
/// sessions have a checkpoint.
async fn written(sessions: usize) -> (TempDir, Vec<SessionId>) {
    let (dir, ids) = (TempDir::new().unwrap(), ids(sessions));
    let (one, two) = (open(dir.path()), open(dir.path()));
    let (front, back) = ids.split_at(sessions / 2);
    append(&one, front, 4).await;
    append(&two, back, 4).await;
    drop(one);
    append(&two, front.get(..3).unwrap(), 2).await;
    for id in ids.iter().step_by(5) {
        let snapshot =
            StoredCheckpoint { seq: Seq(3), version: VERSION.to_owned(), bytes: b"x".to_vec() };
        two.write_checkpoint(id, &snapshot).await.unwrap();
    }
    (dir, ids)
}

type Told<T> = Vec<Result<T, String>>;

fn told<T>(results: impl IntoIterator<Item = Result<T, StoreError>>) -> Told<T> {
    results.into_iter().map(|result| result.map_err(|error| error.to_string())).collect()
}

/// Reads logs one by one.
fn read_alone(reader: &StoreReader, ids: &[SessionId], limit: usize) -> Told<Vec<RecordedFact>> {
    told(ids.iter().map(|id| reader.read(id, Seq::ZERO, limit)))
}

/// Verifies and reads logs one by one.
fn verify_alone(reader: &StoreReader, ids: &[SessionId], limit: usize) -> Told<VerifiedLog> {
    told(ids.iter().map(|id| {
        let verification = reader.verify(id)?;
        let all = reader.read(id, Seq::ZERO, usize::MAX)?;
        let facts = if all.len() <= limit { all } else { Vec::new() };
        let checkpoint = reader.read_checkpoint(id, VERSION).unwrap_or_default();
        Ok(VerifiedLog { verification, facts, checkpoint })
    }))
}

/// Checks that new store objects read many logs as they read each of them.
fn check(dir: &Path, ids: &[SessionId], what: &str) {
    for limit in [0, 1, 4, 100] {
        let (together, alone) = (open(dir), open(dir));
        let (together, alone) = (together.reader(), alone.reader());
        let read = told(together.read_logs(ids, limit, None));
        assert_eq!(read, read_alone(alone, ids, limit), "{what}, limit {limit}");
        let verified = told(together.verify_logs(ids, limit, VERSION));
        assert_eq!(verified, verify_alone(alone, ids, limit), "{what}, limit {limit}");
    }
}

/// Files of the segments and indexes.
fn files(dir: &Path) -> Vec<PathBuf> {
    let lanes = fs::read_dir(dir.join("lanes")).unwrap();
    let files = lanes.flat_map(|lane| fs::read_dir(lane.unwrap().path()).unwrap());
    let mut files: Vec<PathBuf> = files.map(|file| file.unwrap().path()).collect();
    files.sort();
    files
}

#[tokio::test]
async fn many_logs_are_read_as_each_alone() {
    let (dir, mut ids) = written(24).await;
    ids.push(SessionId::new("unknown").unwrap());
    check(dir.path(), &ids, "sound");
    let is_index = |path: &PathBuf| path.extension().is_some_and(|end| end == "idx");
    assert!(files(dir.path()).iter().any(is_index));
    assert!(dir.path().join("lanes/0001").exists());
    let store = open(dir.path());
    let claim = store.claim(&ids[4]).await.unwrap();
    store.erase(&ids[4], claim.epoch).await.unwrap();
    check(dir.path(), &ids, "one is erased");
    fs::create_dir_all(dir.path().join("erasing")).unwrap();
    fs::write(dir.path().join("erasing/s-007"), b"").unwrap();
    check(dir.path(), &ids, "one is being erased");
}

#[tokio::test]
async fn many_logs_are_read_as_each_alone_while_they_are_written() {
    let (dir, ids) = written(10).await;
    let store = open(dir.path());
    append(&store, &ids, 5).await;
    let reader = store.reader();
    for limit in [1, 5, 100] {
        let read = told(reader.read_logs(&ids, limit, None));
        assert_eq!(read, read_alone(reader, &ids, limit));
        assert!(read.iter().all(Result::is_ok));
    }
    check(dir.path(), &ids, "by others");
}

#[tokio::test]
async fn damage_is_found_in_many_logs_as_in_each() {
    let (dir, ids) = written(8).await;
    let mut refused = 0;
    for path in files(dir.path()) {
        let sound = fs::read(&path).unwrap();
        for at in (0..sound.len()).step_by(sound.len() / 5) {
            let mut bytes = sound.clone();
            bytes[at] ^= 1;
            fs::write(&path, bytes).unwrap();
            let what = format!("byte {at} of {}", path.display());
            // An index that contradicts its segment is written again.
            check(dir.path(), &ids, &what);
            let read = open(dir.path()).reader().read_logs(&ids, 100, None);
            refused += read.iter().filter(|log| log.is_err()).count();
        }
        fs::write(&path, sound).unwrap();
    }
    assert!(refused >= 5, "{refused}");
}

#[tokio::test]
async fn many_logs_are_read_with_few_calls() {
    const SESSIONS: usize = 100;
    let (dir, ids) = written(SESSIONS).await;
    let files = files(dir.path()).len();
    let store = open(dir.path());
    let reader = store.reader();
    let list = || reader.sessions(SessionFilter::ALL_TENANTS, &[].into(), None, SESSIONS);
    let (listing, listed) = calls::of(list);
    assert_eq!(listed.unwrap().len(), SESSIONS);
    let (reading, read) = calls::of(|| told(reader.read_logs(&ids, 32, None)));
    let (verifying, verified) = calls::of(|| told(reader.verify_logs(&ids, 32, VERSION)));
    assert!(verified.iter().all(Result::is_ok));
    let (alone, read_alone) = calls::of(|| read_alone(reader, &ids, 32));
    assert_eq!(read, read_alone);
    // Sealed segments are read through their indexes, where a session has a block in each segment.
    let most = 4 * SESSIONS + 10 * files;
    assert!(listing < most && reading < most, "{listing}, {reading} of {files} files, {alone}");
    // Each session may have a record of a repair, and a checkpoint.
    assert!(verifying < most + 2 * SESSIONS, "{verifying} of {files} files");
    assert!(alone > 10 * reading, "{alone} alone, {reading}");
}

#[tokio::test]
async fn only_facts_of_the_kinds_that_are_asked_for_are_read() {
    const KINDS: &[&str] = &["TurnOpened", "CallStarted"];
    let (dir, id) = (TempDir::new().unwrap(), ids(1).remove(0));
    let store = open(dir.path());
    let facts = sample_facts(&id);
    for fact in &facts {
        assert_eq!(codec::kind(&codec::encode(fact).unwrap()), Some(fact.fact.kind()));
    }
    let epoch = store.claim(&id).await.unwrap().epoch;
    store.append(&id, epoch, Seq::ZERO, &facts).await.unwrap();
    let read = store.reader().read_logs(&[id], facts.len() - 1, Some(KINDS)).remove(0).unwrap();
    let wanted = facts.iter().filter(|fact| KINDS.contains(&fact.fact.kind()));
    assert!(read.iter().eq(wanted.map(AsRef::as_ref)) && read.len() > 1);
}

#[test]
fn a_text_that_this_version_would_not_write_has_no_known_kind() {
    for text in [
        "",
        "{}",
        r#"{"v":2,"session":"s","seq":1,"turn":null,"ts":1,"kind":"GoalSet","body":{}}"#,
        r#"{"v":1,"minor":1,"session":"s","seq":1,"turn":null,"ts":1,"kind":"GoalSet","body":{}}"#,
        r#"{"v":1,"session":"s","seq":1,"turn":null,"ts":1"#,
    ] {
        assert_eq!(codec::kind(text.as_bytes()), None, "{text}");
    }
}
