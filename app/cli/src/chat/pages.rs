//! Pages: what commands of a conversation print. Pure.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::Value;
use windlass_engine::core::{HookSpec, Settings};
use windlass_terminal::{Line, Theme};

use super::calls::{grouped, one_line};
use super::conversation::SessionInfo;
use super::slash::COMMANDS;
use super::transcript::QueuedInput;
use crate::present::{first_words, visible};

/// Keys with what they do.
const KEYS: &[(&str, &str)] = &[
    ("Enter", "send; while a turn runs, tell the model at once"),
    ("Tab", "while a turn runs, queue the message for the next turn"),
    ("Shift+Enter, Ctrl+J", "a new line"),
    ("Esc", "interrupt the turn; what was said stays"),
    ("Esc Esc", "go back to an earlier message, in a copy of the session"),
    ("Shift+Tab", "switch between asking, not asking and planning"),
    ("Ctrl+T", "the whole transcript in a pager"),
    ("Ctrl+G", "edit the message in $EDITOR"),
    ("Ctrl+R", "search earlier messages"),
    ("@", "name a file"),
    ("!COMMAND", "run a command in the session; the model reads its output next time"),
    ("Ctrl+C twice, Ctrl+D", "leave; the session can be continued"),
];

/// Returns the commands and the keys.
pub(super) fn help(theme: &Theme) -> Vec<Line> {
    let row = |name: String, about: &str| {
        Line::styled(format!("  {name:<34}"), theme.accent).with(about, theme.text).wrapped(36)
    };
    let mut lines = vec![Line::styled("Commands", theme.heading)];
    for (name, takes, about) in COMMANDS {
        lines.push(row(format!("/{name} {takes}").trim_end().to_owned(), about));
    }
    lines.push(Line::default());
    lines.push(Line::styled("Keys", theme.heading));
    lines.extend(KEYS.iter().map(|(keys, about)| row((*keys).to_owned(), about)));
    lines
}

/// Returns the state of a session.
pub(super) fn status(info: Option<&SessionInfo>, own: bool, theme: &Theme) -> Vec<Line> {
    let row = |name: &str, value: &str| {
        Line::styled(format!("  {name:<12}"), theme.dim).with(one_line(value), theme.text)
    };
    let Some(info) = info else {
        return vec![Line::styled("no session yet: the first message opens one", theme.dim)];
    };
    let known = |value: &Option<String>| value.clone().unwrap_or_else(|| "unknown".to_owned());
    let model = format!("{} {}", known(&info.provider), known(&info.model));
    vec![
        row("session", info.id.as_str()),
        row("title", &info.title.clone().unwrap_or_default()),
        row("runs", if own { "in this process" } else { "at the server" }),
        row("model", &model),
        row("mode", &known(&info.mode)),
        row("permissions", &known(&info.permissions)),
    ]
}

/// Returns the messages that wait, with their numbers.
pub(super) fn queue(queue: &[QueuedInput], theme: &Theme) -> Vec<Line> {
    if queue.is_empty() {
        return vec![Line::styled("no message waits", theme.dim)];
    }
    let row = |(number, input): (usize, &QueuedInput)| {
        Line::styled(format!("  {number}. "), theme.dim).with(one_line(&input.text), theme.text)
    };
    (1..).zip(queue).map(row).collect()
}

/// Returns a session in one line: its id, its details and its title.
pub(super) fn session_row(info: &SessionInfo) -> String {
    format!("{}  {}  {}", info.id, session_details(info), session_title(info))
}

/// Returns the first words of a session's title.
pub(super) fn session_title(info: &SessionInfo) -> String {
    let title = info.title.as_deref().unwrap_or("(nothing was said)");
    first_words(&visible(title), 60)
}

/// Returns a session's age, its state, its model, its cost and the beginning of its id.
pub(super) fn session_details(info: &SessionInfo) -> String {
    let mut words = vec![age(info.changed, SystemTime::now())];
    words.extend((info.state != "idle").then(|| info.state.clone()));
    words.extend(info.model.as_deref().map(one_line));
    words.extend(info.cost_micros.filter(|cost| *cost > 0).map(money));
    words.push(info.id.as_str().chars().take(10).collect());
    words.join(" · ")
}

