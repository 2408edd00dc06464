//! What a log folds to, kept and taken up again: it comes to what the whole log comes to, and a
//! change of the fold, or of its form, does not pass without another version.

#![expect(clippy::unwrap_used, reason = "it is all test code, also what its tests share")]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use windlass_core::{CHECKPOINT_VERSION, Checkpoint, Fact, RecordedFact};
use windlass_testkit::golden;
use windlass_testkit::world::{self, Transitions, random};

/// What every prefix of a log folds to, the shortest first.
fn prefixes(log: &[RecordedFact]) -> Vec<Checkpoint> {
    let (first, rest) = log.split_first().unwrap();
    let mut folded = vec![Checkpoint::open(first).unwrap()];
    for fact in rest {
        let mut next = folded.last().unwrap().clone();
        next.apply(fact).unwrap();
        folded.push(next);
    }
    folded
}

fn write(folded: &Checkpoint) -> Vec<u8> {
    serde_json::to_vec(folded).unwrap()
}

fn read(text: &[u8]) -> Result<Checkpoint, serde_json::Error> {
    serde_json::from_slice(text)
}

/// The law: of each prefix, written and read, and the rest folded on, comes what the log comes to.
fn goes_on(log: &[RecordedFact]) -> TestCaseResult {
    let prefixes = prefixes(log);
    let whole = prefixes.last().unwrap();
    for (folded, at) in prefixes.iter().zip(1..) {
        let kept = read(&write(folded));
        let mut kept = kept.map_err(|error| TestCaseError::fail(format!("at {at}: {error}")))?;
        prop_assert_eq!(&kept, folded, "what was kept at {} is another", at);
        for fact in log.get(at..).unwrap_or_default() {
            let fits = kept.apply(fact);
            prop_assert!(fits.is_ok(), "kept at {at}: {fits:?}");
        }
        prop_assert_eq!(&kept, whole, "kept at {} and folded on", at);
    }
    Ok(())
}

/// The golden logs, by name.
fn logs() -> BTreeMap<String, Vec<RecordedFact>> {
    let all = golden::read(&golden::folder()).unwrap();
    let facts = |log: &[u8]| golden::facts(log).unwrap();
    let logs = all.into_iter().map(|golden| (golden.name.clone(), facts(&golden.log)));
    logs.collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_worlds_go_on_from_what_was_kept(script in random::script(40)) {
        let world = world::run(Transitions::CORE, &script).unwrap();
        if !world.log().is_empty() {
            goes_on(world.log())?;
        }
    }
}

#[test]
fn golden_logs_go_on_from_what_was_kept() {
    for (name, log) in logs() {
        goes_on(&log).map_err(|error| format!("{name}: {error}")).unwrap();
    }
}

/// No word that the model is shown is changed unseen, and no item is lost.
#[test]
fn a_conversation_that_was_changed_is_none() {
    let mut changed = 0;
    for log in logs().into_values() {
        let folded = prefixes(&log).pop().unwrap();
        let whole = serde_json::to_value(&folded).unwrap();
        let items = whole["history"]["items"].as_array().unwrap().len();
        for at in 0..items {
            let mut less = whole.clone();
            less["history"]["items"].as_array_mut().unwrap().remove(at);
            assert!(refused(&less), "without item {at}");
            let mut other = whole.clone();
            for word in words(&mut other["history"]["items"][at]) {
                word.push('x');
            }
            assert!(refused(&other), "other words in item {at}");
            changed += 1;
        }
    }
    assert!(changed > 100, "{changed} items were changed");
}

fn refused(value: &Value) -> bool {
    read(&serde_json::to_vec(value).unwrap()).is_err()
}

/// The texts of an item that a model is shown.
fn words(value: &mut Value) -> Vec<&mut String> {
    match value {
        Value::Object(fields) => fields
            .iter_mut()
            .filter(|(name, _)| {
                !["provider_id", "id", "status", "outcome"].contains(&name.as_str())
            })
            .flat_map(|(_, value)| words(value))
            .collect(),
        Value::String(text) => vec![text],
        Value::Array(values) => values.iter_mut().flat_map(words).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => Vec::new(),
    }
}

#[test]
fn what_does_not_fit_together_is_none() {
    let log = &logs()["calls_and_their_limits"];
    let prefixes = prefixes(log);
    let with = |holds: fn(&Value) -> bool| {
        let values = prefixes.iter().map(|folded| serde_json::to_value(folded).unwrap());
        values.into_iter().find(holds).unwrap()
    };
    let change = |mut value: Value, path: &str, to: Value| {
        *value.pointer_mut(path).unwrap() = to;
        assert!(refused(&value), "{path} was changed and nobody saw it");
    };
    let calls = with(|value| !value["history"]["calls"].as_array().unwrap().is_empty());
    let units = with(|value| value["history"]["units"].as_array().unwrap().len() > 1);
    let waits = with(|value| !value["session"]["queue"].as_array().unwrap().is_empty());
    let shown = with(|value| items_of(value, "call").len() > 1);
    assert!(!refused(&calls) && !refused(&units) && !refused(&waits) && !refused(&shown));
    change(calls.clone(), "/history/calls", json!([]));
    change(calls.clone(), "/history/open_items", json!([]));
    change(calls.clone(), "/history/calls/0/id", json!(1));
    change(calls, "/session/next", json!(2));
    change(units.clone(), "/history/units/0/0", json!(7));
    change(units.clone(), "/history/units/1/0", json!(100_000));
    change(units.clone(), "/session/next", json!(1));
    change(units, "/session/visible/bytes", json!(1));
    change(waits.clone(), "/session/queue", json!([]));
    change(waits, "/history/waiting", json!({}));
    let (calls, results) = (items_of(&shown, "call"), items_of(&shown, "result"));
    let first = shown["history"]["items"][calls[0]]["call"]["id"].clone();
    change(shown.clone(), &format!("/history/items/{}/call/id", calls[1]), first);
    change(shown, &format!("/history/items/{}/result/id", results[0]), json!("of no call"));
}

