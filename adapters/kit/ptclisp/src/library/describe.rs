//! `describe`: what data looks like, in place of all of it.

use std::collections::BTreeMap;

use unicode_segmentation::UnicodeSegmentation;

use crate::callable::NativeFunction;
use crate::context::{Context, ValueSet};
use crate::fault::{Halt, type_error};
use crate::library::access::entry;
use crate::library::compare::compare;
use crate::library::pure;
use crate::show;
use crate::value::Value;

/// The most examples of a field.
const EXAMPLES: i64 = 3;
/// The longest example, in characters.
const EXAMPLE_CHARS: usize = 120;
/// Most distinct values of a field.
const DISTINCT: usize = 50;
/// The longest text that may be a number.
const NUMBER_CHARS: usize = 64;

/// Name of a value's kind in descriptions.
fn kind(value: &Value) -> &'static str {
    match value {
        Value::Int(_) | Value::Big(_) => "integer",
        Value::Float(n) if n.is_nan() => "nan",
        Value::Float(n) if n.is_infinite() => "infinity",
        Value::Float(_) => "float",
        Value::Vec(_) => "vector",
        other => other.kind(),
    }
}

/// Counts the kinds of values.
fn kinds<'a>(ctx: &mut Context, values: impl Iterator<Item = &'a Value>) -> Result<Value, Halt> {
    let mut counts: BTreeMap<Value, i64> = BTreeMap::new();
    for value in values {
        ctx.spend_steps(2)?;
        *counts.entry(Value::text(kind(value))).or_default() += 1;
    }
    let counts = counts.into_iter();
    ctx.map(counts.map(|(kind, count)| (kind, Value::Int(count))).collect())
}

/// A text, or how it begins and how long it is.
fn shortened(ctx: &mut Context, text: &str) -> Result<Value, Halt> {
    let count = text.graphemes(true).count();
    if count <= EXAMPLE_CHARS {
        return ctx.text(text);
    }
    let head: String = text.graphemes(true).take(EXAMPLE_CHARS).collect();
    ctx.text(format!("{head}...({count} chars)"))
}

/// A value as an example: as it is, or as text where it has parts.
fn example(ctx: &mut Context, value: &Value) -> Result<Value, Halt> {
    match value {
        Value::Nil
        | Value::Bool(_)
        | Value::Int(_)
        | Value::Big(_)
        | Value::Float(_)
        | Value::Kw(_) => Ok(value.clone()),
        Value::Str(text) => shortened(ctx, text),
        other => {
            ctx.writes(other)?;
            shortened(ctx, &show::readable(other))
        }
    }
}

/// The number that a value is, or that a text is written as.
fn measure(value: &Value) -> Option<Value> {
    match value {
        Value::Int(_) | Value::Big(_) => Some(value.clone()),
        Value::Float(n) => n.is_finite().then(|| value.clone()),
        Value::Str(text) if text.len() <= NUMBER_CHARS => {
            let digits = text.trim_start_matches(['-', '+']);
            let plain = digits.starts_with(|c: char| c.is_ascii_digit());
            let number = text.parse().ok().filter(|n: &f64| plain && n.is_finite());
            number.map(Value::Float)
        }
        _ => None,
    }
}

/// The smallest and the largest of the numbers.
fn range(ctx: &mut Context, values: &[&Value]) -> Result<Option<Value>, Halt> {
    let mut found: Option<(Value, Value)> = None;
    for value in values {
        ctx.spend_steps(2)?;
        let Some(number) = measure(value) else {
            continue;
        };
        let (mut least, mut most) = found.unwrap_or_else(|| (number.clone(), number.clone()));
        if compare(&number, &least)?.is_lt() {
            least = number.clone();
        }
        if compare(&number, &most)?.is_gt() {
            most = number;
        }
        found = Some((least, most));
    }
    let Some((least, most)) = found else {
        return Ok(None);
    };
    let range = [("min", least), ("max", most)];
    let range = range.map(|(name, value)| (Value::keyword(name), value));
    ctx.map(range.into()).map(Some)
}

/// Returns true if a container has content; `None` for other values.
fn holds(value: &Value) -> Option<bool> {
    match value {
        Value::Str(text) => Some(!text.is_empty()),
        Value::Vec(items) => Some(!items.items.is_empty()),
        Value::Set(members) => Some(!members.members.is_empty()),
        Value::Map(entries) => Some(!entries.entries.is_empty()),
        _ => None,
    }
}

type ValueDescription = BTreeMap<Value, Value>;

