//! Functions that work on sets.

use std::sync::Arc;

use crate::callable::NativeFunction;
use crate::context::{Context, ValueSet};
use crate::fault::{Halt, misfit, runtime};
use crate::library::access::items;
use crate::library::{ANY, pure};
use crate::value::{Members, Value};

fn set(ctx: &mut Context, args: &mut [Value]) -> Result<Value, Halt> {
    if let Value::Set(_) = &args[0] {
        return Ok(args[0].clone());
    }
    match &args[0] {
        Value::Vec(_) => {
            let members = items(ctx, &args[0])?.unwrap_or_default();
            ctx.set_of(members)
        }
        _ => misfit("set", args),
    }
}

fn disj(ctx: &mut Context, args: &mut [Value]) -> Result<Value, Halt> {
    match &args[0] {
        Value::Nil => Ok(Value::Nil),
        Value::Set(members) => {
            ctx.walk(members.members.len() as u64)?;
            let mut left: ValueSet = members.iter().cloned().collect();
            for gone in &args[1..] {
                ctx.walk_deep(gone)?;
                left.remove(gone);
            }
            ctx.set(left)
        }
        other => runtime(format!("disj: expected set, got {}", other.kind())),
    }
}

/// All arguments as sets: nothing else will do.
fn all(args: &[Value]) -> Result<Vec<&Arc<Members>>, Halt> {
    args.iter()
        .map(|arg| match arg {
            Value::Set(members) => Ok(members),
            other => runtime(format!("a set function was given {}; use (set coll)", other.kind())),
        })
        .collect()
}

fn combined(
    ctx: &mut Context,
    args: &mut [Value],
    combine: fn(&mut ValueSet, &Members),
) -> Result<Value, Halt> {
    let sets = all(args)?;
    let Some((first, others)) = sets.split_first() else {
        return ctx.set(ValueSet::new());
    };
    let mut result: ValueSet = first.iter().cloned().collect();
    for other in others {
        let weight = first.shape.weight.saturating_add(other.shape.weight);
        ctx.walk(weight)?;
        combine(&mut result, other);
        ctx.room(result.len())?;
    }
    ctx.set(result)
}

pub(super) const NATIVES: &[NativeFunction] = &[
    pure("set", 1, 1, set),
    pure("hash-set", 0, ANY, |ctx, args| ctx.set_of(args.to_vec())),
    pure("disj", 1, ANY, disj),
    pure("union", 0, ANY, |ctx, args| combined(ctx, args, |a, b| a.extend(b.iter().cloned()))),
    pure("intersection", 1, ANY, |ctx, args| {
        combined(ctx, args, |a, b| a.retain(|member| b.members.contains(member)))
    }),
    pure("difference", 1, ANY, |ctx, args| {
        combined(ctx, args, |a, b| a.retain(|member| !b.members.contains(member)))
    }),
];
