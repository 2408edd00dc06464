//! Lists of many sessions: what they ask of the server, and what they tell where it answers oddly.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use async_nats::{Client, HeaderMap, Subscriber};
use futures_util::future::join_all;
use futures_util::{FutureExt as _, StreamExt as _};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use windlass_core::Seq;
use windlass_nats::NatsStore;
use windlass_ports::{LogStore, SessionFilter, SessionListing};
use windlass_testkit::nats::NatsServer;
use windlass_testkit::store::fact_of_size;

use crate::common::TestPlace;
use crate::{facts, own_server, session};

/// Begins sessions of one fact each.
async fn begin(store: &NatsStore, names: &[String]) {
    for some in names.chunks(64) {
        let begun = some.iter().map(|name| async move {
            let id = session(name);
            let epoch = store.claim(&id).await.unwrap().epoch;
            let first = facts(&id, 0, 1);
            store.append(&id, epoch, Seq(0), &first).await.unwrap();
        });
        join_all(begun).await;
    }
}

/// All sessions, in pages.
async fn listed(store: &NatsStore, page: usize) -> Vec<SessionListing> {
    let mut all: Vec<SessionListing> = Vec::new();
    loop {
        let after = all.last().map(|head| head.id.clone());
        let filter = SessionFilter::ALL_TENANTS;
        let heads = store.sessions(filter, after.as_ref(), page).await.unwrap();
        let done = heads.len() < page;
        all.extend(heads);
        if done {
            return all;
        }
    }
}

/// How far each session is told to go, `None` for a damaged one.
fn ends(heads: &[SessionListing]) -> BTreeMap<String, Option<u64>> {
    let end = |head: &SessionListing| head.summary.as_ref().map(|summary| summary.last.0);
    let ends = heads.iter().map(|head| (head.id.to_string(), end(head)));
    ends.collect()
}

/// Counts what is asked of JetStream on a subject.
struct Count {
    client: Client,
    asked: Subscriber,
    /// What this says to itself: it comes after all that the server had taken before.
    marks: Subscriber,
    mark: String,
    seen: usize,
}

impl Count {
    async fn of(server: &NatsServer, subject: &'static str) -> Self {
        let client = async_nats::connect(server.url()).await.unwrap();
        let mark = client.new_inbox();
        let mut count = Self {
            asked: client.subscribe(subject).await.unwrap(),
            marks: client.subscribe(mark.clone()).await.unwrap(),
            client,
            mark,
            seen: 0,
        };
        // The server counts from here on.
        assert_eq!(count.so_far().await, 0);
        count
    }

    async fn so_far(&mut self) -> usize {
        let said = self.client.publish(self.mark.clone(), "".into());
        said.await.unwrap();
        self.marks.next().await.unwrap();
        while self.asked.next().now_or_never().flatten().is_some() {
            self.seen += 1;
        }
        self.seen
    }
}

#[tokio::test]
async fn many_sessions_are_told_as_they_stand_by_few_requests() {
    let server = own_server();
    let place = TestPlace::on(server.url());
    // However slow the machine is, the answers are waited for.
    let store = place.store_with("&node=one&timeout_ms=60000").await;
    let names: Vec<_> = (0..600).map(|number| format!("s.{number}")).collect();
    begin(&store, &names).await;
    let mut expected: BTreeMap<String, Option<u64>> =
        names.iter().map(|name| (name.clone(), Some(1))).collect();
    // Last messages of more than is handed out at once.
    for name in &names[..12] {
        let id = session(name);
        let epoch = store.claim(&id).await.unwrap().epoch;
        let large = fact_of_size(&id, Seq(1), 900_000).unwrap();
        store.append(&id, epoch, Seq(1), &[large]).await.unwrap();
        expected.insert(name.clone(), Some(2));
    }
    // Claimed and never begun; erased; begun by another with a head that cannot be read.
    store.claim(&session("claimed")).await.unwrap();
    let erased = session("s.20");
    let epoch = store.claim(&erased).await.unwrap().epoch;
    store.erase(&erased, epoch).await.unwrap();
    expected.remove("s.20");
    let js = place.jetstream().await;
    let subject = place.log_subject(&js, "s=2E30").await;
    let mut headers = HeaderMap::new();
    headers.insert("Windlass", "nothing");
    let stored = js.publish_with_headers(subject, headers, "".into()).await;
    stored.unwrap().await.unwrap();
    expected.insert(String::from("s.30"), None);

    let mut one_by_one = Count::of(&server, "$JS.API.STREAM.MSG.GET.>").await;
    let mut together = Count::of(&server, "$JS.API.DIRECT.GET.>").await;
    let all = listed(&store, 1_000).await;
    assert_eq!(ends(&all), expected);
    assert!(all.is_sorted_by_key(|head| &head.id), "not in order");
    let of_all = together.so_far().await;
    assert!((4..16).contains(&of_all), "{of_all} requests");
    let of_all = one_by_one.so_far().await;
    assert!(of_all <= 4, "{of_all} requests for one message");
    for page in [1, 7, 600] {
        let filter = SessionFilter::ALL_TENANTS;
        let heads = store.sessions(filter, None, page).await.unwrap();
        assert_eq!(heads, all[..page.min(all.len())]);
    }
    assert_eq!(listed(&store, 100).await, all);
    // What was acknowledged is seen by another node at once.
    let other = place.store_with("&node=two").await;
    for round in 0..20 {
        let id = session(&format!("s.{}", 100 + round));
        let epoch = store.claim(&id).await.unwrap().epoch;
        let next = facts(&id, 1, 1);
        store.append(&id, epoch, Seq(1), &next).await.unwrap();
        expected.insert(id.to_string(), Some(2));
        assert_eq!(ends(&listed(&other, 1_000).await), expected);
    }
}

