//! Presentation: only the answer on standard output, everything else on standard error. With
//! `--json`, one envelope in each line of standard output.

mod human;
mod json;
mod notices;
mod plan;
mod retries;
mod sources;
mod story;
mod streamed_text;
mod turn_numbers;
mod words;

use std::io::{self, IsTerminal as _, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};

use windlass_engine::core::{RecordedFact, SessionId, Timestamp};
use windlass_engine::{Event, TurnReport};

pub(crate) use human::HumanPresenter;
pub(crate) use json::JsonPresenter;
pub(crate) use notices::{hold_notices, print_notice, release_notices, take_notices};
pub(crate) use sources::{Sources, search_words};
pub(crate) use story::{hook as hook_words, mark_rewound, numbered_story, story};
pub(crate) use streamed_text::StreamedText;
pub(crate) use turn_numbers::{TurnNumbers, TurnRef};
pub(crate) use words::{
    compacted_words, escaped_json, first_words, goal_words, mode_name, outcome_name, outcome_words,
    permissions_name, status_words, trigger_words, visible, waiting_words,
};

use crate::exit::Failure;

/// Columns of a terminal that does not tell its own.
const WIDTH: u16 = 80;

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

/// True while the last line of standard error is a status that the next one replaces.
static HAS_STATUS: AtomicBool = AtomicBool::new(false);

/// Prints a line that the next status replaces, for a standard error that is a terminal. Of what does
/// not fit, the end of `words` is left out.
pub(crate) fn print_status(words: &str, rest: &str) {
    let width = rustix::termios::tcgetwinsize(io::stderr()).map_or(0, |size| size.ws_col);
    let width = usize::from(if width == 0 { WIDTH } else { width });
    HAS_STATUS.store(true, Ordering::Relaxed);
    // A line that wraps cannot be replaced.
    let room = width.saturating_sub(rest.chars().count().saturating_add(4));
    let words = first_words(&visible(words).replace('\n', " "), room);
    let _ = write!(io::stderr(), "\r\u{1b}[K{words}{rest}");
}

/// Ends the status, which stays on the screen.
fn end_status() {
    if HAS_STATUS.swap(false, Ordering::Relaxed) {
        let _ = writeln!(io::stderr());
    }
}

/// Standard error for the log: hidden characters of what it says are made visible. The escapes of
/// its colours are its own; those of texts, the log escapes itself.
pub(crate) struct VisibleStderr;

impl io::Write for VisibleStderr {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(bytes);
        let parts: Vec<String> = text.split('\u{1b}').map(visible).collect();
        io::stderr().write_all(parts.join("\u{1b}").as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

/// Prints an error on standard error.
pub(crate) fn print_error(words: &str) {
    print_notice(&format!("windlass: {words}"));
}

/// Writes a line to standard output. At a terminal, what steers it is made visible.
pub(crate) fn print_line(words: &str) -> io::Result<()> {
    end_status();
    let mut out = io::stdout();
    match out.is_terminal() {
        true => writeln!(out, "{}", visible(words)),
        false => writeln!(out, "{words}"),
    }
}

/// Writes a line of JSON to standard output. At a terminal, characters that steer it are written as
/// escapes, which mean the same.
pub(crate) fn print_json(text: &str) -> io::Result<()> {
    let mut out = io::stdout();
    match out.is_terminal() {
        true => writeln!(out, "{}", escaped_json(text)),
        false => writeln!(out, "{text}"),
    }
}
