//! A menu: rows to choose one of.

use std::cell::Cell;

use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::UnicodeWidthStr as _;

use crate::cells;
use crate::composer::{ComposerStyle, ComposerView};
use crate::keys::{Input, Key, KeyCode};
use crate::text::{Line, Style};

/// Rows with a value each, one of which a person chooses.
#[derive(Debug, Clone)]
pub struct Menu<T> {
    title: String,
    rows: Vec<Row<T>>,
    /// Rows that fit the filter.
    fitting: Vec<usize>,
    selected: usize,
    filter: String,
    numbered: bool,
    /// Rows of the last view, for moves by pages.
    page: Cell<usize>,
}

#[derive(Debug, Clone)]
struct Row<T> {
    label: String,
    detail: String,
    value: T,
}

/// Result of an input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MenuAction<T> {
    /// Nothing changed.
    None,
    /// The view changed.
    Redraw,
    /// This value was chosen.
    Chosen(T),
    /// Esc or Ctrl+C: nothing was chosen.
    Cancelled,
}

impl<T: Clone> Menu<T> {
    /// Creates a menu without rows. Typing filters its rows by words.
    #[must_use]
    pub fn new(title: impl Into<String>) -> Self {
        Self {
            title: title.into(),
            rows: Vec::new(),
            fitting: Vec::new(),
            selected: 0,
            filter: String::new(),
            numbered: false,
            page: Cell::new(1),
        }
    }

    /// Adds a row.
    #[must_use]
    pub fn row(mut self, label: impl Into<String>, detail: impl Into<String>, value: T) -> Self {
        self.fitting.push(self.rows.len());
        self.rows.push(Row { label: label.into(), detail: detail.into(), value });
        self
    }

    /// Numbers the rows: the keys 1 to 9 choose, and typing does not filter.
    #[must_use]
    pub fn numbered(self) -> Self {
        Self { numbered: true, ..self }
    }

    /// Returns the value of the selected row.
    #[must_use]
    pub fn selected(&self) -> Option<&T> {
        self.fitting.get(self.selected).map(|row| &self.rows[*row].value)
    }

