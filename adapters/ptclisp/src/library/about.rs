//! Functions about functions and about data: `doc`, `apropos`, `describe` and their like.

use std::collections::BTreeMap;

use crate::callable::Native;
use crate::context::Context;
use crate::fault::{Halt, misfit};
use crate::library::compare::compare;
use crate::library::{find, names, pure};
use crate::show;
use crate::value::Value;

/// The name that is asked about.
fn subject(value: &Value) -> Option<String> {
    match value {
        Value::Str(name) | Value::Sym(name) | Value::Kw(name) => Some(name.to_string()),
        Value::Native(native) => Some(native.name.to_owned()),
        _ => None,
    }
}

/// How many arguments a function takes, as a call.
fn usage(native: &Native) -> String {
    let needed: Vec<String> = (1..=native.least.min(8))
        .map(|n| format!(" a{n}"))
        .collect();
    let more = if native.variadic() {
        " ...".to_owned()
    } else {
        let optional = (native.least + 1)..=native.most;
        optional.map(|n| format!(" a{n}?")).collect()
    };
    format!("({}{}{more})", native.name, needed.concat())
}

fn doc(ctx: &mut Context, args: &mut [Value]) -> Result<Value, Halt> {
    let Some(name) = subject(&args[0]) else {
        return misfit("doc", args);
    };
    let line = match find(&name) {
        Some(native) => usage(native),
        None => format!("No documentation found for {name:?}."),
    };
    ctx.print(line)?;
    Ok(Value::Nil)
}

fn source(ctx: &mut Context, args: &mut [Value]) -> Result<Value, Halt> {
    let Some(name) = subject(&args[0]) else {
        return misfit("source", args);
    };
    ctx.print(format!("No source available for {name:?}."))?;
    Ok(Value::Nil)
}

fn apropos(ctx: &mut Context, args: &mut [Value]) -> Result<Value, Halt> {
    let Some(text) = subject(&args[0]) else {
        return misfit("apropos", args);
    };
    let text = text.trim().to_lowercase();
    let mut found = Vec::new();
    if !text.is_empty() {
        for name in names().filter(|name| name.contains(&text)) {
            found.push(ctx.text(name)?);
        }
    }
    ctx.vec(found)
}

/// What kind of thing a value is, as `describe` calls it.
fn kind(value: &Value) -> &'static str {
    match value {
        Value::Int(_) | Value::Big(_) => "integer",
        Value::Float(_) => "float",
        Value::Vec(_) => "vector",
        other => other.kind(),
    }
}

/// How often each kind is among values.
fn kinds<'a>(ctx: &mut Context, values: impl Iterator<Item = &'a Value>) -> Result<Value, Halt> {
    let mut counts: BTreeMap<Value, i64> = BTreeMap::new();
    for value in values {
        ctx.take(2)?;
        *counts.entry(Value::text(kind(value))).or_default() += 1;
    }
    ctx.map(
        counts
            .into_iter()
            .map(|(kind, count)| (kind, Value::Int(count)))
            .collect(),
    )
}

fn example(value: &Value) -> Value {
    if value.is_function() {
        Value::text(&show::readable(value))
    } else {
        value.clone()
    }
}

/// The smallest and the largest of values that have an order.
fn bounds(ctx: &mut Context, values: &[&Value]) -> Result<Option<Value>, Halt> {
    ctx.walk(8 * values.len() as u64)?;
    let known: Vec<&&Value> = values.iter().filter(|v| !matches!(v, Value::Nil)).collect();
    let Some((first, rest)) = known.split_first() else {
        return Ok(None);
    };
    if !matches!(first, Value::Int(_) | Value::Big(_) | Value::Float(_)) {
        return Ok(None);
    }
    let (mut least, mut most) = (**first, **first);
    for value in rest {
        match (compare(value, least), compare(value, most)) {
            (Ok(low), Ok(high)) => {
                if low.is_lt() {
                    least = value;
                }
                if high.is_gt() {
                    most = value;
                }
            }
            _ => return Ok(None),
        }
    }
    let range = [("min", least), ("max", most)];
    let range = range.map(|(name, value)| (Value::keyword(name), value.clone()));
    ctx.map(range.into()).map(Some)
}

