//! Look and keys of the terminal: the table `[terminal]`.

use std::collections::BTreeMap;

use serde::Serialize;
use toml::de::DeTable;
use windlass_terminal::{Key, KeyCode};

use super::file::{Reader, in_order, unknown};

/// Colours of the terminal.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Theme {
    /// By the background of the terminal.
    #[default]
    Auto,
    Dark,
    Light,
    /// No colours and no live area.
    Plain,
}

/// Part of the status line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum StatusPart {
    Model,
    Mode,
    Sandbox,
    Tokens,
    Cost,
    Folder,
    Branch,
}

/// Look and keys of the terminal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct TerminalConfig {
    pub(crate) theme: Theme,
    /// True for the keys of vi.
    pub(crate) vim: bool,
    /// True to notify the person when a turn has ended or waits.
    pub(crate) notify: bool,
    /// Parts of the status line, in order.
    pub(crate) status: Vec<StatusPart>,
    /// Further keys of actions, by the names of both.
    pub(crate) keys: BTreeMap<&'static str, String>,
}

/// Keys of the table.
pub(super) const TERMINAL_KEYS: [&str; 5] = ["keys", "notify", "status", "theme", "vim"];

/// Actions that further keys may do, with their own keys.
pub(super) const ACTIONS: [(&str, Key); 11] = [
    ("cycle_mode", Key::plain(KeyCode::BackTab)),
    ("editor", Key::ctrl('g')),
    ("interrupt", Key::plain(KeyCode::Esc)),
    ("leave", Key::ctrl('d')),
    ("newline", Key::shift(KeyCode::Enter)),
    ("paste_image", Key::ctrl('v')),
    ("queue", Key::plain(KeyCode::Tab)),
    ("search", Key::ctrl('r')),
    ("send", Key::plain(KeyCode::Enter)),
    ("suspend", Key::ctrl('z')),
    ("transcript", Key::ctrl('t')),
];

const THEMES: [(&str, Theme); 4] = [
    ("auto", Theme::Auto),
    ("dark", Theme::Dark),
    ("light", Theme::Light),
    ("plain", Theme::Plain),
];
const STATUS: [(&str, StatusPart); 7] = [
    ("model", StatusPart::Model),
    ("mode", StatusPart::Mode),
    ("sandbox", StatusPart::Sandbox),
    ("tokens", StatusPart::Tokens),
    ("cost", StatusPart::Cost),
    ("folder", StatusPart::Folder),
    ("branch", StatusPart::Branch),
];

impl Theme {
    /// Returns the theme of a name.
    pub(crate) fn of(name: &str) -> Option<Self> {
        of(&THEMES, name)
    }
}

impl Default for TerminalConfig {
    fn default() -> Self {
        Self {
            theme: Theme::default(),
            vim: false,
            notify: true,
            status: STATUS.map(|(_, part)| part).to_vec(),
            keys: BTreeMap::new(),
        }
    }
}

impl TerminalConfig {
    /// Reads the table. A key that cannot be used has its default.
    pub(super) fn read(reader: &mut Reader<'_>, table: &DeTable<'_>) -> Self {
        let mut config = Self::default();
        for (name, value) in in_order(table) {
            let name_text = name.get_ref().as_ref();
            let one = |reader: &mut Reader<'_>, words: &[&str]| {
                reader.mistyped(name_text, value, &format!("one of {}", words.join(", ")));
            };
            let text = value.get_ref().as_str();
            match name_text {
                "theme" => match text.and_then(Theme::of) {
                    Some(theme) => config.theme = theme,
                    None => one(reader, &THEMES.map(|(word, _)| word)),
                },
                "vim" | "notify" => match (value.get_ref().as_bool(), name_text) {
                    (Some(on), "vim") => config.vim = on,
                    (Some(on), _) => config.notify = on,
                    (None, _) => reader.mistyped(name_text, value, "true or false"),
                },
                "status" => {
                    let items = value.get_ref().as_array().and_then(|items| {
                        let items = items.iter().map(|item| of(&STATUS, item.get_ref().as_str()?));
                        items.collect()
                    });
                    match items {
                        Some(items) => config.status = items,
                        None => {
                            let words = STATUS.map(|(word, _)| word).join(", ");
                            reader.mistyped(name_text, value, &format!("a list of {words}"));
                        }
                    }
                }
                "keys" => {
                    if let Some(table) = reader.table("terminal.keys", value) {
                        config.keys = keys(reader, table);
                    }
                }
                other => {
                    let words = unknown("key", other, TERMINAL_KEYS);
                    reader.problem(name.span().start, &words);
                }
            }
        }
        config
    }

    /// Returns the key of its own that stands for a key of the file, or the key itself.
    pub(crate) fn translate(&self, key: Key) -> Key {
        let meant = self.keys.iter().find(|(_, text)| text.parse() == Ok(key));
        meant.and_then(|(action, _)| of(&ACTIONS, action)).unwrap_or(key)
    }
}

/// Reads the further keys of actions.
fn keys(reader: &mut Reader<'_>, table: &DeTable<'_>) -> BTreeMap<&'static str, String> {
    let mut keys = BTreeMap::new();
    for (name, value) in in_order(table) {
        let given = name.get_ref().as_ref();
        let Some((action, _)) = ACTIONS.iter().find(|(action, _)| *action == given) else {
            let words = unknown("action", given, ACTIONS.map(|(action, _)| action));
            reader.problem(name.span().start, &words);
            continue;
        };
        let text = value.get_ref().as_str().unwrap_or_default();
        match text.parse::<Key>() {
            Ok(key) if key.typed().is_some() => {
                let words = format!("`{given}` cannot be {text:?}, which types a character");
                reader.problem(value.span().start, &words);
            }
            Ok(_) => drop(keys.insert(*action, text.to_owned())),
            Err(error) => {
                reader.problem(value.span().start, &format!("invalid `{given}`: {error}"));
            }
        }
    }
    keys
}

fn of<T: Copy>(words: &[(&str, T)], text: &str) -> Option<T> {
    words.iter().find(|(word, _)| *word == text).map(|(_, value)| *value)
}
