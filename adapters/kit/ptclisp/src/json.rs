//! Values from JSON and to it: objects have texts for keys, see [`crate::keys`] for how they are addressed. On
//! the way out a keyword and a text of the same name are the same name, so a map that has both is a fault.

use std::collections::BTreeMap;
use std::sync::Arc;

use num_bigint::BigInt;
use serde_json::{Map, Number, Value as Json};

use crate::context::Context;
use crate::fault::{Fault, FaultClass, Halt};
use crate::show;
use crate::value::{Entries, Items, Value, ValueSize};

/// The deepest JSON that is taken in.
const DEEPEST: u32 = 120;
/// The most keys whose texts are shared.
const SHARED_KEYS: usize = 64;
/// The white space that JSON allows around a value.
const JSON_SPACE: [char; 4] = [' ', '\t', '\n', '\r'];

/// A value of JSON: the keys of objects become texts. Nothing is counted: it is the caller's, who
/// bounds what comes in.
///
/// # Errors
/// If it is nested deeper than 120 levels.
pub fn from_json(json: &Json) -> Result<Value, Fault> {
    convert(json, 0, &mut KeyTexts::new())
}

/// Texts of keys that were met: rows of a table have the same ones.
type KeyTexts<'a> = BTreeMap<&'a str, Arc<str>>;

fn key_text<'a>(key: &'a str, known: &mut KeyTexts<'a>) -> Arc<str> {
    if let Some(text) = known.get(key) {
        return text.clone();
    }
    let text: Arc<str> = Arc::from(key);
    if known.len() < SHARED_KEYS {
        known.insert(key, text.clone());
    }
    text
}

fn convert<'a>(json: &'a Json, depth: u32, known: &mut KeyTexts<'a>) -> Result<Value, Fault> {
    if depth > DEEPEST {
        let message = format!("JSON is nested deeper than {DEEPEST}");
        return Err(Fault::new(FaultClass::Depth, message).hint("Give flatter data."));
    }
    Ok(match json {
        Json::Null => Value::Nil,
        Json::Bool(value) => Value::Bool(*value),
        Json::Number(number) => of_number(number),
        Json::String(text) => Value::text(text),
        Json::Array(values) => {
            let items: Result<Vec<Value>, Fault> =
                values.iter().map(|value| convert(value, depth + 1, known)).collect();
            let items = items?;
            let shape = ValueSize::of(&items);
            Value::Vec(Arc::new(Items { items, shape }))
        }
        Json::Object(object) => {
            let mut entries = BTreeMap::new();
            for (key, value) in object {
                let name = Value::Str(key_text(key, known));
                entries.insert(name, convert(value, depth + 1, known)?);
            }
            let shape = ValueSize::of(entries.iter().flat_map(|(key, value)| [key, value]));
            Value::Map(Arc::new(Entries { entries: entries.into(), shape }))
        }
    })
}

/// A value of JSON that comes into a running program, and is counted.
pub(crate) fn build(ctx: &mut Context, json: &Json) -> Result<Value, Halt> {
    let value = from_json(json)?;
    let shape = value.shape();
    ctx.fits(shape)?;
    ctx.walk(shape.weight)?;
    let bytes = shape.weight.saturating_mul(48);
    ctx.reserve(usize::try_from(bytes).unwrap_or(usize::MAX))?;
    Ok(value)
}

/// Reads the output of a tool: a whole value of JSON is data, anything else is text.
pub(crate) fn data_or_text(ctx: &mut Context, said: &str) -> Result<Value, Halt> {
    let trimmed = said.trim_matches(JSON_SPACE);
    if let Some(scalar) = scalar(ctx, trimmed)? {
        return Ok(scalar);
    }
    if trimmed.starts_with(['{', '[']) {
        // Each part stands beside one of these, so that there is memory for what is read.
        let marks = said.bytes().filter(|b| matches!(b, b',' | b'[' | b'{'));
        ctx.room(marks.count().saturating_mul(2))?;
        if let Ok(data) = serde_json::from_str::<Json>(said)
            && from_json(&data).is_ok()
        {
            return build(ctx, &data);
        }
    }
    build(ctx, &Json::String(said.to_owned()))
}

/// Reads a text, a number, a truth value or null.
fn scalar(ctx: &mut Context, said: &str) -> Result<Option<Value>, Halt> {
    let known = match said {
        "null" => Some(Value::Nil),
        "true" => Some(Value::Bool(true)),
        "false" => Some(Value::Bool(false)),
        _ => None,
    };
    if known.is_some() {
        return Ok(known);
    }
    if !matches!(said.as_bytes(), [b'"', .., b'"'] | [b'-' | b'0'..=b'9', ..]) {
        return Ok(None);
    }
    ctx.walk(said.len() as u64)?;
    ctx.reserve(said.len())?;
    match serde_json::from_str::<Json>(said) {
        Ok(json @ Json::String(_)) => build(ctx, &json).map(Some),
        Ok(Json::Number(number)) => Ok(Some(of_number(&number))),
        Ok(_) | Err(_) => Ok(None),
    }
}

fn of_number(number: &Number) -> Value {
    if let Some(n) = number.as_i64() {
        return Value::Int(n);
    }
    if let Some(n) = number.as_u64() {
        return Value::integer(BigInt::from(n));
    }
    Value::Float(number.as_f64().unwrap_or(f64::NAN))
}

