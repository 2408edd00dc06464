//! Checks a structured result against the schema that its tool declares.
//!
//! Only plain violations are reported, of the keywords `type`, `enum`, `const`, `properties`,
//! `required`, `additionalProperties: false` and `items`. What another keyword says is not checked.

use serde_json::Value;

/// Deepest value that is checked.
const MAX_DEPTH: usize = 32;
/// Most values that are checked.
const MAX_VALUES: usize = 10_000;

/// Returns the first violation of the schema, as a place and what is wrong there; `None` if there is
/// none that is checked.
pub(crate) fn violation(schema: &Value, value: &Value) -> Option<String> {
    let mut left = MAX_VALUES;
    check(schema, value, "", MAX_DEPTH, &mut left)
}

fn check(
    schema: &Value,
    value: &Value,
    place: &str,
    depth: usize,
    left: &mut usize,
) -> Option<String> {
    *left = left.checked_sub(1)?;
    let depth = depth.checked_sub(1)?;
    let schema = match schema {
        Value::Object(schema) => schema,
        Value::Bool(false) => return Some(format!("{} is not allowed", named(place))),
        Value::Null | Value::Bool(true) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            return None;
        }
    };
    if let Some(types) = schema.get("type")
        && !is_of(types, value)
    {
        return Some(format!("{} is not of the type {types}", named(place)));
    }
    if let Some(Value::Array(all)) = schema.get("enum")
        && !all.iter().any(|one| equal(one, value))
    {
        return Some(format!("{} is none of the allowed values", named(place)));
    }
    if let Some(only) = schema.get("const")
        && !equal(only, value)
    {
        return Some(format!("{} is not the one allowed value", named(place)));
    }
    match value {
        Value::Object(members) => {
            if let Some(Value::Array(required)) = schema.get("required") {
                let mut required = required.iter().filter_map(Value::as_str);
                if let Some(lacking) = required.find(|name| !members.contains_key(*name)) {
                    return Some(format!("{} lacks {lacking:?}", named(place)));
                }
            }
            let known = schema.get("properties").and_then(Value::as_object);
            let closed = schema.get("additionalProperties") == Some(&Value::Bool(false))
                && !schema.contains_key("patternProperties");
            members.iter().find_map(|(name, member)| {
                match known.and_then(|known| known.get(name)) {
                    Some(schema) => check(schema, member, &format!("{place}/{name}"), depth, left),
                    None if closed => Some(format!("{} has {name:?}", named(place))),
                    None => None,
                }
            })
        }
        Value::Array(items) => {
            let schema = schema.get("items").filter(|_| !schema.contains_key("prefixItems"))?;
            let mut items = items.iter().enumerate();
            items.find_map(|(at, item)| check(schema, item, &format!("{place}/{at}"), depth, left))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

fn named(place: &str) -> &str {
    if place.is_empty() { "the value" } else { place }
}

fn is_of(types: &Value, value: &Value) -> bool {
    match types {
        Value::String(name) => is_type(name, value),
        Value::Array(names) => names.iter().filter_map(Value::as_str).any(|n| is_type(n, value)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => true,
    }
}

fn is_type(name: &str, value: &Value) -> bool {
    match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "number" => value.is_number(),
        "integer" => {
            value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|n| n.fract() == 0.0)
        }
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => true,
    }
}

/// Returns true if two values are one in JSON Schema, where 1 and 1.0 are.
fn equal(one: &Value, other: &Value) -> bool {
    one == other || (one.is_number() && one.as_f64() == other.as_f64())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn plain_violations_are_named_with_their_place() {
        let schema = json!({"type": "object", "required": ["a"], "additionalProperties": false,
            "properties": {"a": {"type": ["integer", "null"]}, "b": {"items": {"enum": [1, "x"]}},
            "c": {"const": 2}, "d": false}});
        for (value, words) in [
            (json!({"a": 1}), None),
            (json!({"a": null, "b": [1.0, "x"], "c": 2.0}), None),
            (json!({"a": 2.0}), None),
            (json!([]), Some("the value is not of the type \"object\"")),
            (json!({}), Some("the value lacks \"a\"")),
            (json!({"a": "1"}), Some("/a is not of the type")),
            (json!({"a": 1.5}), Some("/a is not of the type")),
            (json!({"a": 1, "b": [1, 2]}), Some("/b/1 is none of the allowed values")),
            (json!({"a": 1, "c": 3}), Some("/c is not the one allowed value")),
            (json!({"a": 1, "d": 0}), Some("/d is not allowed")),
            (json!({"a": 1, "e": 0}), Some("the value has \"e\"")),
        ] {
            let found = violation(&schema, &value);
            let fits = match words {
                None => found.is_none(),
                Some(words) => found.as_ref().is_some_and(|found| found.starts_with(words)),
            };
            assert!(fits, "{value}: {found:?}");
        }
    }

    #[test]
    fn deep_and_large_values_are_checked_up_to_a_bound() {
        let (mut schema, mut value) = (json!({"type": "string"}), json!(1));
        for _ in 0..1_000 {
            schema = json!({"items": schema});
            value = json!([value]);
        }
        assert_eq!(violation(&schema, &value), None);
        let many: Vec<Value> = (0..20_000).map(Value::from).collect();
        assert_eq!(violation(&json!({"items": {"type": "integer"}}), &Value::from(many)), None);
    }
}
