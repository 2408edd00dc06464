//! Damage of which nobody can say whose it was, as there is no witness: it is told, nobody whose facts
//! may have been there is let in, and once its loss is accepted the store goes on.

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use windlass_core::{Seq, SessionId};
use windlass_file::{DamageLocation, FileStore, SalvagedData};
use windlass_ports::{LogStore, SessionFilter, StoreErrorKind};
use windlass_testkit::store::numbered_facts;

fn id(name: &str) -> SessionId {
    SessionId::new(name).unwrap()
}

fn open(dir: &Path) -> FileStore {
    FileStore::open(dir.to_owned()).unwrap()
}

fn segment(dir: &Path) -> PathBuf {
    dir.join("lanes/0000/00000001.seg")
}

/// Appends a unit, and answers where in the segment it stands.
async fn put(dir: &Path, name: &str, after: u64, count: u64) -> std::ops::Range<usize> {
    let from = fs::metadata(segment(dir)).map_or(64, |found| found.len());
    let (store, id) = (open(dir), id(name));
    let claimed = store.claim(&id).await.unwrap();
    let facts = numbered_facts(&id, Seq(after), count);
    let appended = store.append(&id, claimed.epoch, Seq(after), &facts).await;
    appended.unwrap();
    drop(store);
    let to = fs::metadata(segment(dir)).unwrap().len();
    usize::try_from(from).unwrap()..usize::try_from(to).unwrap()
}

/// Fills a range of the segment, which then has no witness.
fn fill(dir: &Path, range: std::ops::Range<usize>, byte: u8) {
    fs::remove_dir_all(dir.join("witness")).unwrap();
    let mut bytes = fs::read(segment(dir)).unwrap();
    bytes.resize(bytes.len().max(range.end), 0);
    bytes[range].fill(byte);
    fs::write(segment(dir), bytes).unwrap();
}

async fn claim(dir: &Path, name: &str) -> Result<Seq, StoreErrorKind> {
    let claimed = open(dir).claim(&id(name)).await;
    claimed.map(|claimed| claimed.last).map_err(|error| error.kind)
}

fn is_corrupt(claimed: &Result<Seq, StoreErrorKind>) -> bool {
    matches!(claimed, Err(StoreErrorKind::Corrupt { .. }))
}

/// The one stretch that is told.
fn told(dir: &Path) -> DamageLocation {
    let damage = FileStore::damage(dir).unwrap();
    let [one] = damage.as_slice() else {
        panic!("{damage:?}");
    };
    one.at
}

/// Gives a stretch up, and answers what was handed over of it.
fn lose(dir: &Path, at: DamageLocation) -> Vec<u8> {
    let loss = FileStore::discard(dir, at).unwrap();
    let mut saved = Vec::new();
    loss.bytes(&mut |salvage| {
        match salvage {
            SalvagedData::Damaged { file, bytes, .. } => {
                assert_eq!(file, at.file());
                saved.extend_from_slice(bytes);
            }
            SalvagedData::Fact(_) => panic!("nothing of it is a fact"),
        }
        ControlFlow::Continue(())
    })
    .unwrap();
    loss.finish().unwrap();
    saved
}

/// All that was known stands, and the store takes sessions.
async fn goes_on(dir: &Path, sound: &[(&str, u64)]) {
    assert_eq!(FileStore::damage(dir).unwrap(), []);
    for (name, last) in sound {
        assert_eq!(open(dir).verify(&id(name)).await.unwrap().last, Seq(*last));
        assert_eq!(claim(dir, name).await, Ok(Seq(*last)));
    }
    for name in ["new", "newer"] {
        put(dir, name, 0, 2).await;
        assert_eq!(open(dir).verify(&id(name)).await.unwrap().last, Seq(2));
    }
    let listed = open(dir).sessions(SessionFilter::ALL_TENANTS, None, 99).await;
    assert_eq!(listed.unwrap().len(), sound.len() + 2);
}

