//! Expansions: parameters, substitutions of commands, arithmetic.

use super::list::ListEnd;
use super::reader::Reader;
use super::{ShellSyntaxError, Symbol, Word};

impl Reader {
    /// Reads what follows a dollar sign that is not escaped.
    pub(super) fn dollar(
        &mut self,
        symbols: &mut Word,
        quoted: bool,
    ) -> Result<(), ShellSyntaxError> {
        match self.peek() {
            Some('(') => {
                self.advance();
                if self.peek() == Some('(') {
                    self.arithmetic()?;
                } else {
                    self.substitution()?;
                }
            }
            Some('{') => {
                self.advance();
                self.nested(|reader| reader.parameter(quoted))?;
            }
            // An old form of arithmetic in bash, a glob elsewhere.
            Some('[') => return Err(ShellSyntaxError::Unsupported),
            // A text with escapes in bash, a dollar sign and a quoted text elsewhere.
            Some('\'') if !quoted => self.escaped_text()?,
            Some('"') if !quoted => {}
            Some(c) if is_name(c) => {
                let positional = c.is_ascii_digit();
                self.advance();
                while !positional && self.peek().is_some_and(is_name) {
                    self.advance();
                }
            }
            Some('@' | '*' | '#' | '?' | '-' | '$' | '!') => {
                self.advance();
            }
            Some(_) | None => {
                symbols.push(Symbol::Char('$'));
                return Ok(());
            }
        }
        symbols.push(Symbol::Unknown);
        Ok(())
    }

    /// Reads the commands of a substitution, up to its closing parenthesis.
    pub(super) fn substitution(&mut self) -> Result<(), ShellSyntaxError> {
        if !self.documents.is_empty() {
            return Err(ShellSyntaxError::Unsupported);
        }
        self.nested(|reader| reader.list(ListEnd::Parenthesis))?;
        if self.documents.is_empty() { Ok(()) } else { Err(ShellSyntaxError::Unsupported) }
    }

    /// Reads arithmetic of numbers. Bash expands the values of names in it again.
    fn arithmetic(&mut self) -> Result<(), ShellSyntaxError> {
        self.advance();
        let mut open = 0_usize;
        loop {
            match self.advance().ok_or(ShellSyntaxError::Unterminated)? {
                ')' if open == 0 => break,
                ')' => open = open.saturating_sub(1),
                '(' => open = open.saturating_add(1),
                c if c.is_ascii_digit() || " +-*/%<>=!&|^~?:,".contains(c) => {}
                _ => return Err(ShellSyntaxError::Unsupported),
            }
        }
        if self.advance() == Some(')') { Ok(()) } else { Err(ShellSyntaxError::Unsupported) }
    }

    /// Reads `${..}` after its brace.
    fn parameter(&mut self, quoted: bool) -> Result<(), ShellSyntaxError> {
        if self.peek() == Some('#') && self.ahead(1) != Some('}') {
            self.advance();
        }
        let first = self.advance().ok_or(ShellSyntaxError::Unterminated)?;
        let mut name = vec![Symbol::Char(first)];
        if is_name(first) {
            while let Some(c) = self.peek().filter(|c| is_name(*c)) {
                self.advance();
                name.push(Symbol::Char(c));
            }
        } else if !matches!(first, '@' | '*' | '#' | '?' | '-' | '$') {
            return Err(ShellSyntaxError::Unsupported);
        }
        if self.take('}') {
            return Ok(());
        }
        let colon = self.take(':');
        match self.advance().ok_or(ShellSyntaxError::Unterminated)? {
            '=' => self.assign(name, vec![vec![Symbol::Unknown]])?,
            '-' | '?' | '+' => {}
            '%' | '#' if !colon => {}
            _ => return Err(ShellSyntaxError::Unsupported),
        }
        self.parameter_word(quoted)
    }

    /// Reads the word of a parameter, up to the closing brace.
    fn parameter_word(&mut self, quoted: bool) -> Result<(), ShellSyntaxError> {
        let mut ignored = Word::new();
        loop {
            self.peek();
            match self.advance().ok_or(ShellSyntaxError::Unterminated)? {
                '}' => return Ok(()),
                // Shells differ in how they read quotes and opening braces here.
                '"' | '\'' if quoted => return Err(ShellSyntaxError::Unsupported),
                '{' | '\n' => return Err(ShellSyntaxError::Unsupported),
                '"' | '\'' => return Err(ShellSyntaxError::Unsupported),
                '\\' => {
                    self.advance();
                }
                '`' => self.backquoted(quoted)?,
                '$' => self.dollar(&mut ignored, quoted)?,
                _ => {}
            }
        }
    }

    /// Reads `$'..'` after its dollar sign.
    fn escaped_text(&mut self) -> Result<(), ShellSyntaxError> {
        self.advance();
        loop {
            match self.advance().ok_or(ShellSyntaxError::Unterminated)? {
                '\'' => return Ok(()),
                '\\' if matches!(self.raw(), Some('\'' | '\\')) => {
                    return Err(ShellSyntaxError::Unsupported);
                }
                _ => {}
            }
        }
    }

    /// Reads the commands between backquotes, after the first.
    pub(super) fn backquoted(&mut self, quoted: bool) -> Result<(), ShellSyntaxError> {
        if !self.documents.is_empty() {
            return Err(ShellSyntaxError::Unsupported);
        }
        let mut text = String::new();
        loop {
            match self.advance().ok_or(ShellSyntaxError::Unterminated)? {
                '`' => break,
                '\\' => match self.advance().ok_or(ShellSyntaxError::Unterminated)? {
                    c @ ('$' | '`' | '\\') => text.push(c),
                    '"' if quoted => return Err(ShellSyntaxError::Unsupported),
                    c => text.extend(['\\', c]),
                },
                c => text.push(c),
            }
        }
        self.separate(&text, Self::program)
    }
}

fn is_name(c: char) -> bool {
    c == '_' || c.is_ascii_alphanumeric()
}
