//! Bytes made text that a model can read, with what was changed on the way made visible.

use std::fmt::Write;

/// Text from bytes, and how many of them were not UTF-8.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Visible {
    /// The text, with U+FFFD for each broken sequence.
    pub(crate) text: String,
    /// Bytes that were not UTF-8.
    pub(crate) broken: u64,
}

impl Visible {
    /// Appends bytes.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        for chunk in bytes.utf8_chunks() {
            self.text.push_str(chunk.valid());
            if !chunk.invalid().is_empty() {
                self.text.push('\u{fffd}');
                self.broken = self.broken.saturating_add(chunk.invalid().len() as u64);
            }
        }
    }

    /// What to say about the broken bytes, if there were any.
    pub(crate) fn note(&self) -> Option<String> {
        (self.broken > 0).then(|| {
            format!(
                "[{} bytes were not UTF-8; each run of them is shown as \u{fffd}]",
                self.broken
            )
        })
    }
}

/// A file name as text: exact where it is plain UTF-8, escaped where it is not.
pub(crate) fn name(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            if c.is_control() {
                text.extend(c.escape_default());
            } else {
                text.push(c);
            }
        }
        for byte in chunk.invalid() {
            let _ = write!(text, "\\x{byte:02x}");
        }
    }
    text
}

/// The end of the longest start of `bytes` that splits no character and is at most `max` long.
pub(crate) fn floor(bytes: &[u8], max: usize) -> usize {
    let mut end = max.min(bytes.len());
    let cut = end;
    // A character has at most three continuation bytes; more than that is no UTF-8 anyway.
    while end > 0 && cut - end < 3 && bytes.get(end).is_some_and(|b| continues(*b)) {
        end -= 1;
    }
    if bytes.get(end).is_some_and(|b| continues(*b)) {
        cut
    } else {
        end
    }
}

/// Whether a byte continues a character.
pub(crate) fn continues(byte: u8) -> bool {
    byte & 0b1100_0000 == 0b1000_0000
}

/// Appends a line of its own.
pub(crate) fn push_line(text: &mut String, line: &str) {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text.push_str(line);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn broken_bytes_are_counted_and_seen() {
        let mut visible = Visible::default();
        visible.push(b"a\xffb\xf0\x9f");
        assert_eq!(visible.text, "a\u{fffd}b\u{fffd}");
        assert_eq!(visible.broken, 3);
        assert!(visible.note().unwrap().contains("3 bytes"));
        let mut clean = Visible::default();
        clean.push("ä\n".as_bytes());
        assert_eq!((clean.text.as_str(), clean.note()), ("ä\n", None));
    }

    #[test]
    fn names_show_what_cannot_be_shown() {
        assert_eq!(name("grün.txt".as_bytes()), "grün.txt");
        assert_eq!(name(b"a\nb\xff"), "a\\nb\\xff");
    }

    #[test]
    fn a_cut_splits_no_character() {
        let text = "aä€😀".as_bytes();
        let ends: Vec<usize> = (0..=text.len()).map(|max| floor(text, max)).collect();
        assert_eq!(ends, [0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10]);
        assert_eq!(floor(&[0x80; 8], 6), 6);
    }
}