#[tokio::test]
async fn a_session_that_was_overwritten_whole_is_told_and_given_up() {
    let dir = TempDir::new().unwrap();
    let dir = dir.path();
    put(dir, "a", 0, 2).await;
    let hit = put(dir, "x", 0, 4).await;
    put(dir, "b", 0, 2).await;
    put(dir, "a", 2, 1).await;
    assert_eq!(FileStore::damage(dir).unwrap(), []);
    fill(dir, hit.clone(), b'#');
    // Each that is listed is sound, and nothing else says that one is missing.
    let at = told(dir);
    assert_eq!(at.to_string(), format!("0000/00000001@{}", hit.start));
    for name in ["x", "new"] {
        let error = open(dir).claim(&id(name)).await.unwrap_err();
        assert!(matches!(error.kind, StoreErrorKind::Corrupt { .. }));
        assert!(error.context.contains(&at.to_string()), "{error}");
    }
    let nowhere: DamageLocation = "0000/00000001@64".parse().unwrap();
    for wrong in [nowhere, "0003/00000001@64".parse().unwrap()] {
        let error = FileStore::discard(dir, wrong).unwrap_err();
        assert_eq!(error.kind, StoreErrorKind::Invalid, "{error}");
    }
    // Nothing is given up by looking, and not while a process writes to the lane.
    let before = fs::read(segment(dir)).unwrap();
    drop(FileStore::discard(dir, at).unwrap());
    assert_eq!(fs::read(segment(dir)).unwrap(), before);
    let writer = open(dir);
    writer.claim(&id("a")).await.unwrap();
    let error = FileStore::discard(dir, at).unwrap_err();
    assert_eq!(error.kind, StoreErrorKind::Locked, "{error}");
    drop(writer);
    assert!(is_corrupt(&claim(dir, "new").await));

    assert_eq!(lose(dir, at), vec![b'#'; hit.len()]);
    let left = fs::read(segment(dir)).unwrap();
    assert!(left[hit.start + 60..hit.end].iter().all(|byte| *byte == 0));
    goes_on(dir, &[("a", 3), ("b", 2)]).await;
}

#[tokio::test]
async fn stray_bytes_behind_the_last_unit_are_given_up() {
    // Also fewer than any unit has, and not a multiple of four.
    for stray in [5, 600, 601] {
        let dir = TempDir::new().unwrap();
        let dir = dir.path();
        put(dir, "a", 0, 2).await;
        let last = put(dir, "b", 0, 2).await;
        fill(dir, last.end..last.end + stray, b'#');
        let new = claim(dir, "new").await;
        if stray < 76 {
            // It ends before any unit could: torn, and never acknowledged.
            assert_eq!(new, Ok(Seq::ZERO));
            continue;
        }
        assert!(is_corrupt(&new), "{stray}: {new:?}");
        assert_eq!(lose(dir, told(dir)).len(), stray);
        goes_on(dir, &[("a", 2), ("b", 2)]).await;
    }
}

#[tokio::test]
async fn a_segment_of_zeros_and_one_without_its_beginning_are_given_up() {
    let dir = TempDir::new().unwrap();
    let dir = dir.path();
    let all = put(dir, "s", 0, 3).await;
    let whole = fs::read(segment(dir)).unwrap();
    fill(dir, 0..64, 0);
    assert_eq!(open(dir).verify(&id("s")).await.unwrap().last, Seq(3));
    assert!(is_corrupt(&claim(dir, "new").await));
    lose(dir, told(dir));
    assert_eq!(fs::read(segment(dir)).unwrap(), whole);

    fill(dir, 0..all.end, 0);
    assert!(is_corrupt(&claim(dir, "s").await));
    lose(dir, told(dir));
    goes_on(dir, &[]).await;
}

/// Of one session whose name is not in what is left, no other is kept out; it is told all the same.
#[tokio::test]
async fn a_session_whose_name_is_gone_is_told() {
    let dir = TempDir::new().unwrap();
    let dir = dir.path();
    put(dir, "a", 0, 2).await;
    let hit = put(dir, "x", 0, 1).await;
    put(dir, "b", 0, 2).await;
    // Its head and its end stand, which say that it was one session's, and not whose.
    fill(dir, hit.start + 60..hit.end - 12, b'#');
    assert_eq!(claim(dir, "other").await, Ok(Seq::ZERO));
    assert!(is_corrupt(&claim(dir, "x").await));
    let damage = FileStore::damage(dir).unwrap();
    assert!(damage.len() == 1 && damage[0].of_one_session, "{damage:?}");
    lose(dir, damage[0].at);
    assert_eq!(claim(dir, "x").await, Ok(Seq::ZERO));
    goes_on(dir, &[("a", 2), ("b", 2)]).await;
}
