//! Canonical text, from which digests are computed: named lines, and JSON with sorted keys.
//!
//! A line without a value is omitted. So an optional field that is added later leaves the digests
//! of existing logs unchanged.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Serialize;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// Named lines, in the order in which they are written.
#[derive(Debug, Default)]
pub(super) struct Lines(String);

impl Lines {
    /// A line with something that has a wire form: JSON with sorted keys.
    pub(super) fn put(&mut self, name: &str, value: &impl Serialize) {
        let value = serde_json::to_value(value).unwrap_or_else(|error| {
            // No type of ours fails to serialise; if one did, its digest would say so.
            Value::String(format!("unwritable: {error}"))
        });
        // A `String` takes all that is written to it.
        let _ = writeln!(self.0, "{name} {}", json(&value));
    }

    /// As [`Lines::put`], unless it is absent.
    pub(super) fn maybe(&mut self, name: &str, value: Option<&impl Serialize>) {
        if let Some(value) = value {
            self.put(name, value);
        }
    }

    /// A line that is there only where something is so.
    pub(super) fn flag(&mut self, name: &str, holds: bool) {
        if holds {
            self.put(name, &true);
        }
    }

    /// The text.
    pub(super) fn text(&self) -> &str {
        &self.0
    }
}

/// JSON text with sorted keys and no blanks, whatever else in the program says about maps.
pub(super) fn json(value: &Value) -> String {
    match value {
        Value::Array(values) => {
            let values: Vec<String> = values.iter().map(json).collect();
            format!("[{}]", values.join(","))
        }
        Value::Object(fields) => {
            let fields: BTreeMap<&String, &Value> = fields.iter().collect();
            let field = |(name, value): (&String, &Value)| {
                format!("{}:{}", Value::from(name.as_str()), json(value))
            };
            let fields: Vec<String> = fields.into_iter().map(field).collect();
            format!("{{{}}}", fields.join(","))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.to_string(),
    }
}

/// A record of numbers in which every field is always written: those of the first version, and of
/// later ones only what is not as it is by default.
pub(super) fn record<T: Serialize + Default>(value: &T, first: &[&str]) -> Value {
    let fields = |value: &T| serde_json::to_value(value).unwrap_or_default();
    let (mut ours, default) = (fields(value), fields(&T::default()));
    if let Value::Object(fields) = &mut ours {
        fields.retain(|name, value| {
            first.contains(&name.as_str()) || default.get(name) != Some(&*value)
        });
    }
    ours
}

/// SHA-256 as 64 hexadecimal digits.
pub(super) fn sha256(parts: &[&[u8]]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    let digest = hash.finalize();
    digest.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use windlass_core::Limits;

    use super::*;

    #[test]
    fn keys_are_sorted_at_every_depth() {
        let value = json!({ "b": { "d": 1, "c": [ { "z": "\n", "a": null } ] }, "a": true });
        assert_eq!(json(&value), r#"{"a":true,"b":{"c":[{"a":null,"z":"\n"}],"d":1}}"#);
    }

    #[test]
    fn a_later_field_is_written_only_where_it_says_something() {
        let limits = Limits::default().with(|it| it.samples = Limits::default().samples + 1);
        assert_eq!(json(&record(&limits, &["calls"])), r#"{"calls":2000,"samples":201}"#);
    }

    #[test]
    fn parts_do_not_run_into_one_another() {
        assert_ne!(sha256(&[b"ab", b"c"]), sha256(&[b"a", b"bc"]));
    }
}
