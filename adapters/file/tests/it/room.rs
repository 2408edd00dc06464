//! How much room logs take on the disk.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use tempfile::TempDir;
use windlass_core::{Seq, SessionId};
use windlass_file::FileStore;
use windlass_ports::LogStore;
use windlass_testkit::store::fact_of_size;

const SESSIONS: u64 = 64;
const FACTS: u64 = 100;
const BYTES: usize = 300;

fn bytes_in(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).unwrap().map(Result::unwrap);
    let sizes = entries.map(|entry| match entry.file_type().unwrap().is_dir() {
        true => bytes_in(&entry.path()),
        false => entry.metadata().unwrap().len(),
    });
    sizes.sum()
}

/// At most 1.3 times what the facts have, and a constant, also where each is appended alone.
#[tokio::test(flavor = "multi_thread")]
async fn facts_that_are_appended_one_by_one_take_little_more_than_they_have() {
    let dir = TempDir::new().unwrap();
    let store = Arc::new(FileStore::open(dir.path().to_owned()).unwrap());
    let mut writers = Vec::new();
    for number in 0..SESSIONS {
        let store = store.clone();
        writers.push(tokio::spawn(async move {
            let id = SessionId::new(&format!("session-of-some-length-{number:03}")).unwrap();
            let epoch = store.claim(&id).await.unwrap().epoch;
            for after in (0..FACTS).map(Seq) {
                let fact = fact_of_size(&id, after, BYTES).unwrap();
                store.append(&id, epoch, after, &[fact]).await.unwrap();
            }
        }));
    }
    for writer in writers {
        writer.await.unwrap();
    }
    drop(store);
    let facts = SESSIONS * FACTS * BYTES as u64;
    let taken = bytes_in(dir.path());
    println!("{taken} bytes for facts of {facts}");
    assert!(taken <= facts * 13 / 10 + 16 * 1024, "{taken} for {facts}");
}
