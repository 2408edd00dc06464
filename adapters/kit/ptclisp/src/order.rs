//! Equality and order: the order of keys, which tells all values apart, and `=`, which does not tell
//! 1 from 1.0.

use std::cmp::Ordering;

use num_bigint::BigInt;
use num_traits::ToPrimitive;

use crate::value::Value;

impl Ord for Value {
    /// The order of keys in maps and sets: by kind first, so that it is total.
    fn cmp(&self, other: &Value) -> Ordering {
        use Value::{Bool, Composed, Fn, Kw, Map, Native, Regex, Set, Str, Sym, Tool, Var, Vec};
        if let Some(order) = numbers(self, other) {
            return order.then_with(|| rank(self).cmp(&rank(other)));
        }
        match (self, other) {
            (Bool(a), Bool(b)) => a.cmp(b),
            (Kw(a), Kw(b)) | (Sym(a), Sym(b)) | (Var(a), Var(b)) | (Tool(a), Tool(b)) => a.cmp(b),
            (Str(a), Str(b)) => a.cmp(b),
            (Vec(a), Vec(b)) => a.items.cmp(&b.items),
            (Map(a), Map(b)) => {
                let sizes = a.entries.len().cmp(&b.entries.len());
                sizes.then_with(|| a.entries.cmp(&b.entries))
            }
            (Set(a), Set(b)) => {
                let sizes = a.members.len().cmp(&b.members.len());
                sizes.then_with(|| a.members.cmp(&b.members))
            }
            (Regex(a), Regex(b)) => a.source.cmp(&b.source),
            (Native(a), Native(b)) => a.name.cmp(b.name),
            (Fn(a), Fn(b)) => a.id.cmp(&b.id),
            (Composed(a), Composed(b)) => a.id.cmp(&b.id),
            _ => rank(self).cmp(&rank(other)),
        }
    }
}

impl PartialOrd for Value {
    fn partial_cmp(&self, other: &Value) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Value {
    fn eq(&self, other: &Value) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Value {}

/// The order of two numbers by their amount; not-a-number is above all.
pub(crate) fn numbers(a: &Value, b: &Value) -> Option<Ordering> {
    use Value::{Big, Float, Int};
    Some(match (a, b) {
        (Int(a), Int(b)) => a.cmp(b),
        (Big(a), Big(b)) => a.cmp(b),
        (Int(_), Big(b)) if b.sign() == num_bigint::Sign::Minus => Ordering::Greater,
        (Int(_), Big(_)) => Ordering::Less,
        (Big(_), Int(_)) => numbers(b, a)?.reverse(),
        (Float(a), Float(b)) => a.partial_cmp(b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan())),
        (Int(a), Float(b)) => against(&BigInt::from(*a), *a as f64, *b),
        (Big(a), Float(b)) => against(a, a.to_f64().unwrap_or(f64::INFINITY), *b),
        (Float(_), Int(_) | Big(_)) => numbers(b, a)?.reverse(),
        _ => return None,
    })
}

/// An integer against a float, exactly.
fn against(n: &BigInt, near: f64, float: f64) -> Ordering {
    if float.is_nan() || float == f64::INFINITY {
        return Ordering::Less;
    }
    if float == f64::NEG_INFINITY {
        return Ordering::Greater;
    }
    match near.partial_cmp(&float) {
        Some(Ordering::Equal) => match num_traits::FromPrimitive::from_f64(float) {
            Some::<BigInt>(whole) => n.cmp(&whole),
            None => Ordering::Equal,
        },
        Some(order) => order,
        None => Ordering::Less,
    }
}

fn rank(value: &Value) -> u8 {
    match value {
        Value::Int(_) | Value::Big(_) => 0,
        Value::Float(_) => 1,
        Value::Nil => 2,
        Value::Bool(_) => 3,
        Value::Kw(_) => 4,
        Value::Sym(_) => 5,
        Value::Var(_) => 6,
        Value::Native(_) => 7,
        Value::Tool(_) => 8,
        Value::Fn(_) => 9,
        Value::Composed(_) => 10,
        Value::Regex(_) => 11,
        Value::Set(_) => 12,
        Value::Map(_) => 13,
        Value::Vec(_) => 14,
        Value::Str(_) => 15,
    }
}

/// Compares two values as `=` does: 1 and 1.0 are equal, not-a-number is equal to nothing.
pub(crate) fn equal(a: &Value, b: &Value) -> bool {
    if let Some(order) = numbers(a, b) {
        return order == Ordering::Equal && !is_nan(a);
    }
    match (a, b) {
        (Value::Vec(a), Value::Vec(b)) => {
            a.items.len() == b.items.len() && a.items.iter().zip(&b.items).all(|(a, b)| equal(a, b))
        }
        (Value::Map(a), Value::Map(b)) => {
            a.entries.len() == b.entries.len()
                && a.entries.iter().all(|(key, a)| b.entries.get(key).is_some_and(|b| equal(a, b)))
        }
        _ => a == b,
    }
}

/// Returns true for the float that is not a number.
pub(crate) fn is_nan(value: &Value) -> bool {
    matches!(value, Value::Float(float) if float.is_nan())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_tell_an_integer_from_a_float_and_equality_does_not() {
        assert!(equal(&Value::Int(1), &Value::Float(1.0)));
        assert_ne!(Value::Int(1), Value::Float(1.0));
    }

    #[test]
    fn not_a_number_is_one_key_and_equals_nothing() {
        let nan = Value::Float(f64::NAN);
        assert_eq!(nan, nan);
        assert!(!equal(&nan, &nan));
    }

    #[test]
    fn large_integers_are_compared_to_floats_exactly() {
        let large = Value::Int(9_007_199_254_740_993);
        assert_eq!(
            numbers(&large, &Value::Float(9_007_199_254_740_992.0)),
            Some(Ordering::Greater)
        );
    }
}
