//! Previews of JSON values: their beginning, and the size of the rest.

use std::fmt;

use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// Most characters of a preview's beginning.
const MAX_CHARS: usize = 60;

/// Returns the beginning of a JSON text, with the size of a value that is cut. Reads it without holding its
/// parts.
#[must_use]
pub fn json_preview(text: &str) -> String {
    match text.char_indices().nth(MAX_CHARS) {
        None => text.to_owned(),
        Some((end, _)) => {
            let shown = text.get(..end).unwrap_or_default();
            format!("{shown}.. {}", size(text))
        }
    }
}

fn size(text: &str) -> String {
    let mut reader = serde_json::Deserializer::from_str(text);
    reader.deserialize_any(SizeReader).unwrap_or_default()
}

/// Reads the size of a value, in words.
struct SizeReader;

impl<'de> Visitor<'de> for SizeReader {
    type Value = String;

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("a value")
    }

    fn visit_str<E>(self, text: &str) -> Result<String, E> {
        Ok(format!("({} bytes)", text.len()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<String, A::Error> {
        let mut count = 0_usize;
        while items.next_element::<IgnoredAny>()?.is_some() {
            count += 1;
        }
        Ok(format!("({count} items)"))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<String, A::Error> {
        let mut count = 0_usize;
        while entries.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {
            count += 1;
        }
        Ok(format!("({count} keys)"))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_preview_is_the_beginning_and_the_size() {
        assert_eq!(json_preview(&json!({"a": [1, "b"]}).to_string()), r#"{"a":[1,"b"]}"#);
        let rows = json_preview(&json!(vec![1; 300]).to_string());
        assert!(rows.starts_with("[1,1,1,") && rows.ends_with(".. (300 items)"), "{rows}");
        assert!(rows.len() < 90, "{rows}");
        let text = json_preview(&json!("\u{e4}".repeat(100_000)).to_string());
        assert!(text.ends_with(".. (200000 bytes)") && text.chars().count() < 90, "{text}");
        assert!(
            json_preview(&json!("\u{1f600}".repeat(70)).to_string())
                .ends_with("\u{1f600}.. (280 bytes)")
        );
    }
}
