//! A field: one line of text, with the keys of a shell.

use unicode_width::UnicodeWidthStr as _;

use crate::cells;
use crate::composer::{Buffer, ComposerStyle, ComposerView, edit};
use crate::keys::{Input, Key, KeyCode};
use crate::text::Line;

/// One line of text that a person writes, for example a reason.
#[derive(Debug)]
pub struct Field {
    title: String,
    buffer: Buffer,
}

/// Result of an input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FieldAction {
    /// Nothing changed.
    None,
    /// The view changed.
    Redraw,
    /// Enter: this is the text, which may be empty.
    Done(String),
    /// Esc or Ctrl+C.
    Cancelled,
}

impl Field {
    /// Creates a field with a text to start from.
    #[must_use]
    pub fn new(title: impl Into<String>, text: &str) -> Self {
        let mut field = Self { title: title.into(), buffer: Buffer::default() };
        field.insert(text);
        field
    }

    /// Applies an input.
    pub fn input(&mut self, input: &Input) -> FieldAction {
        match input {
            Input::Key(key) => self.key(*key),
            Input::Paste(text) => {
                self.insert(text);
                FieldAction::Redraw
            }
            Input::Resize { .. } => FieldAction::Redraw,
            Input::Focus(_) => FieldAction::None,
        }
    }

    fn key(&mut self, key: Key) -> FieldAction {
        if key.code == KeyCode::Enter || key == Key::ctrl('j') {
            return FieldAction::Done(self.buffer.text());
        }
        if key.code == KeyCode::Esc || key == Key::ctrl('c') {
            return FieldAction::Cancelled;
        }
        if edit(&mut self.buffer, key) { FieldAction::Redraw } else { FieldAction::None }
    }

    /// Inserts text as one line.
    fn insert(&mut self, text: &str) {
        let line = text.trim_end_matches(['\r', '\n']).replace("\r\n", " ");
        self.buffer.insert(&line.replace(['\r', '\n'], " "));
    }

    /// Returns one line with the title and the part of the text around the cursor.
    #[must_use]
    pub fn view(&self, columns: u16, style: &ComposerStyle) -> ComposerView {
        let width = usize::from(columns.saturating_sub(1));
        if width == 0 {
            return ComposerView::default();
        }
        let title = cells::cut(&format!("{}: ", self.title), width / 2);
        let (text, column) = self.window(width - title.width());
        let cursor = (0, title.width() + column);
        let line = Line::styled(title, style.prompt).with(text, style.text);
        ComposerView { lines: vec![line], cursor }
    }

    /// Returns the text in so many columns, and the column of the cursor.
    fn window(&self, columns: usize) -> (String, usize) {
        let (raw, cursor) = (self.buffer.raw(), self.buffer.cursor());
        let mut start = cursor;
        let mut before = 0;
        while start > 0 {
            let previous = cells::previous(raw, start);
            let width = cells::width(&raw[previous..start]);
            if before + width > columns.saturating_sub(1) {
                break;
            }
            (start, before) = (previous, before + width);
        }
        let (mut end, mut left) = (start, columns);
        let mut text = String::new();
        while end < raw.len() {
            let next = cells::next(raw, end);
            let shown =
                self.buffer.span(&raw[end..next]).map_or(&raw[end..next], |span| &span.label);
            let width = cells::width(shown);
            if width > left {
                break;
            }
            text.push_str(&cells::shown(shown));
            (end, left) = (next, left - width);
        }
        (text, before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(field: &Field, columns: u16) -> (String, usize) {
        let view = field.view(columns, &ComposerStyle::default());
        (view.lines[0].text(), view.cursor.1)
    }

    fn press(field: &mut Field, keys: &[Key]) -> FieldAction {
        let actions: Vec<FieldAction> =
            keys.iter().map(|key| field.input(&(*key).into())).collect();
        actions.last().unwrap().clone()
    }

    #[test]
    fn a_line_is_edited_and_done() {
        let mut field = Field::new("Reason", "to wide");
        press(&mut field, &[Key::alt('b'), Key::char('o'), Key::ctrl('e'), Key::char('!')]);
        assert_eq!(shown(&field, 40), ("Reason: to owide!".into(), 17));
        let enter = press(&mut field, &[Key::plain(KeyCode::Enter)]);
        assert_eq!(enter, FieldAction::Done("to owide!".into()));
        assert_eq!(press(&mut field, &[Key::plain(KeyCode::Esc)]), FieldAction::Cancelled);
        assert_eq!(press(&mut field, &[Key::plain(KeyCode::Up)]), FieldAction::None);
    }

    #[test]
    fn a_paste_is_one_line_and_does_not_end_it() {
        let mut field = Field::new("Reason", "");
        assert_eq!(field.input(&Input::Paste("a\r\nb\rc\u{1B}\n".into())), FieldAction::Redraw);
        assert_eq!(
            press(&mut field, &[Key::plain(KeyCode::Enter)]),
            FieldAction::Done("a b c".into())
        );
    }

    #[test]
    fn the_cursor_stays_visible() {
        let mut field = Field::new("A", &"日本語x".repeat(9));
        assert_eq!(shown(&field, 11), ("A: 本語x".into(), 8));
        for columns in 0..20 {
            let view = field.view(columns, &ComposerStyle::default());
            let width = view.lines.first().map_or(0, Line::width);
            assert!(width < usize::from(columns).max(1), "{columns}");
            assert!(view.cursor.1 < usize::from(columns).max(1), "{columns}");
        }
        press(&mut field, &[Key::ctrl('a')]);
        assert_eq!(shown(&field, 11), ("A: 日本語x".into(), 3));
    }
}
