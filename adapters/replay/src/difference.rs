//! Describes the agreement of two bodies and their first difference.

use serde_json::Value;

use crate::matching::ComparedBody;

/// Most characters of each side that are shown.
const SHOWN: usize = 160;

/// Most characters before the difference that are shown.
const BEFORE: usize = 40;

/// Deepest level at which values are compared one by one; deeper values are compared as a whole.
const DEPTH: usize = 64;

/// Returns the number of leaves that two bodies have in common.
pub(crate) fn agreement(a: &ComparedBody, b: &ComparedBody) -> usize {
    match (a, b) {
        (ComparedBody::Json(a), ComparedBody::Json(b)) => leaves(a, b, 0),
        (ComparedBody::Bytes(a), ComparedBody::Bytes(b)) => {
            a.iter().zip(b).take_while(|(a, b)| a == b).count()
        }
        (ComparedBody::None | ComparedBody::Json(_) | ComparedBody::Bytes(_), _) => {
            usize::from(a == b)
        }
    }
}

/// Describes the first difference between a recorded body and a requested one, in bounded text.
pub(crate) fn first(recorded: &ComparedBody, asked: &ComparedBody) -> Option<String> {
    match (recorded, asked) {
        (ComparedBody::Json(recorded), ComparedBody::Json(asked)) => {
            let mut at = String::new();
            parts(recorded, asked, &mut at, 0)
        }
        (ComparedBody::Bytes(recorded), ComparedBody::Bytes(asked)) if recorded != asked => {
            let same = recorded.iter().zip(asked).take_while(|(a, b)| a == b);
            Some(format!("at byte {}", same.count()))
        }
        (ComparedBody::None, ComparedBody::Json(_) | ComparedBody::Bytes(_)) => {
            Some("the recorded one has no body".into())
        }
        (ComparedBody::Json(_) | ComparedBody::Bytes(_), ComparedBody::None) => {
            Some("the asked one has no body".into())
        }
        (ComparedBody::Json(_), ComparedBody::Bytes(_)) => Some("the asked body is no JSON".into()),
        (ComparedBody::Bytes(_), ComparedBody::Json(_)) => {
            Some("the recorded body is no JSON".into())
        }
        (ComparedBody::None, ComparedBody::None)
        | (ComparedBody::Bytes(_), ComparedBody::Bytes(_)) => None,
    }
}

fn leaves(a: &Value, b: &Value, depth: usize) -> usize {
    match (a, b) {
        (Value::Object(a), Value::Object(b)) if depth < DEPTH => a
            .iter()
            .filter_map(|(name, a)| Some(leaves(a, b.get(name)?, depth.saturating_add(1))))
            .fold(0, usize::saturating_add),
        (Value::Array(a), Value::Array(b)) if depth < DEPTH => a
            .iter()
            .zip(b)
            .map(|(a, b)| leaves(a, b, depth.saturating_add(1)))
            .fold(0, usize::saturating_add),
        (a, b) => usize::from(a == b),
    }
}

/// The first difference below `at`, depth first, in the recorded one's order.
fn parts(recorded: &Value, asked: &Value, at: &mut String, depth: usize) -> Option<String> {
    match (recorded, asked) {
        (Value::Object(a), Value::Object(b)) if depth < DEPTH => {
            for (name, value) in a {
                let below = step(at, name);
                let difference = match b.get(name) {
                    Some(other) => parts(value, other, at, depth.saturating_add(1)),
                    None => Some(describe(at, &short(value), "nothing")),
                };
                if difference.is_some() {
                    return difference;
                }
                at.truncate(below);
            }
            let (name, value) = b.iter().find(|(name, _)| !a.contains_key(*name))?;
            step(at, name);
            Some(describe(at, "nothing", &short(value)))
        }
        (Value::Array(a), Value::Array(b)) if depth < DEPTH => {
            for (index, (a, b)) in a.iter().zip(b).enumerate() {
                let below = step(at, &index.to_string());
                let difference = parts(a, b, at, depth.saturating_add(1));
                if difference.is_some() {
                    return difference;
                }
                at.truncate(below);
            }
            step(at, &a.len().min(b.len()).to_string());
            match (a.get(b.len()), b.get(a.len())) {
                (Some(more), _) => Some(describe(at, &short(more), "nothing")),
                (None, Some(more)) => Some(describe(at, "nothing", &short(more))),
                (None, None) => None,
            }
        }
        (Value::String(a), Value::String(b)) if a != b => {
            let same = a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count();
            let from = same.saturating_sub(BEFORE);
            Some(describe(at, &excerpt(a, from), &excerpt(b, from)))
        }
        (a, b) if a != b => Some(describe(at, &short(a), &short(b))),
        _ => None,
    }
}

