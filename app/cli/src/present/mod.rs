//! Presenting: the answer, and only the answer, on standard output; everything else on standard
//! error. With `--json`, one envelope a line on standard output.

mod human;
mod json;

use std::io::{self, Write as _};

use windlass::core::{Outcome, SessionId, Timestamp};
use windlass::{Event, TurnReport};

pub(crate) use human::{Human, first_words, story};
pub(crate) use json::Json;

use crate::exit::Failure;

/// Shows a turn to whoever runs the command.
pub(crate) trait Present {
    /// Shows an event as it comes.
    ///
    /// # Errors
    /// When standard output cannot be written to.
    fn event(&mut self, event: &Event) -> io::Result<()>;

    /// Shows how the turn ended.
    ///
    /// # Errors
    /// When standard output cannot be written to.
    fn settled(&mut self, report: &TurnReport) -> io::Result<()>;

    /// Shows that the command failed before the turn ended.
    ///
    /// # Errors
    /// When standard output cannot be written to.
    fn failed(
        &mut self,
        failure: &Failure,
        session: Option<&SessionId>,
        at: Timestamp,
    ) -> io::Result<()>;
}

/// Tells the user something on standard error.
pub(crate) fn tell(words: &str) {
    let _ = writeln!(io::stderr(), "{}", visible(words));
}

/// Tells the user what went wrong.
pub(crate) fn complain(words: &str) {
    tell(&format!("windlass: {words}"));
}

/// Writes a line to standard output.
pub(crate) fn line(words: &str) -> io::Result<()> {
    writeln!(io::stdout(), "{words}")
}

/// The text with control characters made visible, so that no tool or model can steer a terminal.
pub(crate) fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\t' => out.push(c),
            c if c.is_control() => out.extend(c.escape_default()),
            // Marks that reorder text, which could make it read as something else.
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => out.extend(c.escape_default()),
            c => out.push(c),
        }
    }
    out
}

/// How a command that shows one outcome names it.
pub(crate) fn outcome_name(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Completed => "completed",
        Outcome::NoAnswer => "no answer",
        Outcome::Refused => "refused",
        Outcome::Interrupted { .. } => "interrupted",
        Outcome::Blocked { .. } => "blocked",
        Outcome::Exhausted { .. } => "exhausted",
        Outcome::Failed { .. } => "failed",
    }
}
