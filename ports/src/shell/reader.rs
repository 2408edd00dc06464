//! Reader: the characters of a line, with what has been read of it.

use super::{MAX_COMMANDS, ShellSyntaxError, SimpleCommand};

/// Deepest nesting of groups and substitutions.
pub(super) const MAX_DEPTH: usize = 24;

/// Here-document whose body begins after the end of the line.
pub(super) struct PendingDocument {
    pub(super) delimiter: String,
    pub(super) quoted: bool,
    pub(super) strips_tabs: bool,
}

pub(super) struct Reader {
    characters: Vec<char>,
    at: usize,
    depth: usize,
    pub(super) commands: Vec<SimpleCommand>,
    pub(super) documents: Vec<PendingDocument>,
}

impl Reader {
    pub(super) fn new(text: &str, depth: usize) -> Result<Self, ShellSyntaxError> {
        if text.contains('\0') {
            return Err(ShellSyntaxError::Unsupported);
        }
        let reader = Self {
            characters: text.chars().collect(),
            at: 0,
            depth,
            commands: Vec::new(),
            documents: Vec::new(),
        };
        reader.check_depth()?;
        Ok(reader)
    }

    fn check_depth(&self) -> Result<(), ShellSyntaxError> {
        if self.depth > MAX_DEPTH { Err(ShellSyntaxError::TooLarge) } else { Ok(()) }
    }

    /// Reads something one level deeper.
    pub(super) fn nested<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, ShellSyntaxError>,
    ) -> Result<T, ShellSyntaxError> {
        self.depth = self.depth.saturating_add(1);
        self.check_depth()?;
        let result = read(self);
        self.depth = self.depth.saturating_sub(1);
        result
    }

    /// Reads a text that is a line of its own.
    pub(super) fn separate(
        &mut self,
        text: &str,
        read: impl FnOnce(&mut Self) -> Result<(), ShellSyntaxError>,
    ) -> Result<(), ShellSyntaxError> {
        let mut reader = Self::new(text, self.depth.saturating_add(1))?;
        read(&mut reader)?;
        for command in reader.commands {
            self.push(command)?;
        }
        Ok(())
    }

    pub(super) fn push(&mut self, command: SimpleCommand) -> Result<(), ShellSyntaxError> {
        if self.commands.len() >= MAX_COMMANDS {
            return Err(ShellSyntaxError::TooLarge);
        }
        self.commands.push(command);
        Ok(())
    }

    /// Returns the next character as it is, also in quotes.
    pub(super) fn raw(&self) -> Option<char> {
        self.characters.get(self.at).copied()
    }

    /// Returns a later character as it is.
    pub(super) fn ahead(&self, places: usize) -> Option<char> {
        self.characters.get(self.at.saturating_add(places)).copied()
    }

    pub(super) fn advance(&mut self) -> Option<char> {
        let c = self.raw()?;
        self.at = self.at.saturating_add(1);
        Some(c)
    }

    /// Returns the next character outside single quotes, where a continued line has no break.
    pub(super) fn peek(&mut self) -> Option<char> {
        while self.raw() == Some('\\') && self.ahead(1) == Some('\n') {
            self.at = self.at.saturating_add(2);
        }
        self.raw()
    }

    /// Takes this character if it is next.
    pub(super) fn take(&mut self, expected: char) -> bool {
        let found = self.peek() == Some(expected);
        if found {
            self.at = self.at.saturating_add(1);
        }
        found
    }

    pub(super) fn skip_blanks(&mut self) {
        while matches!(self.peek(), Some(' ' | '\t')) {
            self.at = self.at.saturating_add(1);
        }
    }

    /// Skips a comment, up to the end of its line.
    pub(super) fn skip_comment(&mut self) {
        while self.raw().is_some_and(|c| c != '\n') {
            self.at = self.at.saturating_add(1);
        }
    }
}

/// Returns true if the character ends an unquoted word.
pub(super) fn ends_word(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | ';' | '&' | '|' | '<' | '>' | '(' | ')')
}
