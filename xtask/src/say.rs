//! Output to the terminal. A closed pipe does not stop a chore.

use std::fmt::Display;
use std::io::Write;

/// Writes a line to standard output.
pub fn say(line: impl Display) {
    let _closed = writeln!(std::io::stdout().lock(), "{line}");
}

/// Writes a line to standard error.
pub fn complain(line: impl Display) {
    let _closed = writeln!(std::io::stderr().lock(), "{line}");
}
