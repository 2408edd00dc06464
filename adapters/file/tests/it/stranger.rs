//! Strangers: what is no log but has a log's name is refused at once, and hides no other session.

use std::process::Command;

use tempfile::TempDir;
use windlass_core::{Seq, SessionId};
use windlass_file::FileStore;
use windlass_ports::{LogStore, StoreErrorKind};
use windlass_testkit::store::numbered_facts;

#[tokio::test]
async fn a_fifo_a_folder_and_a_dead_link_are_refused_and_hide_nothing() {
    let dir = TempDir::new().unwrap();
    let store = FileStore::open(dir.path().to_path_buf()).unwrap();
    let id = SessionId::new("s").unwrap();
    let claimed = store.claim(&id).await.unwrap();
    let facts = numbered_facts(&id, Seq::ZERO, 1);
    store
        .append(&id, claimed.epoch, Seq::ZERO, &facts)
        .await
        .unwrap();
    std::fs::create_dir_all(dir.path().join("sessions")).unwrap();
    let place = |name: &str| dir.path().join("sessions").join(format!("{name}.log"));
    let made = Command::new("mkfifo").arg(place("fifo")).status().unwrap();
    assert!(made.success());
    std::fs::create_dir(place("folder")).unwrap();
    std::os::unix::fs::symlink("nowhere", place("link")).unwrap();
    let listed = store
        .sessions(windlass_ports::SessionFilter::ALL, None, 10)
        .await
        .unwrap();
    assert_eq!(listed.len(), 4, "{listed:?}");
    for name in ["fifo", "folder", "link"] {
        let id = SessionId::new(name).unwrap();
        let read = store.read(&id, Seq::ZERO, 10).await.unwrap_err();
        assert_eq!(read.kind, StoreErrorKind::Io, "{read}");
        assert!(store.verify(&id).await.is_err());
        assert!(store.claim(&id).await.is_err());
    }
    assert_eq!(store.read(&id, Seq::ZERO, 10).await.unwrap().len(), 1);
}
