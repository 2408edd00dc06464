//! Each rule by a body that breaks it and no other, made from one that breaks none.

mod chat;
mod messages;
mod requests;
mod responses;
mod servers;

use serde_json::{Value, json};

use super::*;

/// A change to a body: the place, and what is put there; nothing takes away what is there.
type Change = (&'static str, Option<Value>);

fn put(at: &'static str, value: Value) -> Change {
    (at, Some(value))
}

fn cut(at: &'static str) -> Change {
    (at, None)
}

fn changed(body: &Value, changes: &[Change]) -> Value {
    let mut body = body.clone();
    for (at, value) in changes {
        let (parent, key) = at.rsplit_once('/').unwrap();
        let parent = body.pointer_mut(parent).unwrap();
        match (parent.as_array_mut(), value) {
            (Some(list), Some(value)) => {
                let index: usize = key.parse().unwrap();
                list.truncate(index.max(list.len()));
                if index < list.len() {
                    list[index] = value.clone();
                } else {
                    list.push(value.clone());
                }
            }
            (Some(list), None) => drop(list.remove(key.parse().unwrap())),
            (None, Some(value)) => parent[key] = value.clone(),
            (None, None) => drop(parent.as_object_mut().unwrap().remove(key).unwrap()),
        }
    }
    body
}

fn passes(profile: &Profile, body: &Value) {
    if let Err(faults) = validate(profile, body) {
        let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
        panic!("{}: {faults:?}: {body}", profile.name);
    }
}

/// Holds each changed body to having one fault only: there, in these words.
fn breaks(profile: &Profile, whole: &Value, cases: &[(&[Change], &str, &str)]) {
    passes(profile, whole);
    for (changes, at, words) in cases {
        let body = changed(whole, changes);
        let faults = validate(profile, &body).expect_err(&format!("{at} {words}: passes: {body}"));
        let [fault] = faults.as_slice() else {
            panic!("{at} {words}: {faults:?}");
        };
        assert_eq!(fault.at, *at, "{fault}");
        assert!(fault.why.contains(words), "{words}: {fault}");
    }
}

fn schema() -> Value {
    json!({ "type": "object", "properties": { "path": { "type": "string" } } })
}

fn strict_schema() -> Value {
    json!({
        "type": "object",
        "properties": { "path": { "type": "string" } },
        "required": ["path"],
        "additionalProperties": false,
    })
}

#[test]
fn what_is_no_object_is_refused_by_all() {
    for profile in PROFILES {
        let faults = validate(profile, &json!([])).unwrap_err();
        assert_eq!(faults.len(), 1);
        assert_eq!(faults[0].to_string(), "it is no JSON object");
    }
}

#[test]
fn every_profile_has_a_name_of_its_own() {
    let names: std::collections::BTreeSet<&str> = PROFILES.iter().map(|one| one.name).collect();
    assert_eq!(names.len(), PROFILES.len());
}
