//! Questions: the lines of an open question, its choices, and what an answer means. Pure.

use windlass_engine::core::{ApprovalReason, GrantLifetime};
use windlass_engine::ports::{change_lines, outside_lines, question_lines};
use windlass_terminal::{Line, Theme};

use super::calls::{changed, label, more_lines, one_line};
use super::conversation::OpenAsk;
use crate::attach::{QuestionAnswer, ServerQuestion};
use crate::present::visible;

/// Most lines of a question's details.
const DETAIL_LINES: usize = 200;

/// Choice that a question offers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Choice {
    /// The call may run.
    Once,
    /// The call may run, and calls like it.
    Grant(GrantLifetime),
    /// The call may run with other arguments, which are edited next.
    Edit,
    /// The call may not run; the reason is asked next.
    Deny,
    /// Answer to the model.
    Answer(String),
    /// Answer to the model in other words, which are asked next.
    Words,
}

/// Returns the choices of a question with their labels.
pub(super) fn choices(ask: &OpenAsk) -> Vec<(Choice, String)> {
    match ask {
        OpenAsk::Approval(open) => {
            let mut all = vec![(Choice::Once, "Yes".to_owned())];
            if let Some(like) = &open.grant {
                let like = one_line(like);
                all.push((
                    Choice::Grant(GrantLifetime::Session),
                    format!("Yes, and in this session always: {like}"),
                ));
                all.push((
                    Choice::Grant(GrantLifetime::Always),
                    format!("Yes, and in this workspace always: {like}"),
                ));
            }
            all.push((Choice::Edit, "Edit the arguments".to_owned()));
            all.push((Choice::Deny, "No, and say why".to_owned()));
            all
        }
        OpenAsk::Question(_, question) => {
            let answers = question.choices.iter();
            let answers = answers.map(|choice| (Choice::Answer(choice.clone()), one_line(choice)));
            answers.chain([(Choice::Words, "Answer in other words".to_owned())]).collect()
        }
    }
}

/// Returns the heading of a question.
pub(super) fn heading(ask: &OpenAsk) -> String {
    match ask {
        OpenAsk::Approval(open) => {
            let again = if open.attempt > 1 { " (asked again)" } else { "" };
            let outside = match open.reason == ApprovalReason::OutsideSandbox {
                true => " outside of the sandbox",
                false => "",
            };
            format!("May it run{outside}? {}{again}", label(&open.tool, &open.arguments))
        }
        OpenAsk::Question(_, _) => "You are asked:".to_owned(),
    }
}

/// Returns the lines that a person needs in order to answer.
pub(super) fn details(ask: &OpenAsk, theme: &Theme) -> Vec<Line> {
    match ask {
        OpenAsk::Approval(open) => approval_details(open, theme),
        OpenAsk::Question(_, question) => {
            let text = visible(&question.question);
            text.lines().map(|line| Line::styled(line, theme.text).wrapped(0)).collect()
        }
    }
}

fn approval_details(open: &ServerQuestion, theme: &Theme) -> Vec<Line> {
    let mut lines = Vec::new();
    if open.reason == ApprovalReason::OutsideSandbox {
        let warning = outside_lines(open.earlier.as_deref());
        lines.extend(warning.into_iter().map(|line| Line::styled(line, theme.warning).wrapped(2)));
    }
    let all = question_lines(&open.arguments);
    let more = all.len().saturating_sub(DETAIL_LINES);
    lines.extend(changed(all.get(..DETAIL_LINES).unwrap_or(&all), theme));
    if more > 0 {
        lines.push(Line::styled(format!("  … {}", more_lines(more)), theme.dim));
    }
    if let Some(change) = &open.change {
        lines.extend(changed(&change_lines(change), theme));
    }
    if let Some(why) = &open.grant_withheld {
        let words = format!("only this call can be allowed: {}", one_line(why));
        lines.push(Line::styled(words, theme.dim).wrapped(2));
    }
    lines
}

/// Meaning of an answer to an approval.
pub(super) fn decision(choice: &Choice, words: &str) -> Result<Option<QuestionAnswer>, String> {
    Ok(match choice {
        Choice::Once => Some(QuestionAnswer::Allow { arguments: None }),
        Choice::Grant(lifetime) => Some(QuestionAnswer::Grant { lifetime: *lifetime }),
        Choice::Deny => Some(QuestionAnswer::Deny { reason: words.trim().to_owned() }),
        Choice::Edit => {
            let words = words.trim();
            serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(words)
                .map_err(|error| format!("that is no JSON object: {error}"))?;
            Some(QuestionAnswer::Allow { arguments: Some(words.to_owned()) })
        }
        Choice::Answer(_) | Choice::Words => None,
    })
}

/// Returns the choice that a typed line names, with the words for it: a number, or else the reason of a
/// denial and the words of an answer. `None` for an empty line.
pub(super) fn typed(ask: &OpenAsk, line: &str) -> Option<(Choice, String)> {
    let line = line.trim();
    if line.is_empty() {
        return None;
    }
    let number: Option<usize> = line.parse().ok();
    let choices = choices(ask);
    if let Some((choice, _)) = number.and_then(|number| choices.get(number.checked_sub(1)?)) {
        return Some((choice.clone(), String::new()));
    }
    Some(match (ask, line) {
        (OpenAsk::Approval(_), "y" | "Y" | "yes") => (Choice::Once, String::new()),
        (OpenAsk::Approval(_), "n" | "N" | "no") => (Choice::Deny, String::new()),
        (OpenAsk::Approval(_), reason) => (Choice::Deny, reason.to_owned()),
        (OpenAsk::Question(..), words) => (Choice::Words, words.to_owned()),
    })
}
