//! Rounding, powers and conversions of numbers.

use num_bigint::BigInt;
use num_traits::{FromPrimitive, Signed};

use crate::callable::NativeFunction;
use crate::context::Context;
use crate::fault::{Fault, FaultClass, Halt, misfit};
use crate::library::arith::{float, is_number};
use crate::library::pure;
use crate::show;
use crate::value::Value;

/// A float rounded to an integer; infinities and not-a-number stay what they are.
fn rounded(name: &str, args: &[Value], round: fn(f64) -> f64) -> Result<Value, Halt> {
    match &args[0] {
        Value::Int(_) | Value::Big(_) => Ok(args[0].clone()),
        Value::Float(n) => match BigInt::from_f64(round(*n)) {
            Some(whole) => Ok(Value::integer(whole)),
            None => Ok(args[0].clone()),
        },
        _ => misfit(name, args),
    }
}

fn int(_: &mut Context, args: &mut [Value]) -> Result<Value, Halt> {
    match &args[0] {
        Value::Float(n) if n.is_nan() => Ok(Value::Int(0)),
        Value::Str(text) if text.chars().count() == 1 => {
            let point = text.chars().next().map_or(0, u32::from);
            Ok(Value::Int(i64::from(point)))
        }
        Value::Float(n) if n.is_infinite() => too_large(&args[0]),
        _ => {
            let whole = rounded("int", args, f64::trunc)?;
            match whole.as_int().map(i32::try_from) {
                Some(Ok(_)) => Ok(whole),
                _ => too_large(&whole),
            }
        }
    }
}

/// `int` gives integers of 32 bits.
fn too_large(value: &Value) -> Result<Value, Halt> {
    let message = format!("int: {} is out of range", show::brief(value));
    let fault = Fault::new(FaultClass::Arithmetic, message);
    Err(fault.hint("Use trunc, floor or round for a large number.").into())
}

fn long(_: &mut Context, args: &mut [Value]) -> Result<Value, Halt> {
    match &args[0] {
        Value::Float(n) if n.is_nan() => Ok(Value::Int(0)),
        Value::Float(n) if n.is_infinite() => {
            Ok(Value::Int(if *n > 0.0 { i64::MAX } else { i64::MIN }))
        }
        _ => rounded("long", args, f64::trunc),
    }
}

fn to_float(name: &str, args: &[Value]) -> Result<Value, Halt> {
    if !is_number(&args[0]) {
        return misfit(name, args);
    }
    Ok(Value::Float(float(&args[0])))
}

fn of_float(name: &str, args: &[Value], apply: fn(f64) -> f64) -> Result<Value, Halt> {
    if !is_number(&args[0]) {
        return misfit(name, args);
    }
    Ok(Value::Float(apply(float(&args[0]))))
}

fn abs(_: &mut Context, args: &mut [Value]) -> Result<Value, Halt> {
    match &args[0] {
        Value::Int(n) => {
            Ok(n.checked_abs().map_or_else(|| Value::integer(BigInt::from(*n).abs()), Value::Int))
        }
        Value::Big(n) => Ok(Value::integer(n.abs())),
        Value::Float(n) => Ok(Value::Float(n.abs())),
        _ => misfit("abs", args),
    }
}

/// A power, always a float; where one of the sides is not-a-number or an infinity, as Java has it.
fn pow(_: &mut Context, args: &mut [Value]) -> Result<Value, Halt> {
    if !args.iter().all(is_number) {
        return misfit("pow", args);
    }
    let (base, exponent) = (float(&args[0]), float(&args[1]));
    let undefined = exponent.is_nan() || (base.abs() == 1.0 && exponent.is_infinite());
    Ok(Value::Float(if undefined { f64::NAN } else { base.powf(exponent) }))
}

pub(super) const NATIVES: &[NativeFunction] = &[
    pure("floor", 1, 1, |_, args| rounded("floor", args, f64::floor)),
    pure("ceil", 1, 1, |_, args| rounded("ceil", args, f64::ceil)),
    pure("round", 1, 1, |_, args| rounded("round", args, f64::round)),
    pure("trunc", 1, 1, |_, args| rounded("trunc", args, f64::trunc)),
    pure("int", 1, 1, int),
    pure("long", 1, 1, long),
    pure("float", 1, 1, |_, args| to_float("float", args)),
    pure("double", 1, 1, |_, args| to_float("double", args)),
    pure("sqrt", 1, 1, |_, args| of_float("sqrt", args, f64::sqrt)),
    pure("abs", 1, 1, abs),
    pure("pow", 2, 2, pow),
];
