//! Arithmetic: integers of any size, floats, and what becomes of the two together.

use num_bigint::BigInt;
use num_traits::{Signed, ToPrimitive, Zero};

use crate::callable::NativeFunction;
use crate::context::Context;
use crate::fault::{Fault, FaultClass, Halt, misfit, type_error};
use crate::library::{ANY, pure};
use crate::value::Value;

/// The number as a float; what is no number is not one here either.
pub(super) fn float(value: &Value) -> f64 {
    match value {
        Value::Int(n) => *n as f64,
        Value::Big(n) => n.to_f64().unwrap_or(f64::INFINITY),
        Value::Float(n) => *n,
        _ => f64::NAN,
    }
}

pub(super) fn is_number(value: &Value) -> bool {
    matches!(value, Value::Int(_) | Value::Big(_) | Value::Float(_))
}

/// The integer in its large form.
pub(super) fn big(value: &Value) -> Option<BigInt> {
    match value {
        Value::Int(n) => Some(BigInt::from(*n)),
        Value::Big(n) => Some((**n).clone()),
        _ => None,
    }
}

/// Takes what an operation on two large integers costs, before it is done.
fn price(ctx: &mut Context, a: &BigInt, b: &BigInt, product: bool) -> Result<(), Halt> {
    let (a, b) = (a.bits() / 64 + 1, b.bits() / 64 + 1);
    let words = if product { a.saturating_mul(b) } else { a.max(b) };
    ctx.walk(words)?;
    ctx.reserve(usize::try_from(8 * (a + b)).unwrap_or(usize::MAX))
}

/// One operation of arithmetic.
struct Operation {
    name: &'static str,
    small: fn(i64, i64) -> Option<i64>,
    large: fn(&BigInt, &BigInt) -> BigInt,
    float: fn(f64, f64) -> f64,
    product: bool,
}

const ADD: Operation = Operation {
    name: "+",
    small: i64::checked_add,
    large: |a, b| a + b,
    float: |a, b| a + b,
    product: false,
};
const SUBTRACT: Operation = Operation {
    name: "-",
    small: i64::checked_sub,
    large: |a, b| a - b,
    float: |a, b| a - b,
    product: false,
};
const MULTIPLY: Operation = Operation {
    name: "*",
    small: i64::checked_mul,
    large: |a, b| a * b,
    float: |a, b| a * b,
    product: true,
};

fn operate(ctx: &mut Context, op: &Operation, a: &Value, b: &Value) -> Result<Value, Halt> {
    if let (Value::Int(a), Value::Int(b)) = (a, b)
        && let Some(n) = (op.small)(*a, *b)
    {
        return Ok(Value::Int(n));
    }
    if let (Some(a), Some(b)) = (big(a), big(b)) {
        price(ctx, &a, &b, op.product)?;
        return Ok(Value::integer((op.large)(&a, &b)));
    }
    if is_number(a) && is_number(b) {
        return Ok(Value::Float((op.float)(float(a), float(b))));
    }
    let args = [a.clone(), b.clone()];
    misfit(op.name, &args)
}

/// The sum of two numbers.
pub(super) fn add(ctx: &mut Context, a: &Value, b: &Value) -> Result<Value, Halt> {
    operate(ctx, &ADD, a, b)
}

fn number(value: &Value) -> Result<Value, Halt> {
    if is_number(value) {
        return Ok(value.clone());
    }
    type_error(format!("expected number, got {}", value.kind()))
}

fn all(ctx: &mut Context, op: &Operation, start: i64, args: &[Value]) -> Result<Value, Halt> {
    match args {
        [] => Ok(Value::Int(start)),
        [only] => number(only),
        [a, b] => operate(ctx, op, a, b),
        [first, rest @ ..] => {
            let mut total = first.clone();
            for value in rest {
                total = operate(ctx, op, &total, value)?;
            }
            Ok(total)
        }
    }
}

fn subtract(ctx: &mut Context, args: &mut [Value]) -> Result<Value, Halt> {
    if let [only] = args {
        return match only {
            Value::Float(n) => Ok(Value::Float(-*n)),
            other => operate(ctx, &SUBTRACT, &Value::Int(0), other),
        };
    }
    all(ctx, &SUBTRACT, 0, args)
}

/// The fault of a division by zero.
pub(super) fn by_zero<T>() -> Result<T, Halt> {
    let fault = Fault::new(FaultClass::Arithmetic, "division by zero");
    Err(fault.hint("Check the divisor with zero? first.").into())
}

