//! Letters between nodes, and what streams: what a node leaves that ends half-way, what is on the disk,
//! and a server that goes away.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use async_nats::HeaderMap;
use async_nats::jetstream::Context;
use windlass_core::SessionId;
use windlass_nats::NatsLiveBus;
use windlass_ports::{
    LiveBus, LiveItem, LogStore, Mailbox, MailboxCommand, MailboxCommandId, MailboxErrorKind,
    StoreErrorKind,
};

use crate::common::TestPlace;
use crate::{LONG, own_server, session};

fn letter(id: &str, says: &str) -> MailboxCommand {
    MailboxCommand { id: MailboxCommandId::new(id).unwrap(), bytes: says.to_owned().into() }
}

/// Stores a message as some other program might, after the last of a subject.
async fn put(js: &Context, subject: &str, of: &str, expected: u64) -> bool {
    let mut headers = HeaderMap::new();
    headers.insert("Nats-Expected-Last-Subject-Sequence-Subject", of);
    let expected = expected.to_string();
    headers.insert("Nats-Expected-Last-Subject-Sequence", expected.as_str());
    let put = js.publish_with_headers(subject.to_owned(), headers, "late".into());
    put.await.unwrap().await.is_ok()
}

#[tokio::test]
async fn a_reply_that_comes_late_is_refused_by_the_server() {
    let server = own_server();
    let place = TestPlace::on(server.url());
    let (one, two) = (place.store().await, place.store_with("&claim_wait_ms=60000").await);
    let (id, js) = (session("s"), place.jetstream().await);
    let stream = js.get_stream(format!("WINDLASS_{}_INBOX", place.name));
    let stream = stream.await.unwrap();
    let subject = |kind: &str, id: &str| format!("windlass.{}.inbox.{kind}.s.{id}", place.name);
    let fence = async || {
        let subject = subject("fence", "-");
        let fence = stream.get_last_raw_message_by_subject(&subject).await;
        fence.unwrap().sequence
    };
    one.mailbox().send(&id, &letter("a", "x")).await.unwrap();
    one.mailbox().send(&id, &letter("b", "x")).await.unwrap();
    let first = one.claim(&id).await.unwrap().epoch;
    one.mailbox().pending(&id, first, 1).await.unwrap();
    let before = fence().await;
    // What the first driver had checked stands as long as nobody else has taken letters.
    let of = subject("fence", "-");
    assert!(put(&js, &subject("reply", "a"), &of, before).await);
    one.release(&id, first).await.unwrap();
    let second = two.claim(&id).await.unwrap().epoch;
    two.mailbox().pending(&id, second, 1).await.unwrap();
    assert!(fence().await > before);
    assert!(!put(&js, &subject("reply", "b"), &of, before).await);
}

#[tokio::test]
async fn a_letter_whose_reply_came_to_stand_alone_waits_no_more() {
    let server = own_server();
    let place = TestPlace::on(server.url());
    let store = place.store().await;
    let (id, inbox) = (session("s"), store.mailbox());
    for name in ["a", "b"] {
        inbox.send(&id, &letter(name, "x")).await.unwrap();
    }
    // As by a node that ended before it took the letter away.
    let js = place.jetstream().await;
    let subject = format!("windlass.{}.inbox.reply.s.a", place.name);
    assert!(put(&js, &subject, &subject, 0).await);
    let epoch = store.claim(&id).await.unwrap().epoch;
    let waits = inbox.pending(&id, epoch, 9).await.unwrap();
    assert_eq!(waits, [letter("b", "x")]);
    let a = MailboxCommandId::new("a").unwrap();
    inbox.acknowledge(&id, epoch, &a, b"another").await.unwrap();
    let replied = inbox.acknowledgement(&id, &a, Duration::ZERO).await.unwrap();
    assert_eq!(replied.as_deref(), Some(b"late".as_slice()));
    let b = MailboxCommandId::new("b").unwrap();
    inbox.acknowledge(&id, epoch, &b, b"yes").await.unwrap();
    assert!(inbox.pending_sessions(None, 9).await.unwrap().is_empty());
}

#[tokio::test]
async fn an_erasure_that_ended_half_way_is_made_up_for() {
    let server = own_server();
    let place = TestPlace::on(server.url());
    let (id, js) = (session("s"), place.jetstream().await);
    let store = place.store().await;
    store.mailbox().send(&id, &letter("a", "x")).await.unwrap();
    store.claim(&id).await.unwrap();
    // As the erasing node's mark, which is all that it came to.
    let subject = place.log_subject(&js, "s").await;
    for shard in 0..2 {
        let stream = js.get_stream(format!("WINDLASS_{}_LOG_{shard}", place.name));
        let stream = stream.await.unwrap();
        if let Ok(claim) = stream.get_last_raw_message_by_subject(&subject).await {
            let head = claim.headers.get("Windlass").unwrap().to_string();
            let mut headers = HeaderMap::new();
            let mark = head.replace("\"claim\"", "\"erase\"");
            headers.insert("Windlass", mark.as_str());
            let marked = js.publish_with_headers(subject.clone(), headers, "".into());
            marked.await.unwrap().await.unwrap();
        }
    }
    drop(store);
    let next = place.store().await;
    let epoch = next.claim(&id).await.unwrap().epoch;
    let waits = next.mailbox().pending(&id, epoch, 9).await.unwrap();
    assert!(waits.is_empty(), "letters of an erased session: {waits:?}");
    next.mailbox().send(&id, &letter("a", "new")).await.unwrap();
    let waits = next.mailbox().pending(&id, epoch, 9).await.unwrap();
    assert_eq!(waits, [letter("a", "new")]);
}

