//! Rows of lines: broken between words, or cut.

use std::borrow::Cow;

use crate::screen::glyph::{self, Place};
use crate::text::{Line, Span, Style};

/// Most bytes of a row, so that marks without a width stay within a row.
const ROW: usize = 8 * 1024;

/// Row of a line that is broken, with the place where the next one begins.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Row {
    /// Text without controls.
    pub(crate) spans: Vec<Span>,
    /// Begin of the next row, unless this is the last.
    pub(crate) rest: Option<Place>,
}

/// Builds a row of spans, joining text of one style.
#[derive(Debug, Default)]
struct Spans(Vec<Span>);

impl Spans {
    fn push(&mut self, text: &str, style: Style) {
        match self.0.last_mut() {
            Some(last) if last.style == style => last.text.push_str(text),
            _ => self.0.push(Span { text: text.to_owned(), style }),
        }
    }

    /// Lengths of the spans, to return to.
    fn mark(&self) -> (usize, usize) {
        (self.0.len(), self.0.last().map_or(0, |span| span.text.len()))
    }

    fn truncate(&mut self, (spans, bytes): (usize, usize)) {
        self.0.truncate(spans);
        if let Some(last) = self.0.last_mut() {
            last.text.truncate(bytes);
        }
    }
}

/// Break that is possible in the row: its end before spaces, and the begin of the next row after them.
#[derive(Debug, Clone, Copy)]
struct Break {
    end: (usize, usize),
    next: Place,
}

/// Returns the row of a line that begins at this place. Its width is at most `columns`, except where one
/// glyph is wider. A row that is not the line's first is indented.
pub(crate) fn row(line: &Line, from: Place, columns: usize, indent: usize) -> Row {
    let mut spans = Spans::default();
    let indent = if from == Place::default() { 0 } else { indent.min(columns / 2) };
    if indent > 0 {
        spans.push(&" ".repeat(indent), Style::default());
    }
    let mut column = indent;
    let mut bytes = 0;
    let mut fit: Option<Break> = None;
    // End of the text before the spaces that were met last, and true once a word was met.
    let (mut end, mut word, mut spaced, mut wide) = (spans.mark(), false, false, false);
    for (place, text, span) in glyph::spans(line, from) {
        let mut at = place;
        while let Some(next) =
            glyph::first(text.get(at.byte - place.byte..).unwrap_or_default(), column)
        {
            let full = column + next.width > columns && (column > indent || next.space);
            if !next.space {
                // A row may end after spaces, and on both sides of a wide glyph.
                if word && (spaced || (wide || next.joined > 1) && next.width > 0) {
                    fit = Some(Break { end, next: at });
                }
                if full || bytes > ROW {
                    let cut = fit.unwrap_or(Break { end: spans.mark(), next: at });
                    spans.truncate(cut.end);
                    return Row { spans: spans.0, rest: Some(cut.next) };
                }
            }
            // Spaces at the end of a row that is full are dropped with the break behind them.
            if !(next.space && full) {
                spans.push(&next.text, span.style);
                column += next.width;
            }
            bytes += next.text.len();
            at.byte += next.bytes;
            spaced = next.space;
            if !next.space {
                (end, word) = (spans.mark(), true);
                wide = next.joined > 1 || wide && next.width == 0;
            }
        }
    }
    Row { spans: spans.0, rest: None }
}

/// Returns all rows of a line that is broken between words.
pub(crate) fn rows(line: &Line, columns: usize, indent: usize) -> Vec<Vec<Span>> {
    let mut rows = Vec::new();
    let mut next = Some(Place::default());
    while let Some(from) = next {
        let row = row(line, from, columns, indent);
        rows.push(row.spans);
        next = row.rest;
    }
    rows
}

/// Returns the part of a line that fits in the columns. Glyphs that take different numbers of columns in
/// different terminals are reduced to their first character, in the columns of the joined form.
pub(crate) fn cut(line: &Line, columns: usize) -> Vec<Span> {
    let mut spans = Spans::default();
    let (mut column, mut bytes) = (0, 0);
    let most = columns.saturating_mul(4).max(ROW);
    for (_, text, span) in glyph::spans(line, Place::default()) {
        let mut rest = text;
        while let Some(next) = glyph::first(rest, column) {
            if column + next.joined > columns || bytes > most {
                return spans.0;
            }
            spans.push(&sure(&next), span.style);
            column += next.joined;
            bytes += next.text.len();
            rest = rest.get(next.bytes..).unwrap_or_default();
        }
    }
    spans.0
}

/// Returns text for a glyph that takes its joined width in every terminal.
fn sure<'a>(glyph: &'a glyph::Glyph<'_>) -> Cow<'a, str> {
    if glyph.sure {
        return Cow::Borrowed(&glyph.text);
    }
    let head: String = glyph.text.chars().take(1).collect();
    let width = glyph::first(&head, 0).map_or(0, |first| first.width);
    Cow::Owned(format!("{head}{}", " ".repeat(glyph.joined.saturating_sub(width))))
}
