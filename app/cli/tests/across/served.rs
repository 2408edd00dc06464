//! Processes of `windlass serve` whose logs are in PostgreSQL, and of which what streams goes over NATS
//! beside it. The store is told to listen to nothing, so nothing could stream another way.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio::time::timeout;
use windlass_testkit::http::{Dialect, ModelServer, Reply, Script};
use windlass_testkit::nats::{MISSING, NatsServer};
use windlass_testkit::{Answer, Gate};

use crate::common;
use crate::common::server::sha256;
use crate::http::{Stream, TOKEN, ask, begin};
use crate::nodes::postgres_url;

/// Longer than anything here takes.
const LONG: Duration = Duration::from_secs(120);

/// What the processes have in common.
struct World {
    place: common::Place,
    store: String,
    nats: NatsServer,
    model: ModelServer,
}

/// A process; killed when this is dropped.
struct Node {
    at: SocketAddr,
    child: Child,
    /// What it said before it listened.
    said: Vec<String>,
}

impl Drop for Node {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl World {
    /// `None` where there is no server, which is said.
    fn new(replies: impl IntoIterator<Item = Reply>) -> Option<Self> {
        let store = postgres_url()?;
        if NatsServer::program().is_none() {
            eprintln!("skipped: {MISSING}");
            return None;
        }
        let place = common::Place::new();
        std::fs::create_dir(place.file("work")).unwrap();
        Some(Self {
            place,
            store,
            nats: NatsServer::start().unwrap(),
            model: ModelServer::start(Script::list(replies)).unwrap(),
        })
    }

    /// Starts a process, and waits until it listens.
    fn node(&self, name: &str) -> Node {
        let configuration = format!(
            "[[tenant]]\nname = \"local\"\nworkspace = \"work\"\nprovider = \"openai-chat\"\n\
             base_url = \"{}\"\nmodel = \"scripted\"\nagents = false\n\n\
             [[token]]\nsha256 = \"{}\"\ntenant = \"local\"\nprincipal = \"ann\"\n\
             rights = [\"read\", \"run\"]\n",
            self.model.base_url(),
            sha256(TOKEN),
        );
        let file = format!("{name}.toml");
        std::fs::write(self.place.file(&file), configuration).unwrap();
        let store = format!("{}&listen=never&poll_ms=20&node={name}", self.store);
        let live = format!("{}/across?linger_ms=900", self.nats.url());
        let words = ["serve", "--listen", "127.0.0.1:0", "--config", &file];
        let beside = ["--store", &store, "--live", &live];
        let mut command = self.place.command(&[&words[..], &beside[..]].concat());
        let mut child = command.stdout(Stdio::null()).spawn().unwrap();
        let lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let (sent, line) = mpsc::channel();
        // All that it says is read, so that it never waits for that.
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                let _ = sent.send(line);
            }
        });
        let mut said = Vec::new();
        let at = loop {
            let Ok(line) = line.recv_timeout(LONG) else {
                let _ = child.kill();
                panic!("{name} does not start: {said:?}");
            };
            match line.strip_prefix("http://") {
                Some(link) => break link.trim_end_matches('/').parse().unwrap(),
                None => said.push(line),
            }
        };
        Node { at, child, said }
    }
}

impl Node {
    async fn post(&self, path: &str, body: &Value) -> Value {
        let asked = ask(self.at, ("POST", path), &[], &body.to_string()).await;
        let answer = asked.unwrap();
        assert!(answer.status < 300, "{answer:?}");
        answer.body
    }

    async fn opens(&self) -> String {
        let opened = self.post("/v1/sessions", &json!({})).await;
        opened["id"].as_str().unwrap().to_owned()
    }

    async fn says(&self, session: &str) {
        let path = format!("/v1/sessions/{session}/turns");
        self.post(&path, &json!({"text": "hello"})).await;
    }

    /// Watches a session, and again from where it stopped each time that the stream ends for a lag.
    async fn watched(&self, session: &str, after: &str) -> Watcher {
        let (at, session) = (self.at, session.to_owned());
        let mut stream = events_after(at, &session, after).await;
        let (told, telling) = watch::channel(WatcherReport::default());
        let reading = tokio::spawn(async move {
            let (mut buffer, mut lags) = (Vec::new(), 0);
            loop {
                while let Some(bytes) = stream.next(LONG).await {
                    buffer.extend_from_slice(&bytes);
                    while let Some(end) = buffer.windows(2).position(|pair| pair == b"\n\n") {
                        let rest = buffer.split_off(end + 2);
                        let event = std::mem::replace(&mut buffer, rest);
                        let event = String::from_utf8(event).unwrap();
                        told.send_modify(|told| told.take(&event));
                    }
                }
                if told.borrow().lags == lags {
                    break;
                }
                lags = told.borrow().lags;
                let last =
                    told.borrow().facts.last().map_or(0, |fact| fact["seq"].as_u64().unwrap());
                stream = events_after(at, &session, &last.to_string()).await;
            }
        });
        Watcher { told: telling, reading: reading.abort_handle() }
    }
}

