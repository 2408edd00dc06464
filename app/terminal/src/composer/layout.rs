//! Rows of a text at a width, laid out as far as somebody asks for.

use std::ops::Range;

use crate::cells;

/// Starts of rows. They are kept between edits as far as an edit leaves them.
#[derive(Debug, Clone)]
pub(crate) struct Layout {
    width: usize,
    starts: Vec<usize>,
    complete: bool,
}

impl Layout {
    /// Creates the layout of a text at a width in columns, which is at least 1.
    pub(crate) fn new(width: usize) -> Self {
        Self { width: width.max(1), starts: vec![0], complete: false }
    }

    /// Returns the width in columns.
    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// Forgets the rows that a change from this byte on may alter.
    pub(crate) fn invalidate(&mut self, at: usize) {
        let row = self.starts.partition_point(|start| *start <= at);
        self.starts.truncate(row.saturating_sub(2).max(1));
        self.complete = false;
    }

    /// Returns the row of a byte position.
    pub(crate) fn row_of(&mut self, text: &Rows<'_>, at: usize) -> usize {
        while !self.complete && self.starts.last().is_some_and(|start| *start <= at) {
            self.extend(text);
        }
        self.starts.partition_point(|start| *start <= at).saturating_sub(1)
    }

    /// Returns the bytes of a row, without its line break, or nothing after the last row.
    pub(crate) fn row(&mut self, text: &Rows<'_>, row: usize) -> Option<Range<usize>> {
        while !self.complete && self.starts.len() < row + 2 {
            self.extend(text);
        }
        let start = *self.starts.get(row)?;
        let end = self.starts.get(row + 1).copied().unwrap_or(text.text.len());
        let broken = row + 1 < self.starts.len() && text.text[start..end].ends_with('\n');
        Some(start..if broken { end - 1 } else { end })
    }

    fn extend(&mut self, text: &Rows<'_>) {
        let start = self.starts.last().copied().unwrap_or(0);
        match text.next_row(start, self.width) {
            Some(next) => self.starts.push(next),
            None => self.complete = true,
        }
    }
}

/// A text, and the width of its cells.
pub(crate) struct Rows<'a> {
    /// The text.
    pub(crate) text: &'a str,
    /// Columns of a cell.
    pub(crate) width_of: &'a dyn Fn(&str) -> usize,
}

impl Rows<'_> {
    /// Returns the columns of a part of the text within a row.
    pub(crate) fn width(&self, part: Range<usize>) -> usize {
        let mut at = part.start;
        let mut width = 0;
        while at < part.end {
            let next = cells::next(self.text, at);
            width += (self.width_of)(&self.text[at..next]);
            at = next;
        }
        width
    }

    /// Returns the position at a column of a row, or the last one in the row.
    pub(crate) fn at_column(&self, row: Range<usize>, column: usize, soft: bool) -> usize {
        let (mut at, mut width) = (row.start, 0);
        while at < row.end {
            let next = cells::next(self.text, at);
            width += (self.width_of)(&self.text[at..next]);
            if width > column || (soft && next == row.end) {
                break;
            }
            at = next;
        }
        at
    }

    /// Returns the start of the row after the one that starts here. Rows end between words, at a
    /// space that may lie beyond the width, or within a word that is wider than a row.
    fn next_row(&self, start: usize, columns: usize) -> Option<usize> {
        let (mut at, mut width, mut space) = (start, 0, None);
        while at < self.text.len() {
            let next = cells::next(self.text, at);
            let cell = &self.text[at..next];
            if cell == "\n" {
                return Some(next);
            }
            width += (self.width_of)(cell);
            if width > columns && cell == " " {
                return Some(next);
            }
            if width > columns && at > start {
                return Some(space.unwrap_or(at));
            }
            if cell == " " || cell == "\t" {
                space = Some(next);
            }
            at = next;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn rows(text: &str, width: usize) -> Vec<&str> {
        let all = Rows { text, width_of: &cells::width };
        let mut layout = Layout::new(width);
        (0..).map_while(|row| layout.row(&all, row)).map(|row| &text[row]).collect()
    }

    #[test]
    fn rows_break_between_words() {
        assert_eq!(rows("one two three", 8), ["one two ", "three"]);
        assert_eq!(rows("one two three", 7), ["one two ", "three"]);
        assert_eq!(rows("one two three", 6), ["one ", "two ", "three"]);
        assert_eq!(rows("abcdefgh", 3), ["abc", "def", "gh"]);
        assert_eq!(rows("日本語", 5), ["日本", "語"]);
        assert_eq!(rows("a\n\nb\n", 5), ["a", "", "b", ""]);
        assert_eq!(rows("", 5), [""]);
    }

    #[test]
    fn an_edit_measures_only_rows_around_it() {
        let measured = std::cell::Cell::new(0);
        let width_of = |cell: &str| {
            measured.set(measured.get() + 1);
            cells::width(cell)
        };
        for word in ["word ", "日", "x"] {
            let text = word.repeat(100_000 / word.len());
            let rows = Rows { text: &text, width_of: &width_of };
            let mut layout = Layout::new(80);
            layout.row_of(&rows, text.len());
            measured.set(0);
            for at in [text.len() - 50 * word.len(), text.len() / word.len() / 2 * word.len()] {
                layout.invalidate(at);
                let row = layout.row_of(&rows, at);
                layout.row(&rows, row + 20);
            }
            assert!(measured.get() < 2 * 24 * 81, "{word:?}: {}", measured.get());
        }
    }

    proptest! {
        #[test]
        fn an_edit_keeps_only_rows_that_stay(
            before in "[ab \n日]{0,60}", at in 0_usize..60, insert in "[ab \n]{0,9}", width in 1_usize..9,
        ) {
            let at = (0..=at.min(before.len())).rev().find(|at| before.is_char_boundary(*at)).unwrap();
            let after = format!("{}{insert}{}", &before[..at], &before[at..]);
            let (old, new) = (
                Rows { text: &before, width_of: &cells::width },
                Rows { text: &after, width_of: &cells::width },
            );
            for (from, to) in [(&old, &new), (&new, &old)] {
                let mut layout = Layout::new(width);
                while layout.row(from, layout.starts.len()).is_some() {}
                layout.invalidate(at);
                let mut fresh = Layout::new(width);
                while fresh.row(to, fresh.starts.len()).is_some() {}
                while layout.row(to, layout.starts.len()).is_some() {}
                prop_assert_eq!(&layout.starts, &fresh.starts);
            }
        }
    }
}
