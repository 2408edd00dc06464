//! Lists: commands between separators, and the compound commands that hold lists.

use super::reader::Reader;
use super::{ShellSyntaxError, SimpleCommand, Symbol, Word, literal};

/// End of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ListEnd {
    /// End of the text.
    Text,
    /// Closing parenthesis of a subshell or a substitution.
    Parenthesis,
    /// `;;` or `esac`.
    CaseItem,
}

/// Result of reading one command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CommandEnd {
    /// The list goes on.
    More,
    /// The reserved word `esac` was read.
    Esac,
}

impl Reader {
    /// Reads a whole text.
    pub(super) fn program(&mut self) -> Result<(), ShellSyntaxError> {
        self.list(ListEnd::Text)?;
        if self.documents.is_empty() { Ok(()) } else { Err(ShellSyntaxError::Unterminated) }
    }

    /// Reads commands up to the end of a list, and that end.
    pub(super) fn list(&mut self, end: ListEnd) -> Result<CommandEnd, ShellSyntaxError> {
        loop {
            self.skip_blanks();
            let Some(c) = self.peek() else {
                let complete = end == ListEnd::Text;
                return complete.then_some(CommandEnd::More).ok_or(ShellSyntaxError::Unterminated);
            };
            match c {
                '\n' => {
                    self.advance();
                    self.bodies()?;
                }
                ';' => {
                    self.advance();
                    let ends_item = matches!(self.peek(), Some(';' | '&'));
                    if ends_item {
                        if end != ListEnd::CaseItem {
                            return Err(ShellSyntaxError::Unsupported);
                        }
                        self.advance();
                        self.take('&');
                        return Ok(CommandEnd::More);
                    }
                }
                '|' => {
                    self.advance();
                }
                '&' => {
                    self.advance();
                    if self.peek() == Some('>') {
                        return Err(ShellSyntaxError::Unsupported);
                    }
                }
                ')' if end == ListEnd::Parenthesis => {
                    self.advance();
                    return Ok(CommandEnd::More);
                }
                ')' => return Err(ShellSyntaxError::Unsupported),
                '(' => self.subshell()?,
                '#' => self.skip_comment(),
                _ => match self.command()? {
                    CommandEnd::Esac if end == ListEnd::CaseItem => return Ok(CommandEnd::Esac),
                    CommandEnd::Esac | CommandEnd::More => {}
                },
            }
        }
    }

    fn subshell(&mut self) -> Result<(), ShellSyntaxError> {
        self.advance();
        // Arithmetic in bash, a subshell in a subshell elsewhere.
        if self.peek() == Some('(') {
            return Err(ShellSyntaxError::Unsupported);
        }
        self.nested(|reader| reader.list(ListEnd::Parenthesis))?;
        Ok(())
    }

    /// Reads `for NAME in WORDS` or `select`, up to the separator before `do`. Each word is
    /// assigned to the name.
    pub(super) fn for_words(&mut self) -> Result<(), ShellSyntaxError> {
        self.skip_blanks();
        let name = self.word()?.symbols;
        let mut values = Vec::new();
        loop {
            self.skip_blanks();
            match self.peek() {
                None | Some('\n' | ';') => return self.assign(name, values),
                Some('#') => self.skip_comment(),
                Some('&' | '|' | '<' | '>' | '(' | ')') => {
                    return Err(ShellSyntaxError::Unsupported);
                }
                Some(_) => values.push(self.word()?.symbols),
            }
        }
    }

    /// Adds the assignments of values to a name by something else than an assignment. Those to a
    /// name of lower case change no program's environment: they are added only for a value that a
    /// later command may expand again.
    pub(super) fn assign(
        &mut self,
        name: Word,
        mut values: Vec<Word>,
    ) -> Result<(), ShellSyntaxError> {
        let lower = |symbol: &Symbol| matches!(symbol, Symbol::Char('a'..='z' | '0'..='9'));
        let substitutes = |word: &Word| {
            literal(word).is_some_and(|text| text.contains("$(") || text.contains('`'))
        };
        if name.iter().all(lower) && !values.iter().any(substitutes) {
            return Ok(());
        }
        if values.is_empty() {
            values.push(vec![Symbol::Unknown]);
        }
        let assignment = |value: Word| [name.clone(), vec![Symbol::Char('=')], value].concat();
        let assignments = values.into_iter().map(assignment).collect();
        self.push(SimpleCommand { assignments, ..SimpleCommand::default() })
    }

    /// Reads `case WORD in ITEMS esac` after its first word.
    pub(super) fn case(&mut self) -> Result<(), ShellSyntaxError> {
        self.skip_blanks();
        self.word()?;
        self.skip_lines()?;
        if !self.word()?.is("in") {
            return Err(ShellSyntaxError::Unsupported);
        }
        loop {
            self.skip_lines()?;
            if self.peek().is_none() {
                return Err(ShellSyntaxError::Unterminated);
            }
            if !self.take('(') {
                let word = self.word()?;
                if word.is("esac") {
                    return Ok(());
                }
            }
            self.case_patterns()?;
            if self.nested(|reader| reader.list(ListEnd::CaseItem))? == CommandEnd::Esac {
                return Ok(());
            }
        }
    }

    /// Reads the rest of an item's patterns, up to the closing parenthesis.
    fn case_patterns(&mut self) -> Result<(), ShellSyntaxError> {
        loop {
            self.skip_blanks();
            match self.peek() {
                Some(')') => {
                    self.advance();
                    return Ok(());
                }
                Some('|') => {
                    self.advance();
                }
                Some('(' | '&' | ';' | '<' | '>' | '\n' | '#') => {
                    return Err(ShellSyntaxError::Unsupported);
                }
                Some(_) => {
                    self.word()?;
                }
                None => return Err(ShellSyntaxError::Unterminated),
            }
        }
    }

    fn skip_lines(&mut self) -> Result<(), ShellSyntaxError> {
        loop {
            self.skip_blanks();
            match self.peek() {
                Some('\n') => {
                    self.advance();
                    self.bodies()?;
                }
                Some('#') => self.skip_comment(),
                Some(';' | '&' | '|' | '<' | '>' | ')') => {
                    return Err(ShellSyntaxError::Unsupported);
                }
                Some(_) | None => return Ok(()),
            }
        }
    }

    /// Adds a command, unless it is empty.
    pub(super) fn finish(&mut self, command: SimpleCommand) -> Result<(), ShellSyntaxError> {
        if command == SimpleCommand::default() { Ok(()) } else { self.push(command) }
    }
}
