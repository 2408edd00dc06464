//! Equality and comparison as functions.

use std::cmp::Ordering;

use crate::callable::NativeFunction;
use crate::context::{Context, ValueSet};
use crate::fault::{Halt, type_error};
use crate::library::arith::is_number;
use crate::library::{ANY, pure};
use crate::order;
use crate::value::Value;

/// Compares two values as `compare` does: nil comes first, and values of two kinds have no order.
pub(crate) fn compare(a: &Value, b: &Value) -> Result<Ordering, Halt> {
    if order::is_nan(a) || order::is_nan(b) {
        return type_error("compare: unordered comparison with NaN");
    }
    if let Some(order) = order::numbers(a, b) {
        return Ok(order);
    }
    match (a, b) {
        (Value::Nil, Value::Nil) => Ok(Ordering::Equal),
        (Value::Nil, _) => Ok(Ordering::Less),
        (_, Value::Nil) => Ok(Ordering::Greater),
        // Texts are ordered by their UTF-16 units, as Java orders them.
        (Value::Str(a), Value::Str(b)) => Ok(a.encode_utf16().cmp(b.encode_utf16())),
        (Value::Bool(a), Value::Bool(b)) => Ok(a.cmp(b)),
        (Value::Kw(_), Value::Kw(_)) | (Value::Sym(_), Value::Sym(_)) => Ok(a.cmp(b)),
        (Value::Vec(a), Value::Vec(b)) => {
            let sizes = a.items.len().cmp(&b.items.len());
            if sizes != Ordering::Equal {
                return Ok(sizes);
            }
            for (a, b) in a.items.iter().zip(&b.items) {
                match compare(a, b)? {
                    Ordering::Equal => {}
                    order => return Ok(order),
                }
            }
            Ok(Ordering::Equal)
        }
        _ => type_error(format!("compare: values are not comparable: {}, {}", a.kind(), b.kind())),
    }
}

fn priced(ctx: &mut Context, args: &[Value]) -> Result<(), Halt> {
    for arg in args {
        ctx.walk_deep(arg)?;
    }
    Ok(())
}

fn equal(ctx: &mut Context, args: &mut [Value]) -> Result<Value, Halt> {
    priced(ctx, args)?;
    let pairs = args.iter().zip(&args[1..]);
    Ok(Value::Bool(pairs.into_iter().all(|(a, b)| order::equal(a, b))))
}

fn not_equal(ctx: &mut Context, args: &mut [Value]) -> Result<Value, Halt> {
    equal(ctx, args).map(|equal| Value::Bool(!equal.truthy()))
}

fn distinct(ctx: &mut Context, args: &mut [Value]) -> Result<Value, Halt> {
    priced(ctx, args)?;
    let mut seen = ValueSet::new();
    Ok(Value::Bool(args.iter().all(|arg| seen.insert(arg.clone()))))
}

/// Returns true if each number has the relation to the next.
fn ordered(name: &str, args: &[Value], holds: fn(Ordering) -> bool) -> Result<Value, Halt> {
    if args.len() > 1 && !args.iter().all(is_number) {
        let kinds: Vec<&str> = args.iter().map(Value::kind).collect();
        return type_error(format!("{name}: expected number arguments, got {}", kinds.join(", ")));
    }
    let pairs = args.iter().zip(&args[1..]);
    let all = pairs.into_iter().all(|(a, b)| {
        !order::is_nan(a) && !order::is_nan(b) && order::numbers(a, b).is_some_and(holds)
    });
    Ok(Value::Bool(all))
}

fn compared(ctx: &mut Context, args: &mut [Value]) -> Result<Value, Halt> {
    priced(ctx, args)?;
    Ok(Value::Int(match compare(&args[0], &args[1])? {
        Ordering::Less => -1,
        Ordering::Equal => 0,
        Ordering::Greater => 1,
    }))
}

pub(super) const NATIVES: &[NativeFunction] = &[
    pure("=", 1, ANY, equal),
    pure("==", 1, ANY, equal),
    pure("not=", 1, ANY, not_equal),
    pure("distinct?", 0, ANY, distinct),
    pure("<", 1, ANY, |_, args| ordered("<", args, Ordering::is_lt)),
    pure(">", 1, ANY, |_, args| ordered(">", args, Ordering::is_gt)),
    pure("<=", 1, ANY, |_, args| ordered("<=", args, Ordering::is_le)),
    pure(">=", 1, ANY, |_, args| ordered(">=", args, Ordering::is_ge)),
    pure("compare", 2, 2, compared),
];
