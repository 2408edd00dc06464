//! Schemas that the provider can enforce. Source: "JSON Schema limitations" of the page "Structured
//! outputs" in the Claude API documentation. Everything that is not listed here is treated as
//! refused.

use serde_json::{Map, Value};

/// Deepest nesting of a schema.
const DEPTH: u32 = 32;

/// Formats of texts that are known over there.
const FORMATS: &[&str] =
    &["date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"];

/// Returns true if the provider can enforce this schema: objects list all their properties, and no
/// number, text or list is bounded.
pub(super) fn can_hold(schema: &str) -> bool {
    let schema: Result<Map<String, Value>, _> = serde_json::from_str(schema);
    schema.is_ok_and(|schema| object(&schema, DEPTH))
}

fn holds(schema: &Value, depth: u32) -> bool {
    match (schema, depth.checked_sub(1)) {
        (Value::Object(fields), Some(depth)) => object(fields, depth),
        _ => false,
    }
}

fn object(schema: &Map<String, Value>, depth: u32) -> bool {
    let all =
        |list: &Value| list.as_array().is_some_and(|list| list.iter().all(|one| holds(one, depth)));
    let plain = |list: &Value| {
        let scalar = |value: &Value| !value.is_array() && !value.is_object();
        list.as_array().is_some_and(|list| list.iter().all(scalar))
    };
    let known = schema.iter().all(|(key, value)| match key.as_str() {
        "title" | "description" | "default" | "required" | "$schema" => true,
        "type" => value.is_string() || plain(value),
        "additionalProperties" => *value == Value::Bool(false),
        "properties" => {
            value.as_object().is_some_and(|named| named.values().all(|one| holds(one, depth)))
        }
        "items" => holds(value, depth),
        "anyOf" | "allOf" => all(value),
        "enum" => plain(value),
        "const" => !value.is_array() && !value.is_object(),
        "format" => value.as_str().is_some_and(|name| FORMATS.contains(&name)),
        "minItems" => matches!(value.as_u64(), Some(0 | 1)),
        _ => false,
    });
    let is_object = match schema.get("type") {
        Some(Value::Array(types)) => types.contains(&Value::from("object")),
        Some(kind) => kind == "object",
        None => schema.contains_key("properties"),
    };
    known && (!is_object || schema.contains_key("additionalProperties"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_known_to_be_taken_is_sent() {
        for schema in [
            r#"{"type":"object","properties":{"a":{"type":"string","format":"date"}},
                "required":["a"],"additionalProperties":false}"#,
            r#"{"anyOf":[{"type":"null"},{"type":"array","items":{"enum":[1,"b"]},"minItems":1}]}"#,
        ] {
            assert!(can_hold(schema), "{schema}");
        }
        for schema in [
            r#"{"type":"object","properties":{}}"#,
            r#"{"type":["object","null"],"properties":{}}"#,
            r#"{"type":"object","additionalProperties":true}"#,
            r#"{"type":"integer","minimum":1}"#,
            r#"{"type":"string","pattern":"^a"}"#,
            r##"{"$ref":"#/$defs/a"}"##,
            r#"{"enum":[{}]}"#,
            r#"{"type":"array","items":{"type":"array","minItems":2}}"#,
            "true",
            "{",
        ] {
            assert!(!can_hold(schema), "{schema}");
        }
        let deep = "{\"items\":".repeat(40) + "{}" + &"}".repeat(40);
        assert!(!can_hold(&deep));
    }
}
