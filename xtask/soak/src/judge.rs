//! Holds the log of a session at rest to what was promised.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::tally::{Tally, add};
use crate::watcher::Watched;

/// An input that a client sent.
#[derive(Debug, Clone)]
pub(crate) struct Sent {
    pub(crate) text: String,
    /// True if it was answered with 202.
    pub(crate) accepted: bool,
    /// Position that the answer named, if it named one.
    pub(crate) input: Option<u64>,
}

/// A session at rest.
pub(crate) struct Judged<'a> {
    pub(crate) session: &'a str,
    /// Position up to which it is a copy of another session.
    pub(crate) from: u64,
    pub(crate) log: &'a [Value],
    pub(crate) sent: &'a [Sent],
    pub(crate) watched: &'a [Watched],
    /// How often each key took effect.
    pub(crate) counted: BTreeMap<String, usize>,
}

impl Judged<'_> {
    /// Records what is wrong, and counts the rest.
    pub(crate) fn judge(&self, tally: &Tally) {
        let mut wrong = Vec::new();
        self.positions(&mut wrong);
        self.turns(tally, &mut wrong);
        self.inputs(tally, &mut wrong);
        self.calls(&mut wrong);
        self.watchers(&mut wrong);
        add(&tally.sessions, 1);
        add(&tally.effects, self.counted.values().sum());
        for words in wrong {
            tally.wrong(format!("{}: {words}", self.session));
        }
    }

    /// Facts of this kind that are not copied.
    fn of(&self, kind: &str) -> impl Iterator<Item = &Value> {
        let own = self.log.iter().filter(|fact| fact["seq"].as_u64() > Some(self.from));
        own.filter(move |fact| fact["kind"] == kind)
    }

    fn positions(&self, wrong: &mut Vec<String>) {
        let at = self.log.iter().map(|fact| fact["seq"].as_u64());
        let gap = at.zip(1_u64..).find(|(seq, next)| *seq != Some(*next));
        if let Some((seq, next)) = gap {
            wrong.push(format!("lost: {seq:?} is at position {next}"));
        }
    }

    /// Each turn that was opened settled, once.
    fn turns(&self, tally: &Tally, wrong: &mut Vec<String>) {
        let turns = |kind| self.of(kind).map(|fact| fact["turn"].as_u64()).collect::<Vec<_>>();
        let (opened, settled) = (turns("TurnOpened"), turns("TurnSettled"));
        if opened != settled {
            wrong.push(format!("stuck: turns {opened:?} were opened, and {settled:?} settled"));
        }
        add(&tally.turns, settled.len());
        for fact in self.of("TurnSettled") {
            tally.outcome(fact["body"]["outcome"].as_str().unwrap_or("unnamed"));
        }
    }

    /// Each accepted input is in the log, once, where its answer said, and came to its end, once.
    fn inputs(&self, tally: &Tally, wrong: &mut Vec<String>) {
        for sent in self.sent {
            let text = |fact: &&Value| fact["body"]["text"] == sent.text.as_str();
            let at: Vec<u64> = self
                .of("InputQueued")
                .filter(text)
                .filter_map(|fact| fact["seq"].as_u64())
                .collect();
            let Some(input) = at.first() else {
                if sent.accepted {
                    wrong.push(format!("lost: the accepted input {sent:?}"));
                }
                continue;
            };
            if at.len() > 1 {
                wrong.push(format!("twice: {sent:?} is at {at:?}"));
            }
            if !sent.accepted || sent.input.is_some_and(|named| named != *input) {
                wrong.push(format!("an answer differs from the log: {sent:?} is at {at:?}"));
            }
            let ends = ["InputAccepted", "InputBlocked", "InputWithdrawn"].into_iter();
            let ends = ends.flat_map(|kind| self.of(kind));
            match ends.filter(|fact| fact["body"]["input"].as_u64() == Some(*input)).count() {
                1 => add(&tally.ended, 1),
                0 => wrong.push(format!("stuck: the accepted input {sent:?}")),
                many => wrong.push(format!("twice: {sent:?} ended {many} times")),
            }
        }
    }

    /// Each effect took place at most once. One that the log knows to be done took place once.
    fn calls(&self, wrong: &mut Vec<String>) {
        for (key, times) in &self.counted {
            if *times > 1 {
                wrong.push(format!("twice: {key} took effect {times} times"));
            }
        }
        let counting: BTreeSet<Option<u64>> = self
            .of("ItemAdded")
            .filter(|fact| fact["body"]["item"]["name"].as_str().is_some_and(|name| name != "look"))
            .map(|fact| fact["seq"].as_u64())
            .collect();
        let mut keys = BTreeMap::new();
        for fact in self.of("CallStarted") {
            let call = fact["body"]["call"].as_u64();
            let key = fact["body"]["idempotency_key"].as_str().unwrap_or_default();
            if keys.insert(call, key).is_some() && counting.contains(&call) {
                wrong.push(format!("twice: an effectful call was started again: {fact}"));
            }
        }
        let started: BTreeSet<&str> = keys.values().copied().collect();
        for key in self.counted.keys().filter(|key| !started.contains(key.as_str())) {
            wrong.push(format!("{key} took effect and was not started"));
        }
        let mut observed = BTreeSet::new();
        for fact in self.of("CallObserved") {
            let call = fact["body"]["call"].as_u64();
            if !observed.insert(call) {
                wrong.push(format!("twice: an observation: {fact}"));
            }
            let times = keys.get(&call).and_then(|key| self.counted.get(*key));
            let done = fact["body"]["observation"]["status"] == "done" && counting.contains(&call);
            if done && times != Some(&1) {
                wrong.push(format!("lost: an effect that was done: {fact}"));
            }
        }
    }

    /// Watchers received the log as it is.
    fn watchers(&self, wrong: &mut Vec<String>) {
        for watched in self.watched {
            let received =
                watched.facts.iter().map(|text| serde_json::from_str::<Value>(text).ok());
            let differs = received.zip(self.log).find(|(one, fact)| one.as_ref() != Some(*fact));
            if let Some((one, fact)) = differs {
                wrong.push(format!("lost: a watcher received {one:?}, and the log has {fact}"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn log() -> Vec<Value> {
        let fact = |seq: u64, kind: &str, turn: Option<u64>, body: Value| json!({"seq": seq, "kind": kind, "turn": turn, "body": body});
        let call = json!({"item": {"type": "call", "name": "count"}});
        let observed = json!({"call": 5, "observation": {"status": "done"}});
        vec![
            fact(1, "SessionOpened", None, json!({})),
            fact(2, "InputQueued", None, json!({"text": "a"})),
            fact(3, "TurnOpened", Some(3), json!({})),
            fact(4, "InputAccepted", Some(3), json!({"input": 2})),
            fact(5, "ItemAdded", Some(3), call),
            fact(6, "CallStarted", Some(3), json!({"call": 5, "idempotency_key": "k"})),
            fact(7, "CallObserved", Some(3), observed),
            fact(8, "TurnSettled", Some(3), json!({"outcome": "completed"})),
        ]
    }

    /// What is wrong with a log whose watcher received the whole of the one above.
    fn wrong(log: &[Value], counted: &[(&str, usize)]) -> Vec<String> {
        let facts = self::log().iter().map(Value::to_string).collect();
        let watched = [Watched { session: "s".into(), facts }];
        let sent = [Sent { text: "a".into(), accepted: true, input: Some(2) }];
        let counted = counted.iter().map(|(key, times)| ((*key).to_owned(), *times)).collect();
        let tally = Tally::default();
        Judged { session: "s", from: 0, log, sent: &sent, watched: &watched, counted }
            .judge(&tally);
        tally.violations()
    }

    #[test]
    fn a_good_log_is_good() {
        assert_eq!(wrong(&log(), &[("k", 1)]), [""; 0]);
    }

    #[test]
    fn each_broken_promise_is_found() {
        let without = |kind: &str| {
            let mut log = log();
            log.retain(|fact| fact["kind"] != kind);
            log
        };
        for (log, counted, words) in [
            (log(), 2, "twice: k took effect 2 times"),
            (log(), 0, "lost: an effect that was done"),
            (without("InputQueued"), 1, "lost: the accepted input"),
            (without("InputAccepted"), 1, "stuck: the accepted input"),
            (without("TurnSettled"), 1, "stuck: turns [Some(3)] were opened, and [] settled"),
            (without("CallStarted"), 1, "k took effect and was not started"),
            (without("SessionOpened"), 1, "lost: a watcher received"),
            (without("SessionOpened"), 1, "lost: Some(2) is at position 1"),
        ] {
            let found = wrong(&log, &[("k", counted)]);
            assert!(found.iter().any(|found| found.contains(words)), "{words}: {found:?}");
        }
    }
}
