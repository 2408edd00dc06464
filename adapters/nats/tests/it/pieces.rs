//! Appends that a message cannot hold, and the remains of one.

use async_nats::HeaderMap;
use windlass_core::Seq;
use windlass_ports::LogStore;
use windlass_testkit::store::fact_of_size;

use crate::common::TestPlace;
use crate::{facts, holds, own_server, session};

#[tokio::test]
async fn a_fact_of_many_messages_is_one_append() {
    let server = own_server();
    let place = TestPlace::on(server.url());
    let store = place.store().await;
    let id = session("s");
    let epoch = store.claim(&id).await.unwrap().epoch;
    let most = store.capabilities().max_fact_bytes;
    let big = fact_of_size(&id, Seq(0), most).unwrap();
    let big = [big];
    store.append(&id, epoch, Seq(0), &big).await.unwrap();
    store.append(&id, epoch, Seq(0), &big).await.unwrap();
    store.append(&id, epoch, Seq(1), &facts(&id, 1, 2)).await.unwrap();
    let read = place.store().await.read(&id, Seq::ZERO, 10).await.unwrap();
    assert!(read.len() == 3 && read[0] == *big[0]);
    let verified = store.verify(&id).await.unwrap();
    assert_eq!(verified.last, Seq(3));
    assert!(verified.bytes > most as u64 && verified.torn_bytes == 0);
    // In the middle of its pieces nothing else is found.
    let rest = place.store().await.read(&id, Seq(1), 10).await.unwrap();
    assert_eq!(rest.len(), 2);
}

#[tokio::test]
async fn pieces_without_the_last_are_cut_off_by_the_next_claim() {
    let server = own_server();
    let place = TestPlace::on(server.url());
    let store = place.store().await;
    let id = session("s");
    let epoch = store.claim(&id).await.unwrap().epoch;
    store.append(&id, epoch, Seq(0), &facts(&id, 0, 4)).await.unwrap();
    // What a writer leaves that dies after the first of three pieces.
    let js = place.jetstream().await;
    let subject = place.log_subject(&js, "s").await;
    let stream = js.stream_by_subject(subject.clone()).await.unwrap();
    let stream = js.get_stream(stream).await.unwrap();
    let last = stream.get_last_raw_message_by_subject(&subject).await.unwrap();
    let head = last.headers.get("Windlass").unwrap().as_str();
    let mut head: serde_json::Value = serde_json::from_str(head).unwrap();
    head["k"] = "piece".into();
    head["n"] = 2.into();
    head["p"] = serde_json::json!({ "to": "elsewhere", "i": 0, "of": 3, "at": 0 });
    let mut headers = HeaderMap::new();
    headers.insert("Windlass", head.to_string().as_str());
    let stored = js.publish_with_headers(subject, headers, "0123456789".into());
    stored.await.unwrap().await.unwrap();

    let verified = store.verify(&id).await.unwrap();
    assert_eq!((verified.last, verified.torn_bytes), (Seq(4), 10));
    assert_eq!(store.read(&id, Seq::ZERO, 10).await.unwrap().len(), 4);
    drop(store);
    let store = place.store_with("&claim_wait_ms=60000").await;
    let claimed = store.claim(&id).await.unwrap();
    let repaired = claimed.repaired.unwrap();
    assert_eq!((repaired.last, repaired.cut_bytes), (Seq(4), 10));
    let next = facts(&id, 4, 3);
    store.append(&id, claimed.epoch, Seq(4), &next).await.unwrap();
    holds(&store, &id, 7).await;
}