/// Returns the time since a moment in milliseconds since 1970, in one unit.
pub(super) fn age(ms: u64, now: SystemTime) -> String {
    let at = UNIX_EPOCH.checked_add(Duration::from_millis(ms));
    let passed = at.and_then(|at| now.duration_since(at).ok()).unwrap_or_default();
    match passed.as_secs() {
        0..60 => "just now".to_owned(),
        seconds @ 60..3_600 => format!("{} min", seconds / 60),
        seconds @ 3_600..86_400 => format!("{} h", seconds / 3_600),
        seconds => format!("{} d", seconds / 86_400),
    }
}

/// Returns the models to choose from.
pub(super) fn models(answer: &Value, theme: &Theme) -> Vec<Line> {
    let models = answer.get("models").and_then(Value::as_array);
    let rows = models.into_iter().flatten().filter_map(|model| {
        let id = model.get("name").and_then(Value::as_str)?;
        let efforts = model.get("efforts").and_then(Value::as_array);
        let efforts: Vec<&str> = efforts.into_iter().flatten().filter_map(Value::as_str).collect();
        let row = Line::plain(format!("  {}", one_line(id)));
        Some(row.with(format!("  {}", efforts.join(" ")), theme.dim))
    });
    let head = Line::styled("Models; /model NAME changes it:", theme.heading);
    [head].into_iter().chain(rows).collect()
}

/// Returns the unified diffs of files, with what is not in them.
pub(super) fn diffs(answer: &Value) -> Vec<String> {
    let mut lines = Vec::new();
    let files = answer.get("files").and_then(Value::as_array);
    for file in files.into_iter().flatten() {
        let text = |name: &str| file.get(name).and_then(Value::as_str);
        match (text("diff"), text("path")) {
            (Some(diff), _) => lines.extend(diff.lines().map(str::to_owned)),
            (None, Some(path)) => {
                let why = text("reason").or_else(|| text("why")).unwrap_or("it cannot be shown");
                lines.push(format!("@ {path}: {why}"));
            }
            (None, None) => {}
        }
    }
    if lines.is_empty() {
        lines.push("no tool changed a file".to_owned());
    }
    let left_out = answer.get("left_out").and_then(Value::as_array);
    for path in left_out.into_iter().flatten().filter_map(Value::as_str) {
        lines.push(format!("@ {path}: left out, since all together would be too long"));
    }
    lines.extend(unrecorded(answer).map(|words| format!("@ {words}")));
    lines
}

/// Returns the result of an undo for each file.
pub(super) fn undone(answer: &Value, theme: &Theme) -> Vec<Line> {
    let mut lines = Vec::new();
    let files = answer.get("files").and_then(Value::as_array);
    for file in files.into_iter().flatten() {
        let text = |name: &str| file.get(name).and_then(Value::as_str).unwrap_or_default();
        let path = one_line(text("path"));
        lines.push(match text("result") {
            "left" => Line::styled(format!("! left {path}: {}", text("reason")), theme.warning),
            result => Line::styled(format!("  {result} {path}"), theme.dim),
        });
    }
    lines.extend(unrecorded(answer).map(|words| Line::styled(format!("! {words}"), theme.warning)));
    lines
}

/// Returns the warning that more may have changed than is recorded.
fn unrecorded(answer: &Value) -> Option<&'static str> {
    let said = |name: &str| answer.get(name).and_then(Value::as_bool).unwrap_or_default();
    match (said("ran_process"), said("lost_call")) {
        (true, _) => Some("commands ran too: what they changed is not recorded"),
        (false, true) => Some("the end of a call is unknown: it may have changed more"),
        (false, false) => None,
    }
}

/// Returns the tokens and the cost of a session, as far as its server counts them.
pub(super) fn usage(answer: &Value, theme: &Theme) -> Vec<Line> {
    let number = |of: &Value, name: &str| of.get(name).and_then(Value::as_u64);
    let tokens = answer.get("spent").and_then(|spent| spent.get("usage")).unwrap_or(&Value::Null);
    let rows = [
        ("turns", number(answer, "turns")),
        ("input tokens", number(tokens, "input")),
        ("cached of those", number(tokens, "cached_input")),
        ("output tokens", number(tokens, "output")),
        ("reasoning of those", number(tokens, "reasoning_output")),
        ("next request", number(answer, "context_tokens")),
        ("window", number(answer, "window")),
    ];
    let known = rows.into_iter().filter_map(|(name, number)| Some((name, grouped(number?))));
    let mut lines: Vec<Line> = known.map(|(name, number)| row(name, &number, theme)).collect();
    lines.push(row(
        "cost",
        &number(answer, "cost_micros").map_or_else(|| "no prices are known".to_owned(), money),
        theme,
    ));
    lines
}

