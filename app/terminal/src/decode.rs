//! Bytes of a terminal as inputs.
//!
//! Sources: ECMA-48 and xterm's control sequences (keys, focus, marked pastes), and the keyboard
//! protocol of kitty (`CSI u`). What is no input, such as an answer nobody asked for, is left out,
//! and never becomes text.

use crate::keys::{Input, Key, KeyCode};

const ESC: u8 = 0x1b;
/// End of a marked paste.
const PASTED: &[u8] = b"\x1b[201~";
/// Longest control sequence, in bytes.
const LONGEST: usize = 256;

/// Result of decoding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Decoded {
    /// An input.
    Input(Input),
    /// The terminal's answer to the question for its background color.
    Background(String),
}

/// Bytes that are no whole input yet.
#[derive(Debug, Default)]
pub(crate) struct Decoder {
    bytes: Vec<u8>,
    /// Bytes of an unfinished paste that have no end in them.
    searched: usize,
    paste: bool,
}

/// What is at the start of some bytes, with its length.
enum Parsed {
    Whole(Option<Decoded>, usize),
    PasteStarts(usize),
    Unfinished,
}

impl Decoder {
    /// Adds bytes and returns what is whole.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Vec<Decoded> {
        self.bytes.extend_from_slice(bytes);
        let mut decoded = Vec::new();
        let mut at = 0;
        while at < self.bytes.len() {
            let parsed = if self.paste { self.parse_paste(at) } else { parse(&self.bytes[at..]) };
            match parsed {
                Parsed::Whole(one, length) => {
                    decoded.extend(one);
                    at += length;
                }
                Parsed::PasteStarts(length) => {
                    self.paste = true;
                    at += length;
                }
                Parsed::Unfinished => break,
            }
        }
        self.bytes.drain(..at);
        decoded
    }

    /// Returns the stage of what is not whole, if anything is.
    pub(crate) fn unfinished(&self) -> Option<Unfinished> {
        match (self.paste, self.bytes.len()) {
            (true, _) => Some(Unfinished::Paste),
            (false, 0) => None,
            (false, 1..=2) => Some(Unfinished::Key),
            (false, _) => Some(Unfinished::Sequence),
        }
    }

    /// Decides about what is not whole, as no more arrives: an Esc is one, a paste ends, and a part
    /// of a sequence is left out.
    pub(crate) fn finish(&mut self) -> Vec<Decoded> {
        let bytes = std::mem::take(&mut self.bytes);
        self.searched = 0;
        if std::mem::take(&mut self.paste) {
            return vec![paste(&bytes)];
        }
        match bytes.as_slice() {
            [ESC] => vec![escape()],
            [ESC, ESC] => vec![escape(), escape()],
            [ESC, letter @ 0x20..=0x7e] => vec![key(Key::alt(char::from(*letter)))],
            _ => Vec::new(),
        }
    }

    fn parse_paste(&mut self, at: usize) -> Parsed {
        let bytes = &self.bytes[at..];
        let from = self.searched.saturating_sub(PASTED.len()).min(bytes.len());
        let Some(end) = memchr::memmem::find(&bytes[from..], PASTED).map(|end| from + end) else {
            self.searched = bytes.len();
            return Parsed::Unfinished;
        };
        self.searched = 0;
        self.paste = false;
        Parsed::Whole(Some(paste(&bytes[..end])), end + PASTED.len())
    }
}

/// Stages of what is not whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unfinished {
    /// A key such as Esc, or the start of a sequence.
    Key,
    /// A part of a sequence.
    Sequence,
    /// A paste without its end.
    Paste,
}

fn paste(bytes: &[u8]) -> Decoded {
    Decoded::Input(Input::Paste(String::from_utf8_lossy(bytes).into_owned()))
}

fn escape() -> Decoded {
    key(Key::plain(KeyCode::Esc))
}

fn key(key: Key) -> Decoded {
    Decoded::Input(key.into())
}

fn parse(bytes: &[u8]) -> Parsed {
    match bytes {
        [ESC] | [ESC, ESC] => Parsed::Unfinished,
        [ESC, ESC, b'[' | b'O', ..] => match with_alt(parse_escape(&bytes[1..])) {
            Parsed::Whole(Some(Decoded::Input(Input::Key(of))), length) => {
                Parsed::Whole(Some(key(of)), length)
            }
            Parsed::Unfinished => Parsed::Unfinished,
            Parsed::Whole(..) | Parsed::PasteStarts(_) => Parsed::Whole(Some(escape()), 1),
        },
        [ESC, ESC, ..] => Parsed::Whole(Some(escape()), 1),
        [ESC, ..] => parse_escape(bytes),
        [byte @ (..0x20 | 0x7f), ..] => Parsed::Whole(Some(key(control(*byte))), 1),
        bytes => parse_letter(bytes),
    }
}

