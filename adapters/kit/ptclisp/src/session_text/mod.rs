//! Text form of a session: definitions and last results, in a form that another process or a later version
//! reads as the same values.
//!
//! The text is JSON, an object:
//!
//! - `ptclisp`: the version of this form, 1.
//! - `code`: what functions were written as. Each is a form `fn`, the `names` that it takes from around it,
//!   and the `globals` that it means definitions by; every other name means what the language calls so.
//! - `made`: the functions, in the order in which they were made, so that each stands after what it holds.
//!   `["fn", code, ..]` is followed by the values of the code's names, `["partial", count, ..]` and its like
//!   by their parts. One function that is held twice is one here, so that it stays equal to itself.
//! - `defs`: `[name, value]`, by name. `last`: the last results, the latest last.
//!
//! A value is written flat, without nesting: `null`, `true`, an integer, a text, or an object of one entry:
//! `f` a float, `n` an integer beyond 64 bits, `k` a keyword, `s` a symbol, `v` a var, `r` a regular
//! expression, `b` a function of the language, `t` a tool, `c` a function by its place in `made`; `l` a
//! vector, `e` a set and `m` a map by how many items, members or entries follow.
//!
//! The same session is always the same text.
//!
//! One value has a text of its own: `[..]`, the value as it is written flat, or an object with `code`, `made` and
//! this array as `value` if it holds functions.

mod read;
mod write;

#[cfg(test)]
mod tests;

use serde::Deserialize;
use serde_json::Value as Json;

use crate::callable::ComposedKind;
use crate::session::LispSession;
use crate::value::Value;

/// The version of the form that is written, and the only one so far.
const VERSION: u32 = 1;

/// The names of the kinds of made functions.
const KINDS: &[(&str, ComposedKind)] = &[
    ("partial", ComposedKind::Partial),
    ("comp", ComposedKind::Comp),
    ("juxt", ComposedKind::Juxt),
    ("complement", ComposedKind::Complement),
    ("constantly", ComposedKind::Constantly),
    ("every-pred", ComposedKind::EveryPred),
    ("some-fn", ComposedKind::SomeFn),
    ("fnil", ComposedKind::Fnil),
    ("reduced", ComposedKind::Reduced),
    ("transducer", ComposedKind::Transducer),
    ("endless", ComposedKind::Endless),
];

/// The text of a session, when it is read.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SessionText {
    ptclisp: u32,
    code: Vec<FunctionSource>,
    made: Vec<Vec<Json>>,
    defs: Vec<Vec<Json>>,
    last: Vec<Vec<Json>>,
}

/// The text of a value with functions, when it is read.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ValueText {
    code: Vec<FunctionSource>,
    made: Vec<Vec<Json>>,
    value: Vec<Json>,
}

/// What a function was written as.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FunctionSource {
    #[serde(rename = "fn")]
    text: String,
    names: Vec<String>,
    globals: Vec<String>,
}

/// Why a text is no session.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the text is no session of PTC-Lisp that this version reads: {why}. Give it as it was written, \
     or begin a new session"
)]
pub struct SessionTextError {
    why: String,
}

impl SessionTextError {
    fn new(why: impl Into<String>) -> SessionTextError {
        SessionTextError { why: why.into() }
    }
}

/// A session's text would be longer than it may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the definitions and last results take more than {most} bytes as text: keep less of them")]
pub struct SessionTooLong {
    /// The most bytes that it may have.
    pub most: usize,
}

/// Returns the text of one value: the same text for the same value. A function in it that another value
/// holds too is another function once both are read.
///
/// # Errors
/// If it would have more bytes than this.
pub fn value_text(value: &Value, most: usize) -> Result<String, SessionTooLong> {
    write::value(value, most)
}

impl LispSession {
    /// The session as text: the same text for the same session.
    ///
    /// # Errors
    /// If it would have more bytes than this.
    pub fn to_text(&self, most: usize) -> Result<String, SessionTooLong> {
        write::session(self, most)
    }

    /// The session that [`LispSession::to_text`] has written. Its functions are compiled again from what they
    /// were written as.
    ///
    /// # Errors
    /// If the text is not one that was written so, or by a later version.
    pub fn from_text(text: &str) -> Result<LispSession, SessionTextError> {
        read::session(text)
    }

    /// Reads a value that [`value_text`] has written, for this session.
    ///
    /// # Errors
    /// If the text is not one that was written so, or by a later version.
    pub fn read_value(&mut self, text: &str) -> Result<Value, SessionTextError> {
        let (value, ids) = read::value(text, self.ids)?;
        self.ids = ids;
        Ok(value)
    }
}
