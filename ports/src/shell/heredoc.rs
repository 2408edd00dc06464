//! Here-documents: their delimiters, and the substitutions in their bodies.

use super::reader::{PendingDocument, Reader, ends_word};
use super::{ShellSyntaxError, Word};

impl Reader {
    /// Reads the delimiter after `<<` or `<<-`.
    pub(super) fn delimiter(&mut self, strips_tabs: bool) -> Result<(), ShellSyntaxError> {
        self.skip_blanks();
        let (mut delimiter, mut quoted) = (String::new(), false);
        while let Some(c) = self.raw().filter(|c| !ends_word(*c)) {
            self.advance();
            match c {
                '\'' | '"' => {
                    quoted = true;
                    loop {
                        match self.advance().ok_or(ShellSyntaxError::Unterminated)? {
                            end if end == c => break,
                            '\\' | '$' | '`' | '\n' => return Err(ShellSyntaxError::Unsupported),
                            c => delimiter.push(c),
                        }
                    }
                }
                '\\' | '$' | '`' => return Err(ShellSyntaxError::Unsupported),
                c => delimiter.push(c),
            }
        }
        if delimiter.is_empty() {
            return Err(ShellSyntaxError::Unsupported);
        }
        self.documents.push(PendingDocument { delimiter, quoted, strips_tabs });
        Ok(())
    }

    /// Reads the bodies that begin after a line's end.
    pub(super) fn bodies(&mut self) -> Result<(), ShellSyntaxError> {
        for document in std::mem::take(&mut self.documents) {
            let body = self.body(&document)?;
            if !document.quoted {
                self.separate(&body, Self::expansions)?;
            }
        }
        Ok(())
    }

    fn body(&mut self, document: &PendingDocument) -> Result<String, ShellSyntaxError> {
        let mut body = String::new();
        while self.raw().is_some() {
            let mut line = String::new();
            while let Some(c) = self.advance().filter(|c| *c != '\n') {
                line.push(c);
            }
            let text = if document.strips_tabs { line.trim_start_matches('\t') } else { &line };
            if text == document.delimiter {
                return Ok(body);
            }
            // A continued line may hide the delimiter or show one.
            if !document.quoted && line.ends_with('\\') {
                return Err(ShellSyntaxError::Unsupported);
            }
            body.push_str(&line);
            body.push('\n');
        }
        Err(ShellSyntaxError::Unterminated)
    }

    /// Reads the expansions of a body.
    fn expansions(&mut self) -> Result<(), ShellSyntaxError> {
        let mut ignored = Word::new();
        while let Some(c) = self.advance() {
            self.in_double_quotes(c, &mut ignored)?;
            ignored.clear();
        }
        Ok(())
    }
}
