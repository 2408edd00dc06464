//! Summary of a conversation: what the user said, word for word, and how much was done.

use super::summary::quoted;
use crate::answer::MODEL;

/// Latest requests that are quoted.
const REQUESTS: usize = 8;

/// Writes the summary of these parts, each in a frame that names its source.
pub(crate) fn summary(parts: &[String]) -> String {
    let from = |source: &str| {
        let frame = format!("<context from=\"{source}\">\n");
        let inner = move |part: &String| {
            let text = part.strip_prefix(&frame)?.strip_suffix("\n</context>")?;
            Some(text.to_owned())
        };
        parts.iter().filter_map(inner).collect::<Vec<_>>()
    };
    let (requests, answers) = (from("the user"), from("the assistant"));
    let calls = answers.iter().flat_map(|answer| answer.lines());
    let calls = calls.filter(|line| line.starts_with("Calls ")).count();
    let latest = requests.len().saturating_sub(REQUESTS);
    let mut goal: Vec<String> =
        requests[latest..].iter().map(|request| format!("- {}", quoted(request))).collect();
    if goal.is_empty() {
        goal.push("- what the latest request says".into());
    }
    format!(
        "## Goal\n{}\n## Done\n- {} answers with {calls} calls\n## Open\nNone.\n\
         ## Facts\n- I am {MODEL}, a script and not a model: I quote and count.",
        goal.join("\n"),
        answers.len(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_quotes_the_user_and_counts_the_rest() {
        let part =
            |from: &str, text: &str| format!("<context from=\"{from}\">\n{text}\n</context>");
        let parts = [
            part("the user", "wind the winch"),
            part("the assistant", "yes\nCalls read: {}\nResult, done: x"),
        ];
        let text = summary(&parts);
        assert!(text.starts_with("## Goal\n- "), "{text}");
        assert!(text.contains("wind the winch"), "{text}");
        assert!(text.contains("\n## Done\n- 1 answers with 1 calls\n## Open\n"), "{text}");
        assert!(summary(&[]).starts_with("## Goal\n- what the latest request says\n## Done\n- 0"));
    }
}
