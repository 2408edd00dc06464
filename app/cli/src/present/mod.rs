//! Presentation: only the answer on standard output, everything else on standard error. With
//! `--json`, one envelope in each line of standard output.

mod human;
mod json;
mod story;
mod streamed_text;
mod words;

use std::io::{self, Write as _};

use windlass_engine::core::{RecordedFact, SessionId, Timestamp};
use windlass_engine::{Event, TurnReport};

pub(crate) use human::HumanPresenter;
pub(crate) use json::JsonPresenter;
pub(crate) use story::{mark_rewound, story};
pub(crate) use words::{
    first_words, mode_name, outcome_name, permissions_name, status_words, visible, waiting_words,
};

use crate::exit::Failure;

/// Shows a turn to the user of the command.
pub(crate) trait Presenter {
    /// Shows an event.
    ///
    /// # Errors
    /// When standard output cannot be written to.
    fn event(&mut self, event: &Event) -> io::Result<()>;

    /// Announces that later answers have an output schema.
    fn expect_schema(&mut self);

    /// Shows the end of a turn that another turn follows, for the same goal.
    ///
    /// # Errors
    /// When standard output cannot be written to.
    fn continued(&mut self, report: &TurnReport) -> io::Result<()>;

    /// Shows the end of the turn.
    ///
    /// # Errors
    /// When standard output cannot be written to.
    fn settled(&mut self, report: &TurnReport) -> io::Result<()>;

    /// Shows the consequences of the turn's end.
    ///
    /// # Errors
    /// When standard output cannot be written to.
    fn after(&mut self, fact: &RecordedFact) -> io::Result<()>;

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

/// Prints a notice on standard error.
pub(crate) fn print_notice(words: &str) {
    let _ = writeln!(io::stderr(), "{}", visible(words));
}

/// Prints an error on standard error.
pub(crate) fn print_error(words: &str) {
    print_notice(&format!("windlass: {words}"));
}

/// Writes a line to standard output.
pub(crate) fn print_line(words: &str) -> io::Result<()> {
    writeln!(io::stdout(), "{words}")
}
