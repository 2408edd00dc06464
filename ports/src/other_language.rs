//! Other languages: blocks in an answer that were meant as programs, and that nothing here runs.

use windlass_core::ProgramFault;

use crate::fences::{FenceRules, fenced_blocks};

/// Labels of blocks with code that is run.
const LABELS: &[&str] = &[
    "bash",
    "clj",
    "clojure",
    "javascript",
    "js",
    "lisp",
    "mjs",
    "ptc",
    "py",
    "python",
    "python3",
    "rb",
    "ruby",
    "scheme",
    "sh",
    "shell",
    "tool_code",
    "ts",
    "typescript",
];

/// Returns the fault of an answer in which a fence marks a program of another language; `None` if
/// there is none. `label` is the label of the language that is run.
#[must_use]
pub fn other_language(answer: &str, label: &str) -> Option<ProgramFault> {
    let mut labels = fenced_blocks(answer, FenceRules::MARKDOWN)
        .map(|block| block.label.to_ascii_lowercase())
        .filter(|found| found != label && LABELS.contains(&found.as_str()));
    let found = labels.next()?;
    let message = format!("your answer has a block of {found}, and nothing of it was run");
    let mut fault = ProgramFault::new("other_language", message);
    fault.hint = Some(format!(
        "Write one program in a block that begins with ```{label}. A block that is for the user \
         belongs into the text that the program returns."
    ));
    Some(fault)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_of_another_language_is_no_text_for_the_user() {
        for answer in [
            "```python\nprint(1)\n```",
            "So:\n  ```Tool_Code\nx",
            "```json\n{}\n```\n```sh\nls\n```",
        ] {
            assert!(other_language(answer, "clojure").is_some(), "{answer}");
        }
        for answer in [
            "",
            "a",
            "```\n1\n```",
            "```json\n```",
            "```text\n```python\n```\n",
            "```clojure\n1\n```",
        ] {
            assert_eq!(other_language(answer, "clojure"), None, "{answer}");
        }
    }
}
