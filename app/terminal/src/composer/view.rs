//! View of the composer: rows of text, a list or a search below, the place of the cursor.

use std::ops::Range;

use unicode_width::UnicodeWidthStr as _;

use crate::cells;
use crate::composer::Composer;
use crate::composer::buffer::Buffer;
use crate::composer::completion::Choice;
use crate::menu::two_columns;
use crate::text::{Line, Span, Style};

/// Most rows of a list.
const ROWS: usize = 8;
/// Columns before the text.
const MARK: usize = 2;
/// Fewest columns with a mark before the text.
const NARROW: usize = 8;

/// Styles of the composer's parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ComposerStyle {
    /// Mark before the text.
    pub prompt: Style,
    /// Mark before a text that starts with `!`.
    pub command: Style,
    /// Text that was typed.
    pub text: Style,
    /// Labels of pastes and images.
    pub span: Style,
    /// Selected row of a list.
    pub selected: Style,
    /// Names in a list.
    pub label: Style,
    /// Descriptions in a list, and the words of a search.
    pub detail: Style,
}

/// Lines of the composer and the place of its cursor.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ComposerView {
    /// Lines, none of them wider than the terminal's columns less one.
    pub lines: Vec<Line>,
    /// Line and column of the cursor, both from 0.
    pub cursor: (usize, usize),
}

impl Composer {
    /// Returns at most `max_rows` lines that contain the cursor, with the open list below the text.
    #[must_use]
    pub fn view(&self, columns: u16, max_rows: u16, style: &ComposerStyle) -> ComposerView {
        let (width, most) = (usize::from(columns.saturating_sub(1)), usize::from(max_rows));
        if width == 0 || most == 0 {
            return ComposerView::default();
        }
        let searched = self.search.as_ref().filter(|search| !search.query.is_empty());
        let buffer = searched.map_or(&self.buffer, |search| &search.preview);
        let below = match &self.search {
            Some(search) => vec![search_line(&search.query, search.failed, width, style)],
            None => self.list(width, ROWS.min(most - 1), style),
        };
        let mark = if width < NARROW { 0 } else { MARK };
        let (mut lines, mut cursor) =
            self.text_rows(buffer, (width, mark), most - below.len(), style);
        if let Some(line) = below.first().filter(|_| self.search.is_some()) {
            let column = line.spans.iter().take(2).map(|span| span.text.width()).sum();
            cursor = (lines.len(), column);
        }
        lines.extend(below);
        ComposerView { lines, cursor }
    }

    /// Returns rows of the text around the cursor, and its place among them.
    fn text_rows(
        &self,
        buffer: &Buffer,
        (width, mark): (usize, usize),
        most: usize,
        style: &ComposerStyle,
    ) -> (Vec<Line>, (usize, usize)) {
        buffer.set_width(width - mark);
        if most == 0 {
            return (Vec::new(), (0, 0));
        }
        let (row, column) = buffer.place();
        let top = self.scroll(buffer, row, most);
        let rows = (top..top + most).map_while(|row| Some((row, buffer.row(row)?)));
        let lines = rows.map(|(row, range)| {
            let first = mark_of(buffer, row, mark, style);
            row_line(buffer, range, width - mark, first, style)
        });
        (lines.collect(), (row - top, column + mark))
    }

    /// Returns the first row to show: that of the last view if the cursor is within.
    fn scroll(&self, buffer: &Buffer, row: usize, most: usize) -> usize {
        let mut top = self.top.get().clamp((row + 1).saturating_sub(most), row);
        while top > 0 && buffer.row(top + most - 1).is_none() {
            top -= 1;
        }
        self.top.set(top);
        top
    }

    fn list(&self, width: usize, most: usize, style: &ComposerStyle) -> Vec<Line> {
        if !self.completion.is_open() || most == 0 {
            return Vec::new();
        }
        let (choices, selected) = self.completion.window(most);
        let names = choices.iter().map(|choice| choice.label.width()).max().unwrap_or(0);
        let row = |(at, choice)| choice_line(choice, at == selected, names, width, style);
        choices.iter().enumerate().map(row).collect()
    }
}

/// Returns the mark before a row of the text.
fn mark_of(buffer: &Buffer, row: usize, mark: usize, style: &ComposerStyle) -> Option<Span> {
    let (text, style) = match (row, buffer.raw().starts_with('!')) {
        (0, true) => ("$ ", style.command),
        (0, false) => ("› ", style.prompt),
        _ => ("  ", Style::default()),
    };
    (mark > 0).then(|| Span { text: text.into(), style })
}

/// Returns the line of a row of the text.
fn row_line(
    buffer: &Buffer,
    range: Range<usize>,
    width: usize,
    mark: Option<Span>,
    style: &ComposerStyle,
) -> Line {
    let mut line = Line { spans: mark.into_iter().collect(), ..Line::default() };
    let (mut plain, mut left) = (String::new(), width);
    let mut at = range.start;
    while at < range.end {
        let next = cells::next(buffer.raw(), at);
        let cell = &buffer.raw()[at..next];
        at = next;
        match buffer.span(cell) {
            Some(span) => {
                line.spans.push(Span { text: std::mem::take(&mut plain), style: style.text });
                let label = cells::cut(&span.label, left);
                left -= label.width();
                line.spans.push(Span { text: label, style: style.span });
            }
            None if cells::width(cell) <= left => {
                left -= cells::width(cell);
                plain.push_str(&cells::shown(cell));
            }
            None => {
                plain.push_str(if left > 0 && cell != " " { "…" } else { "" });
                left = 0;
            }
        }
    }
    line.spans.push(Span { text: plain, style: style.text });
    line.spans.retain(|span| !span.text.is_empty());
    line
}

fn choice_line(
    choice: &Choice,
    selected: bool,
    names: usize,
    width: usize,
    style: &ComposerStyle,
) -> Line {
    let label_style = if selected { style.selected } else { style.label };
    let mark = if selected { "› " } else { "  " };
    let gap = names - choice.label.width() + 2;
    let label = format!("{mark}{}", choice.label);
    two_columns((&label, label_style), gap, (&choice.detail, style.detail), width)
}

/// Returns the line of a search: its name, the end of the query, and a word on failure.
fn search_line(query: &str, failed: bool, width: usize, style: &ComposerStyle) -> Line {
    let name = cells::cut("search: ", width / 2);
    let mut tail = query;
    while tail.width() + name.width() > width {
        tail = &tail[cells::next(tail, 0)..];
    }
    let note = if failed { "  no match" } else { "" };
    let left = width - name.width() - tail.width();
    Line::styled(name, style.detail)
        .with(tail, style.text)
        .with(cells::cut(note, left), style.detail)
}
