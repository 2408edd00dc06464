//! Erasing what no claim can be had of.

use std::fs;
use std::path::Path;

use tempfile::TempDir;
use windlass_core::{Seq, SessionId};
use windlass_file::FileStore;
use windlass_ports::{ChainLink, LogStore, SessionFilter, StoreErrorKind};
use windlass_testkit::store::numbered_facts;

fn id(name: &str) -> SessionId {
    SessionId::new(name).unwrap()
}

fn open(dir: &Path) -> FileStore {
    FileStore::open(dir.to_owned()).unwrap()
}

async fn put(dir: &Path, name: &str, after: u64, count: u64) {
    let (store, id) = (open(dir), id(name));
    let claimed = store.claim(&id).await.unwrap();
    let facts = numbered_facts(&id, Seq(after), count);
    let appended = store.append(&id, claimed.epoch, Seq(after), &facts).await;
    appended.unwrap();
}

fn erase(dir: &Path, name: &str) -> Result<(), StoreErrorKind> {
    FileStore::erase_offline(dir, &id(name)).map_err(|error| error.kind)
}

/// Whatever byte of it was changed, a session can be erased: nothing that it said is left, and it can
/// be begun anew.
#[tokio::test]
async fn a_session_is_erased_wherever_it_is_damaged() {
    let whole = TempDir::new().unwrap();
    for (name, after, count) in [("s", 0, 3), ("other", 0, 2), ("s", 3, 1)] {
        put(whole.path(), name, after, count).await;
    }
    let name = "lanes/0000/00000001.seg";
    let bytes = fs::read(whole.path().join(name)).unwrap();
    // As the opening of its first unit has it.
    let begun = [b"\x01s".as_slice(), &ChainLink::genesis(&id("s")).0].concat();
    let said = |bytes: &[u8]| bytes.windows(begun.len()).any(|at| at == begun);
    assert!(said(&bytes));
    for byte in (64..bytes.len()).step_by(37) {
        let dir = TempDir::new().unwrap();
        fs::create_dir_all(dir.path().join("lanes/0000")).unwrap();
        let mut hurt = bytes.clone();
        hurt[byte] ^= 0x10;
        fs::write(dir.path().join(name), hurt).unwrap();
        let other = open(dir.path()).verify(&id("other")).await.is_ok();
        assert_eq!(erase(dir.path(), "s"), Ok(()), "byte {byte}");
        assert!(!said(&fs::read(dir.path().join(name)).unwrap()));
        assert_eq!(erase(dir.path(), "s"), Err(StoreErrorKind::Unknown));
        let store = open(dir.path());
        let listed = store.sessions(SessionFilter::ALL_TENANTS, None, 9).await.unwrap();
        assert_eq!(listed.len(), 1);
        assert_eq!(store.claim(&id("s")).await.unwrap().last, Seq::ZERO);
        assert_eq!(store.verify(&id("other")).await.is_ok(), other);
        drop(store);
        put(dir.path(), "s", 0, 2).await;
        assert_eq!(open(dir.path()).verify(&id("s")).await.unwrap().last, Seq(2));
    }
}

#[tokio::test]
async fn what_is_not_there_or_held_is_not_erased() {
    let dir = TempDir::new().unwrap();
    put(dir.path(), "s", 0, 3).await;
    assert_eq!(erase(dir.path(), "t"), Err(StoreErrorKind::Unknown));
    let store = open(dir.path());
    store.claim(&id("s")).await.unwrap();
    assert_eq!(erase(dir.path(), "s"), Err(StoreErrorKind::Locked));
    drop(store);
    assert_eq!(open(dir.path()).verify(&id("s")).await.unwrap().last, Seq(3));
    // Where nobody can say whose the damage was, it is not said that nothing was there.
    fs::remove_dir_all(dir.path().join("witness")).unwrap();
    let segment = dir.path().join("lanes/0000/00000001.seg");
    let len = fs::metadata(&segment).unwrap().len();
    fs::write(&segment, vec![0; usize::try_from(len).unwrap()]).unwrap();
    let refused = erase(dir.path(), "s").unwrap_err();
    assert!(matches!(refused, StoreErrorKind::Corrupt { .. }));
}
