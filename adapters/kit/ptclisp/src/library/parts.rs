//! Functions that take collections apart and put them together: `take`, `partition`, `range`, ...

use crate::callable::{NativeFunction, endless};
use crate::context::Context;
use crate::fault::{Halt, misfit, runtime, type_error};
use crate::library::access::{integer, not_set, ordered, seq};
use crate::library::pipeline::SourceKind;
use crate::library::stages::StageKind;
use crate::library::{ANY, arith, lazy, pure, staged};
use crate::order;
use crate::value::Value;

/// A count and a collection.
fn counted(ctx: &mut Context, name: &str, args: &[Value]) -> Result<(i64, Vec<Value>), Halt> {
    let count = integer(name, 1, &args[0])?;
    Ok((count, seq(ctx, name, 2, &args[1])?))
}

/// Split position for a count from the front, or from the back if it is negative.
fn split_place(count: i64, size: usize) -> usize {
    let count = usize::try_from(count.unsigned_abs()).unwrap_or(usize::MAX);
    count.min(size)
}

fn take(ctx: &mut Context, args: &mut [Value]) -> Result<Value, Halt> {
    not_set("take", &args[1])?;
    let (count, mut items) = counted(ctx, "take", args)?;
    let place = split_place(count, items.len());
    if count < 0 {
        let back = items.len() - place;
        let kept = items.split_off(back);
        return ctx.vec(kept);
    }
    items.truncate(place);
    ctx.vec(items)
}

fn drop(ctx: &mut Context, args: &mut [Value]) -> Result<Value, Halt> {
    not_set("drop", &args[1])?;
    let (count, mut items) = counted(ctx, "drop", args)?;
    let place = split_place(count, items.len());
    if count < 0 {
        items.truncate(items.len() - place);
        return ctx.vec(items);
    }
    let kept = items.split_off(place);
    ctx.vec(kept)
}

fn take_last(ctx: &mut Context, args: &mut [Value]) -> Result<Value, Halt> {
    not_set("take-last", &args[1])?;
    let (count, mut items) = counted(ctx, "take-last", args)?;
    if items.is_empty() {
        return Ok(Value::Nil);
    }
    let place = split_place(count.max(0), items.len());
    let kept = items.split_off(items.len() - place);
    ctx.vec(kept)
}

fn drop_last(ctx: &mut Context, args: &mut [Value]) -> Result<Value, Halt> {
    not_set("drop-last", args.last().unwrap_or(&Value::Nil))?;
    let (count, mut items) = match args {
        [only] => (1, seq(ctx, "drop-last", 1, only)?),
        _ => counted(ctx, "drop-last", args)?,
    };
    let place = split_place(count.max(0), items.len());
    items.truncate(items.len() - place);
    ctx.vec(items)
}

fn nth_rest(ctx: &mut Context, name: &str, args: &[Value], or_nil: bool) -> Result<Value, Halt> {
    let count = integer(name, 2, &args[1])?;
    let mut items = seq(ctx, name, 1, &args[0])?;
    let rest = items.split_off(split_place(count.max(0), items.len()));
    if rest.is_empty() && or_nil {
        return Ok(Value::Nil);
    }
    ctx.vec(rest)
}

fn split_at(ctx: &mut Context, args: &mut [Value]) -> Result<Value, Halt> {
    let (count, mut items) = counted(ctx, "split-at", args)?;
    let rest = items.split_off(split_place(count.max(0), items.len()));
    let parts = vec![ctx.vec(items)?, ctx.vec(rest)?];
    ctx.vec(parts)
}

fn take_nth(ctx: &mut Context, args: &mut [Value]) -> Result<Value, Halt> {
    let (count, items) = counted(ctx, "take-nth", args)?;
    let step = positive("take-nth", &Value::Int(count))?;
    ctx.vec(items.into_iter().step_by(step).collect())
}

fn positive(name: &str, value: &Value) -> Result<usize, Halt> {
    match value {
        Value::Int(n) if *n > 0 => Ok(usize::try_from(*n).unwrap_or(usize::MAX)),
        other => {
            let shown = crate::show::brief(other);
            type_error(format!("{name}: n must be a positive integer, got {shown}"))
        }
    }
}