/// Returns an amount of money, in millionths of the currency of the prices.
pub(super) fn money(micros: u64) -> String {
    format!("${}.{:04}", micros / 1_000_000, micros % 1_000_000 / 100)
}

/// Returns what fills the model's window, the largest source first.
pub(super) fn context(answer: &Value, theme: &Theme) -> Vec<Line> {
    let number = |of: &Value, name: &str| of.get(name).and_then(Value::as_u64).unwrap_or_default();
    let (tokens, window) = (number(answer, "tokens"), number(answer, "window"));
    let of_window = match window {
        0 => String::new(),
        window => format!(
            " of {} ({}%)",
            grouped(window),
            tokens.saturating_mul(100).checked_div(window).unwrap_or_default()
        ),
    };
    let head = format!("The next request has about {} tokens{of_window}", grouped(tokens));
    let mut sources: Vec<&Value> =
        answer.get("sources").and_then(Value::as_array).into_iter().flatten().collect();
    sources.sort_by_key(|source| std::cmp::Reverse(number(source, "tokens")));
    let line = |source: &Value| {
        let text = |name: &str| source.get(name).and_then(Value::as_str).unwrap_or_default();
        let name = format!("{} {}", text("source"), one_line(text("name")));
        row(name.trim_end(), &grouped(number(source, "tokens")), theme)
    };
    let head = Line::styled(head, theme.heading).wrapped(2);
    [head].into_iter().chain(sources.into_iter().map(line)).collect()
}

fn row(name: &str, value: &str, theme: &Theme) -> Line {
    Line::styled(format!("  {name:<28}"), theme.dim).with(format!("{value:>12}"), theme.text)
}

/// Returns the agents that the model can start.
pub(super) fn agents(settings: Option<&Settings>, theme: &Theme) -> Vec<Line> {
    let Some(settings) = settings else {
        return vec![unseen(theme)];
    };
    let agents = settings.tools.iter().filter(|tool| tool.agent.is_some());
    let row = |name: &str, about: &str| {
        Line::styled(format!("  {name:<24}"), theme.accent).with(one_line(about), theme.dim)
    };
    let rows: Vec<Line> = agents.map(|tool| row(&tool.name, &tool.description)).collect();
    match rows.is_empty() {
        true => vec![Line::styled("no agents: the tools file defines them", theme.dim)],
        false => rows,
    }
}

/// Returns the hooks of the session.
pub(super) fn hooks(settings: Option<&Settings>, theme: &Theme) -> Vec<Line> {
    let Some(settings) = settings else {
        return vec![unseen(theme)];
    };
    let row = |hook: &HookSpec| {
        let only = hook.only.as_ref().map(|only| format!(" of {}", only.join(", ")));
        Line::styled(format!("  {:<24}", hook.name), theme.accent)
            .with(format!("{:?}{}", hook.point, only.unwrap_or_default()), theme.dim)
    };
    match settings.hooks.is_empty() {
        true => vec![Line::styled("no hooks: the hooks file defines them", theme.dim)],
        false => settings.hooks.iter().map(row).collect(),
    }
}

fn unseen(theme: &Theme) -> Line {
    Line::styled("not known here: the session's settings are earlier in its log", theme.dim)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_has_one_unit() {
        let now = UNIX_EPOCH + Duration::from_secs(1_000_000);
        let ages = [0, 59, 60, 3_599, 3_600, 86_400 * 3].map(|s| age((1_000_000 - s) * 1_000, now));
        assert_eq!(ages, ["just now", "just now", "1 min", "59 min", "1 h", "3 d"]);
        assert_eq!(age(u64::MAX, now), "just now");
    }

    #[test]
    fn a_difference_that_cannot_be_shown_says_why() {
        let answer = serde_json::json!({"files": [
            {"path": "a", "diff": "--- a\n+++ a\n-1\n+2\n"}, {"path": "b", "diff": null, "reason": "binary"},
        ]});
        assert_eq!(diffs(&answer), ["--- a", "+++ a", "-1", "+2", "@ b: binary"]);
        assert_eq!(diffs(&Value::Null), ["no tool changed a file"]);
    }
}