    /// Applies an input.
    pub fn input(&mut self, input: &Input) -> MenuAction<T> {
        match input {
            Input::Key(key) => self.key(*key),
            Input::Paste(text) if !self.numbered => self.add_filter(text),
            Input::Resize { .. } => MenuAction::Redraw,
            Input::Paste(_) | Input::Focus(_) => MenuAction::None,
        }
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "all other keys are alike")]
    fn key(&mut self, key: Key) -> MenuAction<T> {
        let page = self.page.get() as isize;
        match key.code {
            KeyCode::Up => self.select(-1),
            KeyCode::Down => self.select(1),
            KeyCode::PageUp => self.select(-page),
            KeyCode::PageDown => self.select(page),
            KeyCode::Home => self.select(isize::MIN),
            KeyCode::End => self.select(isize::MAX),
            KeyCode::Enter => self.choose(self.selected),
            KeyCode::Esc => MenuAction::Cancelled,
            KeyCode::Backspace => self.erase(),
            KeyCode::Char(letter) if key.ctrl && !key.alt => self.ctrl(letter),
            KeyCode::Char(letter) if key.typed().is_some() => self.typed(letter),
            _ => MenuAction::None,
        }
    }

    fn ctrl(&mut self, letter: char) -> MenuAction<T> {
        match letter {
            'c' => MenuAction::Cancelled,
            'p' => self.select(-1),
            'n' => self.select(1),
            'h' => self.erase(),
            'u' => {
                self.filter.clear();
                self.fit()
            }
            _ => MenuAction::None,
        }
    }

    fn typed(&mut self, letter: char) -> MenuAction<T> {
        if !self.numbered {
            return self.add_filter(letter.encode_utf8(&mut [0; 4]));
        }
        let number = letter.to_digit(10).and_then(|number| (number as usize).checked_sub(1));
        match (number, letter) {
            (Some(row), _) => self.choose(row),
            (None, 'j') => self.select(1),
            (None, 'k') => self.select(-1),
            (None, _) => MenuAction::None,
        }
    }

    fn choose(&self, row: usize) -> MenuAction<T> {
        match self.fitting.get(row) {
            Some(at) => MenuAction::Chosen(self.rows[*at].value.clone()),
            None => MenuAction::None,
        }
    }

    fn select(&mut self, rows: isize) -> MenuAction<T> {
        let last = self.fitting.len().saturating_sub(1);
        self.selected = self.selected.saturating_add_signed(rows).min(last);
        MenuAction::Redraw
    }

    fn add_filter(&mut self, text: &str) -> MenuAction<T> {
        self.filter.extend(text.chars().filter(|letter| !letter.is_control()));
        self.fit()
    }

    fn erase(&mut self) -> MenuAction<T> {
        let last = self.filter.grapheme_indices(true).next_back().map_or(0, |(at, _)| at);
        self.filter.truncate(last);
        self.fit()
    }

    /// Selects the first row that has all words of the filter.
    fn fit(&mut self) -> MenuAction<T> {
        let filter = self.filter.to_lowercase();
        let fits = |row: &Row<T>| {
            let text = format!("{} {}", row.label, row.detail).to_lowercase();
            filter.split_whitespace().all(|word| text.contains(word))
        };
        let rows = self.rows.iter().enumerate();
        self.fitting = rows.filter(|(_, row)| fits(row)).map(|(at, _)| at).collect();
        self.selected = 0;
        MenuAction::Redraw
    }

    /// Returns at most `max_rows` lines: the title with the filter, and rows around the selected one.
    #[must_use]
    pub fn view(&self, columns: u16, max_rows: u16, style: &ComposerStyle) -> ComposerView {
        let width = usize::from(columns.saturating_sub(1));
        let most = usize::from(max_rows);
        if width == 0 || most == 0 {
            return ComposerView::default();
        }
        let page = most - 1;
        self.page.set(page.max(1));
        let first = (self.selected + 1).saturating_sub(page);
        let shown: Vec<usize> = (first..self.fitting.len()).take(page).collect();
        let title = self.title(width, style);
        let cursor = if self.filter.is_empty() && !shown.is_empty() {
            (self.selected - first + 1, 0)
        } else {
            (0, title.width())
        };
        let names = shown.iter().map(|at| self.rows[self.fitting[*at]].label.width()).max();
        let rows = shown.into_iter().map(|at| self.line(at, names.unwrap_or(0), width, style));
        let lines = std::iter::once(title).chain(rows).collect();
        ComposerView { lines, cursor }
    }

    fn title(&self, width: usize, style: &ComposerStyle) -> Line {
        if self.filter.is_empty() {
            return Line::styled(cells::cut(&self.title, width), style.text);
        }
        let title = cells::cut(&format!("{}: ", self.title), width / 2);
        let filter = cells::cut(&self.filter, width - title.width());
        Line::styled(title, style.text).with(filter, style.prompt)
    }

    fn line(&self, at: usize, names: usize, width: usize, style: &ComposerStyle) -> Line {
        let row = &self.rows[self.fitting[at]];
        let selected = at == self.selected;
        let mark = if selected { "› " } else { "  " };
        let number = match self.numbered && at < 9 {
            true => format!("{}. ", at + 1),
            false => String::new(),
        };
        let label = format!("{mark}{number}{}", row.label);
        let label_style = if selected { style.selected } else { style.label };
        let gap = names - row.label.width() + 2;
        two_columns((&label, label_style), gap, (&row.detail, style.detail), width)
    }
}

/// Returns a line with a name and, if there is room for it, a description.
pub(crate) fn two_columns(
    (name, name_style): (&str, Style),
    gap: usize,
    (detail, detail_style): (&str, Style),
    width: usize,
) -> Line {
    let name = cells::cut(name, width);
    let left = width.saturating_sub(name.width() + gap);
    let line = Line::styled(name, name_style);
    if left < 4 || detail.is_empty() {
        return line;
    }
    line.with(" ".repeat(gap), detail_style).with(cells::cut(detail, left), detail_style)
}

#[cfg(test)]
mod tests;
