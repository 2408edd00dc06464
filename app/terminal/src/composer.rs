//! The composer: keys and pastes in, text and actions out.

mod buffer;
mod completion;
mod draft;
mod emacs;
mod layout;
mod search;
mod undo;
mod view;
mod vim;
mod words;

use std::cell::Cell;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

pub(crate) use buffer::Buffer;
pub use completion::CommandHint;
use completion::{Completion, Enter};
use draft::Attachment;
pub use draft::Draft;
pub(crate) use emacs::edit;
use search::{Search, SearchEnd};
pub use view::{ComposerStyle, ComposerView};
use vim::{Vim, VimKey};

use crate::files::FileSource;
use crate::history::History;
use crate::keys::{Input, Key, KeyCode};

/// Longest time between two presses of a key that mean something together.
const TWICE: Duration = Duration::from_secs(1);

/// Settings and sources of a composer.
pub struct ComposerOptions {
    /// True for the keys of vi.
    pub vim: bool,
    /// Commands that a `/` at the start of the text lists.
    pub commands: Vec<CommandHint>,
    /// Texts that were sent before.
    pub history: History,
    /// Files that an `@` lists.
    pub files: Box<dyn FileSource>,
}

/// Result of an input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Nothing changed.
    None,
    /// The view changed.
    Redraw,
    /// Enter: the text is to be sent. The composer is empty.
    Submit(Draft),
    /// Tab while the session is busy: the text is to be sent later. The composer is empty.
    Queue(Draft),
    /// Esc that no menu and no mode took.
    Escape,
    /// Esc twice within a second in an empty composer.
    EscapeTwice,
    /// Ctrl+C in an empty composer.
    Interrupt,
    /// Ctrl+C twice within a second, or Ctrl+D, in an empty composer.
    Exit,
    /// Shift+Tab.
    CycleMode,
    /// Ctrl+G or Ctrl+X Ctrl+E: the text is to be edited in another program.
    Editor,
    /// Ctrl+T.
    Transcript,
    /// Ctrl+V or an empty paste: an image may be in the clipboard.
    PasteImage,
    /// Ctrl+Z.
    Suspend,
}

/// Editor of the text that a person is about to send.
pub struct Composer {
    buffer: Buffer,
    vim: Option<Vim>,
    commands: Vec<CommandHint>,
    history: History,
    files: Box<dyn FileSource>,
    completion: Completion,
    search: Option<Search>,
    recall: Option<Recall>,
    /// True after Ctrl+X.
    prefix: bool,
    escaped: Option<Instant>,
    interrupted: Option<Instant>,
    failure: Option<io::Error>,
    /// First row of the text in the view.
    top: Cell<usize>,
}

/// Text from the history, and the person's own text that it replaced.
struct Recall {
    at: usize,
    own: Draft,
}

impl Composer {
    /// Creates an empty composer.
    #[must_use]
    pub fn new(options: ComposerOptions) -> Self {
        let ComposerOptions { vim, commands, history, files } = options;
        Self {
            buffer: Buffer::default(),
            vim: vim.then(Vim::default),
            commands,
            history,
            files,
            completion: Completion::default(),
            search: None,
            recall: None,
            prefix: false,
            escaped: None,
            interrupted: None,
            failure: None,
            top: Cell::new(0),
        }
    }

    /// Applies an input. `busy` is true while Tab queues the text instead of doing nothing.
    pub fn input(&mut self, input: &Input, now: Instant, busy: bool) -> Action {
        match input {
            Input::Key(key) => self.key(*key, now, busy),
            Input::Paste(text) => self.paste(text),
            Input::Resize { .. } => Action::Redraw,
            Input::Focus(_) => Action::None,
        }
    }

    /// Returns the text with its pastes in full and a label for each image.
    #[must_use]
    pub fn text(&self) -> String {
        self.buffer.text()
    }

    /// Replaces the text, for example by that of an editor. Images stay where the new text has their
    /// labels.
    pub fn set_text(&mut self, text: &str) {
        self.close();
        self.buffer.set_text(text);
    }

    /// Inserts an image at the cursor.
    pub fn attach_image(&mut self, path: &Path) {
        self.close();
        self.buffer.attach(Attachment::image(path));
    }