/// The server-sent events of a session after a position.
async fn events_after(at: SocketAddr, session: &str, after: &str) -> Stream {
    let path = format!("/v1/sessions/{session}/events?after={after}");
    let (status, stream) = begin(at, ("GET", &path), &[], "", LONG).await.unwrap();
    assert_eq!(status, 200);
    stream
}

/// One who watches a session.
struct Watcher {
    told: watch::Receiver<WatcherReport>,
    reading: AbortHandle,
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.reading.abort();
    }
}

/// What one who watches was told.
#[derive(Debug, Default)]
struct WatcherReport {
    facts: Vec<Value>,
    /// What streamed of each sample that has no item yet.
    open: BTreeMap<u64, String>,
    /// What had streamed of a text, and the text, by the time that it was a fact.
    whole: Vec<(String, String)>,
    /// How often the stream ended for a lag.
    lags: usize,
    /// What must not have come.
    wrong: Vec<String>,
}

impl WatcherReport {
    fn take(&mut self, event: &str) {
        let field = |name: &str| {
            let of = event.lines().filter_map(|line| line.split_once(": "));
            of.filter(|(key, _)| *key == name).map(|(_, value)| value).next()
        };
        let data = || serde_json::from_str::<Value>(field("data").unwrap()).unwrap();
        match field("event") {
            Some("fact") => self.fact(data()),
            Some("live") => self.live(&data()),
            // What streamed of open texts is void: the next stream begins with all of it.
            Some("lagged") => {
                self.lags += 1;
                self.open.clear();
            }
            Some("end") => self.wrong.push(event.to_owned()),
            _ => {}
        }
    }

    fn fact(&mut self, fact: Value) {
        let before = self.facts.last().map(|fact| fact["seq"].as_u64().unwrap());
        let seq = fact["seq"].as_u64().unwrap();
        if before.is_some_and(|before| seq != before + 1) {
            self.wrong.push(format!("{seq} after {before:?}"));
        }
        if fact["kind"] == "ItemAdded" {
            let started = fact["body"]["started"].as_u64().unwrap();
            let text = fact["body"]["item"]["text"].as_str().unwrap().to_owned();
            let streamed = self.open.remove(&started).unwrap_or_default();
            self.whole.push((streamed, text));
        }
        self.facts.push(fact);
    }

    fn live(&mut self, event: &Value) {
        if event["kind"] != "TextDelta" {
            return;
        }
        let started = event["body"]["started"].as_u64().unwrap();
        let said = |fact: &Value| fact["kind"] == "ItemAdded" && fact["body"]["started"] == started;
        if self.facts.iter().any(said) {
            self.wrong.push(format!("what is a fact streams: {event}"));
        }
        let text = event["body"]["text"].as_str().unwrap();
        self.open.entry(started).or_default().push_str(text);
    }

    fn settled(&self) -> usize {
        let settled = self.facts.iter().filter(|fact| fact["kind"] == "TurnSettled");
        settled.count()
    }
}

impl Watcher {
    /// Waits until something is so of what was told.
    #[track_caller]
    fn until(&mut self, so: impl Fn(&WatcherReport) -> bool) -> impl Future<Output = ()> {
        let asked = std::panic::Location::caller();
        async move {
            let waited = timeout(LONG, self.told.wait_for(|told| so(told))).await;
            let came = waited.is_ok_and(|told| told.is_ok());
            assert!(came, "it did not come: {asked}: {:?}", self.told.borrow());
        }
    }

    /// Waits until exactly this is what streamed of the text that is being said.
    #[track_caller]
    fn until_said(&mut self, said: &str) -> impl Future<Output = ()> {
        self.until(move |told| told.open.values().any(|open| open == said))
    }

    /// Waits until so many turns have settled. Every fact came once, from the first one that did, and what
    /// streamed of each text was its beginning, once.
    async fn until_settled(&mut self, turns: usize) -> Vec<Value> {
        self.until(|told| told.settled() == turns).await;
        let told = self.told.borrow();
        assert_eq!(told.wrong, Vec::<String>::new());
        for (streamed, text) in &told.whole {
            assert!(text.starts_with(streamed.as_str()), "{streamed:?} of {text:?}");
        }
        told.facts.clone()
    }

