//! Incremental search in the history.

use unicode_segmentation::UnicodeSegmentation as _;

use crate::composer::buffer::Buffer;
use crate::history::History;
use crate::keys::{Key, KeyCode};

/// A search under way.
#[derive(Debug, Default)]
pub(super) struct Search {
    /// Text that is looked for.
    pub(super) query: String,
    /// True if no entry has the text.
    pub(super) failed: bool,
    /// The entry that was found last.
    pub(super) preview: Buffer,
    found: Option<usize>,
}

/// End of a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SearchEnd {
    /// The composer's text stays.
    Cancelled,
    /// This entry becomes the text.
    Chosen(usize),
}

impl Search {
    /// Applies a key.
    pub(super) fn key(&mut self, key: Key, history: &History) -> Option<SearchEnd> {
        if let Some(letter) = key.typed() {
            self.add(letter.encode_utf8(&mut [0; 4]), history);
            return None;
        }
        match (key.code, key.ctrl) {
            (KeyCode::Esc, _) | (KeyCode::Char('c' | 'g'), true) => Some(SearchEnd::Cancelled),
            (KeyCode::Char('r'), true) | (KeyCode::Up, _) => {
                self.look(history, self.found.unwrap_or(history.len()));
                None
            }
            (KeyCode::Backspace, _) | (KeyCode::Char('h'), true) => {
                let last = self.query.grapheme_indices(true).next_back().map_or(0, |(at, _)| at);
                self.query.truncate(last);
                self.look(history, history.len());
                None
            }
            (KeyCode::Enter | KeyCode::Tab | KeyCode::Right | KeyCode::End, _)
            | (KeyCode::Char('e' | 'j'), true) => {
                Some(self.found.map_or(SearchEnd::Cancelled, SearchEnd::Chosen))
            }
            _ => None,
        }
    }

    /// Adds text to what is looked for.
    pub(super) fn add(&mut self, text: &str, history: &History) {
        self.query.extend(text.chars().filter(|letter| !letter.is_control()));
        let before = self.found.map_or(history.len(), |found| found + 1);
        self.look(history, before);
    }

    fn look(&mut self, history: &History, before: usize) {
        if self.query.is_empty() {
            *self = Self::default();
            return;
        }
        let found = history.find(&self.query, before);
        self.failed = found.is_none();
        self.found = found.or(self.found);
        if let Some(entry) = found.and_then(|at| history.entry(at)) {
            self.preview.set_draft(entry);
        }
    }
}
