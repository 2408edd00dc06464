//! Following a log on a clock that stands still until nothing else happens: the patience is measured
//! by it, and an append wakes whoever waits without it.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use windlass_core::{Seq, SessionId};
use windlass_memory::MemoryStore;
use windlass_ports::{LogStore, StoreErrorKind};
use windlass_testkit::store::numbered_facts;

const DAY: Duration = Duration::from_secs(86_400);

#[tokio::test(start_paused = true)]
async fn a_tail_waits_by_the_clock_and_wakes_by_the_append() {
    let store = Arc::new(MemoryStore::new());
    let id = SessionId::new("s").unwrap();
    let epoch = store.claim(&id).await.unwrap().epoch;
    let facts = numbered_facts(&id, Seq::ZERO, 2);
    let begun = Instant::now();
    store.append(&id, epoch, Seq::ZERO, &facts).await.unwrap();
    assert_eq!(store.tail(&id, Seq(2), DAY).await.unwrap(), Seq(2));
    assert_eq!(begun.elapsed(), DAY);

    let follower = tokio::spawn({
        let (store, id) = (store.clone(), id.clone());
        async move { store.tail(&id, Seq(2), DAY).await }
    });
    tokio::task::yield_now().await;
    let facts = numbered_facts(&id, Seq(2), 1);
    store.append(&id, epoch, Seq(2), &facts).await.unwrap();
    assert_eq!(follower.await.unwrap().unwrap(), Seq(3));
    assert_eq!(begun.elapsed(), DAY, "no time passed");
}

#[tokio::test(start_paused = true)]
async fn a_tail_of_a_session_that_is_erased_ends_at_once() {
    let store = Arc::new(MemoryStore::new());
    let id = SessionId::new("s").unwrap();
    let epoch = store.claim(&id).await.unwrap().epoch;
    let facts = numbered_facts(&id, Seq::ZERO, 1);
    store.append(&id, epoch, Seq::ZERO, &facts).await.unwrap();
    let begun = Instant::now();
    let follower = tokio::spawn({
        let (store, id) = (store.clone(), id.clone());
        async move { store.tail(&id, Seq(1), DAY).await }
    });
    tokio::task::yield_now().await;
    store.erase(&id, epoch).await.unwrap();
    let ended = follower.await.unwrap().unwrap_err();
    assert_eq!(ended.kind, StoreErrorKind::Unknown);
    assert_eq!(begun.elapsed(), Duration::ZERO);
}
