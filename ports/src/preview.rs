//! Previews of JSON values: their beginning, and the size of the rest.

use std::io::{self, Write};

use serde_json::Value;

/// Most characters of a preview's beginning.
const MAX_CHARS: usize = 60;

/// Returns the beginning of a value as JSON text, with the size of a value that is cut.
#[must_use]
pub fn json_preview(value: &Value) -> String {
    let mut begun = Beginning(Vec::new());
    // It refuses to write more than the beginning.
    let whole = serde_json::to_writer(&mut begun, value).is_ok();
    let text = String::from_utf8_lossy(&begun.0);
    match text.char_indices().nth(MAX_CHARS) {
        None if whole => text.into_owned(),
        cut => {
            let end = cut.map_or(text.len(), |(end, _)| end);
            let shown = text.get(..end).unwrap_or_default().trim_end_matches('\u{fffd}');
            format!("{shown}.. {}", size(value))
        }
    }
}

fn size(value: &Value) -> String {
    match value {
        Value::Array(items) => format!("({} items)", items.len()),
        Value::Object(object) => format!("({} keys)", object.len()),
        Value::String(text) => format!("({} bytes)", text.len()),
        Value::Null | Value::Bool(_) | Value::Number(_) => String::new(),
    }
}

/// Takes the bytes that the characters of a preview may have, and fails then.
struct Beginning(Vec<u8>);

impl Write for Beginning {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = (4 * MAX_CHARS + 4).saturating_sub(self.0.len());
        if room == 0 {
            return Err(io::Error::from(io::ErrorKind::StorageFull));
        }
        let taken = bytes.get(..room).unwrap_or(bytes);
        self.0.extend_from_slice(taken);
        Ok(taken.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_preview_is_the_beginning_and_the_size() {
        assert_eq!(json_preview(&json!({"a": [1, "b"]})), r#"{"a":[1,"b"]}"#);
        let rows = json_preview(&json!(vec![1; 300]));
        assert!(rows.starts_with("[1,1,1,") && rows.ends_with(".. (300 items)"), "{rows}");
        assert!(rows.len() < 90, "{rows}");
        let text = json_preview(&json!("\u{e4}".repeat(100_000)));
        assert!(text.ends_with(".. (200000 bytes)") && text.chars().count() < 90, "{text}");
        assert!(json_preview(&json!("\u{1f600}".repeat(70))).ends_with("\u{1f600}.. (280 bytes)"));
    }
}
