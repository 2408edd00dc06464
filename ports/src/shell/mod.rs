//! Command lines of a shell, split into the simple commands that they may run. Pure.
//!
//! The reader accepts what `dash` and `bash` read in the same way. Any other text is an error, so
//! that a rule never relies on one shell's reading of a line that another shell runs. It is lenient
//! only about compound commands that a shell refuses: it then returns more commands than run.
//!
//! It resolves quotes and escapes, and expands nothing. What an expansion may yield is
//! [`Symbol::Unknown`]. Absent on purpose: the text of comments and here-documents.

mod expand;
mod form;
mod heredoc;
mod line;
mod list;
mod options;
mod pattern;
mod prefix;
mod reader;
mod runners;
mod simple;
mod word;

pub use line::{Certainty, CommandLine};
pub use pattern::CommandPattern;
pub use prefix::{NoPrefix, command_prefix, is_command_prefix};

use reader::Reader;

/// Longest command line, in bytes.
const MAX_BYTES: usize = 64 * 1024;
/// Most commands of a line, including those of its substitutions.
const MAX_COMMANDS: usize = 256;

/// Character of a word, or a part of it that only the shell knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Symbol {
    /// A character, after quotes and escapes are resolved.
    Char(char),
    /// Text that an expansion yields: any characters, also none, also several words.
    Unknown,
}

/// Word of a command.
pub(crate) type Word = Vec<Symbol>;

/// Redirection of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Redirect {
    /// Operator, without the number of a descriptor: `>`, `>>`, `<`.
    pub operator: &'static str,
    /// File, or descriptor.
    pub target: Word,
}

/// A simple command of a line: a program with its words, or only assignments or redirections.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct SimpleCommand {
    /// Assignments before the program, each as one word.
    pub assignments: Vec<Word>,
    /// Program and arguments.
    pub words: Vec<Word>,
    /// Redirections, in order.
    pub redirects: Vec<Redirect>,
}

/// Reason why a line has no certain reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ShellSyntaxError {
    /// A quote, a substitution or a group does not end.
    #[error("a quote or a group has no end")]
    Unterminated,
    /// Shells read the text differently, or refuse it.
    #[error("the text has no single reading")]
    Unsupported,
    /// The line exceeds a limit of this reader.
    #[error("the text is too long or too deeply nested")]
    TooLarge,
}

/// Splits a command line into its simple commands.
fn parse_at(text: &str, depth: usize) -> Result<Vec<SimpleCommand>, ShellSyntaxError> {
    if text.len() > MAX_BYTES {
        return Err(ShellSyntaxError::TooLarge);
    }
    let mut reader = Reader::new(text, depth)?;
    reader.program()?;
    Ok(reader.commands)
}

/// Returns the text of a word without expansions.
pub(crate) fn literal(word: &[Symbol]) -> Option<String> {
    let characters = word.iter().map(|symbol| match symbol {
        Symbol::Char(c) => Some(*c),
        Symbol::Unknown => None,
    });
    characters.collect()
}

impl Redirect {
    /// Returns true if it may create or change a file.
    #[must_use]
    pub(crate) fn writes(&self) -> bool {
        let target = literal(&self.target);
        let target = target.as_deref();
        let descriptor = |name: &str| name == "-" || name.bytes().all(|b| b.is_ascii_digit());
        match self.operator {
            "<" | "<<" | "<<<" | "<&" => false,
            ">&" => !target.is_some_and(|name| !name.is_empty() && descriptor(name)),
            _ => target != Some("/dev/null"),
        }
    }
}

#[cfg(test)]
mod tests;
