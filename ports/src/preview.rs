//! Definitions whose values are JSON, with the beginning and the size of each.

use std::fmt;

use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use windlass_core::Definition;

/// Returns a definition whose value is this JSON text, as the report on a program shows it. Reads the value
/// without holding its parts.
#[must_use]
pub fn json_definition(name: &str, text: &str) -> Definition {
    Definition::new(name, text, || {
        let mut reader = serde_json::Deserializer::from_str(text);
        reader.deserialize_any(SizeReader).ok()
    })
}

/// Reads the number of a value's parts, with their name.
struct SizeReader;

impl<'de> Visitor<'de> for SizeReader {
    type Value = (usize, &'static str);

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("a value")
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok((text.len(), "bytes"))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        let mut count = 0_usize;
        while items.next_element::<IgnoredAny>()?.is_some() {
            count += 1;
        }
        Ok((count, "items"))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
        let mut count = 0_usize;
        while entries.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {
            count += 1;
        }
        Ok((count, "keys"))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn preview(value: &serde_json::Value) -> String {
        json_definition("a", &value.to_string()).preview
    }

    #[test]
    fn a_preview_is_the_beginning_and_the_size() {
        assert_eq!(preview(&json!({"a": [1, "b"]})), r#"{"a":[1,"b"]}"#);
        let rows = preview(&json!(vec![1; 300]));
        assert!(rows.starts_with("[1,1,1,") && rows.ends_with(".. (300 items)"), "{rows}");
        assert!(rows.len() < 90, "{rows}");
        let text = preview(&json!("\u{e4}".repeat(100_000)));
        assert!(text.ends_with(".. (200000 bytes)") && text.chars().count() < 90, "{text}");
        assert!(preview(&json!("\u{1f600}".repeat(70))).ends_with("\u{1f600}.. (280 bytes)"));
    }
}
