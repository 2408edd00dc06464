//! A database or a witness that is not what was written: never a shorter or another log, never a
//! hang, always a typed error that says what to do.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::child;
use windlass_core::{RecordedFact, Seq, SessionId};
use windlass_ports::{LogStore, StoreError, StoreErrorKind};
use windlass_sled::SledStore;
use windlass_testkit::store::{fact_of_size, numbered_facts};

/// What a child found, as its exit code.
const SAME: i32 = 40;
const REFUSED: i32 = 41;

struct TestFolder(tempfile::TempDir);

impl TestFolder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn store(&self) -> PathBuf {
        self.0.path().join("store")
    }

    fn open(&self) -> Result<SledStore, StoreError> {
        SledStore::open(self.store())
    }
}

fn sessions() -> [SessionId; 3] {
    ["a", "b", "c"].map(|name| SessionId::new(name).unwrap())
}

/// A log of 20 facts, one of them in three chunks.
fn log(id: &SessionId) -> Vec<Arc<RecordedFact>> {
    let mut facts = numbered_facts(id, Seq::ZERO, 12);
    facts.push(fact_of_size(id, Seq(12), 150_000).unwrap());
    facts.extend(numbered_facts(id, Seq(13), 7));
    facts
}

/// Appends to each session's log so that it has the first `upto` facts of [`log`].
async fn fill(store: &SledStore, upto: usize) {
    for id in sessions() {
        let claimed = store.claim(&id).await.unwrap();
        let from = usize::try_from(claimed.last.0).unwrap();
        let mut last = claimed.last;
        for facts in log(&id)[from..upto].chunks(3) {
            store.append(&id, claimed.epoch, last, facts).await.unwrap();
            last = last.plus(facts.len() as u64);
        }
    }
}

async fn filled() -> TestFolder {
    let place = TestFolder::new();
    fill(&place.open().unwrap(), 20).await;
    place
}

/// Whether every log reads as it was written; the first error otherwise.
async fn check(store: &SledStore, upto: usize) -> Result<(), StoreError> {
    for id in sessions() {
        let read = store.read(&id, Seq::ZERO, usize::MAX).await?;
        assert!(
            log(&id)[..upto].iter().map(Arc::as_ref).eq(&read),
            "{id} reads as {} facts that are not what was appended",
            read.len()
        );
        store.verify(&id).await?;
        store.claim(&id).await?;
    }
    let listed = store.sessions(windlass_ports::SessionFilter::ALL_TENANTS, None, 10).await?;
    assert_eq!(listed.len(), 3);
    Ok(())
}

fn refused(opened: Result<SledStore, StoreError>, says: &str) {
    let error = opened.unwrap_err();
    let corrupt = StoreErrorKind::Corrupt { after: Seq::ZERO, offset: None };
    assert_eq!(error.kind, corrupt, "{error}");
    assert!(error.context.contains(says), "{error}");
    assert!(error.context.contains("restore") || error.context.contains("put back"), "{error}");
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).unwrap();
        }
    }
}

fn replace(from: &Path, to: &Path) {
    fs::remove_dir_all(to).unwrap();
    copy(from, to);
}

#[tokio::test]
async fn an_emptied_database_is_refused() {
    let place = filled().await;
    fs::File::create(place.store().join("db/db")).unwrap();
    refused(place.open(), "gone or empty");
    // It stays refused: nothing was made in its place.
    refused(place.open(), "gone or empty");
}

#[tokio::test]
async fn a_deleted_database_is_refused() {
    let place = filled().await;
    fs::remove_file(place.store().join("db/db")).unwrap();
    refused(place.open(), "gone or empty");
    fs::remove_dir_all(place.store().join("db")).unwrap();
    refused(place.open(), "gone or empty");
}

#[tokio::test]
async fn a_database_of_zeros_is_refused() {
    let place = filled().await;
    let file = place.store().join("db/db");
    let len = fs::metadata(&file).unwrap().len();
    fs::write(&file, vec![0; usize::try_from(len).unwrap()]).unwrap();
    let error = place.open().unwrap_err();
    assert!(matches!(error.kind, StoreErrorKind::Corrupt { .. }), "{error}");
}

#[tokio::test]
async fn a_database_made_anew_is_refused() {
    let (place, other) = (filled().await, TestFolder::new());
    drop(other.open().unwrap());
    replace(&other.store().join("db"), &place.store().join("db"));
    refused(place.open(), "belongs to another store");
}

#[tokio::test]
async fn a_database_that_was_set_back_is_refused() {
    let place = TestFolder::new();
    fill(&place.open().unwrap(), 14).await;
    let older = TestFolder::new();
    copy(&place.store(), &older.store());
    fill(&place.open().unwrap(), 20).await;
    replace(&older.store().join("db"), &place.store().join("db"));
    refused(place.open(), "gone back");
}

#[tokio::test]
async fn a_database_ahead_of_its_witness_is_sound() {
    let place = TestFolder::new();
    fill(&place.open().unwrap(), 14).await;
    let witness = fs::read(place.store().join("witness")).unwrap();
    fill(&place.open().unwrap(), 20).await;
    fs::write(place.store().join("witness"), witness).unwrap();
    check(&place.open().unwrap(), 20).await.unwrap();
}