/// Describes the values of a field; of equal values, only one is an example.
fn field(ctx: &mut Context, values: &[&Value], sample: usize) -> Result<ValueDescription, Halt> {
    let (mut examples, mut shown) = (Vec::new(), ValueSet::new());
    for value in values {
        if examples.len() == sample {
            break;
        }
        ctx.seek(value, shown.len())?;
        if shown.insert((*value).clone()) {
            examples.push(example(ctx, value)?);
        }
    }
    let mut seen = ValueSet::new();
    let (mut scalars, mut more) = (false, false);
    for value in values {
        let told = ["nil", "boolean", "integer", "float", "string", "keyword"];
        if !told.contains(&kind(value)) {
            continue;
        }
        scalars = true;
        ctx.seek(value, seen.len())?;
        if !seen.contains(*value) && seen.len() == DISTINCT {
            more = true;
            break;
        }
        seen.insert((*value).clone());
    }
    let mut about = ValueDescription::new();
    let mut put = |name: &str, value: Value| about.insert(Value::keyword(name), value);
    put("types", kinds(ctx, values.iter().copied())?);
    put("examples", ctx.vec(examples)?);
    let mut held = values.iter().filter_map(|value| holds(value)).peekable();
    if held.peek().is_some() {
        put("non_empty", Value::from(held.filter(|held| *held).count()));
    }
    if let Some(range) = range(ctx, values)? {
        put("range", range);
    }
    if scalars {
        put("distinct_count", Value::from(seen.len()));
    }
    if more {
        put("distinct_capped", Value::Bool(true));
    }
    Ok(about)
}

/// The fields of maps by their keys as text; keys that are written alike are told by their kinds.
/// `rows`: how many items there are, of which each field is in some.
fn fields(
    ctx: &mut Context,
    columns: BTreeMap<&Value, Vec<&Value>>,
    rows: Option<usize>,
    sample: usize,
) -> Result<Value, Halt> {
    let mut names: BTreeMap<Value, usize> = BTreeMap::new();
    for key in columns.keys() {
        *names.entry(name(ctx, key)?).or_default() += 1;
    }
    let mut all = ValueDescription::new();
    for (key, values) in columns {
        let mut about = field(ctx, &values, sample)?;
        if let Some(rows) = rows {
            let tenths = (1000.0 * values.len() as f64 / rows as f64).round();
            about.insert(Value::keyword("present"), Value::from(values.len()));
            about.insert(Value::keyword("pct"), Value::Float(tenths / 10.0));
        }
        let mut name = name(ctx, key)?;
        if names.get(&name).is_some_and(|alike| *alike > 1) {
            name = ctx.text(format!("{}:{}", kind(key), show::plain(&name)))?;
        }
        let about = ctx.map(about)?;
        all.insert(name, about);
    }
    ctx.map(all)
}

/// A key as text.
fn name(ctx: &mut Context, key: &Value) -> Result<Value, Halt> {
    match key {
        Value::Str(text) => shortened(ctx, text),
        other => {
            ctx.writes(other)?;
            shortened(ctx, &show::readable(other))
        }
    }
}

/// Requested number of examples.
fn sample(options: Option<&Value>) -> Result<usize, Halt> {
    let option = |name: &str| entry(options?, &Value::keyword(name));
    if option("paths").is_some_and(|paths| paths.truthy()) {
        return type_error("describe: there is no option :paths; describe the parts one by one");
    }
    let asked = option("sample").and_then(|sample| sample.as_int());
    Ok(asked.unwrap_or(EXAMPLES).clamp(1, EXAMPLES) as usize)
}

fn describe(ctx: &mut Context, args: &mut [Value]) -> Result<Value, Halt> {
    ctx.walk_deep(&args[0])?;
    let sample = sample(args.get(1))?;
    let subject = &args[0];
    let mut about = ValueDescription::new();
    let mut put = |name: &str, value: Value| about.insert(Value::keyword(name), value);
    match subject {
        Value::Map(entries) => {
            put("count", Value::from(entries.entries.len()));
            put("key_types", kinds(ctx, entries.entries.keys())?);
            let columns = entries.entries.iter();
            let columns = columns.map(|(key, value)| (key, vec![value])).collect();
            put("keys", fields(ctx, columns, None, sample)?);
        }
        Value::Vec(items) => {
            let rows = items.items.len();
            put("count", Value::from(rows));
            put("scanned", Value::from(rows));
            put("item_types", kinds(ctx, items.items.iter())?);
            let mut columns: BTreeMap<&Value, Vec<&Value>> = BTreeMap::new();
            let mut keys = Vec::new();
            // The last items give the first examples.
            for item in items.items.iter().rev() {
                let Value::Map(entries) = item else { continue };
                for (key, value) in entries.entries.iter() {
                    ctx.seek(key, columns.len())?;
                    ctx.spend_steps(1)?;
                    keys.push(key);
                    columns.entry(key).or_default().push(value);
                }
            }
            if items.items.iter().any(|item| matches!(item, Value::Map(_))) {
                put("key_types", kinds(ctx, keys.into_iter())?);
                put("keys", fields(ctx, columns, Some(rows), sample)?);
            }
        }
        Value::Set(members) => {
            put("count", Value::from(members.members.len()));
            put("scanned", Value::from(members.members.len()));
            put("item_types", kinds(ctx, members.members.iter())?);
        }
        other => {
            put("sample", example(ctx, other)?);
            let field = field(ctx, &[other], sample)?;
            about.extend(field);
        }
    }
    about.insert(Value::keyword("type"), Value::text(kind(subject)));
    ctx.map(about)
}

pub(super) const NATIVES: &[NativeFunction] = &[pure("describe", 1, 2, describe)];
