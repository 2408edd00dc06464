//! Logs that no engine wrote: facts of the golden logs at places where they do not belong, and with
//! one value changed. The tables say how often which is refused, and why; what fits there is counted
//! too, so that a check that goes missing shows.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod one_by_one;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use expect_test::expect_file;
use serde_json::Value;
use windlass_core::{
    CallStarted, Fact, History, InvalidFact, RecordedFact, Seq, Session, SessionId, TurnId, evolve,
    evolve_first,
};
use windlass_ports::codec;
use windlass_testkit::world::{Script, Transitions, run};

/// Golden logs never change, so neither do the tables unless the core does.
const LOGS: &[&str] = &[
    "a_child_with_hooks",
    "a_goal_is_given_up",
    "a_goal_is_met",
    "a_hook_halts_the_turn",
    "a_hook_says_too_much",
    "answers_denied_by_hooks",
    "answers_of_every_end",
    "calls_and_their_limits",
    "compaction_with_hooks",
    "edits_meet_the_rules",
    "hooks_of_the_end",
    "money_is_spent",
    "random_world_2",
    "random_world_3",
    "recorded_goal",
    "recorded_hooks",
    "recorded_interrupted",
    "recorded_killed_and_reconciled",
    "recorded_killed_and_unknown",
    "recorded_reasoning_and_retries",
];

/// How many other values of a place are tried.
const OTHERS: usize = 6;

fn log(name: &str) -> Vec<RecordedFact> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/v1");
    let text = fs::read_to_string(path.join(format!("{name}.jsonl"))).unwrap();
    let lines = text.lines();
    lines.map(|line| codec::decode(line.as_bytes()).unwrap()).collect()
}

/// The states before each fact but the first, and the last one.
fn states(log: &[RecordedFact]) -> Vec<(Session, History)> {
    let (first, rest) = log.split_first().unwrap();
    let mut session = evolve_first(first).unwrap();
    let mut history = History::default();
    let mut states = vec![(session.clone(), history.clone())];
    for recorded in rest {
        session = evolve(session, recorded).unwrap();
        history.apply(recorded).unwrap();
        states.push((session.clone(), history.clone()));
    }
    states
}

/// How often what came of what.
#[derive(Default)]
struct Table(BTreeMap<(String, String), u32>);

impl Table {
    /// Counts what a fact does to a state.
    fn count(&mut self, what: &str, (session, history): &(Session, History), fact: &RecordedFact) {
        let mut history = history.clone();
        let outcome = evolve(session.clone(), fact).and_then(|_| history.apply(fact));
        let outcome = match outcome {
            Ok(()) => String::from("fits"),
            Err(InvalidFact { reason: why, .. }) => why,
        };
        *self.0.entry((what.to_owned(), outcome)).or_default() += 1;
    }

    fn told(&self) -> String {
        let (mut told, mut last) = (String::new(), "");
        for ((what, outcome), times) in &self.0 {
            if what != last {
                writeln!(told, "{what}").unwrap();
            }
            writeln!(told, "    {times} {outcome}").unwrap();
            last = what;
        }
        told
    }
}

/// A fact at the next position of a state, in its open turn.
fn placed(session: &Session, fact: &RecordedFact) -> RecordedFact {
    let mut fact = fact.clone();
    fact.session = session.id.clone();
    fact.seq = session.next;
    let open = session.turn().map(|turn| turn.id);
    fact.turn = if let Fact::TurnOpened(_) = &fact.fact {
        Some(TurnId(session.next.0))
    } else {
        fact.turn.and(open)
    };
    fact
}

#[test]
fn a_fact_where_it_does_not_belong_is_refused() {
    let mut table = Table::default();
    for name in LOGS {
        let log = log(name);
        for state in states(&log) {
            for fact in &log {
                let fact = placed(&state.0, fact);
                table.count(fact.fact.kind(), &state, &fact);
            }
        }
    }
    expect_file!["displaced.txt"].assert_eq(&table.told());
}

#[test]
fn a_fact_with_another_place_is_refused() {
    let mut table = Table::default();
    for name in LOGS {
        let log = log(name);
        for (state, fact) in states(&log).iter().zip(&log[1..]) {
            let turn = |by: u64| fact.turn.map(|turn| TurnId(turn.0 + by));
            for (what, forged) in [
                ("the next position", RecordedFact { seq: fact.seq.next(), ..fact.clone() }),
                ("the last position", RecordedFact { seq: Seq(fact.seq.0 - 1), ..fact.clone() }),
                ("another turn", RecordedFact { turn: turn(1), ..fact.clone() }),
                ("no turn", RecordedFact { turn: None, ..fact.clone() }),
                (
                    "another session",
                    RecordedFact { session: SessionId::new("x").unwrap(), ..fact.clone() },
                ),
            ] {
                table.count(&format!("{}: {what}", fact.fact.kind()), state, &forged);
            }
        }
    }
    expect_file!["elsewhere.txt"].assert_eq(&table.told());
}

