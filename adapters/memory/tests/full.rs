//! A memory store that is full says so, keeps nothing of the batch, and stays readable.

use windlass_core::{Seq, SessionId};
use windlass_memory::MemoryStore;
use windlass_ports::{LogStore, StoreErrorKind, StoredCheckpoint};
use windlass_testkit::store::{fact_of_size, numbered_facts};

#[tokio::test]
async fn a_full_store_keeps_nothing_of_the_batch_and_stays_readable() {
    let store = MemoryStore::with_limit(1_000);
    let id = SessionId::new("s").unwrap();
    let epoch = store.claim(&id).await.unwrap().epoch;
    let first = fact_of_size(&id, Seq::ZERO, 700).unwrap();
    store.append(&id, epoch, Seq::ZERO, &[first]).await.unwrap();

    let facts = numbered_facts(&id, Seq(1), 3);
    let error = store.append(&id, epoch, Seq(1), &facts).await.unwrap_err();
    assert_eq!(error.kind, StoreErrorKind::Full);
    assert_eq!(store.read(&id, Seq::ZERO, 10).await.unwrap().len(), 1);
    assert_eq!(store.verify(&id).await.unwrap().bytes, 700);

    let fits = fact_of_size(&id, Seq(1), 300).unwrap();
    store.append(&id, epoch, Seq(1), &[fits]).await.unwrap();
    assert_eq!(store.verify(&id).await.unwrap().bytes, 1_000);
}

#[tokio::test]
async fn snapshots_count_and_erasing_gives_room_back() {
    let store = MemoryStore::with_limit(1_000);
    let id = SessionId::new("s").unwrap();
    let epoch = store.claim(&id).await.unwrap().epoch;
    let first = fact_of_size(&id, Seq::ZERO, 500).unwrap();
    store.append(&id, epoch, Seq::ZERO, &[first]).await.unwrap();
    let snapshot =
        |bytes| StoredCheckpoint { seq: Seq(1), version: "v".into(), bytes: vec![0; bytes] };
    store.write_checkpoint(&id, &snapshot(400)).await.unwrap();
    let full = store.write_checkpoint(&id, &snapshot(501)).await.unwrap_err();
    assert_eq!(full.kind, StoreErrorKind::Full);
    let kept = store.read_checkpoint(&id, "v").await.unwrap();
    assert_eq!(kept, Some(snapshot(400)));
    // One that takes its place may have all that it leaves.
    store.write_checkpoint(&id, &snapshot(500)).await.unwrap();

    store.erase(&id, epoch).await.unwrap();
    let epoch = store.claim(&id).await.unwrap().epoch;
    let whole = fact_of_size(&id, Seq::ZERO, 1_000).unwrap();
    store.append(&id, epoch, Seq::ZERO, &[whole]).await.unwrap();
}
