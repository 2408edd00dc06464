//! What lies in a store's folder: files of their owner alone, and no value outside the database's
//! one file, since what sled moves out of it is never synced.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use windlass_core::{Seq, SessionId};
use windlass_ports::LogStore;
use windlass_sled::SledStore;
use windlass_testkit::store::fact_of_size;

/// Every file and folder below a folder, with its mode.
fn modes(dir: &Path) -> Vec<(String, bool, u32)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let meta = fs::metadata(&path).unwrap();
        let mode = meta.permissions().mode() & 0o777;
        found.push((path.display().to_string(), meta.is_dir(), mode));
        if meta.is_dir() {
            found.extend(modes(&path));
        }
    }
    found
}

#[tokio::test]
async fn the_files_are_their_owners_alone() {
    let own = tempfile::tempdir().unwrap();
    let dir = own.path().join("deep/store");
    for _ in 0..2 {
        drop(SledStore::open(dir.clone()).unwrap());
        assert_eq!(fs::metadata(&dir).unwrap().permissions().mode() & 0o777, 0o700);
        let found = modes(&dir);
        assert!(found.len() >= 5, "{found:?}");
        for (path, is_dir, mode) in found {
            // A folder of sled's own lies within one that nobody else may enter.
            assert!(is_dir || mode == 0o600, "{path} has mode {mode:o}");
        }
    }
}

#[tokio::test]
async fn no_value_leaves_the_databases_file() {
    let own = tempfile::tempdir().unwrap();
    let dir = own.path().join("store");
    let store = SledStore::open(dir.clone()).unwrap();
    let id = SessionId::new("s").unwrap();
    let epoch = store.claim(&id).await.unwrap().epoch;
    let max = store.capabilities().max_fact_bytes;
    let sizes = (0..60).map(|n| 65_500 + n).chain([140_000, 300_000, max]);
    let mut last = Seq::ZERO;
    for bytes in sizes {
        let fact = fact_of_size(&id, last, bytes).unwrap();
        store.append(&id, epoch, last, &[fact]).await.unwrap();
        last = last.next();
        let outside = fs::read_dir(dir.join("db/blobs")).unwrap().count();
        assert_eq!(outside, 0, "a fact of {bytes} bytes left the file");
    }
    assert_eq!(store.verify(&id).await.unwrap().last, last);
}
