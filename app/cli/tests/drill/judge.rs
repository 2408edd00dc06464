//! Whether all that was promised is so, by the logs as the store has them, the counter's file, what
//! clients were told, and what they were answered.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;

use crate::common::count;
use crate::effects::{Effects, Run};
use crate::http::{Answer, ask};
use crate::random::Random;
use crate::sayer::SentInput;
use crate::watcher::WatcherReport;
use crate::world::{PATIENCE, World};

/// How long it waits before it looks again.
const AGAIN: Duration = Duration::from_millis(100);

/// What was found, in numbers.
#[derive(Debug, Default)]
pub(crate) struct Found {
    turns: usize,
    facts: usize,
    calls: usize,
    /// Calls by what was observed of them.
    observed: BTreeMap<String, usize>,
    /// Calls that took effect although the log does not know.
    unknown_done: usize,
    inputs: usize,
    /// Texts of answers of which clients saw something before they were facts.
    streamed: usize,
    /// Those of them that they saw whole.
    whole: usize,
    /// Answers that broke off in the midst of their stream.
    pub(crate) cut: usize,
}

/// Asks a node by chance until it answers with 200.
async fn get(world: &World, random: &mut Random, path: &str) -> Value {
    let end = Instant::now() + PATIENCE;
    loop {
        let node = *random.one(&world.nodes());
        let asked = ask(node, ("GET", path), &[], "").await;
        match asked {
            Ok(Answer { status: 200, body }) => return body,
            asked => assert!(Instant::now() < end, "{path} at {node}: {asked:?}"),
        }
        tokio::time::sleep(AGAIN).await;
    }
}

/// Waits until nothing is left to do in these sessions, and tells where their logs end.
pub(crate) async fn at_rest(world: &World, sessions: &[String]) -> BTreeMap<String, u64> {
    let mut random = Random::new(world.seed, 3_000);
    let until = Instant::now() + PATIENCE;
    let mut ends = BTreeMap::new();
    for session in sessions {
        let path = format!("/v1/sessions/{session}");
        loop {
            let view = get(world, &mut random, &path).await;
            if view["state"] == "idle" && view["waiting"] == 0 {
                assert_eq!(view["held"], false, "{view}");
                ends.insert(session.clone(), view["last"].as_u64().unwrap());
                break;
            }
            assert!(Instant::now() < until, "seed {}: not at rest: {view}", world.seed);
            tokio::time::sleep(AGAIN).await;
        }
    }
    ends
}

/// The log of a session as a node by chance tells it.
pub(crate) async fn history(world: &World, random: &mut Random, session: &str) -> Vec<Value> {
    let (mut facts, mut after) = (Vec::new(), Some(0));
    while let Some(from) = after {
        let path = format!("/v1/sessions/{session}/history?after={from}&limit=100");
        let mut page = get(world, random, &path).await;
        let Value::Array(more) = page["facts"].take() else {
            panic!("{path}: {page}");
        };
        facts.extend(more);
        after = page["next"].as_u64();
    }
    facts
}

/// Holds the sessions to what was promised.
pub(crate) struct Judge<'a> {
    /// The logs as the store has them, a line for each fact.
    pub(crate) logs: BTreeMap<String, Vec<String>>,
    pub(crate) effects: &'a Effects,
    pub(crate) said: &'a [SentInput],
    pub(crate) told: &'a [WatcherReport],
    /// The logs as nodes told them.
    pub(crate) histories: BTreeMap<String, Vec<Value>>,
}

