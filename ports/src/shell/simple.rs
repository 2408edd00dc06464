//! Simple commands: assignments, words and redirections, and the reserved words in their place.

use super::list::CommandEnd;
use super::reader::Reader;
use super::word::ReadWord;
use super::{Redirect, ShellSyntaxError, SimpleCommand, Symbol};

/// Reserved words that a command follows.
const BEFORE_COMMANDS: &[&str] =
    &["if", "then", "elif", "else", "fi", "while", "until", "do", "done", "{", "}", "!"];

impl Reader {
    /// Reads a command up to its separator, or a reserved word.
    pub(super) fn command(&mut self) -> Result<CommandEnd, ShellSyntaxError> {
        let mut command = SimpleCommand::default();
        loop {
            self.skip_blanks();
            match self.peek() {
                None | Some('\n' | ';' | '|' | ')') => break,
                Some('&') if self.ahead(1) == Some('>') => {
                    self.advance();
                    self.redirect_all(&mut command)?;
                    break;
                }
                Some('&') => break,
                Some('<' | '>') => self.redirect(&mut command)?,
                Some('(') => {
                    self.function(&command)?;
                    return Ok(CommandEnd::More);
                }
                Some('#') if self.is_test(&command) => return Err(ShellSyntaxError::Unsupported),
                Some('#') => self.skip_comment(),
                Some(_) => {
                    let word = self.word()?;
                    if command == SimpleCommand::default()
                        && let Some(end) = self.reserved(&word)?
                    {
                        return Ok(end);
                    }
                    self.add(&mut command, word);
                }
            }
        }
        self.finish(command)?;
        Ok(CommandEnd::More)
    }

    /// Returns true for `[[`, in which bash reads other characters as words.
    fn is_test(&self, command: &SimpleCommand) -> bool {
        let test = command.words.first();
        test.is_some_and(|word| word.as_slice() == [Symbol::Char('['); 2])
    }

    /// Adds a word, unless it is the number of the descriptor of the next redirection.
    fn add(&mut self, command: &mut SimpleCommand, word: ReadWord) {
        let digits = |word: &ReadWord| {
            let digit = |symbol: &Symbol| matches!(symbol, Symbol::Char('0'..='9'));
            word.plain && word.symbols.iter().all(digit)
        };
        if matches!(self.raw(), Some('<' | '>')) && digits(&word) {
            return;
        }
        if command.words.is_empty() && word.assigns() {
            command.assignments.push(word.symbols);
        } else {
            command.words.push(word.symbols);
        }
    }

    /// Reads what a reserved word begins; `None` if the word is none.
    fn reserved(&mut self, word: &ReadWord) -> Result<Option<CommandEnd>, ShellSyntaxError> {
        if BEFORE_COMMANDS.iter().any(|reserved| word.is(reserved)) {
            return Ok(Some(CommandEnd::More));
        }
        if word.is("esac") {
            return Ok(Some(CommandEnd::Esac));
        }
        if word.is("for") || word.is("select") {
            self.for_words()?;
        } else if word.is("case") {
            self.case()?;
        } else if word.is("function") {
            self.skip_blanks();
            self.word()?;
            self.skip_blanks();
            if self.take('(') {
                self.skip_blanks();
                if !self.take(')') {
                    return Err(ShellSyntaxError::Unsupported);
                }
            }
        } else {
            return Ok(None);
        }
        Ok(Some(CommandEnd::More))
    }

    /// Reads the parentheses after the name of a function. Its body is a command of the list.
    fn function(&mut self, command: &SimpleCommand) -> Result<(), ShellSyntaxError> {
        self.advance();
        self.skip_blanks();
        let named = command.words.len() == 1
            && command.assignments.is_empty()
            && command.redirects.is_empty();
        if named && self.take(')') { Ok(()) } else { Err(ShellSyntaxError::Unsupported) }
    }

    fn redirect(&mut self, command: &mut SimpleCommand) -> Result<(), ShellSyntaxError> {
        let operator = self.operator();
        if matches!(operator, "<<" | "<<-") {
            if self.is_test(command) {
                return Err(ShellSyntaxError::Unsupported);
            }
            self.delimiter(operator == "<<-")?;
            command.redirects.push(Redirect { operator: "<<", target: Vec::new() });
            return Ok(());
        }
        if self.peek() == Some('(') && matches!(operator, "<" | ">") {
            self.advance();
            self.substitution()?;
            command.words.push(vec![Symbol::Unknown]);
            return Ok(());
        }
        let target = self.target()?;
        command.redirects.push(Redirect { operator, target });
        Ok(())
    }

    /// Reads `&>` after its ampersand: a redirection in bash, elsewhere a separator before one. So
    /// nothing but its file may follow.
    fn redirect_all(&mut self, command: &mut SimpleCommand) -> Result<(), ShellSyntaxError> {
        self.redirect(command)?;
        self.skip_blanks();
        match self.peek() {
            None | Some('\n' | ';' | '|' | ')') => Ok(()),
            Some(_) => Err(ShellSyntaxError::Unsupported),
        }
    }

    fn target(&mut self) -> Result<Vec<Symbol>, ShellSyntaxError> {
        self.skip_blanks();
        let target = self.word()?.symbols;
        if target.is_empty() { Err(ShellSyntaxError::Unsupported) } else { Ok(target) }
    }

    fn operator(&mut self) -> &'static str {
        if self.take('<') {
            return match self.peek() {
                Some('<') => {
                    self.advance();
                    match self.peek() {
                        Some('<') => self.after("<<<"),
                        Some('-') => self.after("<<-"),
                        Some(_) | None => "<<",
                    }
                }
                Some('&') => self.after("<&"),
                Some('>') => self.after("<>"),
                Some(_) | None => "<",
            };
        }
        self.advance();
        match self.peek() {
            Some('>') => self.after(">>"),
            Some('&') => self.after(">&"),
            Some('|') => self.after(">"),
            Some(_) | None => ">",
        }
    }

    fn after(&mut self, operator: &'static str) -> &'static str {
        self.advance();
        operator
    }
}