/// An envelope as text, its keys in the order that it has.
fn written(envelope: &Value) -> String {
    let keys = ["v", "session", "seq", "turn", "ts", "cause", "kind", "body"];
    let fields = keys.iter().filter_map(|key| {
        let value = envelope.get(*key)?;
        Some(format!("{key:?}:{value}"))
    });
    format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
}

/// Where a value is in a fact: the kind, and the path.
type Spot = (String, String);

/// All values that stand at a place of a kind of fact, in any log.
fn seen(logs: &[Vec<RecordedFact>]) -> BTreeMap<Spot, BTreeSet<String>> {
    let mut seen: BTreeMap<Spot, BTreeSet<String>> = BTreeMap::new();
    for recorded in logs.iter().flatten() {
        let kind = recorded.fact.kind();
        for path in paths(&body(recorded)) {
            let value = body(recorded).pointer(&path).unwrap().to_string();
            seen.entry((kind.to_owned(), path)).or_default().insert(value);
        }
    }
    seen
}

fn envelope(recorded: &RecordedFact) -> Value {
    serde_json::from_slice(&codec::encode(recorded).unwrap()).unwrap()
}

fn body(recorded: &RecordedFact) -> Value {
    envelope(recorded)["body"].take()
}

/// The paths to all values, but not into settings, limits and scopes.
fn paths(value: &Value) -> Vec<String> {
    let Value::Object(map) = value else {
        return Vec::new();
    };
    let mut paths = Vec::new();
    for (key, value) in map {
        paths.push(format!("/{key}"));
        if !["settings", "limits", "scope", "by", "owner"].contains(&key.as_str()) {
            paths.extend(self::paths(value).into_iter().map(|path| format!("/{key}{path}")));
        }
    }
    paths
}

/// Other values for a place: those that stand there in other facts, and neighbours of a number.
fn others(value: &Value, seen: &BTreeSet<String>) -> Vec<Value> {
    let known = seen.iter().filter_map(|text| serde_json::from_str(text).ok());
    let mut others: Vec<Value> = known.filter(|other| other != value).take(OTHERS).collect();
    if let Some(number) = value.as_u64() {
        others.push(Value::from(number + 1));
        others.extend(number.checked_sub(1).map(Value::from));
    }
    if let Some(truth) = value.as_bool() {
        others.push(Value::from(!truth));
    }
    others
}

#[test]
fn a_fact_that_says_something_else_is_refused() {
    let logs: Vec<Vec<RecordedFact>> = LOGS.iter().map(|name| log(name)).collect();
    let seen = seen(&logs);
    let mut table = Table::default();
    for log in &logs {
        for (state, fact) in states(log).iter().zip(&log[1..]) {
            let (whole, kind) = (envelope(fact), fact.fact.kind());
            for path in paths(&whole["body"]) {
                let value = whole["body"].pointer(&path).unwrap();
                for other in others(value, &seen[&(kind.to_owned(), path.clone())]) {
                    let mut forged = whole.clone();
                    *forged["body"].pointer_mut(&path).unwrap() = other;
                    // What does not read is the codec's to refuse.
                    if let Ok(forged) = codec::decode(written(&forged).as_bytes()) {
                        table.count(&format!("{kind}{path}"), state, &forged);
                    }
                }
            }
        }
    }
    expect_file!["changed.txt"].assert_eq(&table.told());
}

#[test]
fn an_effectful_call_that_runs_is_not_started_again() {
    let script: Script = "send hello\ncall write {}\nend stop".parse().unwrap();
    let world = run(Transitions::CORE, &script).unwrap();
    let started = world.log().iter().find_map(|recorded| {
        let Fact::CallStarted(fact) = &recorded.fact else {
            return None;
        };
        let attempt = fact.attempt + 1;
        let fact = CallStarted { attempt, ..fact.clone() };
        Some(RecordedFact { fact: Fact::CallStarted(fact), ..recorded.clone() })
    });
    let again = placed(world.session(), &started.unwrap());
    let misfit = evolve(world.session().clone(), &again).unwrap_err();
    assert_eq!(misfit.reason, "an effectful call starts at most once");
}
