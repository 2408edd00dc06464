//! Functions of collections: making, counting, adding, and their ends.

use std::sync::Arc;

use unicode_segmentation::UnicodeSegmentation;

use crate::callable::NativeFunction;
use crate::context::Context;
use crate::fault::{Halt, misfit, runtime, type_error, unexpected};
use crate::library::access::{integer, ordered, seq};
use crate::library::stages::LazyUse;
use crate::library::{ANY, lazily, pure};
use crate::value::{Entries, Items, Value};

fn count(ctx: &mut Context, args: &mut [Value]) -> Result<Value, Halt> {
    Ok(Value::from(match &args[0] {
        Value::Nil => 0,
        Value::Str(text) => {
            ctx.walk(text.len() as u64)?;
            text.graphemes(true).count()
        }
        Value::Vec(items) => items.items.len(),
        Value::Map(entries) => entries.entries.len(),
        Value::Set(members) => members.members.len(),
        _ => return misfit("count", args),
    }))
}

fn is_empty(name: &str, value: &Value) -> Result<bool, Halt> {
    Ok(match value {
        Value::Nil => true,
        Value::Str(text) => text.is_empty(),
        Value::Vec(items) => items.items.is_empty(),
        Value::Map(entries) => entries.entries.is_empty(),
        Value::Set(members) => members.members.is_empty(),
        other => return misfit(name, std::slice::from_ref(other)),
    })
}

fn not_empty(_: &mut Context, args: &mut [Value]) -> Result<Value, Halt> {
    Ok(match is_empty("not-empty", &args[0])? {
        true => Value::Nil,
        false => args[0].clone(),
    })
}

fn empty(ctx: &mut Context, args: &mut [Value]) -> Result<Value, Halt> {
    match &args[0] {
        Value::Nil => Ok(Value::Nil),
        Value::Str(_) => Ok(Value::text("")),
        Value::Vec(_) => ctx.vec(Vec::new()),
        Value::Map(_) | Value::Kw(_) => Ok(Value::Map(Arc::default())),
        Value::Set(_) => Ok(Value::Set(Arc::default())),
        other => unexpected("empty", 1, "seqable", other),
    }
}

fn vec(ctx: &mut Context, args: &mut [Value]) -> Result<Value, Halt> {
    if matches!(args[0], Value::Nil | Value::Vec(_)) {
        return Ok(args[0].clone());
    }
    let items = seq(ctx, "vec", 1, &args[0])?;
    ctx.vec(items)
}

fn to_seq(ctx: &mut Context, args: &mut [Value]) -> Result<Value, Halt> {
    if let Value::Vec(known) = &args[0]
        && !known.items.is_empty()
    {
        return Ok(args[0].clone());
    }
    let items = seq(ctx, "seq", 1, &args[0])?;
    if items.is_empty() {
        return Ok(Value::Nil);
    }
    ctx.vec(items)
}

pub(super) fn conj(ctx: &mut Context, args: &mut [Value]) -> Result<Value, Halt> {
    let Some((whole, added)) = args.split_first_mut() else {
        return ctx.vec(Vec::new());
    };
    match std::mem::take(whole) {
        Value::Nil if added.is_empty() => Ok(Value::Nil),
        Value::Nil => ctx.vec(added.to_vec()),
        Value::Vec(mut items) => {
            for value in added {
                ctx.push(&mut items, std::mem::take(value))?;
            }
            Ok(Value::Vec(items))
        }
        Value::Set(mut members) => {
            for value in added {
                ctx.add(&mut members, std::mem::take(value))?;
            }
            Ok(Value::Set(members))
        }
        Value::Map(mut entries) => {
            for value in added {
                conj_entry(ctx, &mut entries, value)?;
            }
            Ok(Value::Map(entries))
        }
        other => runtime(format!("conj: arg 1 expected collection, got {}", other.kind())),
    }
}

fn conj_entry(ctx: &mut Context, into: &mut Arc<Entries>, value: &Value) -> Result<(), Halt> {
    if let Some([key, value]) = value.as_items() {
        return ctx.put(into, key.clone(), value.clone());
    }
    runtime(format!(
        "a map takes entries as [key value], got {}; use merge for a map",
        value.kind()
    ))
}