/// Naming of object members by the keys of maps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyNames {
    /// A keyword and a text become their name.
    AsTheyAre,
    /// In the arguments of tools, a keyword's hyphen is an underscore.
    OfArguments,
}

/// Returns a value as JSON: keywords become texts of their names, sets arrays, numbers that JSON lacks texts, and
/// functions the texts that show them.
///
/// # Errors
/// If two keys of one map have the same name: they are two entries in the program and one in JSON. If a part
/// is a transducer or an endless sequence.
pub fn to_json(value: &Value) -> Result<Json, Fault> {
    write(value, KeyNames::AsTheyAre)
}

/// A value as JSON, with the names of objects as they are written here.
pub(crate) fn write(value: &Value, names: KeyNames) -> Result<Json, Fault> {
    Ok(match value {
        Value::Nil => Json::Null,
        Value::Bool(value) => Json::Bool(*value),
        Value::Int(n) => Json::from(*n),
        Value::Big(n) => match u64::try_from(&**n) {
            Ok(n) => Json::from(n),
            Err(_) => Json::String(n.to_string()),
        },
        Value::Float(n) => match Number::from_f64(*n) {
            Some(number) => Json::Number(number),
            None => Json::String(show::special(*n).to_owned()),
        },
        Value::Str(text) => Json::String(text.to_string()),
        Value::Kw(name) => Json::String(name.to_string()),
        Value::Vec(items) => Json::Array(write_all(&items.items, names)?),
        Value::Set(members) => Json::Array(write_all(members.iter(), names)?),
        Value::Map(entries) => Json::Object(object(entries.iter(), names)?),
        Value::Composed(made) if !made.kind.is_callable() => return Err(unfinished(value)),
        other => Json::String(show::readable(other)),
    })
}

/// The fault of a value that only functions make something of, where data is needed.
pub(crate) fn unfinished(value: &Value) -> Fault {
    let message = format!("the value has a part of the kind {}, which is no data", value.kind());
    let hint = "Call the function with its collection, or take what is wanted: (take n xs).";
    Fault::new(FaultClass::Type, message).hint(hint)
}

fn write_all<'a>(
    values: impl IntoIterator<Item = &'a Value>,
    names: KeyNames,
) -> Result<Vec<Json>, Fault> {
    values.into_iter().map(|value| write(value, names)).collect()
}

/// Writes entries as an object.
pub(crate) fn object<'a>(
    entries: impl Iterator<Item = (&'a Value, &'a Value)>,
    names: KeyNames,
) -> Result<Map<String, Json>, Fault> {
    let mut object = Map::new();
    let mut keys: BTreeMap<String, &Value> = BTreeMap::new();
    for (key, value) in entries {
        let name = key_name(key, names);
        if let Some(twin) = keys.insert(name.clone(), key) {
            return Err(same_name(&name, twin, key));
        }
        object.insert(name, write(value, names)?);
    }
    Ok(object)
}

/// The fault of two keys that are one in JSON.
fn same_name(name: &str, one: &Value, other: &Value) -> Fault {
    let (one, other) = (show::readable(one), show::readable(other));
    let message = format!("a map has the keys {one} and {other}, which both are {name:?} in JSON");
    Fault::new(FaultClass::DuplicateKey, message)
        .hint(format!("Remove one of them first: (dissoc m {one})."))
}

/// Returns a value as JSON text with sorted keys, or `None` if the text exceeds `most` bytes.
///
/// # Errors
/// If two keys of one map have the same name.
pub fn json_text(value: &Value, most: usize) -> Result<Option<String>, Fault> {
    // Each part takes at least one byte, so that a value that is far too large is not written out.
    if !at_most(value, &mut most.clone()) {
        return Ok(None);
    }
    let text = sorted(to_json(value)?).to_string();
    Ok((text.len() <= most).then_some(text))
}

/// Counts the parts of a value down from `left`, except those of functions; false once none is left.
fn at_most(value: &Value, left: &mut usize) -> bool {
    let Some(less) = left.checked_sub(1) else {
        return false;
    };
    *left = less;
    match value {
        Value::Vec(items) => items.items.iter().all(|item| at_most(item, left)),
        Value::Set(members) => members.members.iter().all(|member| at_most(member, left)),
        Value::Map(entries) => {
            entries.entries.iter().all(|(key, value)| at_most(key, left) && at_most(value, left))
        }
        Value::Str(text) => text.len() <= *left,
        _ => true,
    }
}

/// Sorts the entries of all objects by name, so that equal values give equal text.
#[must_use]
pub fn sorted(json: Json) -> Json {
    match json {
        Json::Array(items) => Json::Array(items.into_iter().map(sorted).collect()),
        Json::Object(object) => {
            let entries: BTreeMap<String, Json> = object.into_iter().collect();
            let entries = entries.into_iter();
            Json::Object(entries.map(|(key, value)| (key, sorted(value))).collect())
        }
        other => other,
    }
}

/// A key of a map as a name of an object.
fn key_name(key: &Value, names: KeyNames) -> String {
    match (key, names) {
        (Value::Kw(name), KeyNames::OfArguments) => name.replace('-', "_"),
        (Value::Str(name) | Value::Kw(name), _) => name.to_string(),
        (other, _) => show::readable(other),
    }
}
