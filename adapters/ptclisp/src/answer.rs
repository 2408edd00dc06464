//! Finds the program in an answer. An answer in which the language finds none is plain text, unless it shows
//! that a program was meant:
//!
//! 1. more than one block could be the program;
//! 2. three backticks are followed directly by the name of a Lisp (`clojure`, `clj`, `lisp`, `scheme`,
//!    `ptc`), in large or small letters, or `<clojure>` or `<lisp>`: a block that is not closed, in one line,
//!    or whose content is not a list;
//! 3. a block is not closed, and begins with a parenthesis;
//! 4. a block is of another language.
//!
//! An answer that begins with a parenthesis is a program as a whole.

use windlass_core::ProgramFault;
use windlass_ports::{fenced_blocks, other_language};

use crate::extract::{self, ExtractError, MissingProgram};

/// Text that opens a block meant as a program.
const MARKS: &[&str] =
    &["```clojure", "```clj", "```lisp", "```scheme", "```ptc", "<clojure>", "<lisp>"];

/// The program in an answer, if there is one.
pub(crate) fn program(answer: &str) -> Option<Result<String, ProgramFault>> {
    let none = match extract::extract(answer) {
        Ok(found) => return Some(Ok(found.program)),
        Err(none) => none,
    };
    let meant = match none {
        ExtractError::Several { .. } => true,
        ExtractError::Missing(MissingProgram::Unclosed) => marked(answer) || unclosed_list(answer),
        ExtractError::Missing(
            MissingProgram::Empty | MissingProgram::OtherBlocks | MissingProgram::Prose,
        ) => marked(answer),
        ExtractError::TooLong { .. } => marked(answer) || answer.trim_start().starts_with('('),
    };
    let fault = match meant {
        true => missing(&none),
        false => {
            let mut fault = other_language(answer, "clojure")?;
            none.name().clone_into(&mut fault.class);
            fault
        }
    };
    Some(Err(fault))
}

fn missing(none: &ExtractError) -> ProgramFault {
    let told = none.to_string();
    let message = told.strip_suffix(none.hint()).unwrap_or(&told);
    let message = message.trim_end_matches(['.', ' ']);
    let mut fault = ProgramFault::new(none.name(), message);
    fault.hint = Some(none.hint().to_owned());
    fault
}

fn marked(answer: &str) -> bool {
    let small = answer.to_ascii_lowercase();
    MARKS.iter().any(|mark| small.contains(mark))
}

/// Returns true if the block that is not closed begins with a parenthesis.
fn unclosed_list(answer: &str) -> bool {
    let last = fenced_blocks(answer, extract::ANSWER).last();
    last.is_some_and(|block| !block.closed && extract::is_list(block.content))
}