fn partition(ctx: &mut Context, name: &str, all: bool, args: &[Value]) -> Result<Value, Halt> {
    let size = positive(name, &args[0])?;
    let step = match args.len() {
        2 => size,
        _ => positive(name, &args[1])?,
    };
    let pad = match args {
        [_, _, pad, _] => match pad {
            Value::Nil => return runtime(format!("{name}: the padding is nil, not a collection")),
            other => Some(seq(ctx, name, 3, other)?),
        },
        _ => None,
    };
    let collection = args.last().cloned().unwrap_or_default();
    let items = seq(ctx, name, args.len(), &collection)?;
    let mut parts = Vec::new();
    let mut start = 0;
    while start < items.len() {
        let end = start.saturating_add(size).min(items.len());
        let mut part = items[start..end].to_vec();
        let short = part.len() < size;
        if let (true, Some(pad)) = (short, &pad) {
            part.extend(pad.iter().take(size - part.len()).cloned());
        }
        if !short || all || pad.is_some() {
            parts.push(ctx.vec(part)?);
        }
        if short && !all {
            break;
        }
        start = start.saturating_add(step);
    }
    ctx.vec(parts)
}

/// Collections whose order is their own, as columns.
fn columns(ctx: &mut Context, args: &[Value]) -> Result<Vec<Vec<Value>>, Halt> {
    for arg in args {
        match arg {
            Value::Nil | Value::Vec(_) | Value::Str(_) => {}
            value if endless(value).is_some() => {}
            _ => return misfit("interleave", args),
        }
    }
    lazy::columns(ctx, "interleave", 1, args)
}

fn interleave(ctx: &mut Context, args: &mut [Value]) -> Result<Value, Halt> {
    let columns = columns(ctx, args)?;
    let rows = columns.iter().map(Vec::len).min().unwrap_or(0);
    let mut all = Vec::new();
    for row in 0..rows {
        all.extend(columns.iter().map(|column| column[row].clone()));
    }
    ctx.vec(all)
}

fn interpose(ctx: &mut Context, args: &mut [Value]) -> Result<Value, Halt> {
    if matches!(args[1], Value::Map(_) | Value::Set(_)) {
        return misfit("interpose", args);
    }
    let items = seq(ctx, "interpose", 2, &args[1])?;
    ctx.room(2 * items.len())?;
    let mut all = Vec::with_capacity(2 * items.len());
    for (index, item) in items.into_iter().enumerate() {
        if index > 0 {
            all.push(args[0].clone());
        }
        all.push(item);
    }
    ctx.vec(all)
}

fn zip(ctx: &mut Context, args: &mut [Value]) -> Result<Value, Halt> {
    let (Some(left), Some(right)) = (args[0].as_items(), args[1].as_items()) else {
        return misfit("zip", args);
    };
    let mut all = Vec::new();
    for (a, b) in left.iter().zip(right) {
        all.push(ctx.vec(vec![a.clone(), b.clone()])?);
        ctx.room(all.len())?;
    }
    ctx.vec(all)
}

/// All choices of so many items, in the order of the collection.
fn combinations(ctx: &mut Context, args: &mut [Value]) -> Result<Value, Halt> {
    let size = integer("combinations", 2, &args[1])?;
    let items = seq(ctx, "combinations", 1, &args[0])?;
    let size = match usize::try_from(size) {
        Ok(size) if size <= items.len() => size,
        _ => return ctx.vec(Vec::new()),
    };
    ctx.room(choices(items.len(), size).saturating_mul(size + 1))?;
    let (mut all, mut places) = (Vec::new(), (0..size).collect::<Vec<usize>>());
    loop {
        ctx.spend_steps(1)?;
        let choice = places.iter().map(|place| items[*place].clone());
        all.push(ctx.vec(choice.collect())?);
        ctx.room(all.len())?;
        // The last place that can go on; those after it follow it closely.
        let last = |at: &usize| items.len() - size + at;
        let Some(at) = (0..size).rev().find(|at| places[*at] < last(at)) else {
            return ctx.vec(all);
        };
        let next = places[at] + 1;
        for (place, next) in places[at..].iter_mut().zip(next..) {
            *place = next;
        }
    }
}

/// Number of ways to choose.
fn choices(of: usize, size: usize) -> usize {
    let mut count: u128 = 1;
    for taken in 0..size.min(of - size) {
        // What was chosen before this one divides evenly.
        count = count * (of - taken) as u128 / (taken + 1) as u128;
        if count > usize::MAX as u128 {
            return usize::MAX;
        }
    }
    count as usize
}

fn flatten(ctx: &mut Context, args: &mut [Value]) -> Result<Value, Halt> {
    if !matches!(args[0], Value::Nil | Value::Vec(_)) {
        return misfit("flatten", args);
    }
    ctx.walk_deep(&args[0])?;
    ctx.room(usize::try_from(args[0].shape().weight).unwrap_or(usize::MAX))?;
    let mut flat = Vec::new();
    let mut waiting = vec![args[0].clone()];
    while let Some(value) = waiting.pop() {
        match &value {
            Value::Vec(items) => waiting.extend(items.items.iter().rev().cloned()),
            _ => flat.push(value),
        }
    }
    if matches!(args[0], Value::Nil) {
        flat.clear();
    }
    ctx.vec(flat)
}

