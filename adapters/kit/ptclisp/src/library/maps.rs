//! Functions of maps, and of vectors by index.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::callable::NativeFunction;
use crate::context::Context;
use crate::fault::{Fault, FaultClass, Halt, misfit, runtime, type_error, unexpected};
use crate::library::access::{entry, seq};
use crate::library::{ANY, lazy, pure};
use crate::value::{Entries, Value};

fn associative(name: &str, value: &Value) -> Result<(), Halt> {
    match value {
        Value::Nil | Value::Map(_) | Value::Vec(_) => Ok(()),
        other => unexpected(name, 1, "associative", other),
    }
}

fn get(ctx: &mut Context, args: &mut [Value]) -> Result<Value, Halt> {
    associative("get", &args[0])?;
    ctx.walk_deep(&args[1])?;
    let mut found = entry(&args[0], &args[1]);
    // A vector that is no key of the map is a path in it.
    if let (None, Value::Map(_), Some([_, ..])) = (&found, &args[0], args[1].as_items()) {
        found = at_path(ctx, &args[0], &args[1])?;
    }
    Ok(found.unwrap_or_else(|| args.get(2).cloned().unwrap_or_default()))
}

fn get_in(ctx: &mut Context, args: &mut [Value]) -> Result<Value, Halt> {
    if matches!(args[0], Value::Nil) {
        return misfit("get-in", args);
    }
    associative("get-in", &args[0])?;
    let found = at_path(ctx, &args[0], &args[1])?;
    Ok(found.unwrap_or_else(|| args.get(2).cloned().unwrap_or_default()))
}

fn at_path(ctx: &mut Context, whole: &Value, path: &Value) -> Result<Option<Value>, Halt> {
    let path = seq(ctx, "get-in", 2, path)?;
    let mut value = whole.clone();
    for key in &path {
        ctx.walk_deep(key)?;
        match entry(&value, key) {
            Some(inner) => value = inner,
            None => return Ok(None),
        }
    }
    Ok(Some(value))
}

/// The entry at the path that is the first argument: what a path as a key function is.
fn path_of(ctx: &mut Context, args: &mut [Value]) -> Result<Value, Halt> {
    let mut value = args[1].clone();
    for key in args[0].as_items().unwrap_or_default() {
        ctx.walk_deep(key)?;
        value = entry(&value, key).unwrap_or_default();
    }
    Ok(value)
}

/// Path used as a key function. No program can call it by name.
pub(super) static PATH_OF: NativeFunction = pure("path", 2, 2, path_of);

/// Puts one entry into a map, or an item into a vector.
pub(super) fn assoc_one(
    ctx: &mut Context,
    whole: Value,
    key: Value,
    value: Value,
) -> Result<Value, Halt> {
    match whole {
        Value::Nil => {
            let mut entries = Arc::new(Entries::default());
            ctx.put(&mut entries, key, value)?;
            Ok(Value::Map(entries))
        }
        Value::Map(mut entries) => {
            ctx.put(&mut entries, key, value)?;
            Ok(Value::Map(entries))
        }
        Value::Vec(mut items) => {
            let size = items.items.len();
            let Some(index) = key.as_int() else {
                let kind = key.kind();
                return type_error(format!("assoc: an index is an integer, got {kind}"));
            };
            match usize::try_from(index) {
                Ok(index) if index == size => ctx.push(&mut items, value)?,
                Ok(index) if index < size => {
                    let mut shape = items.shape;
                    shape.add(value.shape());
                    ctx.fits(shape)?;
                    if Arc::get_mut(&mut items).is_none() {
                        ctx.walk(size as u64)?;
                        ctx.reserve(size * size_of::<Value>())?;
                    }
                    let items = Arc::make_mut(&mut items);
                    let gone = items.items[index].shape().weight;
                    shape.weight = shape.weight.saturating_sub(gone);
                    items.items[index] = value;
                    items.shape = shape;
                }
                _ => {
                    return runtime(format!(
                        "index {index} out of bounds for list of length {size}"
                    ));
                }
            }
            Ok(Value::Vec(items))
        }
        other => runtime(format!(
            "assoc requires a map or list and key-value pairs, got {}",
            other.kind()
        )),
    }
}

