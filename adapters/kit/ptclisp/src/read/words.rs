//! Reading texts, characters and numbers.

use num_bigint::BigInt;

use crate::fault::{Fault, FaultClass};
use crate::form::FormKind;
use crate::read::{FormReader, is_word};

impl FormReader<'_> {
    pub(super) fn string(&mut self) -> Result<Box<str>, Fault> {
        let start = self.at;
        self.at += 1;
        let mut out = String::new();
        while let Some(c) = self.peek() {
            self.at += c.len_utf8();
            match c {
                '"' => return Ok(out.into()),
                '\\' => self.escape(&mut out)?,
                _ => out.push(c),
            }
        }
        let fault = self.fault(start, "unclosed string");
        Err(fault.hint("Close it with '\"'."))
    }

    fn escape(&mut self, out: &mut String) -> Result<(), Fault> {
        let at = self.at - 1;
        let Some(c) = self.peek() else {
            return Err(self.fault(at, "unclosed string"));
        };
        self.at += c.len_utf8();
        match c {
            'n' => out.push('\n'),
            't' => out.push('\t'),
            'r' => out.push('\r'),
            'b' => out.push('\u{8}'),
            'f' => out.push('\u{c}'),
            '0' => out.push('\0'),
            '"' | '\\' | '\'' => out.push(c),
            'u' => {
                let digits = self.source.get(self.at..self.at + 4).unwrap_or("");
                let code = u32::from_str_radix(digits, 16).ok().and_then(char::from_u32);
                let Some(code) = code else {
                    return Err(self.fault(at, "\\u needs four hexadecimal digits of a character"));
                };
                self.at += 4;
                out.push(code);
            }
            _ => {
                out.push('\\');
                out.push(c);
            }
        }
        Ok(())
    }

    pub(super) fn character(&mut self) -> Result<Box<str>, Fault> {
        let start = self.at;
        self.at += 1;
        let Some(first) = self.peek() else {
            return Err(self.fault(start, "a character is missing after '\\'"));
        };
        self.at += first.len_utf8();
        if first.is_alphanumeric() {
            let word_start = self.at - first.len_utf8();
            while let Some(c) = self.peek() {
                if !c.is_alphanumeric() {
                    break;
                }
                self.at += c.len_utf8();
            }
            let word = &self.source[word_start..self.at];
            let named = match word {
                "newline" => Some('\n'),
                "space" => Some(' '),
                "tab" => Some('\t'),
                "return" => Some('\r'),
                "backspace" => Some('\u{8}'),
                "formfeed" => Some('\u{c}'),
                _ if word.len() == 5 && word.starts_with('u') => {
                    u32::from_str_radix(&word[1..], 16).ok().and_then(char::from_u32)
                }
                _ => None,
            };
            if let Some(c) = named {
                return Ok(c.to_string().into());
            }
            self.at = word_start + first.len_utf8();
        }
        Ok(first.to_string().into())
    }

    pub(super) fn number(&mut self, start: usize) -> Result<FormKind, Fault> {
        let bytes = self.source.as_bytes();
        let mut end = start + usize::from(!bytes[start].is_ascii_digit());
        let digits = |end: &mut usize| {
            let from = *end;
            while bytes.get(*end).is_some_and(u8::is_ascii_digit) {
                *end += 1;
            }
            *end > from
        };
        digits(&mut end);
        let mut whole = true;
        if bytes.get(end) == Some(&b'.') {
            let mut after = end + 1;
            if digits(&mut after) {
                end = after;
                whole = false;
            }
        }
        if matches!(bytes.get(end), Some(b'e' | b'E')) {
            let sign = matches!(bytes.get(end + 1), Some(b'+' | b'-'));
            let mut after = end + 1 + usize::from(sign);
            if digits(&mut after) {
                end = after;
                whole = false;
            }
        }
        self.at = end;
        if let Some(fault) = self.misspelt(start) {
            return Err(fault);
        }
        let text = &self.source[start..end];
        if !whole {
            let float = text.parse().ok();
            return float
                .map(FormKind::Float)
                .ok_or_else(|| self.fault(start, format!("'{text}' is no number")));
        }
        if text.len() > 1000 {
            return Err(self.fault(start, "a number has more than 1000 digits"));
        }
        let text = text.strip_prefix('+').unwrap_or(text);
        BigInt::parse_bytes(text.as_bytes(), 10)
            .map(FormKind::Int)
            .ok_or_else(|| self.fault(start, format!("'{text}' is no number")))
    }

    /// Explains a number in a form that the language does not have: `1.`, `0x1F`, `1_000`, `1/2`.
    fn misspelt(&self, start: usize) -> Option<Fault> {
        let next = self.peek()?;
        if !next.is_alphanumeric() && !matches!(next, '_' | '.' | '/') {
            return None;
        }
        let rest = &self.source[start..];
        let end = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
        Some(self.no_number(start, &rest[..end]))
    }

    /// A word that is meant as a number: what it would be as one.
    pub(super) fn no_number(&self, start: usize, word: &str) -> Fault {
        let hint = match number_spelling(word) {
            Some(meant) => format!("Write {meant}."),
            None => "Write an integer as 1000 and any other number as 0.5 or 1e3.".to_owned(),
        };
        let message = format!("{word} is not how a number is written");
        // As a name that stands for nothing, which the language takes what follows the digits for.
        let fault = Fault::new(FaultClass::UnboundVar, message).hint(hint);
        fault.at(start as u32).with_position(self.source)
    }
}

/// Spelling of the number that a word means.
fn number_spelling(word: &str) -> Option<String> {
    let (sign, digits) = match word.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", word.strip_prefix('+').unwrap_or(word)),
    };
    let number = |text: &str| {
        let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
        let all = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        (all(whole) && all(part)).then(|| format!("{sign}{text}"))
    };
    if let Some(hex) = digits.strip_prefix("0x").or(digits.strip_prefix("0X")) {
        let value = u64::from_str_radix(hex, 16).ok()?;
        return Some(format!("{sign}{value}"));
    }
    if let Some((over, under)) = digits.split_once('/') {
        return Some(format!("(/ {} {under})", number(over)?)).filter(|_| number(under).is_some());
    }
    let plain = digits.replace('_', "");
    let plain = plain.strip_suffix(['N', 'M']).unwrap_or(&plain);
    if plain.starts_with('.') {
        return number(&format!("0{plain}"));
    }
    match plain.strip_suffix('.') {
        Some(whole) => number(&format!("{whole}.0")),
        None => number(plain),
    }
}
