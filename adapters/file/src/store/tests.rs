//! Tests of facts that were written under a larger size limit.

use windlass_testkit::store::{fact_of_size, numbered_facts};

use super::*;

/// Size of a fact beyond the current limit.
const ONCE: usize = 20 * 1024 * 1024;

#[tokio::test]
async fn a_fact_that_was_taken_when_more_was_taken_is_read_and_gone_on_with() {
    let dir = tempfile::TempDir::new().unwrap();
    let open = || FileStore::open(dir.path().join("store")).unwrap();
    let id = SessionId::new("s").unwrap();
    let large = fact_of_size(&id, Seq::ZERO, ONCE).unwrap();
    let store = open();
    let epoch = store.claim(&id).await.unwrap().epoch;
    let refused = store.append(&id, epoch, Seq::ZERO, std::slice::from_ref(&large)).await;
    assert_eq!(refused.unwrap_err().kind, StoreErrorKind::TooLarge);
    let text = windlass_ports::codec::encode(&large).unwrap();
    let batch = Batch {
        session: id.clone(),
        after: Seq::ZERO,
        facts: vec![large.clone()],
        bytes: text.len(),
        texts: vec![text],
    };
    store.pipeline.append(batch, epoch).await.unwrap();
    drop(store);

    let store = open();
    let claimed = store.claim(&id).await.unwrap();
    assert_eq!(claimed.last, Seq(1));
    let more = numbered_facts(&id, Seq(1), 2);
    let appended = store.append(&id, claimed.epoch, Seq(1), &more).await;
    appended.unwrap();
    let read = store.read(&id, Seq::ZERO, 9).await.unwrap();
    assert!(read.iter().eq([&*large, &*more[0], &*more[1]]));
    assert_eq!(store.verify(&id).await.unwrap().last, Seq(3));
}