fn assoc(ctx: &mut Context, args: &mut [Value]) -> Result<Value, Halt> {
    if args.len() < 3 || args.len().is_multiple_of(2) {
        return runtime(format!(
            "assoc requires a map or list and key-value pairs, got {} args",
            args.len()
        ));
    }
    let mut whole = std::mem::take(&mut args[0]);
    for pair in args[1..].chunks_mut(2) {
        if let [key, value] = pair {
            whole = assoc_one(ctx, whole, std::mem::take(key), std::mem::take(value))?;
        }
    }
    Ok(whole)
}

/// Puts a value at the end of a path, with maps made on the way.
pub(super) fn assoc_in(
    ctx: &mut Context,
    whole: Value,
    path: &[Value],
    value: Value,
) -> Result<Value, Halt> {
    // From the outside in, what is on the way; then from the inside out, each put into the one around.
    let (last, before) = match path.split_last() {
        Some(split) => split,
        None => return assoc_one(ctx, whole, Value::Nil, value),
    };
    let mut outer = Vec::with_capacity(before.len());
    let mut current = whole;
    for key in before {
        let inner = entry(&current, key).unwrap_or_default();
        outer.push((current, key.clone()));
        current = inner;
    }
    let mut made = assoc_one(ctx, current, last.clone(), value)?;
    while let Some((whole, key)) = outer.pop() {
        made = assoc_one(ctx, whole, key, made)?;
    }
    Ok(made)
}

fn assoc_in_path(ctx: &mut Context, args: &mut [Value]) -> Result<Value, Halt> {
    let path = seq(ctx, "assoc-in", 2, &args[1])?;
    let (whole, value) = (std::mem::take(&mut args[0]), std::mem::take(&mut args[2]));
    assoc_in(ctx, whole, &path, value)
}

fn dissoc(ctx: &mut Context, args: &mut [Value]) -> Result<Value, Halt> {
    let Some(first) = args.first_mut() else {
        return misfit("dissoc", args);
    };
    let Value::Map(mut entries) = std::mem::take(first) else {
        return runtime("dissoc expected a map, got another kind of value");
    };
    if !args[1..].iter().any(|key| entries.addressed(key).is_some()) {
        return Ok(Value::Map(entries));
    }
    if Arc::get_mut(&mut entries).is_none() {
        ctx.walk(4 * entries.entries.len() as u64)?;
        ctx.reserve(entries.entries.len() * 64)?;
    }
    let inner = Arc::make_mut(&mut entries);
    for key in &args[1..] {
        ctx.walk_deep(key)?;
        inner.remove(key);
    }
    Ok(Value::Map(entries))
}

fn merge(ctx: &mut Context, args: &mut [Value]) -> Result<Value, Halt> {
    if let [only] = args
        && !matches!(only, Value::Nil)
    {
        return Ok(only.clone());
    }
    let mut all = Arc::new(Entries::default());
    let mut first = true;
    for (index, arg) in args.iter_mut().enumerate() {
        match std::mem::take(arg) {
            Value::Nil => {}
            Value::Map(entries) if first => {
                all = entries;
                first = false;
            }
            Value::Map(entries) => {
                for (key, value) in entries.entries.iter() {
                    ctx.put(&mut all, key.clone(), value.clone())?;
                }
            }
            other => return unexpected("merge", index + 1, "map", &other),
        }
    }
    Ok(Value::Map(all))
}

fn select_keys(ctx: &mut Context, args: &mut [Value]) -> Result<Value, Halt> {
    let keys = seq(ctx, "select-keys", 2, &args[1])?;
    let entries = match &args[0] {
        Value::Nil => return ctx.map(BTreeMap::new()),
        Value::Map(entries) => entries,
        other => return unexpected("select-keys", 1, "map", other),
    };
    let mut kept = BTreeMap::new();
    for key in keys {
        ctx.walk_deep(&key)?;
        if let Some((key, value)) = entries.addressed(&key) {
            kept.insert(key.clone(), value.clone());
        }
    }
    ctx.map(kept)
}

fn map_of<'a>(name: &str, value: &'a Value) -> Result<Option<&'a Arc<Entries>>, Halt> {
    match value {
        Value::Nil => Ok(None),
        Value::Map(entries) => Ok(Some(entries)),
        other => unexpected(name, 1, "map", other),
    }
}

fn keys(ctx: &mut Context, args: &mut [Value]) -> Result<Value, Halt> {
    match map_of("keys", &args[0])? {
        None => Ok(Value::Nil),
        Some(entries) => ctx.vec(entries.entries.keys().cloned().collect()),
    }
}

fn vals(ctx: &mut Context, args: &mut [Value]) -> Result<Value, Halt> {
    match map_of("vals", &args[0])? {
        None => Ok(Value::Nil),
        Some(entries) => ctx.vec(entries.entries.values().cloned().collect()),
    }
}

