//! The program in a model's answer: which part of the text it is, and what was put right in it.
//!
//! The rules are those of PtcRunner v0.13.0, as it behaves when it is run:
//!
//! 1. A block is the lines between an opening and a closing fence. An opening fence is a line that is
//!    three backticks and at once a tag without blanks, or no tag; a closing one is a line that is three
//!    backticks, `</clojure>` or `</lisp>`. Blanks around a fence do not count. What no line closes is
//!    no block, and a fence of tildes is none.
//! 2. If blocks are tagged `clojure` or `lisp`, in small letters, only they count: one is the program,
//!    whatever it holds; several are refused, for definitions do not go from one to the next.
//! 3. Otherwise the blocks count that begin with `(`: one is the program, several are refused.
//! 4. Otherwise what stands between `<clojure>` or `<lisp>` and the next of their closing tags counts,
//!    if it begins with `(`: one is the program, several are refused.
//! 5. Otherwise the whole answer is the program if it begins with `(` once it is cleaned, prose after it
//!    included: the reader tells what is wrong with that. Anything else has no program.
//!
//! The program is then cleaned: line ends become newlines; characters that nobody sees (byte order
//! marks, zero-width and no-break spaces, soft hyphens) are left out; curly quotes become straight;
//! `#_` and the form after it are left out, wherever it stands, also in a text; blanks around the whole
//! are cut. The form after `#_` ends at its own closing bracket, other kinds of brackets and texts not
//! looked at, at the closing quote, or before the next blank or bracket; where it has no end, the `#_`
//! and all after it stay. [`TextChanges`] says what was done, so that nothing is changed in silence.
//!
//! One difference: PtcRunner v0.13.0 cuts at wrong places when other than ASCII characters stand before
//! a `#_`; here the place is right.
//!
//! Time grows with the length of the answer and not faster.

mod clean;
mod fences;

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::ops::Range;

pub use clean::TextChanges;

use windlass_ports::fenced_blocks;

pub(crate) use fences::ANSWER;

use fences::BlockMatches;

/// The most bytes of an answer that is looked at.
pub const ANSWER_BYTES: usize = 1 << 20;

/// A program that was found in an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExtractedProgram {
    /// The program's text, cleaned.
    pub program: String,
    /// What showed where it is.
    pub marker: ProgramMarker,
    /// The bytes of the answer that it was made from.
    pub span: Range<usize>,
    /// What was changed in it.
    pub changes: TextChanges,
}

/// What showed where the program is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramMarker {
    /// A block tagged `clojure` or `lisp`.
    Tagged,
    /// A block with another tag, or none.
    Fenced,
    /// What stands between tags in angle brackets.
    Element,
    /// The whole answer.
    WholeAnswer,
}

/// Why an answer has no program that can run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExtractError {
    /// Nothing in it is a program.
    #[error("{0}. {hint}", hint = self.hint())]
    Missing(MissingProgram),
    /// More than one block could be the program.
    #[error("the answer has {count} programs, but one is run. {}", self.hint())]
    Several {
        /// How many.
        count: usize,
    },
    /// The answer is longer than [`ANSWER_BYTES`].
    #[error("the answer has {bytes} bytes, more than {ANSWER_BYTES}. {}", self.hint())]
    TooLong {
        /// Its bytes.
        bytes: usize,
    },
}

/// What an answer has instead of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MissingProgram {
    /// Nothing.
    #[error("the answer is empty")]
    Empty,
    /// A block that is not closed.
    #[error("the answer has a code block that is not closed")]
    Unclosed,
    /// Blocks that are neither tagged nor begin with a parenthesis.
    #[error("the answer has code blocks, but none is a program")]
    OtherBlocks,
    /// Text only.
    #[error("the answer has no program")]
    Prose,
}

