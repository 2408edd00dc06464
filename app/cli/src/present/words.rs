//! Descriptions of texts, outcomes and settings for people.

use windlass_engine::TurnReport;
use windlass_engine::core::{
    Compacted, CompactionTrigger, Fact, GoalEnd, LimitKind, Mode, ObservationStatus, Permissions,
    RequestRecord, TurnOutcome, VisiblePart, is_hidden,
};

/// Makes characters visible that steer a terminal or hide. Those that only join or space what
/// people read stay.
pub(crate) fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\t' => out.push(c),
            '\u{a0}'
            | '\u{ad}'
            | '\u{200c}'
            | '\u{200d}'
            | '\u{202f}'
            | '\u{3000}'
            | '\u{fe00}'..='\u{fe0f}' => out.push(c),
            c if is_hidden(c) => out.extend(c.escape_default()),
            c => out.push(c),
        }
    }
    out
}

/// Escapes the hidden characters of a JSON text, in which they are part of texts.
pub(crate) fn escaped_json(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if is_hidden(c) && c != '\n' {
            for unit in c.encode_utf16(&mut [0; 2]) {
                out.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            out.push(c);
        }
    }
    out
}

/// Returns the first characters of a text, on one line.
pub(crate) fn first_words(text: &str, most: usize) -> String {
    let mut words: String = text.chars().take(most).collect();
    if text.chars().nth(most).is_some() {
        words.push_str("...");
    }
    words.replace('\n', " ")
}

/// Describes an outcome.
pub(crate) fn outcome_words(outcome: &TurnOutcome) -> String {
    match outcome {
        TurnOutcome::Completed => "completed".to_owned(),
        TurnOutcome::NoAnswer => "the model ended without an answer".to_owned(),
        TurnOutcome::Refused => "the model refused".to_owned(),
        TurnOutcome::InvalidOutput { fault } => {
            format!("no usable answer (see --answer-schema): {fault}")
        }
        TurnOutcome::Interrupted { reason, .. } => format!("interrupted: {reason}"),
        TurnOutcome::Blocked { reason } => format!("blocked: {reason}"),
        TurnOutcome::Exhausted { limit } => {
            format!("a limit of the turn is exhausted: {}", limit_words(*limit))
        }
        TurnOutcome::Failed { message, .. } => format!("failed: {message}"),
    }
}

/// Lists the inputs that wait after a turn that was interrupted or ran out of time, and the command
/// that continues with them.
pub(crate) fn waiting_words(report: &TurnReport) -> Option<String> {
    let Fact::TurnSettled(settled) = &report.settled.fact else {
        return None;
    };
    match &settled.outcome {
        TurnOutcome::Interrupted { .. } | TurnOutcome::Exhausted { .. } => {}
        TurnOutcome::Completed
        | TurnOutcome::NoAnswer
        | TurnOutcome::Refused
        | TurnOutcome::InvalidOutput { .. }
        | TurnOutcome::Blocked { .. }
        | TurnOutcome::Failed { .. } => return None,
    }
    let waits = match settled.waiting.len() {
        0 => return None,
        1 => "an input waits".to_owned(),
        many => format!("{many} inputs wait"),
    };
    let session = &report.settled.session;
    Some(format!("{waits}; to continue: windlass resume {session}"))
}

/// Returns the name of an outcome.
pub(crate) fn outcome_name(outcome: &TurnOutcome) -> &'static str {
    match outcome {
        TurnOutcome::Completed => "completed",
        TurnOutcome::NoAnswer => "no answer",
        TurnOutcome::Refused => "refused",
        TurnOutcome::InvalidOutput { .. } => "invalid output",
        TurnOutcome::Interrupted { .. } => "interrupted",
        TurnOutcome::Blocked { .. } => "blocked",
        TurnOutcome::Exhausted { .. } => "exhausted",
        TurnOutcome::Failed { .. } => "failed",
    }
}

/// Describes a limit, with the flag that sets it.
fn limit_words(limit: LimitKind) -> &'static str {
    match limit {
        LimitKind::Samples => "its samples are used up (--max-samples)",
        LimitKind::CallsPerSample => "the model asked for too many tool calls at once",
        LimitKind::Calls => "its tool calls are used up",
        LimitKind::Tokens => "its tokens are used up (--max-tokens)",
        LimitKind::OutputTokens => "the answer was cut off at the limit of output tokens",
        LimitKind::WallClock => "its deadline has passed (--deadline)",
        LimitKind::Cost => "its cost limit is reached (--max-cost)",
        LimitKind::Continuations => "its continuations by hooks are used up",
        LimitKind::Compactions => "its compactions are used up",
        LimitKind::SessionBytes => "the session has its most bytes (--max-session-bytes)",
        LimitKind::Context => "the conversation does not fit into the model's window (--window)",
    }
}

/// Describes the status of a call.
pub(crate) fn status_words(status: ObservationStatus) -> &'static str {
    match status {
        ObservationStatus::Done => "returned",
        ObservationStatus::Failed => "failed",
        ObservationStatus::Denied => "was denied",
        ObservationStatus::Aborted => "was stopped",
        ObservationStatus::Unknown => "has an unknown outcome",
        ObservationStatus::NotStarted => "was not started",
    }
}

/// Describes the end of the work towards a goal.
pub(crate) fn goal_words(end: &GoalEnd) -> String {
    match end {
        GoalEnd::Met { .. } => "the goal is met, as the model says".to_owned(),
        GoalEnd::Exhausted => {
            "the goal is not met, and its turns are used up (--goal-turns)".to_owned()
        }
        GoalEnd::Stopped { reason } => format!("the goal is given up: {reason}"),
    }
}

/// Describes the result of a compaction.
pub(crate) fn compacted_words(compacted: &Compacted) -> String {
    let VisiblePart { items, bytes, .. } = compacted.visible;
    let fallback = compacted.fallback.as_ref().map(|why| format!(" ({why})"));
    format!("compacted to {items} parts of {bytes} bytes{}", fallback.unwrap_or_default())
}

/// Describes the trigger of a compaction.
pub(crate) fn trigger_words(trigger: CompactionTrigger) -> &'static str {
    match trigger {
        CompactionTrigger::Window => "it would not fit into the model's window",
        CompactionTrigger::Overflow => "the provider refused it as too large",
        CompactionTrigger::Manual => "a user asked for it",
    }
}

/// Returns the flag value of a mode.
pub(crate) fn mode_name(mode: Mode) -> &'static str {
    match mode {
        Mode::Build => "build",
        Mode::Plan => "plan",
    }
}

/// Returns the flag value of permissions.
pub(crate) fn permissions_name(permissions: Permissions) -> &'static str {
    match permissions {
        Permissions::Auto => "auto",
        Permissions::Ask => "ask",
        Permissions::ReadOnly => "read-only",
    }
}

/// Describes that another model answered than was requested.
pub(crate) fn other_model_words(request: &RequestRecord, other: &str) -> String {
    format!("the server reports the model {other}, and {} was requested", request.model)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_steers_a_terminal_is_left() {
        assert_eq!(escaped_json("\"\u{9b}\u{e0041}a\""), r#""\u009b\udb40\udc41a""#);
        let shown = visible("a\u{1b}[2J\r\u{202e}\u{200f}b\u{7f}\u{9b}\n\tc");
        assert_eq!(shown, "a\\u{1b}[2J\\r\\u{202e}\\u{200f}b\\u{7f}\\u{9b}\n\tc");
    }
}