fn entries(ctx: &mut Context, args: &mut [Value]) -> Result<Value, Halt> {
    map_of("entries", &args[0])?;
    let items = seq(ctx, "entries", 1, &args[0])?;
    ctx.vec(items)
}

fn of_entry(name: &str, args: &[Value], part: usize) -> Result<Value, Halt> {
    match args[0].as_items() {
        Some([key, value]) => Ok(if part == 0 { key } else { value }.clone()),
        _ => misfit(name, args),
    }
}

fn find_entry(ctx: &mut Context, args: &mut [Value]) -> Result<Value, Halt> {
    ctx.walk_deep(&args[1])?;
    let found = match &args[0] {
        Value::Map(entries) => {
            entries.addressed(&args[1]).map(|(key, value)| (key.clone(), value.clone()))
        }
        whole @ (Value::Nil | Value::Vec(_)) => {
            entry(whole, &args[1]).map(|value| (args[1].clone(), value))
        }
        other => return unexpected("find", 1, "map or list", other),
    };
    match found {
        Some((key, value)) => ctx.vec(vec![key, value]),
        None => Ok(Value::Nil),
    }
}

fn contains(ctx: &mut Context, args: &mut [Value]) -> Result<Value, Halt> {
    ctx.walk_deep(&args[1])?;
    Ok(Value::Bool(match &args[0] {
        Value::Nil => false,
        Value::Map(entries) => entries.addressed(&args[1]).is_some(),
        Value::Set(members) => members.members.contains(&args[1]),
        // Of a vector: whether the value is one of its items.
        Value::Vec(items) => {
            ctx.walk(items.shape.weight)?;
            items.items.iter().any(|item| crate::order::equal(item, &args[1]))
        }
        _ => return misfit("contains?", args),
    }))
}

fn hash_map(ctx: &mut Context, args: &mut [Value]) -> Result<Value, Halt> {
    if args.len() % 2 == 1 {
        let message = format!("hash-map requires an even number of arguments, got {}", args.len());
        let fault = Fault::new(FaultClass::Arity, message);
        return Err(fault.hint("Give a value for each key.").into());
    }
    let mut entries = BTreeMap::new();
    for pair in args.chunks_mut(2) {
        if let [key, value] = pair {
            ctx.walk_deep(key)?;
            entries.insert(std::mem::take(key), std::mem::take(value));
        }
    }
    ctx.map(entries)
}

fn zipmap(ctx: &mut Context, args: &mut [Value]) -> Result<Value, Halt> {
    let mut columns = lazy::columns(ctx, "zipmap", 1, args)?;
    let (values, keys) = (columns.pop().unwrap_or_default(), columns.pop().unwrap_or_default());
    let mut entries = BTreeMap::new();
    for (key, value) in keys.into_iter().zip(values) {
        ctx.walk_deep(&key)?;
        entries.insert(key, value);
    }
    ctx.map(entries)
}

fn frequencies(ctx: &mut Context, args: &mut [Value]) -> Result<Value, Halt> {
    let items = seq(ctx, "frequencies", 1, &args[0])?;
    let mut counts: BTreeMap<Value, i64> = BTreeMap::new();
    for item in items {
        ctx.seek(&item, counts.len())?;
        *counts.entry(item).or_default() += 1;
    }
    ctx.map(counts.into_iter().map(|(item, count)| (item, Value::Int(count))).collect())
}

pub(super) const NATIVES: &[NativeFunction] = &[
    pure("get", 2, 3, get),
    pure("get-in", 2, 3, get_in),
    pure("assoc", 0, ANY, assoc),
    pure("assoc-in", 3, 3, assoc_in_path),
    pure("dissoc", 0, ANY, dissoc),
    pure("merge", 0, ANY, merge),
    pure("select-keys", 2, 2, select_keys),
    pure("keys", 1, 1, keys),
    pure("vals", 1, 1, vals),
    pure("entries", 1, 1, entries),
    pure("key", 1, 1, |_, args| of_entry("key", args, 0)),
    pure("val", 1, 1, |_, args| of_entry("val", args, 1)),
    pure("find", 2, 2, find_entry),
    pure("contains?", 2, 2, contains),
    pure("hash-map", 0, ANY, hash_map),
    pure("array-map", 0, ANY, hash_map),
    pure("zipmap", 2, 2, zipmap),
    pure("frequencies", 1, 1, frequencies),
];
