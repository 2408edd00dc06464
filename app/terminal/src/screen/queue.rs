//! Finished lines that wait to be written, in order and each once.

use std::collections::VecDeque;

use crate::screen::encode::encode;
use crate::screen::glyph::{self, Place};
use crate::screen::wrap;
use crate::screen::{ColorSupport, Size};
use crate::text::{Line, Span, Wrap};

/// Most bytes of a part of a long line, which is at most eight times as long once controls are visible.
const PART: usize = 4 * 1024;

/// Lines to write, the first of which may be written in part.
#[derive(Debug, Default)]
pub(super) struct Queue {
    lines: VecDeque<Line>,
    at: Place,
    column: usize,
    open: bool,
}

impl Queue {
    /// Adds a line to the end.
    pub(super) fn push(&mut self, line: Line) {
        self.lines.push_back(line);
    }

    /// Returns true without a line to write.
    pub(super) fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Returns true if the terminal's cursor is within a line, of which more will be written.
    pub(super) fn is_open(&self) -> bool {
        self.open
    }

    /// Writes rows, until `limit` bytes are written or no line is left.
    pub(super) fn write(
        &mut self,
        size: Size,
        colors: ColorSupport,
        limit: usize,
        out: &mut Vec<u8>,
    ) {
        let end = out.len().saturating_add(limit);
        while out.len() < end {
            let Some(line) = self.lines.front() else { return };
            let rest = match line.wrap {
                Wrap::Words { indent } => {
                    let row = wrap::row(line, self.at, size.width(), indent.into());
                    encode(&row.spans, colors, out);
                    out.extend_from_slice(b"\r\n");
                    self.open = false;
                    row.rest
                }
                Wrap::Terminal => {
                    let rest = part(line, self.at, &mut self.column, colors, out);
                    self.open = rest.is_some();
                    if !self.open {
                        out.extend_from_slice(b"\r\n");
                    }
                    rest
                }
            };
            self.at = rest.unwrap_or_default();
            if rest.is_none() {
                self.column = 0;
                self.lines.pop_front();
            }
        }
    }
}

/// Writes a part of a line that the terminal breaks, and returns the place of the next part.
fn part(
    line: &Line,
    from: Place,
    column: &mut usize,
    colors: ColorSupport,
    out: &mut Vec<u8>,
) -> Option<Place> {
    let mut spans = glyph::spans(line, from);
    let (place, text, span) = spans.next()?;
    let end = if text.len() > PART { text.floor_char_boundary(PART) } else { text.len() };
    let mut shown = Span { text: String::new(), style: span.style };
    *column = glyph::clean(text.get(..end).unwrap_or_default(), *column, &mut shown.text);
    encode(&[shown], colors, out);
    match end < text.len() {
        true => Some(Place { byte: place.byte + end, ..place }),
        false => spans.next().map(|(next, ..)| next),
    }
}
