//! Cells of text: graphemes, and characters that stand for a span.
//!
//! A span is one character of the last private plane. Text that enters a buffer never has one, so
//! that nothing a person types or pastes is taken for a span.

use std::borrow::Cow;

use unicode_segmentation::{GraphemeCursor, UnicodeSegmentation as _};
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// Characters that stand for spans.
const SPANS: std::ops::RangeInclusive<u32> = 0x10_0000..=0x10_FFFD;
/// Columns of a tab.
const TAB: &str = "    ";
/// Stands for text without a width.
const INVISIBLE: &str = "\u{FFFD}";

/// Returns the number of the span that a character stands for.
pub(crate) fn span_number(letter: char) -> Option<usize> {
    let code = u32::from(letter);
    SPANS.contains(&code).then(|| (code - SPANS.start()) as usize)
}

/// Returns the character of a span, unless there are too many.
pub(crate) fn span_letter(number: usize) -> Option<char> {
    let code = SPANS.start() + u32::try_from(number).ok()?;
    char::from_u32(code).filter(|letter| span_number(*letter).is_some())
}

/// Returns the end of the cell that starts at a byte.
pub(crate) fn next(text: &str, at: usize) -> usize {
    let mut letters = text[at..].chars();
    let Some(first) = letters.next() else {
        return text.len();
    };
    let after = at + first.len_utf8();
    if stands_alone(first) && letters.next().is_none_or(stands_alone) || is_span(first) {
        return after;
    }
    let cluster = text[at..].graphemes(true).next().map_or(after, |cluster| at + cluster.len());
    let span = text[at..cluster].find(is_span);
    span.map_or(cluster, |span| at + span)
}

/// Returns the start of the cell that ends at a byte.
pub(crate) fn previous(text: &str, at: usize) -> usize {
    let mut letters = text[..at].chars().rev();
    let Some(last) = letters.next() else {
        return 0;
    };
    let before = at - last.len_utf8();
    if stands_alone(last) && letters.next().is_none_or(stands_alone) || is_span(last) {
        return before;
    }
    let mut cursor = GraphemeCursor::new(at, text.len(), true);
    let start = cursor.prev_boundary(text, 0).ok().flatten().unwrap_or(0);
    let span = text[start..at].char_indices().rev().find(|(_, letter)| is_span(*letter));
    span.map_or(start, |(span, letter)| start + span + letter.len_utf8())
}

/// Returns true between two cells.
pub(crate) fn is_boundary(text: &str, at: usize) -> bool {
    if at == 0 || at >= text.len() {
        return at <= text.len();
    }
    if !text.is_char_boundary(at) {
        return false;
    }
    let beside_span = text[at..].starts_with(is_span) || text[..at].ends_with(is_span);
    let mut cursor = GraphemeCursor::new(at, text.len(), true);
    beside_span || cursor.is_boundary(text, 0).unwrap_or(true)
}

/// Returns a cell of text as it is shown.
pub(crate) fn shown(cell: &str) -> Cow<'_, str> {
    match cell {
        "\t" => TAB.into(),
        cell if cell.width() == 0 || cell.contains(char::is_control) => INVISIBLE.into(),
        cell => cell.into(),
    }
}

/// Returns the columns of a cell of text.
pub(crate) fn width(cell: &str) -> usize {
    let mut letters = cell.chars();
    match (letters.next(), letters.next()) {
        (Some('\t'), None) => TAB.len(),
        (Some(' '..='~'), None) => 1,
        (
            Some('\u{3041}'..='\u{3096}' | '\u{4E00}'..='\u{9FFF}' | '\u{AC00}'..='\u{D7A3}'),
            None,
        ) => 2,
        (Some(letter), None) => letter.width().unwrap_or(0).max(1),
        (Some(_) | None, _) => cell.width().max(1),
    }
}

