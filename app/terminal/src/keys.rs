//! Inputs of a person at a terminal: keys, pastes, sizes.

use std::fmt;
use std::str::FromStr;

/// One input from the terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// A key was pressed, or repeats.
    Key(Key),
    /// Text was pasted, with `\n`, `\r\n` or `\r` between its lines.
    Paste(String),
    /// The terminal has another size.
    Resize {
        /// Width in columns.
        columns: u16,
        /// Height in rows.
        rows: u16,
    },
    /// The terminal got (true) or lost (false) the focus.
    Focus(bool),
}

/// A key without its modifiers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyCode {
    /// A character, in upper case where Shift makes it so.
    Char(char),
    /// Enter, also of the number pad.
    Enter,
    /// Tab without Shift.
    Tab,
    /// Tab with Shift.
    BackTab,
    /// Deletion to the left.
    Backspace,
    /// Deletion to the right.
    Delete,
    /// Arrow to the left.
    Left,
    /// Arrow to the right.
    Right,
    /// Arrow upwards.
    Up,
    /// Arrow downwards.
    Down,
    /// Start of the line.
    Home,
    /// End of the line.
    End,
    /// Page upwards.
    PageUp,
    /// Page downwards.
    PageDown,
    /// Escape key.
    Esc,
    /// Function key of this number.
    F(u8),
}

/// A key with its modifiers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key {
    /// The key.
    pub code: KeyCode,
    /// True with Ctrl. Characters with Ctrl are in lower case.
    pub ctrl: bool,
    /// True with Alt.
    pub alt: bool,
    /// True with Shift, except for characters, which tell it by their case.
    pub shift: bool,
}

impl Key {
    /// Creates a key without modifiers.
    #[must_use]
    pub const fn plain(code: KeyCode) -> Self {
        Self { code, ctrl: false, alt: false, shift: false }
    }

    /// Creates a typed character.
    #[must_use]
    pub const fn char(letter: char) -> Self {
        Self::plain(KeyCode::Char(letter))
    }

    /// Creates a character with Ctrl.
    #[must_use]
    pub const fn ctrl(letter: char) -> Self {
        Self { ctrl: true, ..Self::char(letter) }
    }

    /// Creates a character with Alt.
    #[must_use]
    pub const fn alt(letter: char) -> Self {
        Self { alt: true, ..Self::char(letter) }
    }

    /// Creates a key with Shift.
    #[must_use]
    pub const fn shift(code: KeyCode) -> Self {
        Self { shift: true, ..Self::plain(code) }
    }

    /// Returns the key as the docs of its parts have it, whatever way the terminal sent it.
    pub(crate) fn normal(self) -> Self {
        let Self { code, ctrl, shift, .. } = self;
        let (code, shift) = match code {
            KeyCode::Char(letter) if ctrl => (KeyCode::Char(letter.to_ascii_lowercase()), false),
            KeyCode::Char(letter) if shift => (KeyCode::Char(upper(letter)), false),
            KeyCode::Char(letter) => (KeyCode::Char(letter), false),
            KeyCode::Tab if shift => (KeyCode::BackTab, false),
            KeyCode::BackTab => (KeyCode::BackTab, false),
            KeyCode::Enter
            | KeyCode::Tab
            | KeyCode::Backspace
            | KeyCode::Delete
            | KeyCode::Left
            | KeyCode::Right
            | KeyCode::Up
            | KeyCode::Down
            | KeyCode::Home
            | KeyCode::End
            | KeyCode::PageUp
            | KeyCode::PageDown
            | KeyCode::Esc
            | KeyCode::F(_) => (code, shift),
        };
        Self { code, shift, ..self }
    }

    /// Returns the character that the key types, if it is one without Ctrl and Alt.
    #[must_use]
    pub fn typed(self) -> Option<char> {
        let KeyCode::Char(letter) = self.code else {
            return None;
        };
        (!self.ctrl && !self.alt).then_some(letter)
    }
}