pub(super) fn into(ctx: &mut Context, args: &mut [Value]) -> Result<Value, Halt> {
    if matches!(args[0], Value::Nil | Value::Str(_)) {
        return misfit("into", args);
    }
    if matches!(args[1], Value::Str(_)) {
        return runtime("into: a string is not a collection; use (seq text) for a text");
    }
    let added = seq(ctx, "into", 2, &args[1])?;
    let mut all = vec![std::mem::take(&mut args[0])];
    all.extend(added);
    conj(ctx, &mut all)
}

fn cons(ctx: &mut Context, args: &mut [Value]) -> Result<Value, Halt> {
    let rest = seq(ctx, "cons", 2, &args[1])?;
    let mut all = Vec::with_capacity(rest.len() + 1);
    all.push(args[0].clone());
    all.extend(rest);
    ctx.vec(all)
}

fn concat(ctx: &mut Context, args: &mut [Value]) -> Result<Value, Halt> {
    let mut all = Vec::new();
    for arg in args.iter() {
        if let Value::Str(text) = arg {
            return type_error(format!("concat expected collections, got string {text:?}"));
        }
        all.extend(seq(ctx, "concat", 1, arg)?);
        ctx.room(all.len())?;
    }
    ctx.vec(all)
}

/// The item at a place, without the others being copied where that can be.
fn at(ctx: &mut Context, name: &str, value: &Value, index: usize) -> Result<Option<Value>, Halt> {
    match value {
        Value::Vec(items) => Ok(items.items.get(index).cloned()),
        Value::Str(text) => {
            ctx.walk(index as u64)?;
            Ok(text.graphemes(true).nth(index).map(Value::text))
        }
        other => Ok(ordered(ctx, name, 1, other)?.get(index).cloned()),
    }
}

fn item(ctx: &mut Context, name: &str, args: &[Value], index: usize) -> Result<Value, Halt> {
    Ok(at(ctx, name, &args[0], index)?.unwrap_or_default())
}

fn nth(ctx: &mut Context, args: &mut [Value]) -> Result<Value, Halt> {
    let index = integer("nth", 2, &args[1])?;
    let found = match usize::try_from(index) {
        Ok(index) => at(ctx, "nth", &args[0], index)?,
        Err(_) => None,
    };
    Ok(found.unwrap_or_else(|| args.get(2).cloned().unwrap_or_default()))
}

fn last(ctx: &mut Context, args: &mut [Value]) -> Result<Value, Halt> {
    if let Value::Vec(items) = &args[0] {
        return Ok(items.items.last().cloned().unwrap_or_default());
    }
    Ok(ordered(ctx, "last", 1, &args[0])?.pop().unwrap_or_default())
}

/// The items from one on; `next` has nothing where there are none.
fn from(
    ctx: &mut Context,
    name: &str,
    value: &Value,
    skipped: usize,
    or_nil: bool,
) -> Result<Value, Halt> {
    let mut items = ordered(ctx, name, 1, value)?;
    let rest = items.split_off(skipped.min(items.len()));
    if rest.is_empty() && or_nil {
        return Ok(Value::Nil);
    }
    ctx.vec(rest)
}

fn butlast(ctx: &mut Context, args: &mut [Value]) -> Result<Value, Halt> {
    let mut items = ordered(ctx, "butlast", 1, &args[0])?;
    items.pop();
    if items.is_empty() {
        return Ok(Value::Nil);
    }
    ctx.vec(items)
}

/// The functions with two letters for two steps take a list.
fn list(name: &str, args: &[Value]) -> Result<(), Halt> {
    match &args[0] {
        Value::Nil | Value::Vec(_) => Ok(()),
        _ => misfit(name, args),
    }
}

fn first_of_first(ctx: &mut Context, args: &mut [Value]) -> Result<Value, Halt> {
    list("ffirst", args)?;
    let first = item(ctx, "ffirst", args, 0)?;
    item(ctx, "ffirst", &[first], 0)
}

