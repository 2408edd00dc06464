//! Calls: one readable line for a call of a tool, and the lines of its result. Pure.

use std::time::Duration;

use serde_json::{Map, Value};
use windlass_engine::core::{
    CallSource, Observation, ObservationStatus, PATCH_TOOL, diff_lines, result_text,
};
use windlass_terminal::{Line, Style, Theme};

use crate::present::{first_words, visible};

/// Most characters of an argument in a call's line.
const ARGUMENT_CHARS: usize = 160;
/// Most lines of an output below a call.
const OUTPUT_LINES: usize = 4;
/// Most lines of an output below a command of the person.
const COMMAND_LINES: usize = 200;
/// Most lines of an output below a call that failed.
const FAILURE_LINES: usize = 8;
/// Most characters of a line of output.
const OUTPUT_CHARS: usize = 400;
/// Most lines of a change below a call.
const CHANGE_LINES: usize = 60;
/// Arguments that say the most about a call, in the order of preference.
const MAIN_ARGUMENTS: [&str; 12] = [
    "command", "cmd", "pattern", "query", "path", "url", "uri", "name", "question", "prompt", "id",
    "text",
];

/// Returns the words for a call: a command as it is typed, else the tool with its main argument.
pub(super) fn label(tool: &str, arguments: &str) -> String {
    let arguments: Option<Map<String, Value>> = serde_json::from_str(arguments).ok();
    let text = |name: &str| {
        let value = arguments.as_ref()?.get(name)?;
        Some(match value {
            Value::String(text) => text.clone(),
            Value::Number(number) => number.to_string(),
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => return None,
        })
    };
    if let Some(command) = text("command").or_else(|| text("cmd")) {
        return format!("$ {}", one_line(&command));
    }
    if tool == PATCH_TOOL {
        let files = text("patch").map(|patch| patched_files(&patch)).unwrap_or_default();
        return format!("{tool} {}", one_line(&files.join(", ")));
    }
    let main = MAIN_ARGUMENTS.iter().find_map(|name| text(name));
    let place = text("path").filter(|path| Some(path) != main.as_ref());
    match (main, place) {
        (Some(main), Some(path)) => format!("{tool} {} in {}", one_line(&main), one_line(&path)),
        (Some(main), None) => format!("{tool} {}", one_line(&main)),
        (None, _) => tool.to_owned(),
    }
}

/// Returns the files that a patch names.
fn patched_files(patch: &str) -> Vec<String> {
    let marks = ["*** Add File: ", "*** Update File: ", "*** Delete File: "];
    let named =
        |line: &str| marks.iter().find_map(|mark| line.strip_prefix(mark)).map(str::to_owned);
    patch.lines().filter_map(named).collect()
}

/// Returns the first characters of a text on one line, without what steers a terminal.
pub(super) fn one_line(text: &str) -> String {
    let mut line = String::new();
    for (number, part) in text.lines().map(str::trim).filter(|part| !part.is_empty()).enumerate() {
        if number > 0 {
            line.push_str(" ⏎ ");
        }
        line.push_str(part);
    }
    let short: String = visible(&line).chars().take(ARGUMENT_CHARS).collect();
    match line.chars().count() > ARGUMENT_CHARS {
        true => short + "…",
        false => short,
    }
}

/// Returns the lines of a call that ended: itself with its size and time, its change, and the
/// beginning of its output.
pub(super) fn ended(
    source: CallSource,
    (tool, arguments): (&str, &str),
    observation: &Observation,
    took: Option<Duration>,
    theme: &Theme,
) -> Vec<Line> {
    let (mark, mark_style) = match observation.status {
        ObservationStatus::Done if observation.exit_code.is_none_or(|code| code == 0) => {
            ("✓ ", theme.success)
        }
        ObservationStatus::Done | ObservationStatus::Failed => ("✗ ", theme.error),
        ObservationStatus::Denied => ("⊘ ", theme.warning),
        ObservationStatus::Aborted | ObservationStatus::Unknown | ObservationStatus::NotStarted => {
            ("! ", theme.warning)
        }
    };
    let head = Line::styled(mark, mark_style)
        .with(label(tool, arguments), theme.tool)
        .with(format!("  {}", facts(observation, took)), theme.dim)
        .wrapped(2);
    let mut lines = vec![head];
    let good = observation.status == ObservationStatus::Done;
    let change = if good { change(tool, arguments, theme) } else { Vec::new() };
    if change.is_empty() {
        lines.extend(output(source, observation, theme));
    }
    lines.extend(change);
    lines
}

/// Returns the words for lines that are not shown.
pub(super) fn more_lines(count: usize) -> String {
    match count {
        1 => "1 more line".to_owned(),
        count => format!("{count} more lines"),
    }
}

/// Returns the size, the time and the fate of a call in a few words.
fn facts(observation: &Observation, took: Option<Duration>) -> String {
    let mut words = Vec::new();
    if observation.status != ObservationStatus::Done {
        words.push(crate::present::status_words(observation.status).to_owned());
    }
    if let Some(code) = observation.exit_code.filter(|code| *code != 0) {
        words.push(format!("exit {code}"));
    }
    words.push(size(observation.output_bytes));
    words.extend(took.map(time));
    words.join(" · ")
}

/// Returns a number with its thousands apart.
pub(super) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Returns a size for people.
pub(super) fn size(bytes: u64) -> String {
    let thousandths = |unit: u64| {
        let tenths = bytes.saturating_mul(10) / unit;
        format!("{}.{}", tenths / 10, tenths % 10)
    };
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{} kB", thousandths(1_000)),
        _ => format!("{} MB", thousandths(1_000_000)),
    }
}

