//! The text that is edited: cursor, spans, cut text, undo. Nothing here knows keys.

use std::cell::RefCell;
use std::ops::Range;

use crate::cells;
use crate::composer::draft::{Attachment, Draft, Spans, text_of};
use crate::composer::layout::{Layout, Rows};
use crate::composer::undo::{Edit, EditKind, Undo};

/// Lines from which on a paste is a span.
const LINES: usize = 4;
/// Characters from which on a paste is a span.
const CHARACTERS: usize = 401;

/// Text with a cursor, which is always between two cells.
#[derive(Debug)]
pub(crate) struct Buffer {
    raw: String,
    cursor: usize,
    spans: Spans,
    undo: Undo,
    /// Text that was cut, for pasting it back.
    pub(crate) cut: Cut,
    /// Column that vertical moves aim at.
    goal: Option<usize>,
    layout: RefCell<Layout>,
    version: u64,
}

/// Text that was cut or copied.
#[derive(Debug, Clone, Default)]
pub(crate) struct Cut {
    /// The text, with spans of the buffer.
    pub(crate) raw: String,
    /// True for whole lines.
    pub(crate) lines: bool,
    /// True while further cuts add to it.
    open: bool,
}

impl Default for Buffer {
    fn default() -> Self {
        Self {
            raw: String::new(),
            cursor: 0,
            spans: Spans::default(),
            undo: Undo::default(),
            cut: Cut::default(),
            goal: None,
            layout: RefCell::new(Layout::new(77)),
            version: 0,
        }
    }
}

impl Buffer {
    /// Returns the text, with one character for each span.
    pub(crate) fn raw(&self) -> &str {
        &self.raw
    }

    /// Returns the byte position of the cursor.
    pub(crate) fn cursor(&self) -> usize {
        self.cursor
    }

    /// Returns a number that is another one after each edit.
    pub(crate) fn version(&self) -> u64 {
        self.version
    }

    /// Returns the text with its pastes in full.
    pub(crate) fn text(&self) -> String {
        self.spans.expand(&self.raw, text_of)
    }

    /// Returns the contents as a draft.
    pub(crate) fn draft(&self) -> Draft {
        self.spans.draft(&self.raw)
    }

    /// Returns the span that a cell stands for.
    pub(crate) fn span(&self, cell: &str) -> Option<&Attachment> {
        self.spans.of_cell(cell)
    }

    /// Takes the contents and forgets earlier ones. Cut text stays, with its pastes in full.
    pub(crate) fn take(&mut self) -> Draft {
        let draft = self.draft();
        let cut = self.spans.expand(&self.cut.raw, text_of);
        let width = self.layout.get_mut().width();
        *self = Self { version: self.version + 1, ..Self::default() };
        self.cut.raw = self.spans.clean(&cut);
        self.layout = RefCell::new(Layout::new(width));
        draft
    }

    /// Replaces all text. Images that the new text names by their labels stay.
    pub(crate) fn set_text(&mut self, text: &str) {
        let clean = self.spans.clean(text);
        let text = self.spans.with_images(&self.raw, &clean);
        self.replace(0..self.raw.len(), &text, EditKind::Other);
    }

    /// Replaces all text by that of a draft, with its spans.
    pub(crate) fn set_draft(&mut self, draft: &Draft) {
        let text = self.spans.adopt(draft);
        self.replace(0..self.raw.len(), &text, EditKind::Other);
    }

    /// Inserts a typed character.
    pub(crate) fn type_letter(&mut self, letter: char) {
        let text = self.spans.clean(letter.encode_utf8(&mut [0; 4]));
        self.replace(self.cursor..self.cursor, &text, EditKind::Type);
    }

    /// Inserts text.
    pub(crate) fn insert(&mut self, text: &str) {
        let text = self.spans.clean(text);
        self.replace(self.cursor..self.cursor, &text, EditKind::Other);
    }

    /// Inserts a paste: as a span if it has more than 3 lines or 400 characters.
    pub(crate) fn paste(&mut self, text: &str) {
        let mut clean = Spans::default();
        let raw = clean.clean(text);
        let long = raw.lines().count() >= LINES || raw.chars().count() >= CHARACTERS;
        if long {
            self.attach(Attachment::paste(clean.expand(&raw, text_of)));
        } else {
            self.insert(text);
        }
    }

    /// Inserts a span.
    pub(crate) fn attach(&mut self, span: Attachment) {
        let text = self.spans.add(span);
        self.replace(self.cursor..self.cursor, &text, EditKind::Other);
    }

    /// Replaces a part of the text, which starts and ends between cells, and moves behind it.
    pub(crate) fn replace(&mut self, part: Range<usize>, with: &str, kind: EditKind) {
        if part.is_empty() && with.is_empty() {
            return;
        }
        let edit = Edit {
            at: part.start,
            removed: self.raw[part.clone()].to_owned(),
            inserted: with.to_owned(),
            cursor: self.cursor,
        };
        self.apply(part, with);
        self.undo.push(edit, kind);
    }

    fn apply(&mut self, part: Range<usize>, with: &str) {
        let at = part.start;
        self.raw.replace_range(part, with);
        self.version += 1;
        self.goal = None;
        self.cut.open = false;
        self.layout.get_mut().invalidate(at);
        self.cursor = self.snap(at + with.len());
    }

    /// Takes the last group of edits back. Returns false if there is none.
    pub(crate) fn undo(&mut self) -> bool {
        let Some(edit) = self.undo.take() else {
            return false;
        };
        self.apply(edit.at..edit.at + edit.inserted.len(), &edit.removed);
        self.cursor = self.snap(edit.cursor);
        true
    }