fn next_of_first(ctx: &mut Context, args: &mut [Value]) -> Result<Value, Halt> {
    list("nfirst", args)?;
    let first = item(ctx, "nfirst", args, 0)?;
    from(ctx, "nfirst", &first, 1, true)
}

fn peek(_: &mut Context, args: &mut [Value]) -> Result<Value, Halt> {
    match &args[0] {
        Value::Nil => Ok(Value::Nil),
        Value::Vec(items) => Ok(items.items.last().cloned().unwrap_or_default()),
        _ => misfit("peek", args),
    }
}

fn pop(ctx: &mut Context, args: &mut [Value]) -> Result<Value, Halt> {
    match std::mem::take(&mut args[0]) {
        Value::Nil => Ok(Value::Nil),
        Value::Vec(items) if items.items.is_empty() => Ok(Value::Nil),
        Value::Vec(mut items) => {
            if Arc::get_mut(&mut items).is_none() {
                ctx.walk(items.items.len() as u64)?;
                ctx.reserve(items.items.len() * size_of::<Value>())?;
            }
            let inner: &mut Items = Arc::make_mut(&mut items);
            if let Some(gone) = inner.items.pop() {
                let weight = gone.shape().weight;
                inner.shape.weight = inner.shape.weight.saturating_sub(weight);
            }
            Ok(Value::Vec(items))
        }
        other => misfit("pop", &[other]),
    }
}

fn reverse(ctx: &mut Context, args: &mut [Value]) -> Result<Value, Halt> {
    let mut items = ordered(ctx, "reverse", 1, &args[0])?;
    items.reverse();
    ctx.vec(items)
}

fn subvec(ctx: &mut Context, args: &mut [Value]) -> Result<Value, Halt> {
    let Value::Vec(items) = &args[0] else {
        return misfit("subvec", args);
    };
    let size = items.items.len();
    let (Some(start), Some(end)) =
        (args[1].as_int(), args.get(2).map_or(Some(size as i64), Value::as_int))
    else {
        return misfit("subvec", args);
    };
    let start = start.clamp(0, size as i64) as usize;
    let end = end.clamp(0, size as i64) as usize;
    let part = items.items.get(start..end.max(start)).unwrap_or_default();
    let part = part.to_vec();
    ctx.vec(part)
}

pub(super) const NATIVES: &[NativeFunction] = &[
    pure("count", 1, 1, count),
    pure("empty?", 1, 1, |_, args| is_empty("empty?", &args[0]).map(Value::Bool)),
    pure("not-empty", 1, 1, not_empty),
    pure("empty", 1, 1, empty),
    pure("vec", 1, 1, vec),
    pure("vector", 0, ANY, |ctx, args| ctx.vec(args.to_vec())),
    pure("list", 0, ANY, |ctx, args| ctx.vec(args.to_vec())),
    pure("seq", 1, 1, to_seq),
    pure("conj", 0, ANY, conj),
    pure("cons", 2, 2, cons),
    pure("concat", 0, ANY, concat),
    lazily(LazyUse::Item(0), pure("first", 1, 1, |ctx, args| item(ctx, "first", args, 0))),
    lazily(LazyUse::Item(1), pure("second", 1, 1, |ctx, args| item(ctx, "second", args, 1))),
    pure("fnext", 1, 1, |ctx, args| {
        list("fnext", args)?;
        item(ctx, "fnext", args, 1)
    }),
    pure("ffirst", 1, 1, first_of_first),
    pure("nfirst", 1, 1, next_of_first),
    lazily(LazyUse::Nth, pure("nth", 2, 3, nth)),
    pure("last", 1, 1, last),
    pure("rest", 1, 1, |ctx, args| from(ctx, "rest", &args[0], 1, false)),
    pure("next", 1, 1, |ctx, args| from(ctx, "next", &args[0], 1, true)),
    pure("nnext", 1, 1, |ctx, args| {
        list("nnext", args)?;
        from(ctx, "nnext", &args[0], 2, true)
    }),
    pure("butlast", 1, 1, butlast),
    pure("peek", 1, 1, peek),
    pure("pop", 1, 1, pop),
    pure("reverse", 1, 1, reverse),
    pure("subvec", 2, 3, subvec),
];