    /// Returns true without text.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.buffer.raw().is_empty()
    }

    #[cfg(test)]
    fn has_menu(&self) -> bool {
        self.completion.is_open() || self.search.is_some()
    }

    /// Returns the name of the mode of the keys of vi, for a status line.
    #[must_use]
    pub fn mode(&self) -> Option<&'static str> {
        self.vim.as_ref().map(Vim::mode)
    }

    /// Replaces the commands that a `/` lists.
    pub fn set_commands(&mut self, commands: Vec<CommandHint>) {
        self.commands = commands;
    }

    /// Looks for files again if their list has changed. Returns true if the view changed.
    pub fn refresh(&mut self) -> bool {
        let changed = self.files.changed() && self.completion.lists_files();
        if changed {
            self.complete();
        }
        changed
    }

    /// Returns the failure to write the history, once.
    pub fn history_failure(&mut self) -> Option<io::Error> {
        self.failure.take()
    }

    fn key(&mut self, key: Key, now: Instant, busy: bool) -> Action {
        let recent = |then: Option<Instant>| then.is_some_and(|then| now < then + TWICE);
        let escaped = recent(self.escaped.take());
        let interrupted = recent(self.interrupted.take());
        if self.search.is_some() {
            return self.search_key(key);
        }
        if std::mem::take(&mut self.prefix) && key == Key::ctrl('e') {
            return Action::Editor;
        }
        if let Some(action) = self.completion_key(key) {
            return action;
        }
        match (key.code, key.ctrl) {
            (KeyCode::Esc, _) => self.escape(now, escaped),
            (KeyCode::Char('c'), true) => self.interrupt(now, interrupted),
            (KeyCode::Char('d'), true) if self.is_empty() => Action::Exit,
            (KeyCode::Enter, ctrl) if ctrl || key.alt || key.shift => self.newline(),
            (KeyCode::Char('j'), true) => self.newline(),
            (KeyCode::Enter, _) => self.enter(),
            (KeyCode::Tab, _) if busy => self.submit().map_or(Action::None, Action::Queue),
            (KeyCode::Up, false) | (KeyCode::Char('p'), true) => self.up(),
            (KeyCode::Down, false) | (KeyCode::Char('n'), true) => self.down(),
            (KeyCode::Char(letter), true) => {
                self.ctrl(letter).unwrap_or_else(|| self.edit_key(key))
            }
            (KeyCode::BackTab, _) => Action::CycleMode,
            _ => self.edit_key(key),
        }
    }

    /// Applies a character with Ctrl that is no edit.
    fn ctrl(&mut self, letter: char) -> Option<Action> {
        Some(match letter {
            'g' => Action::Editor,
            't' => Action::Transcript,
            'v' => Action::PasteImage,
            'z' => Action::Suspend,
            'l' => Action::Redraw,
            'r' => {
                self.completion.close();
                self.search = Some(Search::default());
                Action::Redraw
            }
            'x' => {
                self.prefix = true;
                Action::None
            }
            _ => return None,
        })
    }

    fn edit_key(&mut self, key: Key) -> Action {
        let before = (self.buffer.version(), self.buffer.cursor());
        let action = match &mut self.vim {
            Some(vim) if vim.is_normal() => match vim.key(&mut self.buffer, key) {
                VimKey::Done => Action::Redraw,
                VimKey::Up => return self.up(),
                VimKey::Down => return self.down(),
                VimKey::Unknown => Action::None,
            },
            Some(_) | None if edit(&mut self.buffer, key) => Action::Redraw,
            Some(_) | None => Action::None,
        };
        let edited = before.0 != self.buffer.version();
        if edited || (self.completion.is_open() && before.1 != self.buffer.cursor()) {
            self.complete();
        }
        action
    }

    fn paste(&mut self, text: &str) -> Action {
        if text.is_empty() {
            return Action::PasteImage;
        }
        if let Some(search) = &mut self.search {
            search.add(text, &self.history);
            return Action::Redraw;
        }
        match self.files.image(text) {
            Some(path) => self.buffer.attach(Attachment::image(&path)),
            None => self.buffer.paste(text),
        }
        self.complete();
        Action::Redraw
    }

    fn escape(&mut self, now: Instant, escaped: bool) -> Action {
        if self.vim.as_mut().is_some_and(|vim| vim.escape(&mut self.buffer)) {
            return Action::Redraw;
        }
        if self.is_empty() && escaped {
            return Action::EscapeTwice;
        }
        self.escaped = self.is_empty().then_some(now);
        Action::Escape
    }

    fn interrupt(&mut self, now: Instant, interrupted: bool) -> Action {
        if !self.is_empty() {
            self.set_text("");
            return Action::Redraw;
        }
        if interrupted {
            return Action::Exit;
        }
        self.interrupted = Some(now);
        Action::Interrupt
    }

    fn newline(&mut self) -> Action {
        self.buffer.insert("\n");
        self.complete();
        Action::Redraw
    }

    /// Submits the text, or makes a backslash before the cursor a line break.
    fn enter(&mut self) -> Action {
        let at = self.buffer.cursor();
        if self.buffer.raw()[..at].ends_with('\\') {
            self.buffer.replace(at - 1..at, "\n", undo::EditKind::Other);
            return Action::Redraw;
        }
        self.submit().map_or(Action::None, Action::Submit)
    }

    /// Takes the text unless it is blank, and adds it to the history.
    fn submit(&mut self) -> Option<Draft> {
        if self.buffer.raw().trim().is_empty() {
            return None;
        }
        self.close();
        let draft = self.buffer.take();
        self.failure = self.history.push(draft.clone()).err().or(self.failure.take());
        if let Some(vim) = &mut self.vim {
            vim.insert();
        }
        Some(draft)
    }

    /// Closes menus, and ends a walk through the history.
    fn close(&mut self) {
        self.completion.close();
        self.search = None;
        self.recall = None;
        self.top.set(0);
    }

    fn up(&mut self) -> Action {
        let moved = self.buffer.up();
        let at = self.recall.as_ref().map_or(self.history.len(), |recall| recall.at);
        if moved || at == 0 {
            return if moved { Action::Redraw } else { Action::None };
        }
        self.recall_entry(at - 1);
        self.buffer.go_to_end_of_row(0);
        Action::Redraw
    }

    fn down(&mut self) -> Action {
        if self.buffer.down() {
            return Action::Redraw;
        }
        let Some(recall) = self.recall.take() else {
            return Action::None;
        };
        if recall.at + 1 >= self.history.len() {
            self.completion.close();
            self.buffer.set_draft(&recall.own);
        } else {
            let at = recall.at + 1;
            self.recall = Some(recall);
            self.recall_entry(at);
        }
        Action::Redraw
    }

    /// Shows an entry of the history, with the cursor at its end.
    fn recall_entry(&mut self, at: usize) {
        let Some(entry) = self.history.entry(at) else {
            return;
        };
        let own = self.recall.take().map_or_else(|| self.buffer.draft(), |recall| recall.own);
        self.recall = Some(Recall { at, own });
        self.completion.close();
        self.buffer.set_draft(entry);
    }

    fn search_key(&mut self, key: Key) -> Action {
        let Some(search) = &mut self.search else {
            return Action::None;
        };
        match search.key(key, &self.history) {
            None => {}
            Some(SearchEnd::Cancelled) => self.search = None,
            Some(SearchEnd::Chosen(at)) => {
                self.search = None;
                self.recall_entry(at);
            }
        }
        Action::Redraw
    }

    /// Applies a key to the open list. Returns nothing for a key that is not for it.
    #[expect(clippy::wildcard_enum_match_arm, reason = "all other keys are alike")]
    fn completion_key(&mut self, key: Key) -> Option<Action> {
        if !self.completion.is_open() {
            return None;
        }
        let plain = Key::plain(key.code) == key;
        match key.code {
            KeyCode::Up if plain => self.completion.select(-1),
            KeyCode::Down if plain => self.completion.select(1),
            KeyCode::Char('p') if key == Key::ctrl('p') => self.completion.select(-1),
            KeyCode::Char('n') if key == Key::ctrl('n') => self.completion.select(1),
            KeyCode::Esc => self.completion.dismiss(),
            KeyCode::Tab => self.accept(),
            KeyCode::Enter if plain => match self.completion.enter(&self.buffer) {
                Enter::Complete => self.accept(),
                Enter::CompleteAndSubmit => {
                    self.accept();
                    return self.submit().map(Action::Submit);
                }
                Enter::Submit => return self.submit().map(Action::Submit),
            },
            _ => return None,
        }
        Some(Action::Redraw)
    }

    fn accept(&mut self) {
        if self.completion.accept(&mut self.buffer) {
            self.complete();
        }
    }

    /// Lists what fits at the cursor.
    fn complete(&mut self) {
        if self.vim.as_ref().is_some_and(Vim::is_normal) {
            self.completion.close();
        } else {
            self.completion.update(&self.buffer, &self.commands, self.files.as_mut());
        }
    }
}

#[cfg(test)]
mod tests;