    /// Moves the cursor, which is put between cells.
    pub(crate) fn go(&mut self, at: usize) {
        self.cursor = self.snap(at.min(self.raw.len()));
        self.goal = None;
        self.cut.open = false;
        self.undo.close();
    }

    /// Returns the next position between cells.
    fn snap(&self, at: usize) -> usize {
        let inside = |at: &usize| !cells::is_boundary(&self.raw, *at);
        (at..)
            .take_while(|at| *at <= self.raw.len())
            .find(|at| !inside(at))
            .unwrap_or(self.raw.len())
    }

    /// Cuts a part of the text. Cuts after each other are one, in the order of the text.
    pub(crate) fn cut(&mut self, part: Range<usize>) {
        if part.is_empty() {
            return;
        }
        let text = self.raw[part.clone()].to_owned();
        let before = part.end == self.cursor && part.start < self.cursor;
        let mut raw = std::mem::take(&mut self.cut.raw);
        match (self.cut.open, before) {
            (true, true) => raw.insert_str(0, &text),
            (true, false) => raw.push_str(&text),
            (false, _) => raw = text,
        }
        self.replace(part, "", EditKind::Other);
        self.cut = Cut { raw, lines: false, open: true };
    }

    /// Copies a part of the text.
    pub(crate) fn copy(&mut self, part: Range<usize>, lines: bool) {
        self.cut = Cut { raw: self.raw[part].to_owned(), lines, open: false };
    }

    /// Cuts whole lines, of which a range from start to end is given.
    pub(crate) fn cut_lines(&mut self, lines: Range<usize>) {
        let Range { start, end } = lines;
        let raw = self.raw[start..end].to_owned();
        let part = if end < self.raw.len() { start..end + 1 } else { start.saturating_sub(1)..end };
        self.replace(part, "", EditKind::Other);
        self.cut = Cut { raw, lines: true, open: false };
        self.go(self.line_start(start.min(self.raw.len())));
    }

    /// Inserts the text that was cut or copied last.
    pub(crate) fn put(&mut self) {
        let text = self.cut.raw.clone();
        self.put_at(self.cursor, &text);
    }

    /// Inserts text that has spans of this buffer.
    pub(crate) fn put_at(&mut self, at: usize, raw: &str) {
        self.replace(at..at, raw, EditKind::Other);
    }

    /// Returns the position one cell to the left.
    pub(crate) fn left(&self) -> usize {
        cells::previous(&self.raw, self.cursor)
    }

    /// Returns the position one cell to the right.
    pub(crate) fn right(&self) -> usize {
        cells::next(&self.raw, self.cursor)
    }

    /// Returns the start of the line of a position.
    pub(crate) fn line_start(&self, at: usize) -> usize {
        self.raw[..at].rfind('\n').map_or(0, |line| line + 1)
    }

    /// Returns the end of the line of a position.
    pub(crate) fn line_end(&self, at: usize) -> usize {
        self.raw[at..].find('\n').map_or(self.raw.len(), |line| at + line)
    }

    /// Sets the width of rows, in columns.
    pub(crate) fn set_width(&self, columns: usize) {
        let mut layout = self.layout.borrow_mut();
        if layout.width() != columns.max(1) {
            *layout = Layout::new(columns);
        }
    }

    /// Returns the columns of a cell. A label is cut to the width of a row.
    fn cell_width(&self, cell: &str, row: usize) -> usize {
        let label = self.span(cell).map(|span| cells::cut(&span.label, row));
        let cell = label
            .as_deref()
            .map_or_else(|| cells::width(cell), unicode_width::UnicodeWidthStr::width);
        cell.min(row)
    }

    /// Runs a question about rows.
    fn with_rows<T>(&self, ask: impl FnOnce(&mut Layout, &Rows<'_>) -> T) -> T {
        let mut layout = self.layout.borrow_mut();
        let row = layout.width();
        let width_of = |cell: &str| self.cell_width(cell, row);
        ask(&mut layout, &Rows { text: &self.raw, width_of: &width_of })
    }

    /// Returns row and column of the cursor.
    pub(crate) fn place(&self) -> (usize, usize) {
        self.with_rows(|layout, text| {
            let row = layout.row_of(text, self.cursor);
            let start = layout.row(text, row).map_or(0, |row| row.start);
            (row, text.width(start..self.cursor).min(layout.width()))
        })
    }

    /// Returns the bytes of a row, or nothing after the last one.
    pub(crate) fn row(&self, row: usize) -> Option<Range<usize>> {
        self.with_rows(|layout, text| layout.row(text, row))
    }

    /// Moves to the row above. Returns false in the first one.
    pub(crate) fn up(&mut self) -> bool {
        let (row, column) = self.place();
        row > 0 && self.go_to_row(row - 1, column)
    }

    /// Moves to the row below. Returns false in the last one.
    pub(crate) fn down(&mut self) -> bool {
        let (row, column) = self.place();
        self.go_to_row(row + 1, column)
    }

    /// Moves to the end of a row.
    pub(crate) fn go_to_end_of_row(&mut self, row: usize) {
        self.go_to_row(row, usize::MAX);
        self.goal = None;
    }

    fn go_to_row(&mut self, row: usize, column: usize) -> bool {
        let column = self.goal.unwrap_or(column);
        let at = self.with_rows(|layout, text| {
            let range = layout.row(text, row)?;
            let soft = layout.row(text, row + 1).is_some_and(|next| next.start == range.end);
            Some(text.at_column(range, column, soft))
        });
        let Some(at) = at else {
            return false;
        };
        self.go(at);
        self.goal = Some(column);
        true
    }
}
