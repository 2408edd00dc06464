//! Inputs of a person at a terminal: keys, pastes, sizes.

use crossterm::event::{
    Event, KeyCode as TerminalCode, KeyEvent, KeyEventKind, KeyModifiers as Modifiers,
};

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

    /// Returns the character that the key types, if it is one without Ctrl and Alt.
    #[must_use]
    pub fn typed(self) -> Option<char> {
        let KeyCode::Char(letter) = self.code else {
            return None;
        };
        (!self.ctrl && !self.alt).then_some(letter)
    }
}

impl From<Key> for Input {
    fn from(key: Key) -> Self {
        Self::Key(key)
    }
}

/// Converts an event of the terminal. Releases, the mouse and keys without a use are left out.
pub(crate) fn convert(event: Event) -> Option<Input> {
    match event {
        Event::Key(key) if key.kind == KeyEventKind::Release => None,
        Event::Key(key) => convert_key(key).map(Input::Key),
        Event::Paste(text) => Some(Input::Paste(text)),
        Event::Resize(columns, rows) => Some(Input::Resize { columns, rows }),
        Event::FocusGained => Some(Input::Focus(true)),
        Event::FocusLost => Some(Input::Focus(false)),
        Event::Mouse(_) => None,
    }
}

fn convert_key(event: KeyEvent) -> Option<Key> {
    let with = |modifier| event.modifiers.contains(modifier);
    if with(Modifiers::SUPER) || with(Modifiers::HYPER) {
        return None;
    }
    let (ctrl, alt) = (with(Modifiers::CONTROL), with(Modifiers::ALT) || with(Modifiers::META));
    let shift = with(Modifiers::SHIFT);
    let code = convert_code(event.code, ctrl, shift)?;
    let tells_shift = matches!(code, KeyCode::Char(_) | KeyCode::BackTab);
    Some(Key { code, ctrl, alt, shift: shift && !tells_shift })
}

fn convert_code(code: TerminalCode, ctrl: bool, shift: bool) -> Option<KeyCode> {
    Some(match code {
        TerminalCode::Char(letter) if ctrl => KeyCode::Char(letter.to_ascii_lowercase()),
        TerminalCode::Char(letter) if shift => KeyCode::Char(upper(letter)),
        TerminalCode::Char(letter) => KeyCode::Char(letter),
        TerminalCode::Enter => KeyCode::Enter,
        TerminalCode::Tab if shift => KeyCode::BackTab,
        TerminalCode::Tab => KeyCode::Tab,
        TerminalCode::BackTab => KeyCode::BackTab,
        TerminalCode::Backspace => KeyCode::Backspace,
        TerminalCode::Delete => KeyCode::Delete,
        TerminalCode::Left => KeyCode::Left,
        TerminalCode::Right => KeyCode::Right,
        TerminalCode::Up => KeyCode::Up,
        TerminalCode::Down => KeyCode::Down,
        TerminalCode::Home => KeyCode::Home,
        TerminalCode::End => KeyCode::End,
        TerminalCode::PageUp => KeyCode::PageUp,
        TerminalCode::PageDown => KeyCode::PageDown,
        TerminalCode::Esc => KeyCode::Esc,
        TerminalCode::F(number) => KeyCode::F(number),
        TerminalCode::Insert
        | TerminalCode::Null
        | TerminalCode::CapsLock
        | TerminalCode::ScrollLock
        | TerminalCode::NumLock
        | TerminalCode::PrintScreen
        | TerminalCode::Pause
        | TerminalCode::Menu
        | TerminalCode::KeypadBegin
        | TerminalCode::Media(_)
        | TerminalCode::Modifier(_) => return None,
    })
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

    fn key(code: TerminalCode, modifiers: Modifiers) -> Option<Input> {
        convert(Event::Key(KeyEvent::new(code, modifiers)))
    }

    #[test]
    fn shift_and_ctrl_are_the_same_in_every_protocol() {
        let shifted = Some(Key::char('A').into());
        assert_eq!(key(TerminalCode::Char('a'), Modifiers::SHIFT), shifted);
        assert_eq!(key(TerminalCode::Char('A'), Modifiers::SHIFT), shifted);
        let ctrl = Some(Key::ctrl('c').into());
        assert_eq!(key(TerminalCode::Char('C'), Modifiers::CONTROL | Modifiers::SHIFT), ctrl);
        let back = Some(Key::plain(KeyCode::BackTab).into());
        assert_eq!(key(TerminalCode::Tab, Modifiers::SHIFT), back);
        assert_eq!(key(TerminalCode::BackTab, Modifiers::SHIFT), back);
        let newline = Some(Key::shift(KeyCode::Enter).into());
        assert_eq!(key(TerminalCode::Enter, Modifiers::SHIFT), newline);
    }

    #[test]
    fn releases_and_keys_of_the_desktop_are_left_out() {
        let mut event = KeyEvent::new(TerminalCode::Enter, Modifiers::NONE);
        event.kind = KeyEventKind::Release;
        assert_eq!(convert(Event::Key(event)), None);
        assert_eq!(key(TerminalCode::Char('v'), Modifiers::SUPER), None);
        assert_eq!(key(TerminalCode::CapsLock, Modifiers::NONE), None);
    }
}