/// Names of keys that no character names.
const NAMES: [(&str, KeyCode); 14] = [
    ("backspace", KeyCode::Backspace),
    ("delete", KeyCode::Delete),
    ("down", KeyCode::Down),
    ("end", KeyCode::End),
    ("enter", KeyCode::Enter),
    ("esc", KeyCode::Esc),
    ("home", KeyCode::Home),
    ("left", KeyCode::Left),
    ("pagedown", KeyCode::PageDown),
    ("pageup", KeyCode::PageUp),
    ("right", KeyCode::Right),
    ("space", KeyCode::Char(' ')),
    ("tab", KeyCode::Tab),
    ("up", KeyCode::Up),
];

/// Reads names such as `ctrl+o`, `alt+enter`, `shift+tab` and `f5`. Upper and lower case are the same.
impl FromStr for Key {
    type Err = UnknownKey;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = text.trim().to_lowercase();
        let (modifiers, name) = match text.rsplit_once('+') {
            // The key `+` itself.
            Some((modifiers, "")) => (modifiers.strip_suffix('+').ok_or(UnknownKey)?, "+"),
            Some(parts) => parts,
            None => ("", text.as_str()),
        };
        let named = NAMES.iter().find(|(known, _)| *known == name).map(|(_, code)| *code);
        let number = name.strip_prefix('f').and_then(|number| number.parse().ok());
        let mut letters = name.chars();
        let code = match (letters.next(), letters.next()) {
            (Some(letter), None) => Some(KeyCode::Char(letter)),
            _ => named.or(number.filter(|number| (1..=24).contains(number)).map(KeyCode::F)),
        };
        let mut key = Self::plain(code.ok_or(UnknownKey)?);
        for modifier in modifiers.split('+').filter(|modifier| !modifier.is_empty()) {
            match modifier {
                "ctrl" => key.ctrl = true,
                "alt" => key.alt = true,
                "shift" => key.shift = true,
                _ => return Err(UnknownKey),
            }
        }
        Ok(key.normal())
    }
}

/// Text that names no key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnknownKey;

impl fmt::Display for UnknownKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("it names no key; examples are ctrl+o, alt+enter, shift+tab and f5")
    }
}

impl std::error::Error for UnknownKey {}

impl From<Key> for Input {
    fn from(key: Key) -> Self {
        Self::Key(key)
    }
}

/// Returns the upper case of a letter where that is one character.
fn upper(letter: char) -> char {
    let mut upper = letter.to_uppercase();
    match (upper.next(), upper.next()) {
        (Some(upper), None) => upper,
        (Some(_) | None, _) => letter,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shift_and_ctrl_are_the_same_in_every_protocol() {
        let key = |code, ctrl, shift| Key { code, ctrl, alt: false, shift }.normal();
        assert_eq!(key(KeyCode::Char('a'), false, true), Key::char('A'));
        assert_eq!(key(KeyCode::Char('ß'), false, true), Key::char('ß'));
        assert_eq!(key(KeyCode::Char('C'), true, true), Key::ctrl('c'));
        assert_eq!(key(KeyCode::Tab, false, true), Key::plain(KeyCode::BackTab));
        assert_eq!(key(KeyCode::BackTab, false, true), Key::plain(KeyCode::BackTab));
        assert_eq!(key(KeyCode::Enter, false, true), Key::shift(KeyCode::Enter));
    }

    #[test]
    fn names_are_those_of_keys() {
        for (name, key) in [
            ("ctrl+o", Key::ctrl('o')),
            ("Ctrl+Shift+O", Key::ctrl('o')),
            ("alt+enter", Key { alt: true, ..Key::plain(KeyCode::Enter) }),
            ("shift+tab", Key::plain(KeyCode::BackTab)),
            ("f5", Key::plain(KeyCode::F(5))),
            ("f", Key::char('f')),
            ("ctrl++", Key::ctrl('+')),
            ("ctrl+space", Key::ctrl(' ')),
        ] {
            assert_eq!(name.parse(), Ok(key), "{name}");
        }
        for name in ["", "ctrl+", "f0", "f99", "hyper+a", "enter+a", "ctrl-o", "ab"] {
            assert_eq!(name.parse::<Key>(), Err(UnknownKey), "{name}");
        }
    }
}