impl ExtractError {
    /// The name that records know it by.
    pub fn name(&self) -> &'static str {
        match self {
            ExtractError::Missing(_) => "no_code",
            ExtractError::Several { .. } => "multiple_code_blocks",
            ExtractError::TooLong { .. } => "answer_too_long",
        }
    }

    /// What to write instead.
    pub fn hint(&self) -> &'static str {
        match self {
            ExtractError::Missing(MissingProgram::Empty | MissingProgram::Prose) => {
                "Write the program between ```clojure and ```, each on a line of its own."
            }
            ExtractError::Missing(MissingProgram::Unclosed) => {
                "Close the block with ``` on a line of its own."
            }
            ExtractError::Missing(MissingProgram::OtherBlocks) => {
                "Tag the program's block: begin it with ```clojure."
            }
            ExtractError::Several { .. } => {
                "Write all of it in one ```clojure block: blocks do not share definitions."
            }
            ExtractError::TooLong { .. } => {
                "Write a shorter program, and get data through tools instead of writing it out."
            }
        }
    }
}

/// Finds the program in an answer.
///
/// ```
/// let answer = "I add them up.\n```clojure\n(+ 1 2)\n```\nThat is all.";
/// let found = windlass_ptclisp::extract(answer)?;
/// assert_eq!(found.program, "(+ 1 2)");
/// assert_eq!(&answer[found.span], "(+ 1 2)");
/// # Ok::<(), windlass_ptclisp::ExtractError>(())
/// ```
///
/// # Errors
/// If there is no program, if there are several, or if the answer is too long.
pub fn extract(answer: &str) -> Result<ExtractedProgram, ExtractError> {
    if answer.len() > ANSWER_BYTES {
        return Err(ExtractError::TooLong { bytes: answer.len() });
    }
    let mut tagged = BlockMatches::default();
    let mut lists = BlockMatches::default();
    let mut others = false;
    let mut unclosed = false;
    for block in fenced_blocks(answer, ANSWER) {
        let content = block.start..block.start + block.content.len();
        match block.closed {
            false => unclosed = true,
            true if fences::TAGS.contains(&block.label) => tagged.add(content),
            true if is_list(block.content) => lists.add(content),
            true => others = true,
        }
    }
    if let Some(content) = tagged.only()? {
        return Ok(extracted_program(answer, content, ProgramMarker::Tagged));
    }
    if let Some(content) = lists.only()? {
        return Ok(extracted_program(answer, content, ProgramMarker::Fenced));
    }
    if let Some(content) = fences::elements(answer, &mut others).only()? {
        return Ok(extracted_program(answer, content, ProgramMarker::Element));
    }
    let whole = extracted_program(answer, 0..answer.len(), ProgramMarker::WholeAnswer);
    if whole.program.starts_with('(') {
        return Ok(whole);
    }
    Err(ExtractError::Missing(if whole.program.is_empty() {
        MissingProgram::Empty
    } else if unclosed {
        MissingProgram::Unclosed
    } else if others {
        MissingProgram::OtherBlocks
    } else {
        MissingProgram::Prose
    }))
}

/// An answer without what stands around its program, for the history that a model is shown: the one
/// block tagged `clojure` or `lisp`, its content as it was written. An answer that has none or several
/// stays whole, as in PtcRunner v0.13.0.
pub fn without_prose(answer: &str) -> Cow<'_, str> {
    let mut tagged = BlockMatches::default();
    fenced_blocks(answer, fences::HISTORY)
        .filter(|block| block.closed && fences::TAGS.contains(&block.label))
        .for_each(|block| tagged.add(block));
    match tagged.only() {
        Ok(Some(block)) => {
            let content = block.content.strip_suffix('\n').unwrap_or_default();
            Cow::Owned(format!("```{}\n{content}\n```", block.label))
        }
        Ok(None) | Err(_) => Cow::Borrowed(answer),
    }
}

/// Returns true if a text begins like a list.
pub(crate) fn is_list(text: &str) -> bool {
    text.trim_start().starts_with('(')
}

fn extracted_program(answer: &str, span: Range<usize>, place: ProgramMarker) -> ExtractedProgram {
    let span = fences::trimmed(answer, span);
    let (program, changes) = clean::clean(&answer[span.clone()]);
    ExtractedProgram { program, marker: place, span, changes }
}