fn distinct(ctx: &mut Context, args: &mut [Value]) -> Result<Value, Halt> {
    let items = ordered(ctx, "distinct", 1, &args[0])?;
    let mut seen = crate::context::ValueSet::new();
    let mut kept = Vec::new();
    for item in items {
        ctx.seek(&item, seen.len())?;
        if seen.insert(item.clone()) {
            kept.push(item);
        }
    }
    ctx.vec(kept)
}

fn dedupe(ctx: &mut Context, args: &mut [Value]) -> Result<Value, Halt> {
    let items = seq(ctx, "dedupe", 1, &args[0])?;
    let mut kept: Vec<Value> = Vec::new();
    for item in items {
        ctx.walk_deep(&item)?;
        if !kept.last().is_some_and(|last| order::equal(last, &item)) {
            kept.push(item);
        }
    }
    ctx.vec(kept)
}

fn range(ctx: &mut Context, args: &mut [Value]) -> Result<Value, Halt> {
    let (start, end, step) = match args {
        [end] => (Value::Int(0), end.clone(), Value::Int(1)),
        [start, end] => (start.clone(), end.clone(), Value::Int(1)),
        [start, end, step] => (start.clone(), end.clone(), step.clone()),
        _ => return misfit("range", args),
    };
    let bounds = [&start, &end, &step];
    if let [Some(start), Some(end), Some(step)] = bounds.map(Value::as_int) {
        return whole_range(ctx, start, end, step);
    }
    let numbers = bounds.iter().all(|n| matches!(n, Value::Int(_) | Value::Float(_)));
    if !numbers {
        let shown: Vec<String> = bounds.iter().map(|n| crate::show::brief(n)).collect();
        return type_error(format!(
            "range expects numeric bounds and step, got [{}]",
            shown.join(", ")
        ));
    }
    let [from, to, by] = bounds.map(arith::float);
    if by == 0.0 || !(from.is_finite() && to.is_finite() && by.is_finite()) {
        return type_error("range needs finite bounds and a step other than zero");
    }
    let size = ((to - from) / by).ceil().max(0.0);
    ctx.room(if size < 1e15 { size as usize } else { usize::MAX })?;
    let mut all = Vec::new();
    let mut next = start;
    while if by > 0.0 { arith::float(&next) < to } else { arith::float(&next) > to } {
        ctx.spend_steps(1)?;
        all.push(next.clone());
        next = arith::add(ctx, &next, &step)?;
        ctx.room(all.len())?;
    }
    ctx.vec(all)
}

fn whole_range(ctx: &mut Context, start: i64, end: i64, step: i64) -> Result<Value, Halt> {
    if step == 0 {
        if start == end {
            return ctx.vec(Vec::new());
        }
        return lazy::make(ctx, SourceKind::Repeat, vec![Value::Int(start)]);
    }
    let distance = i128::from(end) - i128::from(start);
    let step = i128::from(step);
    let size = if distance.signum() == step.signum() {
        (distance.abs() + step.abs() - 1) / step.abs()
    } else {
        0
    };
    ctx.room(usize::try_from(size).unwrap_or(usize::MAX))?;
    let mut all = Vec::new();
    let mut next = i128::from(start);
    for _ in 0..size {
        all.push(Value::Int(next as i64));
        next += step;
    }
    ctx.vec(all)
}

pub(super) const NATIVES: &[NativeFunction] = &[
    staged(StageKind::Take, pure("take", 2, 2, take)),
    staged(StageKind::Drop, pure("drop", 2, 2, drop)),
    pure("take-last", 2, 2, take_last),
    pure("drop-last", 1, 2, drop_last),
    pure("take-nth", 2, 2, take_nth),
    pure("nthrest", 2, 2, |ctx, args| nth_rest(ctx, "nthrest", args, false)),
    pure("nthnext", 2, 2, |ctx, args| nth_rest(ctx, "nthnext", args, true)),
    pure("split-at", 2, 2, split_at),
    pure("partition", 2, 4, |ctx, args| partition(ctx, "partition", false, args)),
    pure("partition-all", 2, 3, |ctx, args| partition(ctx, "partition-all", true, args)),
    pure("interleave", 0, ANY, interleave),
    pure("interpose", 2, 2, interpose),
    pure("zip", 2, 2, zip),
    pure("combinations", 2, 2, combinations),
    pure("flatten", 1, 1, flatten),
    staged(StageKind::Distinct, pure("distinct", 1, 1, distinct)),
    staged(StageKind::Dedupe, pure("dedupe", 1, 1, dedupe)),
    pure("range", 1, 3, range),
];
