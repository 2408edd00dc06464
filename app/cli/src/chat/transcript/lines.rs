//! Lines of a conversation that are made of one text each. Pure.

use windlass_interaction::{Plan, StepStatus};
use windlass_terminal::{Line, Theme};

use super::{NOTICE_CHARS, Transcript};
use crate::chat::calls;
use crate::present::{first_words, visible};

/// Most lines of a message that are shown.
const MESSAGE_LINES: usize = 12;

impl Transcript {
    pub(super) fn dim(&self, words: &str) -> Line {
        Line::styled(first_words(&visible(words), NOTICE_CHARS), self.theme.dim).wrapped(2)
    }

    pub(super) fn warning(&self, words: &str) -> Line {
        Line::styled(
            format!("! {}", first_words(&visible(words), NOTICE_CHARS)),
            self.theme.warning,
        )
        .wrapped(2)
    }

    pub(super) fn error(&self, words: &str) -> Line {
        Line::styled(format!("! {}", first_words(&visible(words), NOTICE_CHARS)), self.theme.error)
            .wrapped(2)
    }
}

/// Returns the lines of a user's message.
pub(super) fn user_lines(text: &str, theme: &Theme) -> Vec<Line> {
    let text = visible(text);
    let mut parts = text.lines();
    let mut lines = Vec::new();
    for (number, part) in parts.by_ref().take(MESSAGE_LINES).enumerate() {
        let mark = if number == 0 { "› " } else { "  " };
        lines.push(Line::styled(format!("{mark}{part}"), theme.user).wrapped(2));
    }
    match parts.count() {
        0 => {}
        more => lines.push(Line::styled(format!("  … {}", calls::more_lines(more)), theme.dim)),
    }
    lines.push(Line::default());
    lines
}

pub(super) fn plan_lines(plan: &Plan, theme: &Theme) -> Vec<Line> {
    let head = format!("Plan: {} of {} steps completed", plan.completed(), plan.steps.len());
    let mut lines = vec![Line::styled(head, theme.heading)];
    for step in &plan.steps {
        let (sign, style) = match step.status {
            StepStatus::Pending => ("☐", theme.text),
            StepStatus::InProgress => ("▸", theme.accent),
            StepStatus::Completed => ("☑", theme.dim),
        };
        let words = visible(&step.step).replace('\n', " ");
        lines.push(Line::styled(format!("  {sign} {words}"), style).wrapped(4));
    }
    lines
}
