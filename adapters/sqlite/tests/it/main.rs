//! The store's database as others find it, and as they change it: what is refused, what is waited for.

#![expect(clippy::unwrap_used, reason = "all of it is tests")]

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::Connection;
use tempfile::TempDir;
use windlass_core::{Seq, SessionId};
use windlass_ports::{LogStore, StoreErrorKind};
use windlass_sqlite::SqliteStore;
use windlass_testkit::store::{copy_of, numbered_facts};

fn id() -> SessionId {
    SessionId::new("demo").unwrap()
}

fn database(dir: &Path) -> PathBuf {
    dir.join("windlass.sqlite3")
}

fn open(dir: &Path) -> SqliteStore {
    SqliteStore::open(dir.to_owned()).unwrap()
}

/// Appends facts, one append each.
async fn put(store: &SqliteStore, count: u64) {
    let claimed = store.claim(&id()).await.unwrap();
    for after in (claimed.last.0..).map(Seq).take(usize::try_from(count).unwrap()) {
        let facts = numbered_facts(&id(), after, 1);
        store.append(&id(), claimed.epoch, after, &facts).await.unwrap();
    }
    store.release(&id(), claimed.epoch).await.unwrap();
}

fn refused(dir: &Path) -> (StoreErrorKind, String) {
    let error = SqliteStore::open(dir.to_owned()).err().unwrap();
    (error.kind, error.context)
}

#[tokio::test]
async fn another_version_and_another_program_are_refused() {
    let dir = TempDir::new().unwrap();
    put(&open(dir.path()), 1).await;
    let set = |name, value: i32| {
        let db = Connection::open(database(dir.path())).unwrap();
        db.pragma_update(None, name, value).unwrap();
    };
    set("user_version", 2);
    let (kind, words) = refused(dir.path());
    assert_eq!(kind, StoreErrorKind::Newer, "{words}");
    set("user_version", 1);
    set("application_id", 7);
    let (kind, words) = refused(dir.path());
    assert!(matches!(kind, StoreErrorKind::Corrupt { .. }), "{words}");
    assert!(words.contains("another program"), "{words}");
}

/// SQLite takes a write-ahead log that was cut for a shorter one; the witness knows better.
#[tokio::test]
async fn lost_commits_are_found_and_the_rest_can_be_read() {
    let (dir, copies) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let store = open(dir.path());
    put(&store, 20).await;
    let copy = copy_of(dir.path(), copies.path()).unwrap();
    let log = File::options().write(true).open(copy.join("windlass.sqlite3-wal")).unwrap();
    log.set_len(log.metadata().unwrap().len() / 2).unwrap();
    let (kind, words) = refused(&copy);
    assert!(matches!(kind, StoreErrorKind::Corrupt { .. }), "{words}");
    assert!(words.contains("commits, and had"), "{words}");
    let damaged = SqliteStore::open_damaged(copy).unwrap();
    let read = damaged.read(&id(), Seq::ZERO, usize::MAX).await.unwrap();
    assert!((1..20).contains(&read.len()), "{}", read.len());
    let claimed = damaged.claim(&id()).await.unwrap_err();
    assert!(matches!(claimed.kind, StoreErrorKind::Corrupt { .. }), "{claimed}");
    drop(store);
    assert_eq!(open(dir.path()).verify(&id()).await.unwrap().last, Seq(20));
}

#[tokio::test]
async fn a_database_that_was_moved_away_takes_no_appends() {
    let dir = TempDir::new().unwrap();
    let store = open(dir.path());
    put(&store, 1).await;
    let claimed = store.claim(&id()).await.unwrap();
    fs::rename(database(dir.path()), dir.path().join("elsewhere")).unwrap();
    let facts = numbered_facts(&id(), Seq(1), 1);
    let lost = store.append(&id(), claimed.epoch, Seq(1), &facts).await.unwrap_err();
    assert_eq!(lost.kind, StoreErrorKind::Io, "{lost}");
    let ended = store.claim(&id()).await.unwrap_err();
    assert_eq!(ended.kind, StoreErrorKind::Ended, "{ended}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_writer_of_another_program_is_waited_for() {
    let dir = TempDir::new().unwrap();
    let store = open(dir.path());
    let other = Connection::open(database(dir.path())).unwrap();
    other.execute_batch("begin immediate").unwrap();
    let held = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(300));
        other.execute_batch("commit").unwrap();
        other
    });
    put(&store, 2).await;
    // Closed after the store: it would end the store's locks in this process.
    let other = held.join().unwrap();
    assert_eq!(store.verify(&id()).await.unwrap().last, Seq(2));
    drop((store, other));
}

#[tokio::test]
async fn files_are_private_and_facts_are_there_for_sql() {
    let dir = TempDir::new().unwrap();
    let folder = dir.path().join("a/b");
    let store = open(&folder);
    put(&store, 3).await;
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    for name in ["windlass.sqlite3", "windlass.sqlite3-wal", "windlass.sqlite3-shm", "witness"] {
        assert_eq!(mode(&folder.join(name)), 0o600, "{name}");
    }
    for name in ["", "locks", "checkpoints"] {
        assert_eq!(mode(&folder.join(name)), 0o700, "{name}");
    }
    drop(store);
    let db = Connection::open(database(&folder)).unwrap();
    let sql = "select group_concat(seq || kind, ' ') from log_facts where session = 'demo'";
    let found: String = db.query_row(sql, [], |row| row.get(0)).unwrap();
    assert_eq!(found, "1InputQueued 2InputQueued 3InputQueued");
}
