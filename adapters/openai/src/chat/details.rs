//! Reasoning that comes in parts (`reasoning_details`), gathered so that it can go back.

use serde_json::{Map, Value};

/// Most parts of one answer; if there are more, none is sent back.
const MOST: usize = 4_096;

/// The parts of one answer's reasoning.
#[derive(Debug, Default, Clone, PartialEq)]
pub(super) struct ReasoningDetails {
    parts: Vec<Map<String, Value>>,
    /// True if there were more parts than are kept, or one that is malformed.
    broken: bool,
}

impl ReasoningDetails {
    /// Takes the parts of a chunk. Pieces of one text are joined.
    pub(super) fn push(&mut self, raw: &str) {
        match serde_json::from_str::<Option<Vec<Map<String, Value>>>>(raw) {
            Ok(parts) => parts.into_iter().flatten().for_each(|part| self.add(part)),
            Err(_) => self.broken = true,
        }
    }

    /// All of it as JSON text, if there is any and it is whole.
    pub(super) fn whole(&self) -> Option<String> {
        if self.broken || self.parts.is_empty() {
            return None;
        }
        serde_json::to_string(&self.parts).ok()
    }

    fn add(&mut self, mut part: Map<String, Value>) {
        let texts = ["text", "summary"];
        let goes_on = |before: &&mut Map<String, Value>| {
            let same = |name| before.get(name) == part.get(name);
            let text = texts.iter().any(|name| part.contains_key(*name));
            let signed = part.contains_key("signature");
            same("type") && same("index") && (text || signed)
        };
        let Some(before) = self.parts.last_mut().filter(goes_on) else {
            if self.parts.len() == MOST {
                self.broken = true;
            } else {
                self.parts.push(part);
            }
            return;
        };
        for name in texts {
            if let (Some(Value::String(text)), Some(Value::String(more))) =
                (before.get_mut(name), part.get(name))
            {
                text.push_str(more);
                part.remove(name);
            }
        }
        let given = part.into_iter().filter(|(_, value)| !value.is_null());
        before.extend(given);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gathered(chunks: &[&str]) -> Option<String> {
        let mut details = ReasoningDetails::default();
        chunks.iter().for_each(|chunk| details.push(chunk));
        details.whole()
    }

    #[test]
    fn pieces_of_a_text_are_joined_and_signed() {
        let chunks = [
            r#"[{"type":"reasoning.text","text":"a","index":0,"signature":null}]"#,
            r#"[{"type":"reasoning.text","text":"b","index":0}]"#,
            r#"[{"type":"reasoning.text","signature":"s","index":0}]"#,
            r#"[{"type":"reasoning.text","text":"c","index":1}]"#,
            "null",
            r#"[{"type":"reasoning.encrypted","data":"x"},{"type":"reasoning.encrypted","data":"y"}]"#,
        ];
        let joined: Value = serde_json::from_str(&gathered(&chunks).unwrap()).unwrap();
        assert_eq!(
            joined,
            serde_json::json!([
                { "type": "reasoning.text", "text": "ab", "index": 0, "signature": "s" },
                { "type": "reasoning.text", "text": "c", "index": 1 },
                { "type": "reasoning.encrypted", "data": "x" },
                { "type": "reasoning.encrypted", "data": "y" },
            ])
        );
    }

    #[test]
    fn what_is_not_whole_does_not_go_back() {
        assert_eq!(gathered(&[]), None);
        assert_eq!(gathered(&["[]"]), None);
        assert_eq!(gathered(&[r#"[{"type":"t","text":"a"}]"#, "7"]), None);
        let many = r#"{"type":"t","data":"a"}"#;
        let many = format!("[{}]", [many; MOST + 1].join(","));
        assert_eq!(gathered(&[&many]), None);
    }
}