/// Returns a time for people.
pub(super) fn time(took: Duration) -> String {
    let (seconds, ms) = (took.as_secs(), took.subsec_millis());
    match seconds {
        0 => format!("{ms} ms"),
        1..10 => format!("{seconds}.{} s", ms / 100),
        10..100 => format!("{seconds} s"),
        100..3_600 => format!("{} min {:02} s", seconds / 60, seconds % 60),
        _ => format!("{} h {:02} min", seconds / 3_600, seconds % 3_600 / 60),
    }
}

/// Returns the change of files that the arguments of a call state; none for other tools.
fn change(tool: &str, arguments: &str, theme: &Theme) -> Vec<Line> {
    let Ok(arguments) = serde_json::from_str::<Map<String, Value>>(arguments) else {
        return Vec::new();
    };
    let text = |name: &str| arguments.get(name).and_then(Value::as_str);
    let lines: Vec<String> = match (text("old"), text("new"), text("content"), text("patch")) {
        (Some(old), Some(new), ..) => diff_lines(old, new),
        (_, _, Some(content), _) if text("path").is_some() => {
            content.lines().map(|line| format!("+{line}")).collect()
        }
        (.., Some(patch)) if tool == PATCH_TOOL => patch
            .lines()
            .filter(|line| !line.starts_with("***") || line.starts_with("*** Update"))
            .map(str::to_owned)
            .collect(),
        _ => return Vec::new(),
    };
    changed(&lines, theme)
}

/// Returns the lines of a difference in their colors, shortened in the middle.
pub(super) fn changed(lines: &[String], theme: &Theme) -> Vec<Line> {
    let styled =
        |line: &String| Line::styled(format!("  {}", visible(line)), line_style(line, theme));
    let mut out: Vec<Line> = lines.iter().take(CHANGE_LINES).map(styled).collect();
    let more = lines.len().saturating_sub(CHANGE_LINES);
    if more > 0 {
        let words = format!("  … {}: /diff shows all", more_lines(more));
        out.push(Line::styled(words, theme.dim));
    }
    out
}

/// Returns all lines of a difference in their colors.
pub(super) fn diff_lines_of(lines: &[String], theme: &Theme) -> Vec<Line> {
    lines.iter().map(|line| Line::styled(visible(line), line_style(line, theme))).collect()
}

fn line_style(line: &str, theme: &Theme) -> Style {
    match line.trim_start().chars().next() {
        Some('+') => theme.added,
        Some('-') => theme.removed,
        Some('@' | '*') => theme.accent,
        Some(_) | None => theme.dim,
    }
}

/// Returns the first lines of an output that a person needs.
fn output(source: CallSource, observation: &Observation, theme: &Theme) -> Vec<Line> {
    let good = observation.status == ObservationStatus::Done;
    let failed = !good || observation.exit_code.is_some_and(|code| code != 0);
    // The size says enough of what was only read.
    if good && observation.exit_code.is_none() {
        return Vec::new();
    }
    let most = match source {
        CallSource::User(_) => COMMAND_LINES,
        CallSource::Sample(_) | CallSource::Program(_) if failed => FAILURE_LINES,
        CallSource::Sample(_) | CallSource::Program(_) => OUTPUT_LINES,
    };
    let text = result_text(observation, None);
    // The exit code is said in the call's own line.
    let is_said = |line: &str| line.trim().is_empty() || line.starts_with("[exit code ");
    let mut lines = text.lines().filter(|line| !is_said(line));
    let shown = lines.by_ref().take(most);
    let line = |text: &str| {
        Line::styled(format!("  {}", first_words(&visible(text), OUTPUT_CHARS)), theme.dim)
    };
    let mut out: Vec<Line> = shown.map(line).collect();
    let more = lines.count();
    if more > 0 {
        out.push(line(&format!("… {} (Ctrl+T)", more_lines(more))));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_one_line_that_a_person_would_write() {
        assert_eq!(
            label("run_command", r#"{"command":"cargo test\n--all"}"#),
            "$ cargo test ⏎ --all"
        );
        assert_eq!(
            label("read_file", r#"{"path":"src/lib.rs","offset":3}"#),
            "read_file src/lib.rs"
        );
        assert_eq!(label("grep", r#"{"pattern":"fn main","path":"src"}"#), "grep fn main in src");
        assert_eq!(label("mine", r#"{"deep":{"a":1}}"#), "mine");
        assert_eq!(label("mine", "not json"), "mine");
        let patch = "*** Begin Patch\n*** Update File: a.rs\n@@\n-1\n+2\n*** Add File: b\n+x";
        let arguments = serde_json::json!({ "patch": patch }).to_string();
        assert_eq!(label(PATCH_TOOL, &arguments), "apply_patch a.rs, b");
        let long = label("read_file", &serde_json::json!({"path": "é".repeat(500)}).to_string());
        assert!(long.ends_with('…') && long.chars().count() < 200, "{long}");
        assert_eq!(label("x", r#"{"path":"a\u001b[2Jb"}"#), "x a\\u{1b}[2Jb");
    }

    #[test]
    fn sizes_and_times_are_short() {
        let sizes = [0, 999, 1_000, 12_345, 10_000_000].map(size);
        assert_eq!(sizes, ["0 B", "999 B", "1.0 kB", "12.3 kB", "10.0 MB"]);
        let times = [5, 1_250, 59_000, 125_000, 7_300_000];
        let times = times.map(|ms| time(Duration::from_millis(ms)));
        assert_eq!(times, ["5 ms", "1.2 s", "59 s", "2 min 05 s", "2 h 01 min"]);
    }
}