/// What a column of values holds.
fn column(ctx: &mut Context, values: &[&Value], rows: usize) -> Result<Value, Halt> {
    let mut distinct: Vec<&Value> = Vec::new();
    let mut seen = crate::context::BTreeSet::new();
    for value in values {
        ctx.seek(value, seen.len())?;
        if seen.insert((*value).clone()) {
            distinct.push(value);
        }
    }
    let examples: Vec<Value> = distinct.iter().rev().take(3).map(|v| example(v)).collect();
    let mut about = BTreeMap::new();
    let mut put = |name: &str, value: Value| about.insert(Value::keyword(name), value);
    put("present", Value::from(values.len()));
    put(
        "pct",
        Value::Float(100.0 * values.len() as f64 / rows.max(1) as f64),
    );
    put("types", kinds(ctx, values.iter().copied())?);
    put("distinct_count", Value::from(seen.len()));
    put("examples", ctx.vec(examples)?);
    if let Some(range) = bounds(ctx, values)? {
        put("range", range);
    }
    ctx.map(about)
}

fn describe(ctx: &mut Context, args: &mut [Value]) -> Result<Value, Halt> {
    ctx.walk_deep(&args[0])?;
    let mut about = BTreeMap::new();
    let subject = args[0].clone();
    about.insert(Value::keyword("type"), Value::text(kind(&subject)));
    let Value::Vec(items) = &subject else {
        let count = match &subject {
            Value::Map(entries) => Some(entries.entries.len()),
            Value::Set(members) => Some(members.members.len()),
            _ => None,
        };
        if let Some(count) = count {
            about.insert(Value::keyword("count"), Value::from(count));
        }
        let sample = example(&subject);
        let examples = ctx.vec(vec![sample.clone()])?;
        about.insert(Value::keyword("examples"), examples);
        about.insert(Value::keyword("sample"), sample);
        about.insert(
            Value::keyword("types"),
            kinds(ctx, std::iter::once(&subject))?,
        );
        return ctx.map(about);
    };
    let rows = items.items.len();
    about.insert(Value::keyword("count"), Value::from(rows));
    about.insert(Value::keyword("scanned"), Value::from(rows));
    about.insert(
        Value::keyword("item_types"),
        kinds(ctx, items.items.iter())?,
    );
    let mut columns: BTreeMap<&Value, Vec<&Value>> = BTreeMap::new();
    for item in &items.items {
        if let Value::Map(entries) = item {
            for (key, value) in &entries.entries {
                ctx.seek(key, columns.len())?;
                ctx.take(1)?;
                columns.entry(key).or_default().push(value);
            }
        }
    }
    if columns.is_empty() {
        let all: Vec<&Value> = items.items.iter().collect();
        let column = column(ctx, &all, rows)?;
        about.insert(Value::keyword("items"), column);
    } else {
        let keys = columns
            .iter()
            .flat_map(|(key, values)| values.iter().map(move |_| *key));
        about.insert(Value::keyword("key_types"), kinds(ctx, keys)?);
        let mut keys = BTreeMap::new();
        for (key, values) in columns {
            keys.insert(key.clone(), column(ctx, &values, rows)?);
        }
        let keys = ctx.map(keys)?;
        about.insert(Value::keyword("keys"), keys);
    }
    ctx.map(about)
}

pub(super) const NATIVES: &[Native] = &[
    pure("doc", 1, 1, doc),
    pure("source", 1, 1, source),
    pure("dir", 0, 1, |ctx, _| ctx.vec(Vec::new())),
    pure("export-meta", 1, 1, |_, _| Ok(Value::Nil)),
    pure("apropos", 1, 1, apropos),
    pure("describe", 1, 1, describe),
];
