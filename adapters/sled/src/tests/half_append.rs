//! Test: half an append in the database is invisible to readers and removed by the next claim.

use std::path::Path;

use windlass_core::{Seq, SessionId};
use windlass_ports::{ChainLink, LogStore, TailRepair, codec};
use windlass_testkit::store::numbered_facts;

use crate::SledStore;
use crate::open::database;
use crate::record::{self, RecordDraft};

/// Inserts the first fact of an append of two into the database, behind the store.
fn put_half(dir: &Path, id: &SessionId, after: u64) {
    let db = database(&dir.join("db")).unwrap();
    let mut link = ChainLink::genesis(id);
    for fact in numbered_facts(id, Seq::ZERO, after + 1) {
        let text = codec::encode(&fact).unwrap();
        link = link.next(&text);
        if fact.seq == Seq(after + 1) {
            let writing = RecordDraft { position: (0, 2), link, summary: None, text: &text };
            for (key, value) in record::rows(id, fact.seq, writing) {
                db.insert(key, value).unwrap();
            }
        }
    }
    db.flush().unwrap();
}

#[tokio::test]
async fn half_an_append_is_cut_off() {
    let own = tempfile::tempdir().unwrap();
    let dir = own.path().join("store");
    let id = SessionId::new("s").unwrap();
    let only_half = SessionId::new("t").unwrap();
    {
        let store = SledStore::open(dir.clone()).unwrap();
        let epoch = store.claim(&id).await.unwrap().epoch;
        let facts = numbered_facts(&id, Seq::ZERO, 3);
        store.append(&id, epoch, Seq::ZERO, &facts).await.unwrap();
    }
    put_half(&dir, &id, 3);
    put_half(&dir, &only_half, 0);

    let store = SledStore::open(dir.clone()).unwrap();
    assert_eq!(store.read(&id, Seq::ZERO, 10).await.unwrap().len(), 3);
    let verified = store.verify(&id).await.unwrap();
    assert_eq!(verified.last, Seq(3));
    assert!(verified.torn_bytes > 0);
    assert_eq!(
        store.sessions(windlass_ports::SessionFilter::ALL_TENANTS, None, 10).await.unwrap().len(),
        1
    );
    assert!(store.read(&only_half, Seq::ZERO, 1).await.is_err());

    let claimed = store.claim(&id).await.unwrap();
    let cut_bytes = verified.torn_bytes;
    assert_eq!(claimed.last, Seq(3));
    assert_eq!(claimed.repaired, Some(TailRepair { last: Seq(3), cut_bytes }));
    assert_eq!(store.verify(&id).await.unwrap().torn_bytes, 0);
    let facts = numbered_facts(&id, Seq(3), 2);
    store.append(&id, claimed.epoch, Seq(3), &facts).await.unwrap();
    let claimed = store.claim(&only_half).await.unwrap();
    assert_eq!(claimed.last, Seq::ZERO);
    assert!(claimed.repaired.is_some());
    drop(store);

    let store = SledStore::open(dir).unwrap();
    assert_eq!(store.claim(&id).await.unwrap().repaired, None);
    assert_eq!(store.verify(&id).await.unwrap().last, Seq(5));
    assert_eq!(store.claim(&only_half).await.unwrap().repaired, None);
}
