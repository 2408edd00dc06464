//! The program in a model's answer.

use windlass_core::ProgramFault;

use crate::fault::hinted;

/// Info strings of fences that hold a program.
const MARKS: [&str; 4] = ["javascript", "js", "mjs", "typescript"];

/// The program in the text of an answer: what stands in the one fence that is marked as JavaScript.
pub(crate) fn extract(answer: &str) -> Option<Result<String, ProgramFault>> {
    let mut found: Vec<String> = Vec::new();
    let mut open: Option<(bool, String)> = None;
    for line in answer.lines() {
        let fence = line.trim_start().strip_prefix("```");
        match (&mut open, fence) {
            (None, Some(mark)) => {
                let mark = mark.trim().to_ascii_lowercase();
                open = Some((MARKS.contains(&mark.as_str()), String::new()));
            }
            (Some(_), Some(rest)) if rest.trim().is_empty() => {
                found.extend(open.take().filter(|(ours, _)| *ours).map(|(_, body)| body));
            }
            (Some((_, body)), _) => {
                body.push_str(line);
                body.push('\n');
            }
            (None, None) => {}
        }
    }
    if let Some((true, _)) = open {
        return Some(Err(hinted(
            "parse_error",
            "the fence of the program is not closed",
            "Close it with three backticks on a line of their own.",
        )));
    }
    match found.len() {
        0 => None,
        1 => found.pop().map(Ok),
        programs => Some(Err(hinted(
            "parse_error",
            format!("there are {programs} programs in the answer"),
            "Write one program in one fence.",
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
        assert_eq!(extract("```python\nprint(1)\n```"), None);
        assert_eq!(extract("no program"), None);
        assert!(extract("```js\nreturn 1").unwrap().is_err());
        assert!(extract("```js\n1\n```\n```js\n2\n```").unwrap().is_err());
    }
}
