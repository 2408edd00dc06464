//! Results of functions that call another function for each item.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use crate::callable::NativeFunction;
use crate::context::{Context, ValueSet};
use crate::fault::{Fault, FaultClass, Halt, misfit, runtime, type_error};
use crate::library::access::seq;
use crate::library::arith::{add, divide, is_number};
use crate::library::compare::compare;
use crate::library::each::{Each, EachKind};
use crate::library::{pure, sort};
use crate::order;
use crate::value::Value;

/// Puts the results together; `decided`: the last result decided the whole.
pub(super) fn finish(ctx: &mut Context, each: &mut Each, decided: bool) -> Result<Value, Halt> {
    let results = std::mem::take(&mut each.results);
    let items = each.items();
    ctx.walk(items.len() as u64)?;
    match each.kind {
        EachKind::Run => Ok(Value::Nil),
        EachKind::Map => ctx.vec(results),
        EachKind::Keep => {
            let kept = results.into_iter().filter(|result| !matches!(result, Value::Nil));
            ctx.vec(kept.collect())
        }
        EachKind::Filter | EachKind::Remove => {
            let wanted = matches!(each.kind, EachKind::Filter);
            let kept = chosen(items, &results, wanted);
            ctx.vec(kept)
        }
        EachKind::Mapcat => {
            let mut all = Vec::new();
            for result in &results {
                match result {
                    Value::Str(text) => {
                        return runtime(format!("mapcat: {text:?} is a string, not a collection"));
                    }
                    Value::Vec(_) | Value::Set(_) | Value::Map(_) => {
                        all.extend(seq(ctx, "mapcat", 1, result)?);
                    }
                    Value::Nil if matches!(each.function, Value::Kw(_)) => {}
                    // What a key gives may be a single thing; it stands for itself.
                    single if matches!(each.function, Value::Kw(_)) => all.push(single.clone()),
                    other => {
                        let kind = other.kind();
                        return runtime(format!(
                            "mapcat: a function gave {kind}, not a collection"
                        ));
                    }
                }
                ctx.room(all.len())?;
            }
            ctx.vec(all)
        }
        EachKind::Some => match results.into_iter().last() {
            Some(result) if decided => Ok(result),
            // What is false of the last item is not told from what is nil.
            _ => Ok(Value::Nil),
        },
        EachKind::Every | EachKind::NotAny => Ok(Value::Bool(!decided)),
        EachKind::NotEvery => Ok(Value::Bool(decided)),
        EachKind::TakeWhile | EachKind::DropWhile | EachKind::SplitWith => {
            let held = results.len() - usize::from(decided);
            let (first, rest) = items.split_at(held.min(items.len()));
            let (first, rest) = (first.to_vec(), rest.to_vec());
            match each.kind {
                EachKind::TakeWhile => ctx.vec(first),
                EachKind::DropWhile => ctx.vec(rest),
                _ => {
                    let parts = vec![ctx.vec(first)?, ctx.vec(rest)?];
                    ctx.vec(parts)
                }
            }
        }
        EachKind::GroupBy => {
            let mut groups: BTreeMap<Value, Vec<Value>> = BTreeMap::new();
            for (item, key) in items.iter().zip(results) {
                ctx.seek(&key, groups.len())?;
                groups.entry(key).or_default().push(item.clone());
            }
            let mut entries = BTreeMap::new();
            for (key, group) in groups {
                entries.insert(key, ctx.vec(group)?);
            }
            ctx.map(entries)
        }
        EachKind::PartitionBy => {
            let mut parts: Vec<Vec<Value>> = Vec::new();
            let mut last: Option<Value> = None;
            for (item, key) in items.iter().zip(results) {
                ctx.walk_deep(&key)?;
                match parts.last_mut() {
                    Some(part) if last.as_ref().is_some_and(|last| order::equal(last, &key)) => {
                        part.push(item.clone());
                    }
                    _ => parts.push(vec![item.clone()]),
                }
                last = Some(key);
            }
            let mut all = Vec::new();
            for part in parts {
                all.push(ctx.vec(part)?);
            }
            ctx.vec(all)
        }
        EachKind::DistinctBy => {
            let mut seen = ValueSet::new();
            let mut kept = Vec::new();
            for (item, key) in items.iter().zip(results) {
                ctx.seek(&key, seen.len())?;
                if seen.insert(key) {
                    kept.push(item.clone());
                }
            }
            ctx.vec(kept)
        }
        EachKind::SortBy => {
            let pairs: Vec<(Value, Value)> =
                results.into_iter().zip(items.iter().cloned()).collect();
            let sorted = sort::by_keys(ctx, pairs)?;
            ctx.vec(sorted)
        }
        EachKind::MostKey(largest) => most_key(items, &results, largest),
        EachKind::MostBy(largest) => most_by(ctx, items, &results, largest),
        EachKind::SumBy => sum(ctx, &results),
        EachKind::AvgBy => average(ctx, &results),
        EachKind::UpdateVals | EachKind::UpdateKeys => {
            let values = matches!(each.kind, EachKind::UpdateVals);
            let mut entries = BTreeMap::new();
            for (entry, result) in items.iter().zip(results) {
                let [key, value] = entry.as_items().unwrap_or_default() else {
                    continue;
                };
                ctx.walk_deep(&result)?;
                if values {
                    entries.insert(key.clone(), result);
                } else {
                    entries.insert(result, value.clone());
                }
            }
            ctx.map(entries)
        }
    }
}

