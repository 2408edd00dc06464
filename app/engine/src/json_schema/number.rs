//! Numbers of JSON: compared and divided as the decimals that they are written as.

use std::cmp::Ordering;

use serde_json::{Number, Value};

/// Largest exponent by which a decimal is scaled.
const MOST_SCALED: u32 = 30;
/// Bound of floats that are written as whole numbers.
const MOST_WHOLE: f64 = 1e38;

/// Compares two numbers.
pub(super) fn compare(a: &Number, b: &Number) -> Option<Ordering> {
    match (whole(a), whole(b)) {
        (Some(a), Some(b)) => Some(a.cmp(&b)),
        _ => a.as_f64()?.partial_cmp(&b.as_f64()?),
    }
}

/// Returns true for a number without a fraction.
pub(super) fn is_integer(number: &Number) -> bool {
    whole(number).is_some() || number.as_f64().is_some_and(|float| float.fract() == 0.0)
}

/// Returns true if a number is a multiple of a divisor, which is greater than 0.
pub(super) fn is_multiple(number: &Number, divisor: &Number) -> bool {
    let scaled = || {
        let ((a, by), (b, of)) = (decimal(number)?, decimal(divisor)?);
        let least = by.min(of);
        let scale = |digits: i128, exponent: i32| {
            let up = u32::try_from(exponent.checked_sub(least)?).ok()?;
            let factor = 10_i128.checked_pow(up).filter(|_| up <= MOST_SCALED)?;
            digits.checked_mul(factor)
        };
        scale(a, by)?.checked_rem(scale(b, of)?).map(|rest| rest == 0)
    };
    scaled().unwrap_or_else(|| {
        let (number, divisor) = (number.as_f64(), divisor.as_f64());
        number.zip(divisor).is_some_and(|(number, divisor)| (number / divisor).fract() == 0.0)
    })
}

/// Compares two values; numbers of one value are equal however they are written.
pub(super) fn equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => compare(a, b) == Some(Ordering::Equal),
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            let has = |(name, value)| b.get(name).is_some_and(|other| equal(value, other));
            a.len() == b.len() && a.iter().all(has)
        }
        _ => a == b,
    }
}

/// Returns a text that two values have in common if they are equal, however their numbers are written.
pub(super) fn canonical(value: &Value) -> String {
    match value {
        Value::Number(number) => match (whole(number), number.as_f64()) {
            (Some(whole), _) => whole.to_string(),
            (None, Some(float)) if float.fract() == 0.0 && float.abs() < MOST_WHOLE => {
                (float as i128).to_string()
            }
            _ => number.to_string(),
        },
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(canonical).collect();
            format!("[{}]", items.join(","))
        }
        Value::Object(fields) => {
            let field = |(name, value): (&String, &Value)| format!("{name:?}:{}", canonical(value));
            let mut fields: Vec<String> = fields.iter().map(field).collect();
            fields.sort();
            format!("{{{}}}", fields.join(","))
        }
        Value::Null | Value::Bool(_) | Value::String(_) => value.to_string(),
    }
}

fn whole(number: &Number) -> Option<i128> {
    number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from))
}

/// A number as digits and the power of ten that they are multiplied by.
fn decimal(number: &Number) -> Option<(i128, i32)> {
    let text = number.to_string();
    let (digits, exponent) = text.split_once(['e', 'E']).unwrap_or((&text, "0"));
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let digits = format!("{whole}{fraction}").parse().ok()?;
    let exponent: i32 = exponent.parse().ok()?;
    Some((digits, exponent.checked_sub(i32::try_from(fraction.len()).ok()?)?))
}
