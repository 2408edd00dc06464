//! Entries with a segment's name that are no regular files.

use std::process::Command;

use tempfile::TempDir;
use windlass_core::{Seq, SessionId};
use windlass_file::FileStore;
use windlass_ports::{LogStore, StoreErrorKind};
use windlass_testkit::store::numbered_facts;

#[tokio::test]
async fn a_fifo_a_folder_and_a_dead_link_are_refused_at_once() {
    let dir = TempDir::new().unwrap();
    let store = FileStore::open(dir.path().to_path_buf()).unwrap();
    let id = SessionId::new("s").unwrap();
    let claimed = store.claim(&id).await.unwrap();
    let facts = numbered_facts(&id, Seq::ZERO, 1);
    store.append(&id, claimed.epoch, Seq::ZERO, &facts).await.unwrap();
    let lane = dir.path().join("lanes/0001");
    let segment = lane.join("00000001.seg");
    for stranger in ["fifo", "folder", "link"] {
        std::fs::create_dir_all(&lane).unwrap();
        match stranger {
            "fifo" => {
                let made = Command::new("mkfifo").arg(&segment).status().unwrap();
                assert!(made.success());
            }
            "folder" => std::fs::create_dir(&segment).unwrap(),
            _ => std::os::unix::fs::symlink("nowhere", &segment).unwrap(),
        }
        let read = store.read(&id, Seq::ZERO, 10).await.unwrap_err();
        assert_eq!(read.kind, StoreErrorKind::Io, "{stranger}: {read}");
        assert!(store.verify(&id).await.is_err(), "{stranger}");
        let other = SessionId::new("other").unwrap();
        assert!(store.claim(&other).await.is_err(), "{stranger}");
        std::fs::remove_dir_all(&lane).unwrap();
        let read = store.read(&id, Seq::ZERO, 10).await;
        assert_eq!(read.unwrap().len(), 1, "{stranger}");
    }
}