/// Parses what starts with Esc and another byte.
fn parse_escape(bytes: &[u8]) -> Parsed {
    match bytes[1] {
        b'[' => parse_sequence(bytes),
        b']' => parse_answer(bytes),
        b'O' => match bytes.get(2) {
            Some(end) => Parsed::Whole(named(*end, Modifiers::default()), 3),
            None => Parsed::Unfinished,
        },
        _ => with_alt(parse(&bytes[1..])),
    }
}

/// Adds Alt to a key, for the Esc before it.
fn with_alt(parsed: Parsed) -> Parsed {
    match parsed {
        Parsed::Whole(Some(Decoded::Input(Input::Key(of))), length) => {
            Parsed::Whole(Some(key(Key { alt: true, ..of })), length + 1)
        }
        Parsed::Whole(other, length) => Parsed::Whole(other, length + 1),
        Parsed::PasteStarts(_) | Parsed::Unfinished => parsed,
    }
}

fn control(byte: u8) -> Key {
    match byte {
        b'\r' => Key::plain(KeyCode::Enter),
        b'\t' => Key::plain(KeyCode::Tab),
        0x7f => Key::plain(KeyCode::Backspace),
        0 => Key::ctrl(' '),
        1..=26 => Key::ctrl(char::from(byte - 1 + b'a')),
        _ => Key::ctrl(char::from(byte - 1 + b'A')),
    }
}

/// Parses a character of UTF-8. Bytes that are none are left out.
fn parse_letter(bytes: &[u8]) -> Parsed {
    let start = &bytes[..bytes.len().min(4)];
    let (valid, error) = match std::str::from_utf8(start) {
        Ok(text) => (text, None),
        Err(error) => {
            let valid = std::str::from_utf8(&start[..error.valid_up_to()]);
            (valid.unwrap_or_default(), Some(error.error_len()))
        }
    };
    match (valid.chars().next(), error) {
        (Some(letter), _) => {
            let typed = (!letter.is_control()).then(|| key(Key::char(letter)));
            Parsed::Whole(typed, letter.len_utf8())
        }
        (None, Some(Some(wrong))) => Parsed::Whole(None, wrong),
        (None, Some(None) | None) => Parsed::Unfinished,
    }
}

/// Parses an answer: Esc ] number ; text, up to BEL or Esc \.
fn parse_answer(bytes: &[u8]) -> Parsed {
    let Some(end) = bytes[2..].iter().position(|byte| matches!(*byte, 0x07 | ESC)) else {
        let long = bytes.len() > LONGEST;
        return if long { Parsed::Whole(None, bytes.len()) } else { Parsed::Unfinished };
    };
    let end = end + 2;
    let length = match bytes[end..] {
        [ESC, b'\\', ..] => end + 2,
        [ESC] => return Parsed::Unfinished,
        [ESC, ..] => end,
        _ => end + 1,
    };
    let text = std::str::from_utf8(&bytes[2..end]).ok();
    let color = text.and_then(|text| text.strip_prefix("11;"));
    Parsed::Whole(color.map(|color| Decoded::Background(color.to_owned())), length)
}

/// Parses a control sequence: Esc [ parameters, a letter.
fn parse_sequence(bytes: &[u8]) -> Parsed {
    // The console of Linux sends F1 to F5 as Esc [ [ and a letter.
    if bytes.get(2) == Some(&b'[') {
        return if bytes.len() > 3 { Parsed::Whole(None, 4) } else { Parsed::Unfinished };
    }
    let end = bytes[2..].iter().position(|byte| !matches!(byte, 0x20..=0x3f));
    let Some(end) = end.map(|end| end + 2) else {
        let long = bytes.len() > LONGEST;
        return if long { Parsed::Whole(None, bytes.len()) } else { Parsed::Unfinished };
    };
    let last = bytes[end];
    if !matches!(last, 0x40..=0x7e) {
        return Parsed::Whole(None, end);
    }
    let text = std::str::from_utf8(&bytes[2..end]).unwrap_or_default();
    if (text, last) == ("200", b'~') {
        return Parsed::PasteStarts(end + 1);
    }
    Parsed::Whole(sequence(text, last), end + 1)
}

/// Modifiers of a key, and true for one that is released.
#[derive(Debug, Clone, Copy, Default)]
struct Modifiers {
    shift: bool,
    alt: bool,
    ctrl: bool,
    /// True with a key that is for the desktop.
    other: bool,
    released: bool,
}

