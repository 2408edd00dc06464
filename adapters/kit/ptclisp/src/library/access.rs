//! Access to values: entries by key, items in order, and values that are called as functions.

use std::sync::Arc;

use unicode_segmentation::UnicodeSegmentation;

use crate::context::Context;
use crate::fault::{Fault, FaultClass, Halt, type_error, unexpected};
use crate::show;
use crate::value::{Items, Value, ValueSize};

/// The entry of any value under a key; a value that has no entries has none.
pub(crate) fn entry(value: &Value, key: &Value) -> Option<Value> {
    match value {
        Value::Map(entries) => entries.addressed(key).map(|(_, value)| value.clone()),
        Value::Vec(items) => {
            let index = usize::try_from(key.as_int()?).ok()?;
            items.items.get(index).cloned()
        }
        Value::Set(members) => members.members.get(key).cloned(),
        _ => None,
    }
}

/// Calls a value that is no function.
pub(crate) fn call(ctx: &mut Context, callee: &Value, args: &[Value]) -> Result<Value, Halt> {
    let arity = |name: &str, class: FaultClass, count: usize| -> Result<(), Halt> {
        if (1..=count).contains(&args.len()) {
            return Ok(());
        }
        let message = format!("{name} expects 1 to {count} argument(s), got {}", args.len());
        Err(Fault::new(class, message).hint("Call it with a key, or with a collection.").into())
    };
    match callee {
        Value::Kw(_) => {
            arity("a keyword", FaultClass::InvalidKeywordCall, 2)?;
            let found = match &args[0] {
                Value::Map(entries) => entries.addressed(callee).map(|(_, value)| value.clone()),
                Value::Set(members) => members.members.get(callee).cloned(),
                _ => None,
            };
            Ok(found.unwrap_or_else(|| args.get(1).cloned().unwrap_or_default()))
        }
        Value::Map(entries) => {
            arity("a map", FaultClass::InvalidMapCall, 2)?;
            ctx.walk_deep(&args[0])?;
            let found = entries.addressed(&args[0]).map(|(_, value)| value.clone());
            Ok(found.unwrap_or_else(|| args.get(1).cloned().unwrap_or_default()))
        }
        Value::Set(members) => {
            arity("a set", FaultClass::Arity, 1)?;
            ctx.walk_deep(&args[0])?;
            Ok(members.members.get(&args[0]).cloned().unwrap_or_default())
        }
        other => Err(not_callable(other)),
    }
}

/// The fault of calling what cannot be called.
pub(crate) fn not_callable(value: &Value) -> Halt {
    let shown = show::brief(value);
    let message = format!("not callable: {shown}");
    let hint = "What stands first in parentheses is called: it must be a function, a keyword, a map or a set.";
    Fault::new(FaultClass::NotCallable, message).hint(hint).into()
}

/// The items of a value in order, if it has items: a text's are its characters, a map's its entries.
pub(crate) fn items(ctx: &mut Context, value: &Value) -> Result<Option<Vec<Value>>, Halt> {
    Ok(Some(match value {
        Value::Nil => Vec::new(),
        Value::Vec(items) => {
            ctx.walk(items.items.len() as u64)?;
            ctx.room(items.items.len())?;
            items.items.clone()
        }
        Value::Set(members) => {
            ctx.walk(members.members.len() as u64)?;
            ctx.room(members.members.len())?;
            members.members.iter().cloned().collect()
        }
        Value::Map(entries) => {
            ctx.room(entries.entries.len())?;
            let mut items = Vec::with_capacity(entries.entries.len());
            for (key, value) in entries.entries.iter() {
                items.push(ctx.vec(vec![key.clone(), value.clone()])?);
            }
            items
        }
        Value::Str(text) => {
            ctx.walk(text.len() as u64)?;
            ctx.reserve(text.len().saturating_mul(64))?;
            text.graphemes(true).map(Value::text).collect()
        }
        _ => return Ok(None),
    }))
}

/// The items of a function's argument.
pub(crate) fn seq(
    ctx: &mut Context,
    name: &str,
    place: usize,
    value: &Value,
) -> Result<Vec<Value>, Halt> {
    match items(ctx, value)? {
        Some(items) => Ok(items),
        None => unexpected(name, place, "seqable", value),
    }
}

/// Returns the items of a function's argument, without copying those of a vector.
pub(crate) fn shared_items(
    ctx: &mut Context,
    name: &str,
    place: usize,
    value: &Value,
) -> Result<Arc<Items>, Halt> {
    if let Value::Vec(items) = value {
        ctx.walk(items.items.len() as u64)?;
        return Ok(items.clone());
    }
    let items = seq(ctx, name, place, value)?;
    ctx.reserve(items.len() * size_of::<Value>())?;
    let shape = ValueSize::of(&items);
    Ok(Arc::new(Items { items, shape }))
}

/// The items of an argument that has an order of its own, which a map and a set have not.
pub(crate) fn ordered(
    ctx: &mut Context,
    name: &str,
    place: usize,
    value: &Value,
) -> Result<Vec<Value>, Halt> {
    if matches!(value, Value::Map(_)) {
        return type_error(format!(
            "{name} does not support maps (maps are unordered). Use (keys m), (vals m), or \
             (entries m) to get a sorted list"
        ));
    }
    not_set(name, value)?;
    seq(ctx, name, place, value)
}

/// Refuses a set, whose members have no order of their own.
pub(crate) fn not_set(name: &str, value: &Value) -> Result<(), Halt> {
    if !matches!(value, Value::Set(_)) {
        return Ok(());
    }
    let message = format!("{name} does not support sets (sets are unordered)");
    let fault = Fault::new(FaultClass::Type, message);
    Err(fault.hint("Take the members as a list first: (vec s), or (sort-by identity s).").into())
}

/// Checks a key function: a callable, including a single key.
pub(crate) fn check_keyfn(name: &str, place: usize, value: &Value) -> Result<(), Halt> {
    if value.is_function() || matches!(value, Value::Kw(_) | Value::Set(_)) {
        return Ok(());
    }
    unexpected(name, place, "keyfn", value)
}

/// Checks a predicate.
pub(crate) fn check_pred(value: &Value) -> Result<(), Halt> {
    if value.is_function() || matches!(value, Value::Kw(_) | Value::Set(_) | Value::Map(_)) {
        return Ok(());
    }
    type_error(format!(
        "expected predicate, got {}; use a function, a keyword, a set or a map",
        value.kind()
    ))
}

/// Checks a callable that takes several arguments.
pub(crate) fn check_callable(name: &str, place: usize, value: &Value) -> Result<(), Halt> {
    if value.is_function() || matches!(value, Value::Kw(_)) {
        return Ok(());
    }
    unexpected(name, place, "callable", value)
}

/// An argument that must be an integer.
pub(crate) fn integer(name: &str, place: usize, value: &Value) -> Result<i64, Halt> {
    match value {
        Value::Int(n) => Ok(*n),
        other => unexpected(name, place, "integer", other),
    }
}
