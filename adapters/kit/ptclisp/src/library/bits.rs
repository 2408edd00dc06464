//! Functions of bits, of integers of any size.

use num_bigint::BigInt;
use num_traits::Signed;

use crate::callable::NativeFunction;
use crate::context::Context;
use crate::fault::{Halt, type_error};
use crate::library::arith::big;
use crate::library::{ANY, pure};
use crate::show;
use crate::value::Value;

fn integer(name: &str, value: &Value) -> Result<BigInt, Halt> {
    match big(value) {
        Some(n) => Ok(n),
        None => type_error(format!(
            "{name}: expected an integer, got {} {}",
            value.kind(),
            show::brief(value)
        )),
    }
}

fn all(
    ctx: &mut Context,
    name: &str,
    args: &[Value],
    combine: fn(BigInt, BigInt) -> BigInt,
) -> Result<Value, Halt> {
    let mut result = integer(name, &args[0])?;
    for arg in &args[1..] {
        ctx.walk_deep(arg)?;
        result = combine(result, integer(name, arg)?);
    }
    ctx.reserve(result.bits() as usize / 8)?;
    Ok(Value::integer(result))
}

/// The place of a bit.
fn place(name: &str, value: &Value) -> Result<BigInt, Halt> {
    let place = integer(name, value)?;
    if place.is_negative() {
        return type_error(format!(
            "{name}: shift amount must be a non-negative integer, got {place}"
        ));
    }
    Ok(place)
}

/// The place of a bit of a number that is to be made: its memory is taken first.
fn made(ctx: &mut Context, name: &str, n: &BigInt, value: &Value) -> Result<u64, Halt> {
    let place = place(name, value)?;
    let place = u64::try_from(&place).unwrap_or(u64::MAX);
    let bits = place.saturating_add(n.bits());
    ctx.reserve(usize::try_from(bits / 8).unwrap_or(usize::MAX))?;
    ctx.walk(bits / 64)?;
    Ok(place)
}

fn test(_: &mut Context, args: &mut [Value]) -> Result<Value, Halt> {
    let n = integer("bit-test", &args[0])?;
    let place = place("bit-test", &args[1])?;
    Ok(Value::Bool(match u64::try_from(&place) {
        Ok(place) if place <= n.bits() => n.bit(place),
        _ => n.is_negative(),
    }))
}

fn with_bit(
    ctx: &mut Context,
    name: &str,
    args: &[Value],
    bit: fn(bool) -> bool,
) -> Result<Value, Halt> {
    let mut n = integer(name, &args[0])?;
    let place = made(ctx, name, &n, &args[1])?;
    let value = bit(n.bit(place));
    n.set_bit(place, value);
    Ok(Value::integer(n))
}

fn left(ctx: &mut Context, args: &mut [Value]) -> Result<Value, Halt> {
    let n = integer("bit-shift-left", &args[0])?;
    let place = made(ctx, "bit-shift-left", &n, &args[1])?;
    Ok(Value::integer(n << place))
}

fn right(_: &mut Context, args: &mut [Value]) -> Result<Value, Halt> {
    let n = integer("bit-shift-right", &args[0])?;
    let place = place("bit-shift-right", &args[1])?;
    Ok(match u64::try_from(&place) {
        Ok(place) if place <= n.bits() => Value::integer(n >> place),
        _ => Value::Int(if n.is_negative() { -1 } else { 0 }),
    })
}

pub(super) const NATIVES: &[NativeFunction] = &[
    pure("bit-and", 2, ANY, |ctx, args| all(ctx, "bit-and", args, |a, b| a & b)),
    pure("bit-or", 2, ANY, |ctx, args| all(ctx, "bit-or", args, |a, b| a | b)),
    pure("bit-xor", 2, ANY, |ctx, args| all(ctx, "bit-xor", args, |a, b| a ^ b)),
    pure("bit-and-not", 2, ANY, |ctx, args| all(ctx, "bit-and-not", args, |a, b| a & !b)),
    pure("bit-not", 1, 1, |_, args| Ok(Value::integer(!integer("bit-not", &args[0])?))),
    pure("bit-set", 2, 2, |ctx, args| with_bit(ctx, "bit-set", args, |_| true)),
    pure("bit-clear", 2, 2, |ctx, args| with_bit(ctx, "bit-clear", args, |_| false)),
    pure("bit-flip", 2, 2, |ctx, args| with_bit(ctx, "bit-flip", args, |bit| !bit)),
    pure("bit-test", 2, 2, test),
    pure("bit-shift-left", 2, 2, left),
    pure("bit-shift-right", 2, 2, right),
];