/// Cuts text to a number of columns, with an ellipsis where something is missing.
pub(crate) fn cut(text: &str, columns: usize) -> String {
    let clean = text.graphemes(true).map(shown);
    let mut left = columns;
    let mut out = String::new();
    for cell in clean {
        let cell_width = cell.as_ref().width();
        if cell_width > left {
            return ellipsis(out, columns);
        }
        left -= cell_width;
        out.push_str(&cell);
    }
    out
}

fn ellipsis(mut text: String, columns: usize) -> String {
    if columns == 0 {
        return String::new();
    }
    while text.width() >= columns {
        let last = text.grapheme_indices(true).next_back().map_or(0, |(at, _)| at);
        text.truncate(last);
    }
    text.push('…');
    text
}

fn is_span(letter: char) -> bool {
    span_number(letter).is_some()
}

/// Returns true for characters between which there is always a boundary.
fn stands_alone(letter: char) -> bool {
    match letter {
        ' '..='~' | '\n' | '\t' => true,
        '\u{A9}' | '\u{AD}' | '\u{AE}' => false,
        '\u{A1}'..='\u{2FF}' | '\u{400}'..='\u{482}' | '\u{48A}'..='\u{52F}' => true,
        '\u{3041}'..='\u{3096}' | '\u{30A1}'..='\u{30FA}' | '\u{4E00}'..='\u{9FFF}' => true,
        '\u{3001}' | '\u{3002}' | '\u{AC00}'..='\u{D7A3}' => true,
        letter => is_span(letter),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn forwards(text: &str) -> Vec<usize> {
        let step = |at: &usize| (*at < text.len()).then(|| next(text, *at));
        std::iter::successors(Some(0), step).collect()
    }

    fn backwards(text: &str) -> Vec<usize> {
        let step = |at: &usize| (*at > 0).then(|| previous(text, *at));
        let mut all: Vec<usize> = std::iter::successors(Some(text.len()), step).collect();
        all.reverse();
        all
    }

    #[test]
    fn spans_are_cells_of_their_own() {
        let span = span_letter(7).unwrap();
        let text = format!("e\u{301}{span}\u{301}👩\u{200D}👧{span}🇩🇪");
        let cells: Vec<&str> =
            forwards(&text).windows(2).map(|pair| &text[pair[0]..pair[1]]).collect();
        let span = span.to_string();
        assert_eq!(cells, ["e\u{301}", &span, "\u{301}", "👩\u{200D}👧", &span, "🇩🇪"]);
        assert_eq!(span_letter(65_534), None);
        assert_eq!(span_number('\u{F0001}'), None);
    }

    #[test]
    fn widths_are_those_of_what_is_shown() {
        for cell in [
            "a",
            "\t",
            "é",
            "日",
            "ぁ",
            "힣",
            "龥",
            "👩\u{200D}👧",
            "\u{202E}",
            "\u{301}",
            "\u{200B}",
            "🇩🇪",
        ] {
            assert_eq!(width(cell), shown(cell).as_ref().width(), "{cell:?}");
        }
    }

    #[test]
    fn a_cut_has_an_ellipsis_and_the_width() {
        assert_eq!(cut("日本語", 6), "日本語");
        assert_eq!(cut("日本語", 5), "日本…");
        assert_eq!(cut("日本語", 4), "日…");
        assert_eq!(cut("abc", 1), "…");
        assert_eq!(cut("abc", 0), "");
        assert_eq!(cut("a\nb\u{1B}[m", 9), "a\u{FFFD}b\u{FFFD}[m");
    }

    proptest! {
        #[test]
        fn both_directions_see_the_same_cells(
            text in "([ -~éß日한\n\t]|\u{100003}|\u{301}|\u{200D}|\u{FE0F}|👩|🇩|🇪|ก|ำ|ᄀ|ᅡ|ᆨ|\u{600}|©){0,24}",
        ) {
            let cells = forwards(&text);
            prop_assert_eq!(&cells, &backwards(&text));
            for at in 0..=text.len() {
                prop_assert_eq!(is_boundary(&text, at), cells.contains(&at), "{}", at);
            }
        }
    }
}
