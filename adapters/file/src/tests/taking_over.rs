//! Reading beside the first claim of a store object, which goes on with the segment of a process that
//! has ended.

use std::sync::Arc;

use tempfile::TempDir;
use windlass_core::{Seq, SessionId};
use windlass_ports::{LogStore, SessionFilter};

use crate::FileStore;
use crate::maintenance::tests::settled;

/// Store objects that one after the other go on with the same segment.
const ROUNDS: u64 = 60;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_session_is_there_while_its_segment_is_taken_over() {
    let dir = TempDir::new().unwrap();
    let id = SessionId::new("a").unwrap();
    let store = FileStore::open(dir.path().to_owned()).unwrap();
    let claim = store.claim(&id).await.unwrap();
    store.append(&id, claim.epoch, Seq(0), &settled(&id, 0, 4)).await.unwrap();
    drop(store);
    for round in 0..ROUNDS {
        let store = Arc::new(FileStore::open(dir.path().to_owned()).unwrap());
        let reads: Vec<_> = (0..3)
            .map(|_| {
                let (store, id) = (store.clone(), id.clone());
                tokio::spawn(async move {
                    for _ in 0..20 {
                        let facts = store.read(&id, Seq::ZERO, 1).await.unwrap();
                        assert_eq!(facts.len(), 1, "round {round}");
                        let listed =
                            store.sessions(SessionFilter::ALL_TENANTS, None, 9).await.unwrap();
                        assert_eq!(listed.len(), 1, "round {round}");
                        // Without one, nobody would know of its open turn.
                        assert!(listed[0].summary.is_some(), "round {round}");
                    }
                })
            })
            .collect();
        store.claim(&id).await.unwrap();
        for read in reads {
            read.await.unwrap();
        }
    }
}