#[tokio::test]
async fn a_deleted_witness_is_refused_until_it_is_rebuilt() {
    let place = filled().await;
    fs::remove_file(place.store().join("witness")).unwrap();
    refused(place.open(), "rebuild_head_index");
    refused(place.open(), "rebuild_head_index");
    check(&SledStore::rebuild_head_index(place.store()).unwrap(), 20).await.unwrap();
    check(&place.open().unwrap(), 20).await.unwrap();
}

#[tokio::test]
async fn a_damaged_witness_is_refused_until_it_is_rebuilt() {
    let place = filled().await;
    let witness = place.store().join("witness");
    for damaged in [&b""[..], b"windlass", &[0; 500]] {
        fs::write(&witness, damaged).unwrap();
        refused(place.open(), "rebuild_head_index");
    }
    check(&SledStore::rebuild_head_index(place.store()).unwrap(), 20).await.unwrap();
    check(&place.open().unwrap(), 20).await.unwrap();
}

#[tokio::test]
async fn nothing_is_rebuilt_from_nothing() {
    let place = TestFolder::new();
    let error = SledStore::rebuild_head_index(place.store()).unwrap_err();
    assert_eq!(error.kind, StoreErrorKind::Io, "{error}");
    assert!(!place.store().exists());
}

#[tokio::test]
async fn a_making_that_was_cut_short_is_finished() {
    let place = TestFolder::new();
    drop(place.open().unwrap());
    fs::remove_file(place.store().join("witness")).unwrap();
    drop(place.open().unwrap());
    fs::remove_file(place.store().join("witness")).unwrap();
    fs::remove_dir_all(place.store().join("db")).unwrap();
    fs::create_dir(place.store().join("db.new")).unwrap();
    fs::write(place.store().join("db.new/db"), b"half").unwrap();
    fill(&place.open().unwrap(), 20).await;
    check(&place.open().unwrap(), 20).await.unwrap();
    assert!(!place.store().join("db.new").exists());
}

#[tokio::test]
async fn half_a_snapshot_does_not_keep_the_store_from_opening() {
    let place = filled().await;
    let half = place.store().join("db/snap.7FFFFFFFFFFFFFFF.generating");
    fs::write(&half, b"half").unwrap();
    check(&place.open().unwrap(), 20).await.unwrap();
    assert!(!half.exists());
}

/// As a child: opens the damaged store at its place and reads everything.
#[tokio::test]
async fn inspector() {
    let Some(place) = child::place() else {
        let place = filled().await;
        return check(&place.open().unwrap(), 20).await.unwrap();
    };
    let found = match SledStore::open_within(place, Duration::from_secs(4)) {
        Ok(store) => check(&store, 20).await,
        Err(error) => Err(error),
    };
    match found {
        Ok(()) => std::process::exit(SAME),
        Err(error) => {
            eprintln!("{error}");
            std::process::exit(REFUSED)
        }
    }
}

/// Flips one bit of a file and says what a child then finds.
fn flipped(sound: &Path, file: &str, at: usize) -> i32 {
    let place = TestFolder::new();
    copy(sound, &place.store());
    let path = place.store().join(file);
    let mut bytes = fs::read(&path).unwrap();
    bytes[at] ^= 1 << (at % 8);
    fs::write(&path, bytes).unwrap();
    let mut inspector = child::command(&child::program(), "damage::inspector", &place.store());
    let output = inspector.output().unwrap();
    let code = output.status.code();
    let said = String::from_utf8_lossy(&output.stderr);
    let known = code.filter(|code| [SAME, REFUSED].contains(code));
    known.unwrap_or_else(|| panic!("bit {} of {file} at {at}: {}: {said}", at % 8, output.status))
}

/// `count` places spread over the part of a file that is in use.
fn spread(path: &Path, count: usize) -> Vec<usize> {
    let bytes = fs::read(path).unwrap();
    let used = bytes.iter().rposition(|byte| *byte != 0).unwrap() + 1;
    (0..count).map(|n| n * (used - 1) / (count - 1)).collect()
}

#[tokio::test]
async fn a_flipped_bit_in_the_database_is_harmless_or_refused() {
    let place = filled().await;
    let file = place.store().join("db/db");
    let mut places: Vec<_> = (0..24).collect();
    places.extend(spread(&file, 40));
    let found: Vec<_> = places.iter().map(|at| flipped(&place.store(), "db/db", *at)).collect();
    assert!(found.contains(&REFUSED), "no flipped bit was found");
}

#[tokio::test]
async fn a_flipped_bit_in_the_other_files_is_harmless_or_refused() {
    let place = filled().await;
    // Opened twice, the store has a snapshot that holds something.
    drop(place.open().unwrap());
    let mut files = vec!["witness".to_owned(), "db/conf".to_owned()];
    for entry in fs::read_dir(place.store().join("db")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if name.starts_with("snap.") {
            files.push(format!("db/{name}"));
        }
    }
    assert_eq!(files.len(), 3, "{files:?}");
    for file in files {
        let places = spread(&place.store().join(&file), 10);
        let found: Vec<_> = places.iter().map(|at| flipped(&place.store(), &file, *at)).collect();
        assert!(found.contains(&REFUSED), "no flipped bit was found in {file}");
    }
}
