//! The program in a model's answer. An answer without one is text, unless a block shows that a program
//! was meant: one of another language, or one without a label that calls tools or returns.

use windlass_core::ProgramFault;
use windlass_ports::{FenceRules, fenced_blocks, other_language};

use crate::check::returns;
use crate::fault::hinted;

/// Info strings of fences that hold a program.
const MARKS: [&str; 5] = ["javascript", "js", "mjs", "ts", "typescript"];

/// Label of a fence.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FenceLabel {
    JavaScript,
    Missing,
    Other,
}

impl FenceLabel {
    fn of(mark: &str) -> Self {
        match mark.to_ascii_lowercase().as_str() {
            "" => Self::Missing,
            mark if MARKS.contains(&mark) => Self::JavaScript,
            _ => Self::Other,
        }
    }
}

/// Returns true if a block without a label is meant as a program: it calls a tool, or it is a program
/// that returns.
fn is_meant(body: &str) -> bool {
    body.contains("await tools.") || (body.contains("return") && returns(body))
}

/// The program in the text of an answer: what stands in the one fence that is marked as JavaScript.
pub(crate) fn extract(answer: &str) -> Option<Result<String, ProgramFault>> {
    let mut found: Vec<&str> = Vec::new();
    let mut unlabelled = false;
    for block in fenced_blocks(answer, FenceRules::MARKDOWN) {
        match (FenceLabel::of(block.label), block.closed) {
            (FenceLabel::JavaScript, true) => found.push(block.content),
            (FenceLabel::JavaScript, false) => {
                return Some(Err(hinted(
                    "parse_error",
                    "the fence of the program is not closed",
                    "Close it with three backticks on a line of their own.",
                )));
            }
            (FenceLabel::Missing, true) => unlabelled |= is_meant(block.content),
            (FenceLabel::Missing, false) | (FenceLabel::Other, _) => {}
        }
    }
    match found.len() {
        0 if unlabelled => Some(Err(hinted(
            "parse_error",
            "your answer has a block without a label, and nothing of it was run",
            "Write one program in a block that begins with ```javascript.",
        ))),
        0 => other_language(answer, "javascript").map(Err),
        1 => found.pop().map(|source| Ok(source.replace("\r\n", "\n"))),
        programs => Some(Err(hinted(
            "parse_error",
            format!("your answer has {programs} programs, and none of them was run"),
            "Write one that does all of it.",
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_fence_is_a_program() {
        let only = extract("So:\n```js\nreturn 1\n```\nDone.");
        assert_eq!(only, Some(Ok("return 1\n".to_owned())));
        assert_eq!(extract("```ts\r\nreturn 2\r\n```"), Some(Ok("return 2\n".to_owned())));
        let beside = extract("```text\nno\n```\n```JavaScript\nreturn `a`\n```");
        assert_eq!(beside, Some(Ok("return `a`\n".to_owned())));
        assert_eq!(extract("```\n1\n```"), None);
        for text in ["```\nreturn to the sender\n```", "```\nfunction f() {\n return 1\n}\n```"] {
            assert_eq!(extract(text), None, "{text}");
        }
        for meant in [
            "```python\nprint(1)\n```",
            "```\nreturn 1\n```",
            "```\nif (data.a) {\n  return(1)\n}\n```",
            "```\nawait tools.a({})\n```",
        ] {
            assert!(extract(meant).unwrap().is_err(), "{meant}");
        }
        assert_eq!(extract("no program"), None);
        assert!(extract("```js\nreturn 1").unwrap().is_err());
        assert!(extract("```js\n1\n```\n```js\n2\n```").unwrap().is_err());
    }
}
