//! Words: quotes, escapes, and what the shell expands in them.

use super::reader::{Reader, ends_word};
use super::{ShellSyntaxError, Symbol, Word};

/// Word that was read, with what its quotes hide.
#[derive(Debug, Default)]
pub(super) struct ReadWord {
    pub(super) symbols: Word,
    /// True if no character of it is quoted or expanded, so it may be a reserved word.
    pub(super) plain: bool,
    /// Number of unquoted characters at its beginning.
    pub(super) unquoted_prefix: usize,
    special: Special,
}

/// Unquoted characters that may make a word expand to several.
#[derive(Debug, Default)]
struct Special {
    opens_bracket: bool,
    closes_bracket: bool,
    opens_brace: bool,
    lists: bool,
    closes_brace: bool,
}

impl ReadWord {
    pub(super) fn is(&self, text: &str) -> bool {
        self.plain && self.symbols.iter().copied().eq(text.chars().map(Symbol::Char))
    }

    /// Returns true if it is an assignment: an unquoted name and `=`.
    pub(super) fn assigns(&self) -> bool {
        let mut name = 0_usize;
        for symbol in self.symbols.iter().take(self.unquoted_prefix) {
            match symbol {
                Symbol::Char('=') => return name > 0,
                Symbol::Char('+')
                    if self.symbols.get(name.saturating_add(1)) == Some(&Symbol::Char('=')) =>
                {
                    return name > 0;
                }
                Symbol::Char(c) if *c == '_' || c.is_ascii_alphabetic() => {}
                Symbol::Char(c) if name > 0 && c.is_ascii_digit() => {}
                Symbol::Char(_) | Symbol::Unknown => return false,
            }
            name = name.saturating_add(1);
        }
        false
    }

    fn unquoted(&mut self, c: char) {
        let special = &mut self.special;
        match c {
            '[' => special.opens_bracket = true,
            ']' => special.closes_bracket |= special.opens_bracket,
            '{' => special.opens_brace = true,
            ',' | '.' => special.lists |= special.opens_brace,
            '}' => special.closes_brace |= special.lists,
            _ => {}
        }
        let home = c == '~' && self.symbols.is_empty();
        let symbol = if home || matches!(c, '*' | '?') { Symbol::Unknown } else { Symbol::Char(c) };
        if self.plain && symbol != Symbol::Unknown {
            self.unquoted_prefix = self.unquoted_prefix.saturating_add(1);
        } else {
            self.plain = false;
        }
        self.symbols.push(symbol);
    }

    fn finish(mut self) -> Self {
        let special = &self.special;
        let globs = special.closes_bracket && self.symbols.len() > 1;
        if globs || special.closes_brace {
            self.symbols = vec![Symbol::Unknown];
            self.plain = false;
        }
        self
    }
}

impl Reader {
    /// Reads a word. The next character begins one.
    pub(super) fn word(&mut self) -> Result<ReadWord, ShellSyntaxError> {
        let mut word = ReadWord { plain: true, ..ReadWord::default() };
        while let Some(c) = self.peek() {
            if ends_word(c) {
                break;
            }
            self.advance();
            match c {
                '\\' => {
                    word.plain = false;
                    let escaped = self.advance().ok_or(ShellSyntaxError::Unterminated)?;
                    word.symbols.push(Symbol::Char(escaped));
                }
                '\'' => {
                    word.plain = false;
                    self.single_quoted(&mut word.symbols)?;
                }
                '"' => {
                    word.plain = false;
                    self.double_quoted(&mut word.symbols)?;
                }
                '`' => {
                    word.plain = false;
                    self.backquoted(false)?;
                    word.symbols.push(Symbol::Unknown);
                }
                '$' => {
                    word.plain = false;
                    self.dollar(&mut word.symbols, false)?;
                }
                c => word.unquoted(c),
            }
        }
        Ok(word.finish())
    }

    fn single_quoted(&mut self, symbols: &mut Word) -> Result<(), ShellSyntaxError> {
        loop {
            match self.advance().ok_or(ShellSyntaxError::Unterminated)? {
                '\'' => return Ok(()),
                c => symbols.push(Symbol::Char(c)),
            }
        }
    }

    fn double_quoted(&mut self, symbols: &mut Word) -> Result<(), ShellSyntaxError> {
        loop {
            self.peek();
            match self.advance().ok_or(ShellSyntaxError::Unterminated)? {
                '"' => return Ok(()),
                c => self.in_double_quotes(c, symbols)?,
            }
        }
    }

    /// Reads the rest of what begins with this character in double quotes or a here-document.
    pub(super) fn in_double_quotes(
        &mut self,
        c: char,
        symbols: &mut Word,
    ) -> Result<(), ShellSyntaxError> {
        match c {
            '\\' => match self.raw() {
                Some(escaped @ ('$' | '`' | '"' | '\\')) => {
                    self.advance();
                    symbols.push(Symbol::Char(escaped));
                }
                _ => symbols.push(Symbol::Char('\\')),
            },
            '`' => {
                self.backquoted(true)?;
                symbols.push(Symbol::Unknown);
            }
            '$' => self.dollar(symbols, true)?,
            c => symbols.push(Symbol::Char(c)),
        }
        Ok(())
    }
}
