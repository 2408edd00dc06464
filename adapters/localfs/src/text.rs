//! Bytes made text that a model can read, with what was changed on the way made visible.

use std::fmt::Write;
use std::str::Utf8Chunk;

/// Text from bytes, and how many of them were not UTF-8.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct VisibleText {
    /// The text, with U+FFFD for each broken sequence.
    pub(crate) text: String,
    /// Bytes that were not UTF-8.
    pub(crate) broken: u64,
}

impl VisibleText {
    /// Appends bytes as text.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        for chunk in bytes.utf8_chunks() {
            self.text.push_str(chunk.valid());
            if !chunk.invalid().is_empty() {
                self.text.push('\u{fffd}');
                self.broken = self.broken.saturating_add(chunk.invalid().len() as u64);
            }
        }
    }

    /// Returns a note about broken bytes, if there were any.
    pub(crate) fn note(&self) -> Option<String> {
        (self.broken > 0).then(|| {
            format!("[{} bytes were not UTF-8; each run of them is shown as \u{fffd}]", self.broken)
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

/// Length of bytes as text, in bytes.
pub(crate) fn width(bytes: &[u8]) -> usize {
    bytes.utf8_chunks().map(|chunk| wide(&chunk)).sum()
}

fn wide(chunk: &Utf8Chunk<'_>) -> usize {
    let broken = if chunk.invalid().is_empty() { 0 } else { '\u{fffd}'.len_utf8() };
    chunk.valid().len() + broken
}

/// The end of the longest start of `bytes` that is at most `room` long as text.
pub(crate) fn start_within(bytes: &[u8], mut room: usize) -> usize {
    let mut end = 0;
    for chunk in bytes.utf8_chunks() {
        if wide(&chunk) > room {
            return end + chunk.valid().floor_char_boundary(room);
        }
        room -= wide(&chunk);
        end += chunk.valid().len() + chunk.invalid().len();
    }
    end
}

/// Start of the longest end of `bytes` that is at most `room` long as text.
pub(crate) fn end_within(bytes: &[u8], room: usize) -> usize {
    let mut over = width(bytes).saturating_sub(room);
    let mut start = 0;
    for chunk in bytes.utf8_chunks() {
        if over <= chunk.valid().len() {
            return start + chunk.valid().ceil_char_boundary(over);
        }
        over = over.saturating_sub(wide(&chunk));
        start += chunk.valid().len() + chunk.invalid().len();
    }
    start
}

/// The end of the longest start of `bytes` that splits no character and is at most `max` long.
pub(crate) fn floor(bytes: &[u8], max: usize) -> usize {
    let mut end = max.min(bytes.len());
    let cut = end;
    // A character has at most three continuation bytes; more than that is no UTF-8 anyway.
    while end > 0 && cut - end < 3 && bytes.get(end).is_some_and(|b| continues(*b)) {
        end -= 1;
    }
    if bytes.get(end).is_some_and(|b| continues(*b)) { cut } else { end }
}

/// Returns true if a byte continues a character.
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
        let mut visible = VisibleText::default();
        visible.push(b"a\xffb\xf0\x9f");
        assert_eq!(visible.text, "a\u{fffd}b\u{fffd}");
        assert_eq!(visible.broken, 3);
        assert!(visible.note().unwrap().contains("3 bytes"));
        let mut clean = VisibleText::default();
        clean.push("ä\n".as_bytes());
        assert_eq!((clean.text.as_str(), clean.note()), ("ä\n", None));
    }

    #[test]
    fn names_show_what_cannot_be_shown() {
        assert_eq!(name("grün.txt".as_bytes()), "grün.txt");
        assert_eq!(name(b"a\nb\xff"), "a\\nb\\xff");
    }

    #[test]
    fn starts_and_ends_fit_as_text_and_are_as_long_as_they_may() {
        let bytes = b"a\xff\xe2\x82b\xe2\x82\xacc\xf0\x9f";
        let shown = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let all = shown(bytes);
        assert_eq!(width(bytes), all.len());
        for room in 0..=all.len() {
            let start = shown(bytes.get(..start_within(bytes, room)).unwrap());
            assert_eq!(start, all[..all.floor_char_boundary(room)], "{room}");
            let end = shown(bytes.get(end_within(bytes, room)..).unwrap());
            let from = all.ceil_char_boundary(all.len() - room);
            assert_eq!(end, all[from..], "{room}");
        }
    }

    #[test]
    fn a_cut_splits_no_character() {
        let text = "aä€😀".as_bytes();
        let ends: Vec<usize> = (0..=text.len()).map(|max| floor(text, max)).collect();
        assert_eq!(ends, [0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10]);
        assert_eq!(floor(&[0x80; 8], 6), 6);
    }
}