    /// How often it lagged.
    fn lags(&self) -> usize {
        self.told.borrow().lags
    }

    /// How many bytes of each text streamed.
    fn streamed(&self) -> Vec<usize> {
        let told = self.told.borrow();
        told.whole.iter().map(|(said, _)| said.len()).collect()
    }
}

/// An answer that waits at a gate within its text, and what of it comes before that.
fn held(text: &str, piece: usize) -> (Reply, Gate, String) {
    let answer = Answer::new().text(text).pieces_of(piece);
    let (mut before, mut bytes) = (String::new(), 0);
    for event in Dialect::Chat.events(&answer) {
        bytes += event.len();
        let data = event.trim().strip_prefix("data: ").unwrap();
        let data: Value = serde_json::from_str(data).unwrap();
        let said = data["choices"][0]["delta"]["content"].as_str();
        before.push_str(said.unwrap_or_default());
        if before.chars().count() >= 3 * piece {
            break;
        }
    }
    let gate = Gate::new();
    (Reply::answer(answer).pause_after(bytes, &gate), gate, before)
}

const TEXT: &str = "The \u{e4}nswer \"is\" this,\nand that, and a little more: \u{20ac} 5.";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_goes_over_nats_beside_postgresql_is_seen_once_whenever_one_joins() {
    let (reply, gate, half) = held(TEXT, 5);
    let Some(world) = World::new([reply]) else {
        return;
    };
    let (a, b) = (world.node("a"), world.node("b"));
    let session = a.opens().await;
    let mut watchers = vec![a.watched(&session, "0").await, b.watched(&session, "0").await];
    a.says(&session).await;
    for watcher in &mut watchers {
        watcher.until_said(&half).await;
    }
    // Who joins now is told the facts, and what has streamed.
    watchers.push(b.watched(&session, "0").await);
    watchers.push(b.watched(&session, "now").await);
    for watcher in &mut watchers {
        watcher.until_said(&half).await;
    }
    gate.open();
    let whole = watchers[0].until_settled(1).await;
    assert_eq!(whole[0]["seq"], 1);
    for (place, watcher) in watchers.iter_mut().enumerate() {
        let facts = watcher.until_settled(1).await;
        assert_eq!(facts, whole[whole.len() - facts.len()..]);
        // On the other node a fact may be read before the rest of its text came: then it lags, once.
        let most = if place == 0 { 0 } else { 1 };
        assert!(watcher.lags() <= most, "{place}: {}", watcher.lags());
        if watcher.lags() == 0 {
            assert!(watcher.streamed() >= vec![half.len()], "{place}: {:?}", watcher.streamed());
        }
    }
    for all in &mut watchers[1..3] {
        assert_eq!(all.until_settled(1).await, whole);
    }
    assert_eq!(world.model.misses(), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn turns_go_on_while_nats_beside_postgresql_is_away() {
    let (second, gate, half) = held(TEXT, 5);
    // More than a relay keeps of what waits to go out.
    let long = "0123456789abcdef".repeat(100_000);
    let (third, other_gate, beginning) = held(&long, 4_096);
    let replies = [Reply::say("First."), second, third, Reply::say("Last.")];
    let Some(mut world) = World::new(replies) else {
        return;
    };
    world.nats.kill(0).unwrap();
    let (a, b) = (world.node("a"), world.node("b"));
    for node in [&a, &b] {
        let told = node.said.iter().any(|line| line.contains("nothing streams"));
        assert!(told, "{:?}", node.said);
    }
    let session = a.opens().await;
    let mut watcher = b.watched(&session, "0").await;
    a.says(&session).await;
    watcher.until_settled(1).await;
    assert_eq!(watcher.streamed(), [0], "there was no way");

    world.nats.start_again(0).unwrap();
    a.says(&session).await;
    watcher.until_said(&half).await;
    gate.open();
    watcher.until_settled(2).await;

    a.says(&session).await;
    watcher.until_said(&beginning).await;
    world.nats.kill(0).unwrap();
    other_gate.open();
    watcher.until_settled(3).await;
    assert_eq!(watcher.lags(), 1, "the rest of the text could not stream");
    // Said at a node that does not drive it: letters go by the store.
    b.says(&session).await;
    let facts = watcher.until_settled(4).await;
    assert_eq!(facts[0]["seq"], 1);
    assert_eq!(world.model.misses(), Vec::<String>::new());
}