/// The places of a conversation's items of one kind.
fn items_of(value: &Value, kind: &str) -> Vec<usize> {
    let items = value["history"]["items"].as_array().unwrap();
    (0..items.len()).filter(|at| items[*at].get(kind).is_some()).collect()
}

/// What the golden logs were kept as, by the version of the fold.
fn recorded() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/snapshots")
}

/// A digest of what every prefix of a log is kept as.
fn digest(log: &[RecordedFact]) -> String {
    let mut hash = Sha256::new();
    for folded in prefixes(log) {
        let text = write(&folded);
        hash.update((text.len() as u64).to_le_bytes());
        hash.update(text);
    }
    let digits = hash.finalize();
    digits.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap();
        text
    })
}

/// The version that a list is of, and what it says.
fn parse(list: &str) -> (u32, BTreeMap<String, String>) {
    let (first, rest) = list.split_once('\n').unwrap();
    let version = first.strip_prefix("version ").unwrap().parse().unwrap();
    let pairs = rest.lines().map(|line| line.split_once(' ').unwrap());
    let pairs = pairs.map(|(name, digest)| (name.to_owned(), digest.to_owned()));
    (version, pairs.collect())
}

/// What is to be done about a list, if it is not that of these digests.
fn due(list: &str, digests: &BTreeMap<String, String>) -> Result<(), String> {
    let (version, recorded) = parse(list);
    if version == CHECKPOINT_VERSION {
        for (name, digest) in &recorded {
            match digests.get(name) {
                Some(now) if now == digest => {}
                Some(_) => {
                    return Err(format!(
                        "the golden log {name} is kept otherwise than version {version} of the \
                         fold kept it. Raise windlass_core::CHECKPOINT_VERSION, so that nobody takes up \
                         what an older engine kept, and record what it is now"
                    ));
                }
                None => return Err(format!("the golden log {name} is gone")),
            }
        }
    } else if version > CHECKPOINT_VERSION {
        return Err(format!("windlass_core::CHECKPOINT_VERSION was {version}: it never goes back"));
    }
    let more = digests.keys().any(|name| !recorded.contains_key(name));
    if version < CHECKPOINT_VERSION || more {
        return Err("what the golden logs are kept as is to be recorded".to_owned());
    }
    Ok(())
}

/// Fails when the fold changed, or how what it comes to is written, and `CHECKPOINT_VERSION` did not.
#[test]
fn another_fold_has_another_version() {
    let path = recorded();
    let digests: BTreeMap<String, String> =
        logs().into_iter().map(|(name, log)| (name, digest(&log))).collect();
    let list = std::fs::read_to_string(&path).unwrap();
    let Err(due) = due(&list, &digests) else {
        return;
    };
    // What a version was recorded as is never rewritten.
    assert!(due.ends_with("is to be recorded"), "{due}");
    assert!(
        std::env::var_os("UPDATE_EXPECT").is_some(),
        "{due}: run UPDATE_EXPECT=1 cargo test -p windlass-testkit --test snapshots"
    );
    let lines = digests.iter().map(|(name, digest)| format!("{name} {digest}\n"));
    let lines: String = lines.collect();
    std::fs::write(&path, format!("version {CHECKPOINT_VERSION}\n{lines}")).unwrap();
}

/// The bytes that count towards the limit of a session are those of the bodies in its log.
#[test]
fn the_bytes_of_a_fact_are_those_of_its_json() {
    for (name, log) in logs() {
        for recorded in log {
            let envelope = serde_json::to_value(&recorded).unwrap();
            let body = if matches!(recorded.fact, Fact::SessionOpened(_)) {
                envelope["body"]["settings"].to_string()
            } else {
                format!(r#"{{"body":{}}}"#, envelope["body"])
            };
            let body = body.len() as u64;
            let blobs: u64 = recorded.fact.blobs().map(|(_, bytes)| bytes).sum();
            assert_eq!(recorded.bytes(), body + blobs, "{name} {}", recorded.seq);
            let whole = serde_json::to_vec(&recorded).unwrap().len() as u64;
            assert_eq!(recorded.envelope_bytes(), Some(whole), "{name} {}", recorded.seq);
        }
    }
}

#[test]
fn a_change_within_a_version_is_not_recorded() {
    let digests = |of: &[(&str, &str)]| -> BTreeMap<String, String> {
        let pairs = of.iter().map(|(name, digest)| ((*name).to_owned(), (*digest).to_owned()));
        pairs.collect()
    };
    let list = format!("version {CHECKPOINT_VERSION}\na 1\nb 2\n");
    assert_eq!(due(&list, &digests(&[("a", "1"), ("b", "2")])), Ok(()));
    let other = due(&list, &digests(&[("a", "1"), ("b", "3")])).unwrap_err();
    assert!(other.contains("Raise windlass_core::CHECKPOINT_VERSION"), "{other}");
    let gone = due(&list, &digests(&[("a", "1")])).unwrap_err();
    assert!(gone.ends_with("is gone"), "{gone}");
    let more = due(&list, &digests(&[("a", "1"), ("b", "2"), ("c", "3")])).unwrap_err();
    assert!(more.ends_with("is to be recorded"), "{more}");
    let older = due("version 0\na 5\n", &digests(&[("a", "1")])).unwrap_err();
    assert!(older.ends_with("is to be recorded"), "{older}");
    let newer = due("version 4000000000\na 1\n", &digests(&[("a", "1")])).unwrap_err();
    assert!(newer.ends_with("never goes back"), "{newer}");
}