fn chosen(items: &[Value], results: &[Value], wanted: bool) -> Vec<Value> {
    let pairs = items.iter().zip(results);
    let kept = pairs.filter(|(_, result)| result.truthy() == wanted);
    kept.map(|(item, _)| item.clone()).collect()
}

/// The item with the largest or smallest number; of equals the first.
fn most_key(items: &[Value], keys: &[Value], largest: bool) -> Result<Value, Halt> {
    let mut best: Option<(usize, &Value)> = None;
    for (index, key) in keys.iter().enumerate() {
        let Some((_, least)) = best else {
            best = Some((index, key));
            continue;
        };
        let Some(order) = order::numbers(key, least) else {
            return type_error(format!(
                ">=: expected number arguments, got {}, {}",
                least.kind(),
                key.kind()
            ));
        };
        let better = if largest { order == Ordering::Greater } else { order == Ordering::Less };
        if better {
            best = Some((index, key));
        }
    }
    let found = best.and_then(|(index, _)| items.get(index).cloned());
    Ok(found.unwrap_or_default())
}

/// The first item with the largest or smallest key; an item without one is left out.
fn most_by(
    ctx: &mut Context,
    items: &[Value],
    keys: &[Value],
    largest: bool,
) -> Result<Value, Halt> {
    let mut best: Option<(usize, &Value)> = None;
    for (index, key) in keys.iter().enumerate() {
        if matches!(key, Value::Nil) {
            continue;
        }
        ctx.walk_deep(key)?;
        let better = match best {
            None => true,
            Some((_, known)) => {
                let wanted = if largest { Ordering::Greater } else { Ordering::Less };
                compare(key, known)? == wanted
            }
        };
        if better {
            best = Some((index, key));
        }
    }
    let found = best.and_then(|(index, _)| items.get(index).cloned());
    Ok(found.unwrap_or_default())
}

/// The sum of numbers; nil is left out.
fn sum(ctx: &mut Context, values: &[Value]) -> Result<Value, Halt> {
    let mut total = Value::Int(0);
    for value in values {
        match value {
            Value::Nil => {}
            number if is_number(number) => total = add(ctx, &total, number)?,
            other => {
                let message = format!("a sum of numbers has a {} in it", other.kind());
                return Err(Fault::new(FaultClass::Arithmetic, message).into());
            }
        }
    }
    Ok(total)
}

/// The average of numbers, a float; nil is left out, and nothing has no average.
fn average(ctx: &mut Context, values: &[Value]) -> Result<Value, Halt> {
    let count = values.iter().filter(|value| !matches!(value, Value::Nil)).count();
    if count == 0 {
        return Ok(Value::Nil);
    }
    let total = sum(ctx, values)?;
    divide(&total, &Value::from(count))
}

/// The items of a list; another collection is none.
fn listed(ctx: &mut Context, name: &str, args: &[Value]) -> Result<Vec<Value>, Halt> {
    match &args[0] {
        Value::Nil | Value::Vec(_) => seq(ctx, name, 1, &args[0]),
        _ => misfit(name, args),
    }
}

pub(super) const NATIVES: &[NativeFunction] = &[
    pure("sum", 1, 1, |ctx, args| {
        let items = listed(ctx, "sum", args)?;
        sum(ctx, &items)
    }),
    pure("avg", 1, 1, |ctx, args| {
        let items = listed(ctx, "avg", args)?;
        average(ctx, &items)
    }),
];
