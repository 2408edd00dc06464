//! Shapes: short descriptions of JSON values and JSON Schemas, in words and bounded.

use serde_json::{Map, Value};

/// Longest description, in characters; the rest is left out.
const MAX_CHARS: usize = 600;
/// Most keys of an object, and values of a choice, that are named.
const MAX_NAMED: usize = 20;
/// Longest name and longest constant, in characters.
const MAX_NAME_CHARS: usize = 60;

/// Describes a value, with the keys of objects one level deep.
pub(super) fn value_shape(value: &Value) -> String {
    cut(&of_value(value, 1), MAX_CHARS)
}

/// Describes the values that a JSON Schema allows, two levels deep.
pub(super) fn schema_shape(schema: &str) -> String {
    let schema = serde_json::from_str(schema).unwrap_or(Value::Null);
    cut(&of_schema(&schema, 2), MAX_CHARS)
}

fn of_value(value: &Value, depth: u32) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(_) => "boolean".to_owned(),
        Value::Number(_) => "number".to_owned(),
        Value::String(_) => "text".to_owned(),
        Value::Array(items) => of_list(items, depth),
        Value::Object(object) if depth > 0 => {
            object_shape(object, &|_| false, &|inner| of_value(inner, depth.saturating_sub(1)))
        }
        Value::Object(_) => "object".to_owned(),
    }
}

/// Describes a list by its first element, if all elements are of its kind.
fn of_list(items: &[Value], depth: u32) -> String {
    let kind = |value: &Value| of_value(value, 0);
    match items.split_first() {
        None => "empty list".to_owned(),
        Some(_) if depth == 0 => "list".to_owned(),
        Some((first, rest)) if rest.iter().all(|one| kind(one) == kind(first)) => {
            format!("list of {} {}", items.len(), of_value(first, depth))
        }
        Some(_) => format!("list of {} values", items.len()),
    }
}

fn of_schema(schema: &Value, depth: u32) -> String {
    if let Some(only) = schema.get("const") {
        return constant(only);
    }
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        return choice(values, constant);
    }
    for forms in ["anyOf", "oneOf"] {
        if let Some(forms) = schema.get(forms).and_then(Value::as_array) {
            return choice(forms, |form| of_schema(form, depth.saturating_sub(1)));
        }
    }
    match schema.get("type") {
        Some(Value::Array(names)) => {
            choice(names, |name| of_type(name.as_str().unwrap_or_default(), schema, depth))
        }
        Some(name) => of_type(name.as_str().unwrap_or_default(), schema, depth),
        None if schema.get("properties").is_some() => of_type("object", schema, depth),
        // It is described by other schemas.
        None if ["$ref", "allOf"].iter().any(|key| schema.get(key).is_some()) => {
            "as the schema says".to_owned()
        }
        None => "any value".to_owned(),
    }
}

fn of_type(name: &str, schema: &Value, depth: u32) -> String {
    let inner = depth.saturating_sub(1);
    match name {
        "string" => "text".to_owned(),
        "integer" => "integer".to_owned(),
        "number" => "number".to_owned(),
        "boolean" => "boolean".to_owned(),
        "null" => "null".to_owned(),
        "array" => match schema.get("items").filter(|_| depth > 0) {
            Some(items) => format!("list of {}", of_schema(items, inner)),
            None => "list".to_owned(),
        },
        "object" => match schema.get("properties").and_then(Value::as_object) {
            Some(properties) if depth > 0 && !properties.is_empty() => {
                let required = schema.get("required").and_then(Value::as_array);
                let optional = |name: &str| {
                    !required.is_some_and(|all| all.iter().any(|one| one.as_str() == Some(name)))
                };
                object_shape(properties, &optional, &|property| of_schema(property, inner))
            }
            Some(_) | None => "object".to_owned(),
        },
        _ => "any value".to_owned(),
    }
}

/// Lists the keys of an object by name, those first that are not optional.
fn object_shape(
    object: &Map<String, Value>,
    optional: &dyn Fn(&str) -> bool,
    describe: &dyn Fn(&Value) -> String,
) -> String {
    let mut keys: Vec<(bool, &String, &Value)> =
        object.iter().map(|(name, value)| (optional(name), name, value)).collect();
    keys.sort_by_key(|(optional, name, _)| (*optional, *name));
    let mut shown: Vec<String> = keys
        .iter()
        .take(MAX_NAMED)
        .map(|(optional, name, value)| {
            let mark = if *optional { "?" } else { "" };
            format!("{}{mark}: {}", key(name), describe(value))
        })
        .collect();
    if keys.len() > MAX_NAMED {
        shown.push("..".to_owned());
    }
    format!("object {{{}}}", shown.join(", "))
}

/// Returns a name as it is, or quoted if it has other characters than those of plain names.
fn key(name: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    match !name.is_empty() && name.chars().all(plain) {
        true => cut(name, MAX_NAME_CHARS),
        false => cut(&Value::from(name).to_string(), MAX_NAME_CHARS),
    }
}

fn constant(value: &Value) -> String {
    cut(&value.to_string(), MAX_NAME_CHARS)
}

fn choice(all: &[Value], describe: impl Fn(&Value) -> String) -> String {
    let mut shown: Vec<String> = all.iter().take(MAX_NAMED).map(describe).collect();
    if all.len() > MAX_NAMED {
        shown.push("..".to_owned());
    }
    shown.join(" or ")
}

fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}..", text.get(..end).unwrap_or_default()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_described_one_level_deep() {
        for (value, shape) in [
            ("1", "number"),
            ("[]", "empty list"),
            ("[1,2]", "list of 2 number"),
            ("[1,\"a\"]", "list of 2 values"),
            ("{}", "object {}"),
            ("{\"b\":{\"c\":1},\"a b\":[1]}", "object {\"a b\": list, b: object}"),
        ] {
            assert_eq!(value_shape(&serde_json::from_str(value).unwrap()), shape);
        }
    }

    #[test]
    fn schemas_are_described_two_levels_deep() {
        for (schema, shape) in [
            ("{}", "any value"),
            (r#"{"type":["string","null"]}"#, "text or null"),
            (r#"{"enum":["a",1]}"#, "\"a\" or 1"),
            (
                r#"{"type":"array","items":{"type":"object","properties":{"a":{"type":"object",
                "properties":{"b":{}}}}}}"#,
                "list of object {a?: object}",
            ),
        ] {
            assert_eq!(schema_shape(schema), shape);
        }
        let many = format!("{{\"enum\":[{}]}}", vec!["\"xxxxxxxx\""; 5_000].join(","));
        assert!(schema_shape(&many).len() < 800);
    }
}