/// In how many files below a folder some bytes are.
fn found(folder: &Path, bytes: &[u8]) -> usize {
    let mut count = 0;
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            count += found(&path, bytes);
        } else if let Ok(held) = fs::read(&path) {
            count += usize::from(held.windows(bytes.len()).any(|window| window == bytes));
        }
    }
    count
}

#[tokio::test]
async fn nothing_that_letters_said_is_left_on_the_disk() {
    let server = own_server();
    let place = TestPlace::on(server.url());
    let store = place.store_with("&replies_ms=500").await;
    let (id, inbox) = (session("s"), store.mailbox());
    let (word, other) = ("Qx7Zk2Vw9Lr4Tn8Bd3Hs", "Wn5Bt8Kq1Xz6Jm3Pd9Fg");
    let epoch = store.claim(&id).await.unwrap().epoch;
    for name in ["a", "b"] {
        inbox.send(&id, &letter(name, word)).await.unwrap();
    }
    let a = MailboxCommandId::new("a").unwrap();
    inbox.acknowledge(&id, epoch, &a, other.as_bytes()).await.unwrap();
    assert!(found(&server.data(0), word.as_bytes()) > 0);
    // The reply goes by itself, and its bytes do. It is not told any more a moment before.
    let until = Instant::now() + LONG;
    loop {
        let replied = inbox.acknowledgement(&id, &a, Duration::ZERO).await.unwrap();
        let left = found(&server.data(0), other.as_bytes());
        if replied.is_none() && left == 0 {
            break;
        }
        let what = format!("{replied:?} is kept for ever, in {left} files");
        assert!(Instant::now() < until, "{what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    store.erase(&id, epoch).await.unwrap();
    assert_eq!(found(&server.data(0), word.as_bytes()), 0);
}

#[tokio::test]
async fn a_place_from_before_gets_its_inbox_and_one_that_forgets_is_refused() {
    let server = own_server();
    let place = TestPlace::on(server.url());
    drop(place.store().await);
    let (id, js) = (session("s"), place.jetstream().await);
    let name = format!("WINDLASS_{}_INBOX", place.name);
    js.delete_stream(&name).await.unwrap();
    let store = place.store().await;
    store.mailbox().send(&id, &letter("a", "x")).await.unwrap();
    let mut stream = js.get_stream(&name).await.unwrap();
    let mut config = stream.info().await.unwrap().config.clone();
    config.max_age = Duration::from_secs(3_600);
    js.update_stream(config).await.unwrap();
    let refused = windlass_nats::NatsStore::open(&place.config("")).await.unwrap_err();
    assert_eq!(refused.kind, StoreErrorKind::Invalid, "{refused}");
    assert!(refused.context.contains(&name), "{refused}");
}

/// Tells until it is heard; whether something was missed up to then.
async fn heard(
    tells: &NatsLiveBus,
    hearing: &mut windlass_ports::LiveReceiver,
    id: &SessionId,
    message: &[u8],
) -> bool {
    let (until, mut missed) = (Instant::now() + LONG, false);
    while Instant::now() < until {
        tells.publish(id, message);
        let next = tokio::time::timeout(Duration::from_millis(50), hearing.next());
        match next.await {
            Ok(Some(LiveItem::Message(told))) if told == message => return missed,
            Ok(Some(LiveItem::Message(_))) | Err(_) => {}
            Ok(Some(LiveItem::Missed)) => missed = true,
            Ok(None) => panic!("the hearing ended"),
        }
    }
    panic!("nobody heard it");
}

#[tokio::test]
async fn a_server_that_is_away_costs_messages_and_no_time() {
    let mut server = own_server();
    let place = TestPlace::on(server.url());
    let config = place.config("&linger_ms=1000");
    let tells = NatsLiveBus::connect(&config).await.unwrap();
    let hears = NatsLiveBus::connect(&config).await.unwrap();
    let id = session("s");
    let mut hearing = hears.subscribe(&id);
    heard(&tells, &mut hearing, &id, b"before").await;
    server.kill(0).unwrap();
    let (began, before) = (Instant::now(), tells.dropped());
    while tells.dropped() == before {
        assert!(began.elapsed() < LONG, "nothing is dropped");
        tells.publish(&id, b"away");
        tokio::time::sleep(Duration::from_millis(1)).await;
        if !tells.has_subscribers(&id) {
            // Who hears cannot be known of any more: then nothing need be told.
            break;
        }
    }
    server.start_again(0).unwrap();
    assert!(heard(&tells, &mut hearing, &id, b"after").await);
    let inbox = place.store().await.mailbox();
    let refused = inbox.pending(&id, windlass_core::Epoch(1), 9).await;
    assert_eq!(refused.unwrap_err().kind, MailboxErrorKind::NotClaimed);
}
