//! Logs that are not what was written: a message taken away, changed, or of another session.

use async_nats::jetstream;
use windlass_core::Seq;
use windlass_nats::NatsStore;
use windlass_ports::{LogStore, SessionFilter, StoreErrorKind};

use crate::common::TestPlace;
use crate::{facts, own_server, session};

/// A session `s` of ten appends of two facts, and its stream.
async fn log(place: &TestPlace) -> (NatsStore, jetstream::stream::Stream, String) {
    let store = place.store().await;
    let js = place.jetstream().await;
    for name in ["s", "other"] {
        let id = session(name);
        let epoch = store.claim(&id).await.unwrap().epoch;
        for count in 0..10 {
            let next = facts(&id, 2 * count, 2);
            store.append(&id, epoch, Seq(2 * count), &next).await.unwrap();
        }
    }
    let subject = place.log_subject(&js, "s").await;
    let stream = js.stream_by_subject(subject.clone()).await.unwrap();
    (store, js.get_stream(stream).await.unwrap(), subject)
}

async fn corrupt_after(store: &NatsStore, after: u64) {
    let id = session("s");
    let kind = |error: windlass_ports::StoreError| {
        let StoreErrorKind::Corrupt { after, .. } = error.kind else {
            panic!("{error}");
        };
        after
    };
    let read = store.read(&id, Seq::ZERO, usize::MAX).await.unwrap_err();
    assert_eq!(kind(read), Seq(after));
    let verified = store.verify(&id).await.unwrap_err();
    assert_eq!(kind(verified), Seq(after));
    let before = usize::try_from(after).unwrap();
    let read = store.read(&id, Seq::ZERO, before).await.unwrap();
    assert_eq!(read.len(), before, "what stands before can be read");
}

#[tokio::test]
async fn a_message_that_was_taken_away_is_missed() {
    let server = own_server();
    for number in [2, 5, 9] {
        let place = TestPlace::on(server.url());
        let (store, stream, subject) = log(&place).await;
        // The claim is the first message.
        let first = stream.get_first_raw_message_by_subject(&subject, 1).await.unwrap();
        let mut seq = first.sequence;
        for _ in 1..number {
            let next = stream.get_first_raw_message_by_subject(&subject, seq + 1);
            seq = next.await.unwrap().sequence;
        }
        stream.delete_message(seq).await.unwrap();
        corrupt_after(&store, 2 * (number - 2)).await;
        let other = store.read(&session("other"), Seq::ZERO, 30).await.unwrap();
        assert_eq!(other.len(), 20, "only the one log is damaged");
    }
}

#[tokio::test]
async fn what_stands_there_of_another_session_or_twice_is_found() {
    let server = own_server();
    for of in ["s", "other"] {
        let place = TestPlace::on(server.url());
        let (store, _, subject) = log(&place).await;
        let js = place.jetstream().await;
        let from = place.log_subject(&js, of).await;
        let stream = js.stream_by_subject(from.clone()).await.unwrap();
        let stream = js.get_stream(stream).await.unwrap();
        let claim = stream.get_first_raw_message_by_subject(&from, 1).await.unwrap();
        let append = stream.get_first_raw_message_by_subject(&from, claim.sequence + 1);
        let append = append.await.unwrap();
        let mut headers = async_nats::HeaderMap::new();
        headers.insert("Windlass", append.headers.get("Windlass").unwrap().as_str());
        let stored = js.publish_with_headers(subject, headers, append.payload);
        stored.await.unwrap().await.unwrap();
        let verified = store.verify(&session("s")).await.unwrap_err();
        assert!(matches!(verified.kind, StoreErrorKind::Corrupt { .. }), "{verified}");
    }
}

#[tokio::test]
async fn a_log_whose_end_cannot_be_read_is_listed_without_a_summary() {
    let server = own_server();
    let place = TestPlace::on(server.url());
    let (store, _, subject) = log(&place).await;
    let js = place.jetstream().await;
    js.publish(subject, "not of Windlass".into()).await.unwrap().await.unwrap();
    let listed = store.sessions(SessionFilter::ALL_TENANTS, None, 10).await.unwrap();
    let told: Vec<_> =
        listed.iter().map(|head| (head.id.as_str(), head.summary.is_some())).collect();
    assert_eq!(told, [("other", true), ("s", false)]);
    let claimed = store.claim(&session("s")).await.unwrap_err();
    assert!(matches!(claimed.kind, StoreErrorKind::Corrupt { .. }), "{claimed}");
}

#[tokio::test]
async fn a_stream_that_forgets_is_refused() {
    let server = own_server();
    let place = TestPlace::on(server.url());
    drop(place.store().await);
    let js = place.jetstream().await;
    let name = format!("WINDLASS_{}_LOG_1", place.name);
    let mut config = js.get_stream(&name).await.unwrap().cached_info().config.clone();
    config.max_age = std::time::Duration::from_secs(3_600);
    js.update_stream(config).await.unwrap();
    let refused = NatsStore::open(&place.config("")).await.unwrap_err();
    assert_eq!(refused.kind, StoreErrorKind::Invalid);
    assert!(refused.context.contains("max age"), "{refused}");
    for wrong in ["&shards=3", "&replicas=3"] {
        let refused = NatsStore::open(&place.config(wrong)).await.unwrap_err();
        assert_eq!(refused.kind, StoreErrorKind::Invalid, "{wrong}: {refused}");
    }
}
