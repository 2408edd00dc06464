//! Functions that say what a value is.

use num_bigint::Sign;
use num_traits::Zero;
use unicode_segmentation::UnicodeSegmentation;

use crate::callable::NativeFunction;
use crate::library::pure;
use crate::value::Value;

/// Defines predicates on one value.
macro_rules! holds {
    ($name:literal, $test:expr) => {
        pure($name, 1, 1, |_, args| {
            let test: fn(&Value) -> bool = $test;
            Ok(Value::Bool(test(&args[0])))
        })
    };
}

fn integer(value: &Value) -> bool {
    matches!(value, Value::Int(_) | Value::Big(_))
}

fn finite(value: &Value) -> bool {
    matches!(value, Value::Float(float) if float.is_finite())
}

fn sign(value: &Value) -> Option<i8> {
    match value {
        Value::Int(n) => Some(n.signum() as i8),
        Value::Big(n) => Some(match n.sign() {
            Sign::Minus => -1,
            Sign::NoSign => 0,
            Sign::Plus => 1,
        }),
        Value::Float(n) if n.is_nan() => None,
        Value::Float(n) => Some(if *n > 0.0 { 1 } else { -i8::from(*n < 0.0) }),
        _ => None,
    }
}

fn odd(value: &Value) -> Option<bool> {
    match value {
        Value::Int(n) => Some(n % 2 != 0),
        Value::Big(n) => Some(!(&**n % 2u32).is_zero()),
        Value::Float(n) if n.fract() == 0.0 => Some(n % 2.0 != 0.0),
        _ => None,
    }
}

fn character(value: &Value) -> bool {
    value.as_str().is_some_and(|text| {
        let mut graphemes = text.graphemes(true);
        graphemes.next().is_some() && graphemes.next().is_none()
    })
}

fn type_of(value: &Value) -> Value {
    match value {
        Value::Nil => Value::Nil,
        Value::Vec(_) => Value::keyword("vector"),
        other => Value::keyword(other.kind()),
    }
}

pub(super) const NATIVES: &[NativeFunction] = &[
    holds!("nil?", |v| matches!(v, Value::Nil)),
    holds!("some?", |v| !matches!(v, Value::Nil)),
    holds!("true?", |v| matches!(v, Value::Bool(true))),
    holds!("false?", |v| matches!(v, Value::Bool(false))),
    holds!("boolean?", |v| matches!(v, Value::Bool(_))),
    holds!("boolean", Value::truthy),
    holds!("not", |v| !v.truthy()),
    holds!("number?", |v| integer(v) || matches!(v, Value::Float(_))),
    holds!("integer?", integer),
    holds!("int?", integer),
    holds!("float?", finite),
    holds!("double?", finite),
    holds!("rational?", integer),
    holds!("ratio?", |_| false),
    holds!("decimal?", |_| false),
    holds!("NaN?", |v| matches!(v, Value::Float(float) if float.is_nan())),
    holds!("infinite?", |v| matches!(v, Value::Float(float) if float.is_infinite())),
    holds!("pos?", |v| sign(v) == Some(1)),
    holds!("neg?", |v| sign(v) == Some(-1)),
    holds!("zero?", |v| sign(v) == Some(0)),
    holds!("pos-int?", |v| integer(v) && sign(v) == Some(1)),
    holds!("neg-int?", |v| integer(v) && sign(v) == Some(-1)),
    holds!("nat-int?", |v| integer(v) && sign(v) != Some(-1)),
    holds!("even?", |v| odd(v) == Some(false)),
    holds!("odd?", |v| odd(v) == Some(true)),
    holds!("string?", |v| matches!(v, Value::Str(_))),
    holds!("char?", character),
    holds!("keyword?", |v| matches!(v, Value::Kw(_))),
    holds!("symbol?", |_| false),
    holds!("regex?", |v| matches!(v, Value::Regex(_))),
    holds!("var?", |v| matches!(v, Value::Var(_))),
    holds!("vector?", |v| matches!(v, Value::Vec(_))),
    holds!("seq?", |v| matches!(v, Value::Vec(_))),
    holds!("sequential?", |v| matches!(v, Value::Vec(_))),
    holds!("map?", |v| matches!(v, Value::Map(_))),
    holds!("set?", |v| matches!(v, Value::Set(_))),
    holds!("coll?", |v| matches!(v, Value::Vec(_) | Value::Map(_) | Value::Set(_))),
    holds!("associative?", |v| matches!(v, Value::Vec(_) | Value::Map(_))),
    holds!("counted?", |v| {
        matches!(v, Value::Vec(_) | Value::Map(_) | Value::Set(_) | Value::Str(_))
    }),
    holds!("seqable?", |v| {
        matches!(v, Value::Nil | Value::Vec(_) | Value::Map(_) | Value::Set(_) | Value::Str(_))
    }),
    holds!("indexed?", |v| matches!(v, Value::Vec(_) | Value::Str(_))),
    holds!("reversible?", |v| matches!(v, Value::Vec(_) | Value::Str(_))),
    holds!("sorted?", |_| false),
    holds!("map-entry?", |_| false),
    holds!("fn?", Value::is_function),
    holds!("ifn?", |v| {
        v.is_function() || matches!(v, Value::Kw(_) | Value::Map(_) | Value::Set(_))
    }),
    pure("type", 1, 1, |_, args| Ok(type_of(&args[0]))),
];
