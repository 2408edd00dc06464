//! The recordings' typed JSON: values to it and from it, and when two are the same.

use serde_json::{Map, Value as Json, json};
use windlass_kit_ptclisp::{Fault, Value, from_json};

/// A value as typed JSON.
pub(crate) fn json(value: &Value) -> Json {
    match value {
        Value::Nil => Json::Null,
        Value::Bool(value) => json!(value),
        // What a reader of JSON may take for a float is told as a text.
        Value::Int(n) if n.unsigned_abs() > 1 << 53 => json!({"$int": n.to_string()}),
        Value::Int(n) => json!(n),
        Value::Big(n) => json!({"$int": n.to_string()}),
        Value::Float(n) => json!({"$float": windlass_kit_ptclisp::readable(&Value::Float(*n))}),
        Value::Str(text) => json!(&**text),
        Value::Kw(name) => json!({"$kw": &**name}),
        Value::Vec(items) => Json::Array(items.as_slice().iter().map(json).collect()),
        Value::Set(members) => json!({"$set": members.iter().map(json).collect::<Vec<_>>()}),
        Value::Map(entries) => {
            let pairs = entries.iter().map(|(key, value)| json!([json(key), json(value)]));
            json!({"$map": pairs.collect::<Vec<_>>()})
        }
        Value::Var(name) => json!({"$var": &**name}),
        Value::Sym(name) => json!({"$sym": &**name}),
        Value::Regex(_) => {
            let shown = windlass_kit_ptclisp::readable(value);
            let source = shown.strip_prefix("#\"").and_then(|s| s.strip_suffix('"'));
            json!({"$regex": source.unwrap_or_default()})
        }
        other => json!({"$opaque": windlass_kit_ptclisp::readable(other)}),
    }
}

/// A value of a case's context or memory: plain JSON.
pub(crate) fn value(json: &Json) -> Value {
    from_json(json).unwrap_or_default()
}

/// A fault's class and message.
pub(crate) fn reason(fault: &Fault) -> Json {
    json!({"reason": fault.class.name(), "message": fault.to_string()})
}

fn float(json: &Json) -> Option<f64> {
    let text = json.get("$float")?.as_str()?;
    match text {
        "NaN" | "##NaN" => Some(f64::NAN),
        "Infinity" | "##Inf" => Some(f64::INFINITY),
        "-Infinity" | "##-Inf" => Some(f64::NEG_INFINITY),
        _ => text.parse().ok(),
    }
}

/// Returns true if two values are the same; the order of entries and members does not count.
pub(crate) fn same(a: &Json, b: &Json) -> bool {
    if let (Some(a), Some(b)) = (float(a), float(b)) {
        return a == b || (a.is_nan() && b.is_nan());
    }
    match (a, b) {
        (Json::Array(a), Json::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        (Json::Object(a), Json::Object(b)) => same_tag(a, b),
        _ => a == b,
    }
}

fn same_tag(a: &Map<String, Json>, b: &Map<String, Json>) -> bool {
    for tag in ["$map", "$set"] {
        if let (Some(Json::Array(a)), Some(Json::Array(b))) = (a.get(tag), b.get(tag)) {
            let within = |x: &Json, all: &[Json]| all.iter().any(|y| same(x, y));
            return a.len() == b.len()
                && a.iter().all(|x| within(x, b))
                && b.iter().all(|x| within(x, a));
        }
    }
    a == b
}

/// The floats of a value rounded to so many digits.
pub(crate) fn rounded(value: &Json, digits: i64) -> Json {
    if let Some(n) = float(value) {
        let digits = usize::try_from(digits).unwrap_or(0);
        return json!({"$float": format!("{n:.digits$}")});
    }
    match value {
        Json::Array(items) => Json::Array(items.iter().map(|v| rounded(v, digits)).collect()),
        Json::Object(object) => {
            let entries = object.iter();
            entries.map(|(key, v)| (key.clone(), rounded(v, digits))).collect()
        }
        other => other.clone(),
    }
}