/// A quotient, always a float.
pub(super) fn divide(a: &Value, b: &Value) -> Result<Value, Halt> {
    if !is_number(a) || !is_number(b) {
        let args = [a.clone(), b.clone()];
        return misfit("/", &args);
    }
    let whole = !matches!(a, Value::Float(_)) && !matches!(b, Value::Float(_));
    if whole && big(b).is_some_and(|b| b.is_zero()) {
        return by_zero();
    }
    Ok(Value::Float(float(a) / float(b)))
}

fn divide_all(_: &mut Context, args: &mut [Value]) -> Result<Value, Halt> {
    match args {
        [only] => divide(&Value::Int(1), only),
        [first, rest @ ..] => {
            let mut total = first.clone();
            for value in rest {
                total = divide(&total, value)?;
            }
            Ok(total)
        }
        [] => Ok(Value::Int(1)),
    }
}

/// Requested result of a division with a remainder.
#[derive(Clone, Copy, PartialEq, Eq)]
enum DivisionPart {
    Quotient,
    Remainder,
    Modulus,
}

fn part(ctx: &mut Context, name: &str, which: DivisionPart, args: &[Value]) -> Result<Value, Halt> {
    let (a, b) = (&args[0], &args[1]);
    if !is_number(a) || !is_number(b) {
        return misfit(name, args);
    }
    if let (Some(a), Some(b)) = (big(a), big(b)) {
        if b.is_zero() {
            return by_zero();
        }
        price(ctx, &a, &b, true)?;
        let remainder = &a % &b;
        return Ok(Value::integer(match which {
            DivisionPart::Quotient => a / b,
            DivisionPart::Remainder => remainder,
            DivisionPart::Modulus
                if !remainder.is_zero() && remainder.is_negative() != b.is_negative() =>
            {
                remainder + b
            }
            DivisionPart::Modulus => remainder,
        }));
    }
    let (a, b) = (float(a), float(b));
    if b == 0.0 {
        return by_zero();
    }
    Ok(match which {
        DivisionPart::Quotient if b.is_infinite() => Value::Float(f64::NAN),
        DivisionPart::Quotient => whole((a / b).trunc()),
        DivisionPart::Remainder => Value::Float(a % b),
        DivisionPart::Modulus if b.is_infinite() || a.is_infinite() => Value::Float(f64::NAN),
        DivisionPart::Modulus => Value::Float(a - b * (a / b).floor()),
    })
}

/// A float without a fraction as an integer; what has no integer stays, infinity as not-a-number.
fn whole(float: f64) -> Value {
    match num_traits::FromPrimitive::from_f64(float) {
        Some::<BigInt>(n) => Value::integer(n),
        None => Value::Float(f64::NAN),
    }
}

fn most(name: &str, args: &[Value], wanted: std::cmp::Ordering) -> Result<Value, Halt> {
    let mut best = &args[0];
    if args.iter().any(|arg| !is_number(arg)) {
        let kinds: Vec<&str> = args.iter().map(Value::kind).collect();
        return type_error(format!("{name}: expected number arguments, got {}", kinds.join(", ")));
    }
    for value in args {
        if crate::order::is_nan(value) {
            return Ok(value.clone());
        }
        if crate::order::numbers(value, best) == Some(wanted) {
            best = value;
        }
    }
    Ok(best.clone())
}

pub(super) const NATIVES: &[NativeFunction] = &[
    pure("+", 0, ANY, |ctx, args| all(ctx, &ADD, 0, args)),
    pure("-", 1, ANY, subtract),
    pure("*", 0, ANY, |ctx, args| all(ctx, &MULTIPLY, 1, args)),
    pure("/", 1, ANY, divide_all),
    pure("+'", 0, ANY, |ctx, args| all(ctx, &ADD, 0, args)),
    pure("-'", 1, ANY, subtract),
    pure("*'", 0, ANY, |ctx, args| all(ctx, &MULTIPLY, 1, args)),
    pure("inc", 1, 1, |ctx, args| add(ctx, &args[0], &Value::Int(1))),
    pure("dec", 1, 1, |ctx, args| operate(ctx, &SUBTRACT, &args[0], &Value::Int(1))),
    pure("inc'", 1, 1, |ctx, args| add(ctx, &args[0], &Value::Int(1))),
    pure("dec'", 1, 1, |ctx, args| operate(ctx, &SUBTRACT, &args[0], &Value::Int(1))),
    pure("quot", 2, 2, |ctx, args| part(ctx, "quot", DivisionPart::Quotient, args)),
    pure("rem", 2, 2, |ctx, args| part(ctx, "rem", DivisionPart::Remainder, args)),
    pure("mod", 2, 2, |ctx, args| part(ctx, "mod", DivisionPart::Modulus, args)),
    pure("max", 1, ANY, |_, args| most("max", args, std::cmp::Ordering::Greater)),
    pure("min", 1, ANY, |_, args| most("min", args, std::cmp::Ordering::Less)),
];