/// Goes down by one name; answers where to cut off to come back.
fn step(at: &mut String, name: &str) -> usize {
    let before = at.len();
    at.push('/');
    at.push_str(&name.replace('~', "~0").replace('/', "~1"));
    before
}

fn describe(at: &str, recorded: &str, asked: &str) -> String {
    let at: String = at.chars().take(SHOWN).collect();
    format!("at {at}: recorded {recorded}, asked {asked}")
}

fn short(value: &Value) -> String {
    match value {
        Value::String(text) => excerpt(text, 0),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            clipped(&value.to_string(), 0)
        }
    }
}

/// A part of a text, in quotation marks, with its control characters escaped.
fn excerpt(text: &str, from: usize) -> String {
    let begun = if from > 0 { ".." } else { "" };
    format!("{begun}\"{}\"", clipped(text, from))
}

fn clipped(text: &str, from: usize) -> String {
    let mut chars = text.chars().skip(from);
    let mut shown = String::new();
    for c in chars.by_ref().take(SHOWN) {
        match c.is_control() {
            true => shown.extend(c.escape_default()),
            false => shown.push(c),
        }
    }
    if chars.next().is_some() {
        shown.push_str("..");
    }
    shown
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn between(recorded: Value, asked: Value) -> Option<String> {
        first(&ComparedBody::Json(recorded), &ComparedBody::Json(asked))
    }

    #[test]
    fn the_first_difference_is_named_by_its_place_and_both_sides() {
        let a = json!({"model": "m", "messages": [{"content": "hi"}, {"content": "there"}]});
        assert_eq!(between(a.clone(), a.clone()), None);
        let b = json!({"model": "m", "messages": [{"content": "hi"}, {"content": "then"}]});
        assert_eq!(
            between(a.clone(), b).unwrap(),
            "at /messages/1/content: recorded \"there\", asked \"then\""
        );
        let shorter = json!({"model": "m", "messages": [{"content": "hi"}]});
        assert_eq!(
            between(a.clone(), shorter.clone()).unwrap(),
            "at /messages/1: recorded {\"content\":\"there\"}, asked nothing"
        );
        assert_eq!(
            between(shorter.clone(), a).unwrap(),
            "at /messages/1: recorded nothing, asked {\"content\":\"there\"}"
        );
        let more = json!({"model": "m", "messages": [{"content": "hi"}], "a/b": null});
        assert_eq!(between(shorter, more).unwrap(), "at /a~1b: recorded nothing, asked null");
    }

    #[test]
    fn what_is_shown_is_bounded_and_begins_near_the_difference() {
        let text =
            |end: &str| json!({"t": format!("{}{end}{}", "x".repeat(5_000), "y".repeat(5_000))});
        let words = between(text("A\n"), text("B")).unwrap();
        assert!(words.len() < 600, "{}", words.len());
        assert!(words.contains("xA\\n") && words.contains("xB"), "{words}");
    }

    #[test]
    fn agreement_counts_what_is_the_same() {
        let count = |a: Value, b: Value| agreement(&ComparedBody::Json(a), &ComparedBody::Json(b));
        assert_eq!(count(json!({"a": [1, 2, 3]}), json!({"a": [1, 2, 4], "b": 1})), 2);
        assert_eq!(count(json!(1), json!("1")), 0);
    }
}