/// How a replica answers that is not in order.
#[derive(Debug, Clone, Copy)]
enum Oddity {
    /// Not at all.
    Silent,
    /// That the request is bad.
    Refusing,
    /// With what it had long ago, for ever.
    Stale,
    /// With what cannot be, and not how far it goes.
    Untold,
    /// That a message is not there.
    Missing,
}

impl Oddity {
    /// The answers, without their bodies, when the last message of a subject is asked for.
    fn answers(self, subject: &str) -> Vec<String> {
        let message = format!(
            "NATS/1.0\r\nWindlass: nothing\r\nNats-Subject: {subject}\r\nNats-Sequence: 1\r\n\
             Nats-Time-Stamp: 2026-01-01T00:00:00Z\r\n\r\n"
        );
        let end = |line: &str| format!("NATS/1.0 {line}\r\n\r\n");
        match self {
            Self::Silent => Vec::new(),
            Self::Refusing => vec![end("408 Bad Request")],
            Self::Stale => vec![message, end("204 EOB\r\nNats-UpTo-Sequence: 1")],
            Self::Untold => vec![message, end("204 EOB\r\nNats-Num-Pending: 0")],
            Self::Missing => vec![message, end("404 Message Not Found")],
        }
    }
}

/// Answers what is asked of any replica, in place of those that there are. The client does not send
/// status lines, so this speaks for itself.
async fn odd(server: &NatsServer, place: &TestPlace, oddity: Oddity) {
    let js = place.jetstream().await;
    for shard in 0..2 {
        let name = format!("WINDLASS_{}_LOG_{shard}", place.name);
        let mut stream = js.get_stream(name).await.unwrap();
        let mut config = stream.info().await.unwrap().config.clone();
        config.allow_direct = false;
        js.update_stream(config).await.unwrap();
    }
    let address = ("127.0.0.1", server.ports()[0]);
    let mut stream = BufReader::new(TcpStream::connect(address).await.unwrap());
    let begin =
        "CONNECT {\"verbose\":false,\"headers\":true}\r\nSUB $JS.API.DIRECT.GET.* 1\r\nPING\r\n";
    stream.write_all(begin.as_bytes()).await.unwrap();
    let mut line = String::new();
    while line != "PONG\r\n" {
        line.clear();
        stream.read_line(&mut line).await.unwrap();
    }
    tokio::spawn(async move {
        loop {
            line.clear();
            if stream.read_line(&mut line).await.unwrap() == 0 {
                return;
            }
            let parts: Vec<_> = line.split_whitespace().collect();
            let ["MSG", _, _, inbox, length] = parts[..] else {
                continue;
            };
            let mut body = vec![0; length.parse().unwrap()];
            stream.read_exact(&mut body).await.unwrap();
            let request: serde_json::Value = serde_json::from_slice(&body).unwrap();
            let subject = request["multi_last"][0].as_str().unwrap();
            let mut said = String::new();
            for answer in oddity.answers(subject) {
                let length = answer.len();
                said.push_str(&format!("HPUB {inbox} {length} {length}\r\n{answer}\r\n"));
            }
            stream.write_all(said.as_bytes()).await.unwrap();
        }
    });
}

#[tokio::test]
async fn a_list_is_right_whatever_a_replica_answers() {
    let server = own_server();
    let names: Vec<_> = (0..40).map(|number| format!("s{number}")).collect();
    let expected: BTreeMap<_, _> = names.iter().map(|name| (name.clone(), Some(1))).collect();
    for oddity in [Oddity::Silent, Oddity::Refusing, Oddity::Stale, Oddity::Untold, Oddity::Missing]
    {
        let place = TestPlace::on(server.url());
        let store = place.store_with("&timeout_ms=60000").await;
        begin(&store, &names).await;
        odd(&server, &place, oddity).await;
        let mut together = Count::of(&server, "$JS.API.DIRECT.GET.>").await;
        for _ in 0..4 {
            let asked = Instant::now();
            assert_eq!(ends(&listed(&store, 1_000).await), expected, "{oddity:?}");
            // It is waited for a twentieth of its patience at most, and not for a third.
            let took = asked.elapsed();
            assert!(took < Duration::from_secs(20), "{oddity:?} took {took:?}");
        }
        // It is not insisted upon.
        let asked = together.so_far().await;
        assert!((1..=8).contains(&asked), "{oddity:?}: {asked} requests");
    }
}
