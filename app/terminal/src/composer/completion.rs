//! Completion: a list of commands after `/` at the start, of files after `@` at a word's start.

use std::ops::Range;

use crate::composer::buffer::Buffer;
use crate::composer::undo::EditKind;
use crate::files::{FileSource, fuzzy};

/// Most files in a list.
const FILES: usize = 50;
/// Longest text before the cursor in which the name of a file starts, in bytes.
const QUERY: usize = 512;

/// A command that a `/` lists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandHint {
    /// Name without the slash.
    pub name: String,
    /// Description, in one line.
    pub about: String,
    /// Argument, for example `<name>`, or `[focus]` for one that may be left out.
    pub takes: Option<String>,
}

/// The list that is open, if any.
#[derive(Debug, Default)]
pub(super) struct Completion {
    choices: Vec<Choice>,
    selected: usize,
    token: Range<usize>,
    files: bool,
    /// Start of the word whose list was closed.
    dismissed: Option<usize>,
}

/// A row of the list.
#[derive(Debug)]
pub(super) struct Choice {
    /// Text on the left.
    pub(super) label: String,
    /// Text on the right.
    pub(super) detail: String,
    insert: String,
    enter: Enter,
}

/// Meaning of Enter at a row of the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Enter {
    /// Puts the choice into the text.
    Complete,
    /// Puts the choice into the text and submits it.
    CompleteAndSubmit,
    /// Submits the text as it is.
    Submit,
}

impl Completion {
    /// Returns true while there are choices.
    pub(super) fn is_open(&self) -> bool {
        !self.choices.is_empty()
    }

    /// Returns true after an `@`, also if no file fits.
    pub(super) fn lists_files(&self) -> bool {
        self.files
    }

    /// Returns up to `most` choices around the selected one, and its place among them.
    pub(super) fn window(&self, most: usize) -> (&[Choice], usize) {
        let first = (self.selected + 1).saturating_sub(most);
        let last = self.choices.len().min(first + most);
        (&self.choices[first..last], self.selected - first)
    }

    /// Closes the list.
    pub(super) fn close(&mut self) {
        *self = Self::default();
    }

    /// Closes the list until another word starts.
    pub(super) fn dismiss(&mut self) {
        *self = Self { dismissed: Some(self.token.start), ..Self::default() };
    }

    /// Selects a choice so many rows below, around the ends.
    pub(super) fn select(&mut self, rows: isize) {
        let count = self.choices.len().max(1);
        self.selected = (self.selected + count).saturating_add_signed(rows) % count;
    }

    /// Returns the meaning of Enter.
    pub(super) fn enter(&self, buffer: &Buffer) -> Enter {
        let choice = self.choices.get(self.selected);
        let typed = buffer.raw().get(self.token.clone()).unwrap_or_default();
        match choice {
            Some(choice) if choice.insert.trim_end() == typed => Enter::Submit,
            Some(choice) => choice.enter,
            None => Enter::Submit,
        }
    }

    /// Puts the selected choice into the text. Returns true if a list of more may follow.
    pub(super) fn accept(&mut self, buffer: &mut Buffer) -> bool {
        let Some(choice) = self.choices.get(self.selected) else {
            return false;
        };
        let insert = choice.insert.clone();
        buffer.replace(self.token.clone(), &insert, EditKind::Other);
        let more = insert.ends_with('/');
        if !more {
            self.dismiss();
        }
        more
    }

    /// Lists what fits at the cursor.
    pub(super) fn update(
        &mut self,
        buffer: &Buffer,
        commands: &[CommandHint],
        files: &mut dyn FileSource,
    ) {
        let raw = &buffer.raw()[..buffer.cursor()];
        let command = raw.strip_prefix('/').filter(|name| !name.contains(char::is_whitespace));
        let (start, choices) = match (command, file_token(raw)) {
            (Some(name), _) => (0, command_choices(name, commands)),
            (None, Some((start, name))) => (start, file_choices(name, files)),
            (None, None) => return self.close(),
        };
        if self.dismissed == Some(start) {
            return;
        }
        let files = command.is_none();
        *self = Self { choices, selected: 0, token: start..raw.len(), files, dismissed: None };
    }
}

/// Returns commands by prefix, then by the letters of their names.
fn command_choices(query: &str, commands: &[CommandHint]) -> Vec<Choice> {
    let lower = query.to_lowercase();
    let prefixed = |hint: &&CommandHint| hint.name.to_lowercase().starts_with(&lower);
    let (first, rest): (Vec<&CommandHint>, Vec<&CommandHint>) = commands.iter().partition(prefixed);
    let mut rest: Vec<(i32, &CommandHint)> =
        rest.into_iter().filter_map(|hint| Some((fuzzy(&lower, &hint.name)?, hint))).collect();
    rest.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
    let all = first.into_iter().chain(rest.into_iter().map(|(_, hint)| hint));
    all.map(command_choice).collect()
}

fn command_choice(hint: &CommandHint) -> Choice {
    let CommandHint { name, about, takes } = hint;
    let optional = takes.as_ref().is_none_or(|takes| takes.starts_with('['));
    let takes = takes.as_ref().map(|takes| format!(" {takes}"));
    Choice {
        label: format!("/{name}{}", takes.as_deref().unwrap_or_default()),
        detail: about.clone(),
        insert: format!("/{name}{}", if takes.is_some() { " " } else { "" }),
        enter: if optional { Enter::CompleteAndSubmit } else { Enter::Complete },
    }
}

/// Returns start and name of the file that is being written before the end of a text.
fn file_token(text: &str) -> Option<(usize, &str)> {
    let cut = text.floor_char_boundary(text.len().saturating_sub(QUERY));
    let near = &text[cut..];
    let begins = |at: &usize| {
        let before = text[..cut + at].chars().next_back();
        before.is_none_or(|before| before.is_whitespace() || "([{'\"`,;".contains(before))
    };
    let quoted = near.rfind("@\"").filter(begins).map(|at| (cut + at, &near[at + 2..]));
    if let Some(quoted) = quoted.filter(|(_, name)| !name.contains(['"', '\n'])) {
        return Some(quoted);
    }
    let word = near.rfind(char::is_whitespace).unwrap_or(0);
    let at = near[word..].find('@').map(|at| word + at).filter(begins)?;
    let name = &near[at + 1..];
    (!name.contains('"')).then_some((cut + at, name))
}

fn file_choices(query: &str, files: &mut dyn FileSource) -> Vec<Choice> {
    let found = files.find(query, FILES);
    let choice = |path: String| Choice {
        insert: insertion(&path),
        label: path,
        detail: String::new(),
        enter: Enter::Complete,
    };
    found.into_iter().map(choice).collect()
}

/// Returns the text for a path: in quotes if it has white space, open at a folder.
fn insertion(path: &str) -> String {
    let quoted = path.contains(char::is_whitespace);
    match (quoted, path.ends_with('/')) {
        (false, true) => format!("@{path}"),
        (false, false) => format!("@{path} "),
        (true, true) => format!("@\"{path}"),
        (true, false) => format!("@\"{path}\" "),
    }
}
