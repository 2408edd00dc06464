//! Keys and pastes in; text, actions and views out.

mod any;
mod editing;
mod lists;
mod vi;

use std::path::PathBuf;

use super::*;

/// A composer and a clock.
pub(super) struct Desk {
    pub(super) composer: Composer,
    now: Instant,
}

/// Files of a list.
struct Listed(Vec<&'static str>);

impl FileSource for Listed {
    fn find(&mut self, query: &str, most: usize) -> Vec<String> {
        let fitting = self.0.iter().filter(|path| path.contains(query)).take(most);
        fitting.map(|path| (*path).to_owned()).collect()
    }

    fn image(&self, text: &str) -> Option<PathBuf> {
        text.ends_with(".png").then(|| text.into())
    }
}

impl Desk {
    pub(super) fn new() -> Self {
        Self::with(false)
    }

    pub(super) fn vi() -> Self {
        Self::with(true)
    }

    fn with(vim: bool) -> Self {
        let command = |name: &str, takes: Option<&str>| CommandHint {
            name: name.into(),
            about: format!("About {name}"),
            takes: takes.map(Into::into),
        };
        let commands = vec![
            command("clear", None),
            command("compact", Some("[focus]")),
            command("model", None),
            command("rename", Some("<name>")),
        ];
        let files = Box::new(Listed(vec!["src/", "src/main.rs", "a b.txt"]));
        let options = ComposerOptions { vim, commands, history: History::memory(), files };
        Self { composer: Composer::new(options), now: Instant::now() }
    }

    /// Applies an input 300 ms after the last one.
    pub(super) fn input(&mut self, input: impl Into<Input>) -> Action {
        self.now += Duration::from_millis(300);
        self.composer.input(&input.into(), self.now, false)
    }

    pub(super) fn busy(&mut self, input: impl Into<Input>) -> Action {
        self.composer.input(&input.into(), self.now, true)
    }

    pub(super) fn paste(&mut self, text: &str) -> Action {
        self.input(Input::Paste(text.into()))
    }

    /// Applies keys: characters, names in `<>`, and `C-x` or `M-x` in `<>`. Returns the last action.
    pub(super) fn keys(&mut self, keys: &str) -> Action {
        let mut action = Action::None;
        let mut rest = keys;
        while let Some(letter) = rest.chars().next() {
            let name = rest.strip_prefix('<').and_then(|rest| rest.split_once('>'));
            let (key, after) = match name {
                Some((name, after)) => (named(name), after),
                None => (Key::char(letter), &rest[letter.len_utf8()..]),
            };
            action = self.input(key);
            rest = after;
        }
        action
    }

    /// Returns the text with `|` at the cursor, and labels for spans.
    pub(super) fn shown(&self) -> String {
        let (raw, at) = (self.composer.buffer.raw(), self.composer.buffer.cursor());
        let label = |part: &str| {
            let label = |cell: char| {
                let span = self.composer.buffer.span(cell.encode_utf8(&mut [0; 4]));
                span.map_or_else(|| cell.to_string(), |span| span.label.clone())
            };
            part.chars().map(label).collect::<String>()
        };
        format!("{}|{}", label(&raw[..at]), label(&raw[at..]))
    }

    /// Returns the lines of a view, with `|` at the cursor.
    pub(super) fn view(&self, columns: u16, rows: u16) -> Vec<String> {
        let view = self.composer.view(columns, rows, &ComposerStyle::default());
        let mut lines: Vec<String> = view.lines.iter().map(Line::text).collect();
        let (row, column) = view.cursor;
        let mut width = 0;
        let at = lines[row].char_indices().find_map(|(at, letter)| {
            let before = width;
            width += unicode_width::UnicodeWidthChar::width(letter).unwrap_or(0);
            (before >= column).then_some(at)
        });
        let at = at.unwrap_or(lines[row].len());
        lines[row].insert(at, '|');
        lines
    }
}

fn named(name: &str) -> Key {
    let (modifier, name) = match name.split_once('-') {
        Some((modifier, name)) if !name.is_empty() => (modifier, name),
        _ => ("", name),
    };
    let code = match name {
        "enter" => KeyCode::Enter,
        "tab" => KeyCode::Tab,
        "backtab" => KeyCode::BackTab,
        "back" => KeyCode::Backspace,
        "del" => KeyCode::Delete,
        "left" => KeyCode::Left,
        "right" => KeyCode::Right,
        "up" => KeyCode::Up,
        "down" => KeyCode::Down,
        "home" => KeyCode::Home,
        "end" => KeyCode::End,
        "esc" => KeyCode::Esc,
        letter => KeyCode::Char(letter.chars().next().unwrap()),
    };
    Key {
        code,
        ctrl: modifier.contains('C'),
        alt: modifier.contains('M'),
        shift: modifier.contains('S'),
    }
}

use crate::text::Line;

fn submitted(action: Action) -> Draft {
    let Action::Submit(draft) = action else { panic!("{action:?}") };
    draft
}