impl Modifiers {
    /// Reads modifiers plus 1, and after a colon the kind of the event.
    fn parse(text: &str) -> Self {
        let mut parts = text.split(':').map(|part| part.parse::<u32>().unwrap_or(1));
        let bits = parts.next().unwrap_or(1).saturating_sub(1);
        let has = |bit: u32| bits & bit != 0;
        let released = parts.next() == Some(3);
        Self { shift: has(1), alt: has(2 | 32), ctrl: has(4), other: has(8 | 16), released }
    }

    fn of_command(self) -> bool {
        self.ctrl || self.alt
    }

    fn key(self, code: KeyCode) -> Option<Decoded> {
        let Self { shift, alt, ctrl, other, released } = self;
        let pressed = !other && !released;
        pressed.then(|| key(Key { code, ctrl, alt, shift }.normal()))
    }
}

/// Returns the input of a control sequence.
fn sequence(text: &str, last: u8) -> Option<Decoded> {
    let mut parts = text.split(';');
    let first = parts.next().unwrap_or_default();
    let second = parts.next().unwrap_or_default();
    let mut codes = first.split(':').map(str::parse::<u32>);
    let number = codes.next().unwrap_or(Ok(0));
    let modifiers = Modifiers::parse(second);
    match (last, number) {
        (b'I', _) if text.is_empty() => Some(Decoded::Input(Input::Focus(true))),
        (b'O', _) if text.is_empty() => Some(Decoded::Input(Input::Focus(false))),
        (b'~', Ok(27)) => from_code(parts.next()?.parse().ok()?, modifiers),
        (b'~', Ok(number)) => modifiers.key(numbered(number)?),
        // With Ctrl or Alt, a key of another alphabet counts as the one at its place of a Latin keyboard.
        (b'u', Ok(code)) => match codes.nth(1) {
            Some(Ok(base)) if code > 127 && modifiers.of_command() => from_code(base, modifiers),
            Some(_) | None => from_code(code, modifiers),
        },
        (b'Z', _) => modifiers.key(KeyCode::BackTab),
        // A report of the cursor's place ends with R, as F3 does.
        (b'R', _) if first != "1" => None,
        (_, Ok(1)) => named(last, modifiers),
        (_, Err(_)) if text.is_empty() => named(last, modifiers),
        (_, _) => None,
    }
}

/// Returns the key of a letter at the end of a sequence.
fn named(last: u8, modifiers: Modifiers) -> Option<Decoded> {
    modifiers.key(match last {
        b'A' => KeyCode::Up,
        b'B' => KeyCode::Down,
        b'C' => KeyCode::Right,
        b'D' => KeyCode::Left,
        b'F' => KeyCode::End,
        b'H' => KeyCode::Home,
        b'M' => KeyCode::Enter,
        b'P'..=b'S' => KeyCode::F(last - b'P' + 1),
        _ => return None,
    })
}

/// Returns the key of a number before `~`.
fn numbered(number: u32) -> Option<KeyCode> {
    Some(match number {
        1 | 7 => KeyCode::Home,
        3 => KeyCode::Delete,
        4 | 8 => KeyCode::End,
        5 => KeyCode::PageUp,
        6 => KeyCode::PageDown,
        11..=15 => KeyCode::F((number - 10) as u8),
        17..=21 => KeyCode::F((number - 11) as u8),
        23 | 24 => KeyCode::F((number - 12) as u8),
        _ => return None,
    })
}

/// Returns the key of a code in kitty's protocol, or of a character in xterm's.
fn from_code(code: u32, modifiers: Modifiers) -> Option<Decoded> {
    modifiers.key(match code {
        9 => KeyCode::Tab,
        13 | 57_414 => KeyCode::Enter,
        27 => KeyCode::Esc,
        8 | 127 => KeyCode::Backspace,
        57_399..=57_408 => KeyCode::Char(char::from(b'0' + (code - 57_399) as u8)),
        57_409..=57_413 => KeyCode::Char(['.', '/', '*', '-', '+'][(code - 57_409) as usize]),
        57_415 => KeyCode::Char('='),
        57_416 => KeyCode::Char(','),
        57_417 => KeyCode::Left,
        57_418 => KeyCode::Right,
        57_419 => KeyCode::Up,
        57_420 => KeyCode::Down,
        57_421 => KeyCode::PageUp,
        57_422 => KeyCode::PageDown,
        57_423 => KeyCode::Home,
        57_424 => KeyCode::End,
        57_426 => KeyCode::Delete,
        57_344..=63_743 => return None,
        code => KeyCode::Char(char::from_u32(code).filter(|letter| !letter.is_control())?),
    })
}

#[cfg(test)]
mod tests;