impl Judge<'_> {
    /// `least` is how many effects are known to be done at least.
    pub(crate) fn judge(&self, least: usize) -> Found {
        let mut found = Found::default();
        let mut started = BTreeSet::new();
        for (session, lines) in &self.logs {
            let log: Vec<Value> =
                lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
            assert_eq!(
                log, self.histories[session],
                "{session}: a node tells another log than the store"
            );
            found.facts += log.len();
            found.cut += count(&log, "SampleCut");
            self.turns(session, &log, &mut found);
            self.inputs(session, &log, &mut found);
            self.calls(session, &log, &mut started, &mut found);
            self.clients(session, lines);
        }
        let strangers = self.effects.counted().into_iter();
        let strangers: Vec<Run> = strangers.filter(|run| !started.contains(&run.key)).collect();
        assert!(strangers.is_empty(), "took effect and were not begun: {strangers:?}");
        let done = found.observed.get("done").copied().unwrap_or_default();
        assert!(done >= least, "{least} effects are to be done: {found:?}");
        self.streams(&mut found);
        found
    }

    /// Clients saw text before it was a fact, and nothing of it twice.
    fn streams(&self, found: &mut Found) {
        for told in self.told {
            let (session, twice) = (&told.session, &told.twice);
            assert!(twice.is_empty(), "{session}: what streamed twice, and the text: {twice:?}");
            found.streamed += told.streamed;
            found.whole += told.whole;
        }
        assert!(found.streamed > 0, "no client saw text as it streamed");
    }

    /// Every turn settled, once, completed.
    fn turns(&self, session: &str, log: &[Value], found: &mut Found) {
        let of = |kind: &str| {
            let facts = log.iter().filter(|fact| fact["kind"] == kind);
            facts.map(|fact| fact["turn"].as_u64().unwrap()).collect::<Vec<u64>>()
        };
        let (opened, settled) = (of("TurnOpened"), of("TurnSettled"));
        assert!(!opened.is_empty(), "{session}");
        assert_eq!(opened, settled, "{session}: the turns that were opened, and that settled");
        let distinct: BTreeSet<&u64> = settled.iter().collect();
        assert_eq!(distinct.len(), settled.len(), "{session}");
        for fact in log.iter().filter(|fact| fact["kind"] == "TurnSettled") {
            assert_eq!(fact["body"]["outcome"], "completed", "{session}: {fact}");
        }
        found.turns += opened.len();
    }

    /// Every input that was answered for is in the log, once, where its answer says, and was heard.
    fn inputs(&self, session: &str, log: &[Value], found: &mut Found) {
        let said: Vec<&SentInput> =
            self.said.iter().filter(|said| said.session == session).collect();
        for said in &said {
            let with = |fact: &&Value| fact["body"]["text"] == said.text.as_str();
            let queued = log.iter().filter(|fact| fact["kind"] == "InputQueued");
            let at: Vec<u64> =
                queued.filter(with).map(|fact| fact["seq"].as_u64().unwrap()).collect();
            assert_eq!(at, [said.input()], "{session}: {said:?}");
            let accepted = log.iter().filter(|fact| fact["kind"] == "InputAccepted");
            let heard = accepted.filter(|fact| fact["body"]["input"] == said.input());
            assert_eq!(heard.count(), 1, "{session}: {said:?}");
        }
        assert_eq!(count(log, "InputQueued"), said.len(), "{session}: nobody said more");
        found.inputs += said.len();
    }

    /// Each effect at most once; one that the log knows to be done, exactly once.
    fn calls(
        &self,
        session: &str,
        log: &[Value],
        started: &mut BTreeSet<String>,
        found: &mut Found,
    ) {
        let counted = self.effects.counted();
        let counted: Vec<&Run> = counted.iter().filter(|run| run.session == session).collect();
        let times = |key: &str| counted.iter().filter(|run| run.key == key).count();
        let numbers: BTreeSet<usize> = counted.iter().map(|run| run.n).collect();
        assert_eq!(numbers.len(), counted.len(), "{session}: an effect twice: {counted:?}");
        let mut keys = BTreeMap::new();
        for fact in log.iter().filter(|fact| fact["kind"] == "CallStarted") {
            let key = fact["body"]["idempotency_key"].as_str().unwrap();
            let twice = keys.insert(fact["body"]["call"].as_u64(), key.to_owned());
            assert_eq!(twice, None, "{session}: begun twice: {fact}");
            assert!(times(key) <= 1, "{session}: {key} took effect twice");
            started.insert(key.to_owned());
        }
        let mut calls = BTreeSet::new();
        for fact in log.iter().filter(|fact| fact["kind"] == "CallObserved") {
            let call = fact["body"]["call"].as_u64();
            assert!(calls.insert(call), "{session}: observed twice: {fact}");
            let status = fact["body"]["observation"]["status"].as_str().unwrap();
            let done = keys.get(&call).map_or(0, |key| times(key));
            match status {
                "done" => assert_eq!(done, 1, "{session}: {fact}"),
                "unknown" | "aborted" => found.unknown_done += done,
                "not_started" => assert_eq!(done, 0, "{session}: {fact}"),
                _ => panic!("{session}: no call is to end so: {fact}"),
            }
            *found.observed.entry(status.to_owned()).or_default() += 1;
        }
        // An answer that broke off with its node may have asked for what was never begun.
        let cut = log.iter().filter(|fact| fact["kind"] == "SampleCut");
        let cut: Vec<&Value> = cut.map(|fact| &fact["body"]["started"]).collect();
        for fact in log.iter().filter(|fact| fact["body"]["item"]["type"] == "call") {
            let call = fact["seq"].as_u64();
            let dropped = cut.contains(&&fact["body"]["started"]) && !keys.contains_key(&call);
            assert!(calls.contains(&call) || dropped, "{session}: not observed: {fact}");
        }
        let said = self.said.iter().filter(|said| said.session == session);
        let wanted: usize = said.map(|said| said.calls).sum();
        assert_eq!(calls.len(), wanted, "{session}: the calls that the inputs are worth");
        found.calls += calls.len();
    }

    /// Each client was told each fact once, in order, byte for byte as the store has it.
    fn clients(&self, session: &str, log: &[String]) {
        let told = self.told.iter().filter(|told| told.session == session);
        let told: Vec<&WatcherReport> = told.collect();
        assert!(!told.is_empty(), "{session}: nobody watched");
        for told in told {
            assert_eq!(told.facts, log, "{session}");
        }
    }
}
