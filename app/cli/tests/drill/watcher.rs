//! A client that follows one session by its cursor, from whichever node, and comes back whenever its
//! connection ends or says nothing for too long.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use crate::http::{ANSWER, begin};
use crate::random::Random;
use crate::world::World;

/// A stream that says nothing for so long, not even that it is there, is given up.
const SILENCE: Duration = Duration::from_millis(1_500);
/// How long a client waits before it tries again.
const AGAIN: Duration = Duration::from_millis(50);
/// The most facts that it takes from one connection before it turns to another node by itself.
const MOST: usize = 60;

/// What a client was told.
#[derive(Debug, Default)]
pub(crate) struct WatcherReport {
    pub(crate) session: String,
    /// The data of each fact, in the order in which they came.
    pub(crate) facts: Vec<String>,
    pub(crate) connections: usize,
    /// Texts of answers of which something streamed before they were facts.
    pub(crate) streamed: usize,
    /// Those of them that streamed whole.
    pub(crate) whole: usize,
    /// Those of them of which something streamed twice: what streamed, and the text.
    pub(crate) twice: Vec<(String, String)>,
    /// What has streamed on the connection that there is, by the sample that it belongs to.
    streams: BTreeMap<u64, String>,
}

/// Follows a session until its log's end, which is told when nothing more is to come.
pub(crate) async fn watch(world: Arc<World>, session: String, which: u64) -> WatcherReport {
    let mut random = Random::new(world.seed, which);
    let mut told = WatcherReport { session, ..WatcherReport::default() };
    let mut ends = world.ends.subscribe();
    loop {
        let last = told.facts.len() as u64;
        let end = ends.borrow().as_ref().map(|ends| ends[&told.session]);
        if end.is_some_and(|end| last >= end) {
            return told;
        }
        let node = *random.one(&world.nodes());
        let enough = 1 + random.below(MOST);
        tokio::select! {
            () = follow(&world, &mut told, node, enough) => {}
            // The end of the log may have been reached before it was told.
            _ = ends.changed() => {}
        }
        tokio::time::sleep(AGAIN).await;
    }
}

/// Takes up to so many facts from one connection.
async fn follow(world: &World, told: &mut WatcherReport, node: SocketAddr, enough: usize) {
    let path = format!("/v1/sessions/{}/events", told.session);
    let last = told.facts.len().to_string();
    let cursor = [("Last-Event-ID", last.as_str())];
    let began = begin(node, ("GET", &path), &cursor, "", ANSWER.min(SILENCE)).await;
    let Ok((status, mut stream)) = began else {
        return;
    };
    assert!(status == 200 || status == 503, "{path} from {last} at {node}: status {status}");
    if status != 200 {
        return;
    }
    told.connections += 1;
    // What a connection begins with, it tells from its beginning.
    told.streams.clear();
    let (mut taken, mut buffer) = (0, Vec::new());
    while let Some(bytes) = stream.next(SILENCE).await {
        buffer.extend_from_slice(&bytes);
        while let Some(at) = buffer.windows(2).position(|pair| pair == b"\n\n") {
            let rest = buffer.split_off(at + 2);
            let event = String::from_utf8(std::mem::replace(&mut buffer, rest)).unwrap();
            taken += usize::from(take(world, told, node, &event));
        }
        if taken >= enough {
            return;
        }
    }
}

/// Takes one event of a node; whether it is a fact.
fn take(world: &World, told: &mut WatcherReport, node: SocketAddr, event: &str) -> bool {
    let (mut id, mut kind, mut data) = (None, "", String::new());
    for line in event.lines() {
        match line.split_once(": ") {
            Some(("id", is)) => id = is.parse::<u64>().ok(),
            Some(("event", is)) => kind = is,
            Some(("data", is)) => data.push_str(is),
            _ => {}
        }
    }
    if kind != "fact" && kind != "live" {
        return false;
    }
    let fact: Value = serde_json::from_str(&data).unwrap();
    if kind == "live" {
        if told.delta(&fact) {
            world.shows_text(node);
        }
        return false;
    }
    let seq = fact["seq"].as_u64();
    let next = told.facts.len() as u64 + 1;
    assert_eq!(
        (id, seq),
        (Some(next), Some(next)),
        "seed {}: session {}: {} facts came, and then this one: {data}",
        world.seed,
        told.session,
        next - 1
    );
    told.item(&fact);
    told.facts.push(data);
    true
}

impl WatcherReport {
    /// Takes a live event; whether it is text.
    fn delta(&mut self, event: &Value) -> bool {
        if event["kind"] != "TextDelta" {
            return false;
        }
        let started = event["body"]["started"].as_u64().unwrap();
        let text = event["body"]["text"].as_str().unwrap();
        self.streams.entry(started).or_default().push_str(text);
        true
    }

    /// Holds what has streamed against the text that it came to be: some of it may be missed.
    fn item(&mut self, fact: &Value) {
        let item = &fact["body"]["item"];
        let Some(text) = item["text"].as_str().filter(|_| item["type"] == "text") else {
            return;
        };
        let started = fact["body"]["started"].as_u64().unwrap();
        if let Some(streamed) = self.streams.remove(&started) {
            let mut rest = text.chars();
            let once = streamed.chars().all(|c| rest.any(|other| other == c));
            self.streamed += 1;
            self.whole += usize::from(streamed == text);
            if !once {
                self.twice.push((streamed, text.to_owned()));
            }
        }
    }
}
