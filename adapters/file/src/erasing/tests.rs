//! Tests of erasing: the segments that it reads, and the bytes that are left of a session.

use std::path::Path;
use std::sync::Arc;

use tempfile::TempDir;
use windlass_ports::{BlobStore as _, LogStore as _, SessionFilter, StoredCheckpoint};
use windlass_testkit::store::fact_of_size;

use super::*;
use crate::disk::RealDisk;
use crate::{FileBlobs, FileStore};

const SMALL: u64 = 16 * 1024;

fn id(number: u64) -> SessionId {
    SessionId::new(&format!("s-{number}")).unwrap()
}

fn open(dir: &Path) -> FileStore {
    FileStore::on(Arc::new(RealDisk), dir.to_owned(), SMALL).unwrap()
}

/// Writes sessions one after another into several segments.
async fn written(dir: &Path, sessions: u64) {
    let store = open(dir);
    for session in (0..sessions).map(id) {
        let epoch = store.claim(&session).await.unwrap().epoch;
        for after in (0..20).step_by(4) {
            let facts = (after..after + 4).map(|after| fact_of_size(&session, Seq(after), 300));
            let facts: Vec<_> = facts.map(Option::unwrap).collect();
            let appended = store.append(&session, epoch, Seq(after), &facts).await;
            appended.unwrap();
        }
        store.release(&session, epoch).await.unwrap();
    }
}

fn files(dir: &Path, of: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => found.extend(files(&path, of)),
            false if path.to_string_lossy().contains(of) => found.push(path),
            false => {}
        }
    }
    found
}

fn erase_some(dir: &Path, sessions: &[SessionId]) -> u64 {
    let paths = StorePaths::new(dir.to_owned());
    let searches = sessions.iter().map(|id| begin(&paths, id).unwrap());
    let search = searches.max().unwrap();
    finish(&paths, &RealDisk, sessions, search).unwrap()
}

#[tokio::test]
async fn many_are_erased_with_one_pass_that_reads_no_segment_with_an_index() {
    let dir = TempDir::new().unwrap();
    written(dir.path(), 30).await;
    let segments = files(dir.path(), ".seg").len() as u64;
    assert!(segments > 5, "{segments}");
    let doomed: Vec<SessionId> = (0..30).step_by(3).map(id).collect();
    // The last segment is appended to and has none.
    assert_eq!(erase_some(dir.path(), &doomed), 1);
    let store = open(dir.path());
    for number in 0..30 {
        let read = store.read(&id(number), Seq::ZERO, 99).await;
        match number % 3 {
            0 => assert!(read.is_err(), "{number}"),
            _ => assert_eq!(read.unwrap().len(), 20, "{number}"),
        }
    }
    let said = |name: &str| {
        // As the openings have it, behind its length.
        let needle = format!("{}{name}", char::from(u8::try_from(name.len()).unwrap()));
        files(dir.path(), ".seg").iter().any(|path| {
            let bytes = fs::read(path).unwrap();
            bytes.windows(needle.len()).any(|at| at == needle.as_bytes())
        })
    };
    assert!(said("s-1") && !said("s-0") && !said("s-27"));
}

#[tokio::test]
async fn what_was_begun_before_is_finished_whatever_an_index_says() {
    let dir = TempDir::new().unwrap();
    written(dir.path(), 12).await;
    let segments = files(dir.path(), ".seg").len() as u64;
    let paths = StorePaths::new(dir.path().to_owned());
    assert_eq!(begin(&paths, &id(3)).unwrap(), UnitSearch::Indexed);
    // As one that died when it had marked the last unit and not yet overwritten it; a reader then made the
    // index anew, which does not tell of the unit any more.
    let all = paths.list_all().unwrap();
    let (place, unit) = all
        .iter()
        .find_map(|place| {
            let file = paths::open_to_read(&paths.segment(*place)).unwrap()?;
            let of = |head: &UnitHeader| head.key == SessionKey::of(&id(3));
            Some((*place, *units(&file, *place, of).unwrap().last()?))
        })
        .unwrap();
    fs::remove_file(paths.index(place)).unwrap();
    let file = paths::open_to_write(&paths.segment(place), false).unwrap();
    write_all_at(&file, &unit.word, unit.offset).unwrap();
    let store = open(dir.path());
    store.sessions(SessionFilter::ALL_TENANTS, None, 99).await.unwrap();
    assert!(paths.index(place).exists());
    assert_eq!(erase_some(dir.path(), &[id(3)]), segments);
    let mut bytes = vec![0; unit.len as usize - HEAD];
    read_full_at(&file, &mut bytes, unit.offset + HEAD as u64).unwrap();
    assert!(bytes.iter().all(|byte| *byte == 0));
}

#[tokio::test]
async fn nothing_that_was_kept_or_being_written_of_a_session_is_left() {
    let dir = TempDir::new().unwrap();
    written(dir.path(), 2).await;
    let (store, blobs) = (open(dir.path()), FileBlobs::new(dir.path().to_owned()));
    for number in 0..2 {
        let snapshot =
            StoredCheckpoint { seq: Seq(3), version: "1".into(), bytes: b"what it said".to_vec() };
        store.write_checkpoint(&id(number), &snapshot).await.unwrap();
        let mut output = blobs.begin(&id(number)).await.unwrap();
        output.write(b"what it said").await.unwrap();
        output.finish().await.unwrap();
        // What a process leaves that is killed while it writes.
        let snap = dir.path().join(format!("snapshots/s-{number}.snap"));
        fs::copy(&snap, format!("{}.4242-7.part", snap.display())).unwrap();
    }
    let merged_lane = dir.path().join("lanes/ffff");
    fs::create_dir_all(&merged_lane).unwrap();
    fs::write(merged_lane.join("00000001.part"), "what it said").unwrap();
    let epoch = store.claim(&id(0)).await.unwrap().epoch;
    store.erase(&id(0), epoch).await.unwrap();
    let left: Vec<PathBuf> = files(dir.path(), "")
        .into_iter()
        .filter(|path| {
            let said = fs::read(path).unwrap();
            said.windows(12).any(|at| at == b"what it said")
        })
        .collect();
    // The other's snapshot, what was being written of it, and its output.
    assert_eq!(left.len(), 3, "{left:?}");
    assert!(left.iter().all(|path| path.to_string_lossy().contains("s-1")));
}
