//! The rows of the live area that are on the terminal, and the bytes that change them.
//!
//! All moves are relative to the cursor, which stays within the area: in its first column of all if it is
//! hidden. Rows are cleared as a whole before they are rewritten, since a terminal that breaks rows on a
//! resize counts the cells that were ever written.
//!
//! A terminal may be resized before anybody knows. Then a frame may leave rows of the area behind; it never
//! moves up so far that a finished line is cleared.

use std::io::Write as _;

use crate::screen::encode::encode;
use crate::screen::glyph::{self, Place};
use crate::screen::wrap;
use crate::screen::{ColorSupport, LiveArea, Size};
use crate::text::{Line, Span};

/// Rows of a live area that fit the screen, with the place of the cursor.
#[derive(Debug, Default)]
pub(super) struct View {
    rows: Vec<Vec<Span>>,
    cursor: Option<(usize, usize)>,
}

impl View {
    /// Cuts an area: rows at the last column but one, and as many as leave one row of the screen free. They
    /// are the last ones that contain the cursor.
    pub(super) fn new(area: &LiveArea, size: Size) -> Self {
        let most = usize::from(size.rows.saturating_sub(1)).max(1);
        let last = area.lines.len().saturating_sub(1);
        let row = area.cursor.map(|cursor| cursor.row.min(last));
        let free = area.lines.len().saturating_sub(most);
        let start = row.map_or(free, |row| row.min(free));
        let rows: Vec<Vec<Span>> = area
            .lines
            .iter()
            .skip(start)
            .take(most)
            .map(|line| wrap::cut(line, size.width()))
            .collect();
        let column = |column: usize| column.min(size.width());
        let cursor = area.cursor.filter(|_| !rows.is_empty());
        Self { rows, cursor: cursor.map(|at| (row.unwrap_or(0) - start, column(at.column))) }
    }
}

/// What is on the terminal.
#[derive(Debug, Default)]
pub(super) struct Drawn {
    rows: Vec<Vec<Span>>,
    /// Row and column of the terminal's cursor. Without rows it is at the begin of an empty row.
    at: (usize, usize),
    hidden: bool,
    /// True once the terminal may have broken the rows at another width, or dropped some.
    broken: bool,
}

impl Drawn {
    /// Notes that the terminal has broken the rows at another width, or dropped some.
    pub(super) fn resized(&mut self) {
        self.broken = !self.rows.is_empty();
    }

    /// Returns true if the rows must be drawn again, as their places are not known.
    pub(super) fn is_broken(&self) -> bool {
        self.broken
    }

    /// Clears the rows, and leaves the cursor where the first one began. `broken_at` is the width at which
    /// the terminal breaks rows, or none if it cuts them.
    pub(super) fn clear(&mut self, broken_at: Option<u16>, out: &mut Vec<u8>) {
        if self.rows.is_empty() {
            return;
        }
        let above = match broken_at.filter(|_| self.broken) {
            Some(columns) => self.broken_rows_above(columns.into()),
            None => self.at.0,
        };
        up(above, out);
        erase_below(out);
        *self = Self { hidden: self.hidden, ..Self::default() };
    }

    /// Draws a view, from the first row that differs.
    pub(super) fn draw(&mut self, view: View, colors: ColorSupport, out: &mut Vec<u8>) {
        let start = out.len();
        if self.rows != view.rows {
            self.hide(out);
            self.rewrite(&view, colors, out);
            self.rows = view.rows;
        }
        let target = view.cursor.unwrap_or_default();
        if target != self.at || out.len() > start {
            self.go(target.0, out);
            if target.1 > 0 {
                let _ = write!(out, "\x1b[{}C", target.1);
            }
            self.at = target;
        }
        if view.cursor.is_some() || self.rows.is_empty() {
            self.show(out);
        } else {
            self.hide(out);
        }
    }

    /// Shows the cursor, unless it is visible.
    pub(super) fn show(&mut self, out: &mut Vec<u8>) {
        if std::mem::take(&mut self.hidden) {
            out.extend_from_slice(b"\x1b[?25h");
        }
    }

    fn hide(&mut self, out: &mut Vec<u8>) {
        if !std::mem::replace(&mut self.hidden, true) {
            out.extend_from_slice(b"\x1b[?25l");
        }
    }

    /// Clears the rows from the first one that differs, and writes those of the view. Rows begin by a line
    /// break and not by a move, so that a terminal that is narrower by now breaks them and counts them as
    /// after a resize. Without a cursor none are counted, and they are not broken.
    fn rewrite(&mut self, view: &View, colors: ColorSupport, out: &mut Vec<u8>) {
        let alike = self.rows.iter().zip(&view.rows).take_while(|(old, new)| old == new).count();
        if alike < self.rows.len() {
            self.go(alike, out);
            erase_below(out);
        } else if alike > 0 {
            self.go(alike - 1, out);
        }
        let keep = view.cursor.is_none();
        if keep {
            out.extend_from_slice(b"\x1b[?7l");
        }
        for (index, row) in view.rows.iter().enumerate().skip(alike) {
            if index > self.at.0 {
                out.extend_from_slice(b"\r\n");
                self.at = (index, 0);
            }
            encode(row, colors, out);
        }
        if keep {
            out.extend_from_slice(b"\x1b[?7h");
        }
    }

    /// Moves to the first column of a row that is on the terminal.
    fn go(&mut self, row: usize, out: &mut Vec<u8>) {
        match row.checked_sub(self.at.0) {
            Some(0) => out.push(b'\r'),
            Some(down) => {
                let _ = write!(out, "\r\x1b[{down}B");
            }
            None => up(self.at.0 - row, out),
        }
        self.at = (row, 0);
    }

    /// Rows of the terminal above the cursor's, once it has broken the area at this width.
    fn broken_rows_above(&self, columns: usize) -> usize {
        let whole = self.rows.iter().take(self.at.0);
        let above: usize = whole.map(|row| breaks(row, columns, usize::MAX) + 1).sum();
        above + self.rows.get(self.at.0).map_or(0, |row| breaks(row, columns, self.at.1))
    }
}

/// Returns how often a terminal of this width breaks a row before this column of it.
fn breaks(row: &[Span], columns: usize, before: usize) -> usize {
    let line = Line { spans: row.to_vec(), ..Line::default() };
    let (mut count, mut filled, mut column) = (0, 0, 0);
    for (_, text, _) in glyph::spans(&line, Place::default()) {
        let mut rest = text;
        while let Some(next) = glyph::first(rest, column) {
            if column >= before {
                return count;
            }
            if next.width > 0 && filled + next.width > columns && filled > 0 {
                (count, filled) = (count + 1, 0);
            }
            filled += next.width;
            column += next.width;
            rest = rest.get(next.bytes..).unwrap_or_default();
        }
    }
    count
}

fn up(rows: usize, out: &mut Vec<u8>) {
    out.push(b'\r');
    if rows > 0 {
        let _ = write!(out, "\x1b[{rows}A");
    }
}

/// Erases the row and all below it. The erasure of the rest begins in the second column: in the first column
/// of the first row some terminals, tmux among them, would copy the screen to the scrollback before.
fn erase_below(out: &mut Vec<u8>) {
    out.extend_from_slice(b"\x1b[2K\x1b[C\x1b[J\r");
}
