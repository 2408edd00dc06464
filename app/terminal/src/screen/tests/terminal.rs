//! A terminal to look at: `vt100` with scrollback. On a resize `vt100` cuts rows, as xterm does; the terminals
//! that people use break them at the new width, so this one does that by itself.

use unicode_width::UnicodeWidthChar as _;

use crate::screen::Size;

const SCROLLBACK: usize = 100_000;

/// Fills the last column before a wide character that is broken off: `vt100` takes a row whose last column is
/// empty for a whole line.
const FILLER: char = '\u{a0}';

pub(crate) struct Terminal {
    parser: vt100::Parser,
    size: Size,
}

impl Terminal {
    pub(crate) fn new(size: Size) -> Self {
        Self { parser: vt100::Parser::new(size.rows, size.columns, SCROLLBACK), size }
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) {
        self.parser.process(bytes);
    }

    /// Rows of the scrollback, then those of the screen, each with true if the next one continues it.
    fn all(&mut self) -> (Vec<(String, bool)>, usize) {
        let mut rows = Vec::new();
        self.parser.screen_mut().set_scrollback(usize::MAX);
        let scrolled = self.parser.screen().scrollback();
        for offset in (1..=scrolled).rev() {
            self.parser.screen_mut().set_scrollback(offset);
            let screen = self.parser.screen();
            let row = screen.rows(0, self.size.columns).next().unwrap();
            rows.push((row, screen.row_wrapped(0)));
        }
        self.parser.screen_mut().set_scrollback(0);
        let screen = self.parser.screen();
        for (index, row) in screen.rows(0, self.size.columns).enumerate() {
            rows.push((row, screen.row_wrapped(u16::try_from(index).unwrap())));
        }
        (rows, scrolled)
    }

    pub(crate) fn scrollback(&mut self) -> Vec<String> {
        let (rows, scrolled) = self.all();
        rows.into_iter().take(scrolled).map(|(row, _)| row).collect()
    }

    pub(crate) fn screen(&mut self) -> Vec<String> {
        let (rows, scrolled) = self.all();
        rows.into_iter().skip(scrolled).map(|(row, _)| row).collect()
    }

    /// Text of scrollback and screen without spaces and breaks.
    pub(crate) fn letters(&mut self) -> String {
        let text: String = self.all().0.into_iter().map(|(row, _)| row).collect();
        text.split_whitespace().collect()
    }

    /// Scrollback, screen and cursor for a golden text.
    pub(crate) fn picture(&mut self) -> String {
        let (rows, scrolled) = self.all();
        let used = rows.iter().rposition(|(row, _)| !row.is_empty()).map_or(0, |last| last + 1);
        let cursor = self.parser.screen().cursor_position();
        let shown = if self.parser.screen().hide_cursor() { "hidden" } else { "shown" };
        let mut picture = String::new();
        for (index, (row, _)) in rows.iter().take(used.max(scrolled + 1)).enumerate() {
            let mark = if index < scrolled { '^' } else { '|' };
            picture.push_str(format!("{mark}{row}").trim_end());
            picture.push('\n');
        }
        format!("{picture}cursor {shown} at {},{}\n", cursor.0, cursor.1)
    }

    pub(crate) fn styles(&self, row: u16) -> String {
        let bytes: Vec<u8> =
            self.parser.screen().rows_formatted(0, self.size.columns).nth(row.into()).unwrap();
        String::from_utf8(bytes).unwrap().escape_debug().to_string()
    }

    /// Cuts rows at a new size.
    pub(crate) fn cut(&mut self, size: Size) {
        self.parser.screen_mut().set_size(size.rows, size.columns);
        self.size = size;
    }

    /// Breaks rows at a new size. The cursor stays at its character.
    pub(crate) fn resize(&mut self, size: Size) {
        let (rows, scrolled) = self.all();
        let (row, column) = self.parser.screen().cursor_position();
        let hidden = self.parser.screen().hide_cursor();
        let (at, column) = (scrolled + usize::from(row), usize::from(column));
        let last = rows.iter().rposition(|(row, _)| !row.is_empty()).unwrap_or(0).max(at);
        // Lines, and the cursor's line and column in it.
        let mut lines: Vec<String> = Vec::new();
        let mut cursor = (0, 0);
        let mut joins = false;
        for (index, (text, wrapped)) in rows.into_iter().take(last + 1).enumerate() {
            let before = if joins { width(lines.last().unwrap()) } else { 0 };
            let text = text.trim_end_matches(FILLER);
            match joins {
                true => lines.last_mut().unwrap().push_str(text),
                false => lines.push(text.to_owned()),
            }
            if index == at {
                cursor = (lines.len() - 1, before + column);
            }
            joins = wrapped;
        }
        *self = Self::new(size);
        let columns = usize::from(size.columns);
        let filled: Vec<String> = lines.iter().map(|line| filled(line, columns)).collect();
        self.write(filled.join("\r\n").as_bytes());
        let (line, column) = cursor;
        let (above, within) = place(&lines[line], columns, column);
        let below: usize =
            lines[line + 1..].iter().map(|line| place(line, columns, usize::MAX).0 + 1).sum();
        let total = place(&lines[line], columns, usize::MAX).0;
        let up = below + total - above;
        if up > 0 {
            self.write(format!("\x1b[{up}A").as_bytes());
        }
        self.write(format!("\r\x1b[{}C", within.max(1)).as_bytes());
        self.write(if within == 0 { b"\r" } else { b"" });
        self.write(if hidden { b"\x1b[?25l" } else { b"" });
    }
}

fn width(text: &str) -> usize {
    text.chars().map(|c| c.width().unwrap_or(0)).sum()
}

/// The line with fillers where the terminal breaks it.
fn filled(text: &str, columns: usize) -> String {
    let (mut out, mut used) = (String::new(), 0);
    for c in text.chars() {
        let width = c.width().unwrap_or(0);
        if used + width > columns {
            out.extend(std::iter::repeat_n(FILLER, columns - used));
            used = 0;
        }
        out.push(c);
        used += width;
    }
    out
}

/// Row and column of a column of a line that is broken.
fn place(text: &str, columns: usize, before: usize) -> (usize, usize) {
    let (mut row, mut filled, mut column) = (0, 0, 0);
    for c in text.chars() {
        if column >= before {
            break;
        }
        let width = c.width().unwrap_or(0);
        if filled + width > columns {
            (row, filled) = (row + 1, 0);
        }
        filled += width;
        column += width;
    }
    (row, filled.min(columns - 1))
}
