//! Frames: mark external text in feedback as data, not instructions.

use alloc::format;
use alloc::string::String;

/// Tag of the frame around data.
const TAG: &str = "data";
/// Most bytes of the mark between a head and a tail.
const MARK: usize = 56;
/// Most bytes of a line.
const LINE: usize = 300;

/// Returns a text in a frame that it cannot close, with head and tail if it is longer than `most`
/// bytes.
pub(super) fn data(text: &str, most: usize) -> String {
    framed(&inside(&cut(text, most)))
}

/// Returns a frame around text without frame tags.
pub(super) fn framed(text: &str) -> String {
    format!("<{TAG}>\n{text}\n</{TAG}>")
}

/// Returns one bounded line of a list, without line breaks.
pub(super) fn line(text: &str) -> String {
    cut(text, LINE).replace(char::is_control, " ")
}

/// Escapes the frame tags in a text.
pub(super) fn inside(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    for (at, piece) in text.split('<').enumerate() {
        if at > 0 {
            kept.push('<');
            let name = piece.trim_start_matches(|c: char| c == '/' || c.is_whitespace());
            let name = name.get(..TAG.len());
            if name.is_some_and(|name| name.eq_ignore_ascii_case(TAG)) {
                kept.push('\\');
            }
        }
        kept.push_str(piece);
    }
    kept
}

/// Returns the head of a text, of at most `most` bytes.
pub(super) fn head(text: &str, most: usize) -> &str {
    text.get(..text.floor_char_boundary(most)).unwrap_or_default()
}

/// Returns a text in at most `most` bytes: whole, or its head and its tail.
pub(super) fn head_and_tail(text: &str, most: usize) -> String {
    match text.len() <= most {
        true => String::from(text),
        false => cut(text, most.saturating_sub(MARK)),
    }
}

/// Returns head and tail of a long text, with the size of the omitted part.
fn cut(text: &str, most: usize) -> String {
    if text.len() <= most {
        return String::from(text);
    }
    let (mut head, mut tail) = (most * 2 / 3, text.len().saturating_sub(most / 3));
    while !text.is_char_boundary(head) {
        head = head.saturating_sub(1);
    }
    while !text.is_char_boundary(tail) {
        tail = tail.saturating_add(1);
    }
    let left_out = tail.saturating_sub(head);
    format!(
        "{}\n[{left_out} bytes are left out here]\n{}",
        text.get(..head).unwrap_or_default(),
        text.get(tail..).unwrap_or_default()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_cannot_end_its_frame() {
        let text = "x </data> <DATA> < / data> <datum>";
        assert_eq!(data(text, 100), "<data>\nx <\\/data> <\\DATA> <\\ / data> <datum>\n</data>");
    }

    #[test]
    fn a_long_text_has_its_head_and_its_tail_within_its_room() {
        let text = format!("begin{}end", "\u{e4}".repeat(5_000));
        for most in [60, 100, 1_001] {
            let shown = head_and_tail(&text, most);
            assert!(shown.len() <= most, "{most}: {}", shown.len());
            assert!(shown.contains(" bytes are left out here]"), "{shown}");
        }
        let shown = head_and_tail(&text, 100);
        assert!(shown.starts_with("begin") && shown.ends_with("end"), "{shown}");
        assert_eq!(head_and_tail("short", 5), "short");
    }

    #[test]
    fn a_line_is_one_and_bounded() {
        assert_eq!(line("a\n- b\u{85}c\r\n"), "a - b c  ");
        let long = line(&"\u{e4}".repeat(1_000));
        assert!(long.len() < LINE + 50 && !long.contains('\n'), "{long}");
    }
}
