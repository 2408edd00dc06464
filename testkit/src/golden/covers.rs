//! What a fact says, as labels: its kind, the fields that it has, and the words of its
//! enumerations. A set of logs is worth what labels it has.

use std::collections::BTreeSet;

use serde_json::Value;
use windlass_core::RecordedFact;

/// Fields whose text is the word of an enumeration, wherever they stand.
const WORDS: &[&str] = &[
    "kind",
    "status",
    "verdict",
    "by",
    "why",
    "outcome",
    "limit",
    "failure",
    "delivery",
    "lifetime",
    "retained",
    "point",
    "start",
    "trigger",
    "strategy",
    "when",
    "end",
    "mode",
    "permissions",
    "type",
    "stop",
    "retry",
];

/// Fields whose value a user chose: what is in them is no field of ours.
const FREE: &[&str] = &["claims", "settings", "limits"];

/// What a fact is and says: `TurnSettled`, `TurnSettled.outcome=exhausted`,
/// `InputQueued.context[].text`.
#[must_use]
pub fn labels(recorded: &RecordedFact) -> BTreeSet<String> {
    let mut labels = BTreeSet::new();
    let kind = recorded.fact.kind().to_owned();
    if let Ok(Value::Object(mut envelope)) = serde_json::to_value(recorded) {
        let body = envelope.remove("body").unwrap_or_default();
        walk(&kind, &body, &mut labels);
    }
    labels.insert(kind);
    labels
}

fn walk(path: &str, value: &Value, labels: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                let path = format!("{path}.{name}");
                let word = value.as_str().filter(|_| WORDS.contains(&name.as_str()));
                if let Some(word) = word {
                    labels.insert(format!("{path}={word}"));
                } else {
                    labels.insert(path.clone());
                }
                if !FREE.contains(&name.as_str()) {
                    walk(&path, value, labels);
                }
            }
        }
        Value::Array(values) => {
            for value in values {
                walk(&format!("{path}[]"), value, labels);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
