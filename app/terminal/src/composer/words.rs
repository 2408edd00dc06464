//! Words of a text, for moves and deletions.

use crate::cells;

/// Kind of a cell, for words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// White space.
    Space,
    /// Letter, digit, underscore or span.
    Word,
    /// Everything else.
    Mark,
}

/// Returns the kind of the cell that starts at a byte. The end of the text is white space.
pub(crate) fn kind(text: &str, at: usize) -> Kind {
    match text[at..].chars().next() {
        Some(letter) if letter.is_alphanumeric() || letter == '_' => Kind::Word,
        Some(letter) if cells::span_number(letter).is_some() => Kind::Word,
        Some(letter) if !letter.is_whitespace() => Kind::Mark,
        Some(_) | None => Kind::Space,
    }
}

/// Moves to the right while the cells at a byte fit.
pub(crate) fn forward(text: &str, mut at: usize, fits: impl Fn(Kind) -> bool) -> usize {
    while at < text.len() && fits(kind(text, at)) {
        at = cells::next(text, at);
    }
    at
}

/// Moves to the left while the cells before a byte fit.
pub(crate) fn backward(text: &str, mut at: usize, fits: impl Fn(Kind) -> bool) -> usize {
    while at > 0 {
        let before = cells::previous(text, at);
        if !fits(kind(text, before)) {
            break;
        }
        at = before;
    }
    at
}

/// Returns the end of the word at or after a byte.
pub(crate) fn end(text: &str, at: usize) -> usize {
    let word = forward(text, at, |kind| kind != Kind::Word);
    forward(text, word, |kind| kind == Kind::Word)
}

/// Returns the start of the word before a byte.
pub(crate) fn start(text: &str, at: usize) -> usize {
    let word = backward(text, at, |kind| kind != Kind::Word);
    backward(text, word, |kind| kind == Kind::Word)
}

/// Returns the start of the text between white space before a byte.
pub(crate) fn blank_start(text: &str, at: usize) -> usize {
    let word = backward(text, at, |kind| kind == Kind::Space);
    backward(text, word, |kind| kind != Kind::Space)
}
