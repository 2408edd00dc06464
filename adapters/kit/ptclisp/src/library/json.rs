//! JSON as texts: `json/parse-string`, `json/parse-lines`, `json/generate-string`.

use serde_json::Value as Json;

use crate::callable::NativeFunction;
use crate::context::Context;
use crate::fault::{Fault, FaultClass, Halt, misfit};
use crate::json;
use crate::library::pure;
use crate::show;
use crate::value::Value;

fn parsed(ctx: &mut Context, text: &str) -> Result<Value, Halt> {
    ctx.walk(4 * text.len() as u64)?;
    ctx.reserve(text.len().saturating_mul(4))?;
    match serde_json::from_str::<Json>(text) {
        Ok(parsed) => json::build(ctx, &parsed),
        Err(_) => Ok(Value::Nil),
    }
}

fn parse_string(ctx: &mut Context, args: &mut [Value]) -> Result<Value, Halt> {
    match &args[0] {
        Value::Str(text) => parsed(ctx, text),
        // What is no JSON is nothing, whatever it is.
        _ => Ok(Value::Nil),
    }
}

fn parse_lines(ctx: &mut Context, args: &mut [Value]) -> Result<Value, Halt> {
    let text = match &args[0] {
        Value::Str(text) => text,
        Value::Nil => return Ok(Value::Nil),
        _ => return misfit("json/parse-lines", args),
    };
    let mut all = Vec::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        all.push(parsed(ctx, line)?);
    }
    ctx.vec(all)
}

fn generate_string(ctx: &mut Context, args: &mut [Value]) -> Result<Value, Halt> {
    // Each part is made twice: as a value of JSON, and as text.
    ctx.walk(args[0].shape().weight.saturating_mul(8))?;
    ctx.digits(&args[0])?;
    let bytes = args[0].shape().weight.saturating_mul(32);
    ctx.room(usize::try_from(bytes / 24).unwrap_or(usize::MAX))?;
    let mut path = Vec::new();
    match strict(&args[0], &mut path) {
        Ok(encoded) => ctx.text(encoded.to_string()),
        Err((class, what)) => {
            let at = if path.is_empty() {
                "at the top level".to_owned()
            } else {
                path.reverse();
                format!("at [{}]", path.join(" "))
            };
            let message =
                format!("json/generate-string: cannot encode {what} as a JSON value {at}");
            let hint = match class {
                FaultClass::DuplicateKey => "Remove one of them first: (dissoc m key).",
                _ => "Convert it first: (name :key) for a keyword, (str value) for the rest.",
            };
            Err(Fault::new(class, message).hint(hint).into())
        }
    }
}

/// Returns a value as JSON, if JSON has such a value. The path is noted from the inside out.
///
/// # Errors
/// The class of the fault, and a description of the part that JSON does not have.
fn strict(value: &Value, path: &mut Vec<String>) -> Result<Json, (FaultClass, String)> {
    let no_json = |what: String| Err((FaultClass::Type, what));
    Ok(match value {
        Value::Float(n) if !n.is_finite() => return no_json(show::readable(value)),
        Value::Vec(items) => {
            let mut all = Vec::new();
            for (index, item) in items.items.iter().enumerate() {
                all.push(strict(item, path).inspect_err(|_| path.push(index.to_string()))?);
            }
            Json::Array(all)
        }
        Value::Map(entries) => {
            let mut all = serde_json::Map::new();
            for (key, value) in entries.entries.iter() {
                let name = match key {
                    Value::Str(name) | Value::Kw(name) => name.to_string(),
                    Value::Int(_) | Value::Big(_) => show::readable(key),
                    other => return no_json(format!("the key {}", show::readable(other))),
                };
                let value = strict(value, path).inspect_err(|_| path.push(show::readable(key)))?;
                if all.contains_key(&name) {
                    return Err((
                        FaultClass::DuplicateKey,
                        format!("a map with two keys {name:?}"),
                    ));
                }
                all.insert(name, value);
            }
            Json::Object(all)
        }
        Value::Nil | Value::Bool(_) | Value::Int(_) | Value::Big(_) | Value::Float(_) => {
            json::to_json(value).map_err(|fault| (fault.class, fault.message))?
        }
        Value::Str(text) => Json::String(text.to_string()),
        other => return no_json(format!("a {}", other.kind())),
    })
}

pub(super) const NATIVES: &[NativeFunction] = &[
    pure("json/parse-string", 1, 1, parse_string),
    pure("json/parse-lines", 1, 1, parse_lines),
    pure("json/generate-string", 1, 1, generate_string),
];
