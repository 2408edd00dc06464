//! One keyword of a schema: its operand, the keywords beside it, and its fault if it needs no other schema.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use serde_json::{Map, Number, Value};

use super::number::{canonical, compare, equal, is_integer, is_multiple};
use super::words::{self, Shown};

const CHARACTERS: (&str, &str) = ("character", "characters");
const ITEMS: (&str, &str) = ("item", "items");
const PROPERTIES: (&str, &str) = ("property", "properties");

/// A keyword in its schema.
pub(super) struct Keyword<'a> {
    pub(super) fields: &'a Map<String, Value>,
    pub(super) keyword: &'a str,
    pub(super) operand: &'a Value,
}

impl<'a> Keyword<'a> {
    /// Schemas or names that are its operand.
    pub(super) fn list(&self) -> &'a [Value] {
        self.operand.as_array().map_or(&[], Vec::as_slice)
    }

    /// Schemas by name that are its operand.
    pub(super) fn map(&self) -> impl Iterator<Item = (&'a String, &'a Value)> + use<'a> {
        self.operand.as_object().into_iter().flatten()
    }

    /// Items that other keywords have schemas for, before the rest.
    pub(super) fn items_before(&self) -> usize {
        let list = if self.keyword == "items" { "prefixItems" } else { "items" };
        self.fields.get(list).and_then(Value::as_array).map_or(0, Vec::len)
    }

    /// Returns the fault of a value, if this keyword applies no other schema.
    pub(super) fn plain(
        &self,
        value: &Value,
        matches: impl FnOnce(&str, &str) -> bool,
    ) -> Option<String> {
        let operand = self.operand;
        match self.keyword {
            "type" => {
                let fits = match operand.as_array() {
                    Some(kinds) => kinds.iter().any(|kind| is_of_type(value, kind)),
                    None => is_of_type(value, operand),
                };
                (!fits).then(|| words::types(value, operand))
            }
            "enum" => {
                let known = self.list().iter().any(|option| equal(option, value));
                (!known).then(|| words::options(value, self.list()))
            }
            "const" => (!equal(operand, value)).then(|| format!("{operand} was expected")),
            "uniqueItems" if operand == &Value::Bool(true) => repeats(value.as_array()?)
                .then(|| format!("{} has non-unique elements", Shown(value))),
            "pattern" => {
                let fits = matches(operand.as_str()?, value.as_str()?);
                (!fits).then(|| format!("{} does not match {}", Shown(value), quoted(operand)))
            }
            _ => self.sized(value).or_else(|| self.bounded(value)),
        }
    }

    /// Limits of lengths and counts.
    fn sized(&self, value: &Value) -> Option<String> {
        let (size, nouns) = match self.keyword {
            "maxLength" | "minLength" => (value.as_str()?.chars().count(), CHARACTERS),
            "maxItems" | "minItems" => (value.as_array()?.len(), ITEMS),
            "maxProperties" | "minProperties" => (value.as_object()?.len(), PROPERTIES),
            _ => return None,
        };
        let (limit, size) = (natural(self.operand)?, u64::try_from(size).ok()?);
        let (longer, shorter) = match nouns == CHARACTERS {
            true => ("is longer than", "is shorter than"),
            false => ("has more than", "has less than"),
        };
        if self.keyword.starts_with("max") {
            (size > limit).then(|| words::count(value, longer, limit, nouns))
        } else {
            (size < limit).then(|| words::count(value, shorter, limit, nouns))
        }
    }

    /// Limits of numbers.
    fn bounded(&self, value: &Value) -> Option<String> {
        use Ordering::{Equal, Greater, Less};
        let number = value.as_number()?;
        let (limit, keyword) = self.limit()?;
        let order = compare(number, limit);
        let (broken, side) = match keyword {
            "maximum" => (order == Some(Greater), "is greater than the maximum of"),
            "minimum" => (order == Some(Less), "is less than the minimum of"),
            "exclusiveMaximum" => (
                matches!(order, Some(Greater | Equal)),
                "is greater than or equal to the maximum of",
            ),
            "exclusiveMinimum" => {
                (matches!(order, Some(Less | Equal)), "is less than or equal to the minimum of")
            }
            "multipleOf" => (!is_multiple(number, limit), "is not a multiple of"),
            _ => return None,
        };
        broken.then(|| format!("{} {side} {limit}", Shown(value)))
    }

    /// The limit, and the keyword whose meaning it has: in draft 4 a limit excludes itself by a keyword
    /// beside it.
    fn limit(&self) -> Option<(&'a Number, &'a str)> {
        let excludes = |keyword| self.fields.get(keyword) == Some(&Value::Bool(true));
        let keyword = match self.keyword {
            "maximum" if excludes("exclusiveMaximum") => "exclusiveMaximum",
            "minimum" if excludes("exclusiveMinimum") => "exclusiveMinimum",
            keyword => keyword,
        };
        Some((self.operand.as_number()?, keyword))
    }
}

/// A count, however it is written.
pub(super) fn natural(value: &Value) -> Option<u64> {
    // A cast of a float saturates.
    value.as_u64().or_else(|| value.as_f64().map(|count| count as u64))
}

fn is_of_type(value: &Value, kind: &Value) -> bool {
    match kind.as_str() {
        Some("array") => value.is_array(),
        Some("boolean") => value.is_boolean(),
        Some("integer") => value.as_number().is_some_and(is_integer),
        Some("null") => value.is_null(),
        Some("number") => value.is_number(),
        Some("object") => value.is_object(),
        Some("string") => value.is_string(),
        Some(_) | None => false,
    }
}

/// Returns true if two items are equal.
fn repeats(items: &[Value]) -> bool {
    let mut seen = BTreeSet::new();
    !items.iter().all(|item| seen.insert(canonical(item)))
}

/// A text in quotation marks, as it is.
fn quoted(text: &Value) -> String {
    format!("\"{}\"", text.as_str().unwrap_or_default())
}
