//! Tests of the witness beside processes that write and merge: no reader gets a false alarm at any
//! moment.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use tempfile::TempDir;
use windlass_core::{Seq, SessionId};
use windlass_ports::{LogStore, SessionFilter, StoreErrorKind};

use crate::disk::RealDisk;
use crate::maintenance::tests::settled;
use crate::{FileStore, MaintenancePolicy};

const SEGMENT: u64 = 12 * 1024;
const ROUNDS: u64 = 20;

#[tokio::test(flavor = "multi_thread")]
async fn readers_beside_a_writer_get_no_false_alarm() {
    let dir = TempDir::new().unwrap();
    let dir = dir.path().to_owned();
    let over = Arc::new(AtomicBool::new(false));
    let looks = {
        let (dir, over) = (dir.clone(), over.clone());
        thread::spawn(move || {
            let mut looks = 0;
            while !over.load(Ordering::SeqCst) {
                assert_eq!(FileStore::damage(&dir).unwrap(), []);
                looks += 1;
            }
            looks
        })
    };
    let keeps_up = {
        let (dir, over) = (dir.clone(), over.clone());
        let at_once = MaintenancePolicy { merge_after: Some(Duration::ZERO), erase_after: None };
        thread::spawn(move || {
            while !over.load(Ordering::SeqCst) {
                FileStore::vacuum(&dir, at_once).unwrap();
            }
        })
    };
    let reads = tokio::spawn(read(dir.clone(), over.clone()));
    for round in 0..ROUNDS {
        // Each process takes over what the one before left, and some leave room behind.
        let store = FileStore::on(Arc::new(RealDisk), dir.clone(), SEGMENT).unwrap();
        for name in ["a", "b", "c"] {
            if name == "c" && round % 3 == 2 {
                // It begins again under the same id, so an index of what was is wrong.
                FileStore::erase_offline(&dir, &SessionId::new(name).unwrap()).unwrap();
            }
            let id = SessionId::new(name).unwrap();
            let claim = store.claim(&id).await.unwrap();
            for after in [claim.last.0, claim.last.0 + 4] {
                let facts = settled(&id, after, 4);
                store.append(&id, claim.epoch, Seq(after), &facts).await.unwrap();
            }
        }
    }
    over.store(true, Ordering::SeqCst);
    assert!(looks.join().unwrap() > 3);
    keeps_up.join().unwrap();
    reads.await.unwrap();
    assert_eq!(FileStore::damage(&dir).unwrap(), []);
}

/// Reads with a store object of its own, which sees the other's segments come and go.
async fn read(dir: std::path::PathBuf, over: Arc<AtomicBool>) {
    let store = FileStore::on(Arc::new(RealDisk), dir, SEGMENT).unwrap();
    while !over.load(Ordering::SeqCst) {
        for name in ["a", "b", "c"] {
            let id = SessionId::new(name).unwrap();
            match store.verify(&id).await {
                Ok(_) => {}
                Err(error) if error.kind == StoreErrorKind::Unknown => {}
                // It changed at every look.
                Err(error) if error.retry == windlass_core::Retry::Now => {}
                Err(error) => panic!("{name}: {error}"),
            }
        }
        match store.sessions(SessionFilter::ALL_TENANTS, None, 9).await {
            Err(error) if error.retry == windlass_core::Retry::Now => {}
            listed => drop(listed.unwrap()),
        }
    }
}
