//! The program in a model's answer. An answer without one is text, unless a block shows that a program
//! was meant: one of another language, or one without a label that calls tools or returns.

use windlass_core::ProgramFault;
use windlass_ports::other_language;

use crate::check::returns;
use crate::fault::hinted;

/// Info strings of fences that hold a program.
const MARKS: [&str; 4] = ["javascript", "js", "mjs", "typescript"];

/// Label of a fence.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FenceLabel {
    JavaScript,
    Missing,
    Other,
}

impl FenceLabel {
    fn of(mark: &str) -> Self {
        match mark {
            "" => Self::Missing,
            _ if MARKS.contains(&mark) => Self::JavaScript,
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
    let mut found: Vec<String> = Vec::new();
    let mut open: Option<(FenceLabel, String)> = None;
    let mut unlabelled = false;
    for line in answer.lines() {
        let fence = line.trim_start().strip_prefix("```");
        match (&mut open, fence) {
            (None, Some(mark)) => {
                let mark = mark.trim().to_ascii_lowercase();
                open = Some((FenceLabel::of(&mark), String::new()));
            }
            (Some(_), Some(rest)) if rest.trim().is_empty() => match open.take() {
                Some((FenceLabel::JavaScript, body)) => found.push(body),
                Some((FenceLabel::Missing, body)) => unlabelled |= is_meant(&body),
                Some((FenceLabel::Other, _)) | None => {}
            },
            (Some((_, body)), _) => {
                body.push_str(line);
                body.push('\n');
            }
            (None, None) => {}
        }
    }
    if let Some((FenceLabel::JavaScript, _)) = open {
        return Some(Err(hinted(
            "parse_error",
            "the fence of the program is not closed",
            "Close it with three backticks on a line of their own.",
        )));
    }
    match found.len() {
        0 if unlabelled => Some(Err(hinted(
            "parse_error",
            "your answer has a block without a label, and nothing of it was run",
            "Write one program in a block that begins with ```javascript.",
        ))),
        0 => other_language(answer, "javascript").map(Err),
        1 => found.pop().map(Ok),
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
