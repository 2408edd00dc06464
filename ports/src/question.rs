//! Questions to people: the lines that describe a call's arguments to whoever approves it.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value;
use similar::TextDiff;
use windlass_core::{diff_lines, shown_lines, spelled_out};

use crate::tools::FileChange;

/// Most arguments that are shown.
const MAX_ARGUMENTS: usize = 40;
/// Most lines of a text that are compared line by line.
const MAX_COMPARED_LINES: usize = 2_000;
/// Most characters of an earlier output that are shown.
const MAX_EARLIER_CHARS: usize = 1_200;
/// Most characters of an argument's name that are shown.
const MAX_NAME_CHARS: usize = 80;

/// Returns the lines that show a call's arguments to a person. Texts are decoded, hidden characters
/// are spelled out, and what is left out is counted. Texts named `old` and `new` are shown as a
/// difference.
#[must_use]
pub fn question_lines(arguments: &str) -> Vec<String> {
    let Ok(Members(members)) = serde_json::from_str(arguments) else {
        return shown_lines(arguments);
    };
    let text = |name: &str| {
        let mut values = members.iter().filter(|(other, _)| other == name);
        match (values.next(), values.next()) {
            (Some((_, Value::String(text))), None) => Some(text.as_str()),
            _ => None,
        }
    };
    let change = text("old").zip(text("new"));
    let mut lines = Vec::new();
    for (name, value) in members.iter().take(MAX_ARGUMENTS) {
        if change.is_some() && matches!(name.as_str(), "old" | "new") {
            continue;
        }
        let value = match value {
            Value::String(text) => shown_lines(text),
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::Array(_)
            | Value::Object(_) => shown_lines(&value.to_string()),
        };
        add(&mut lines, name, value);
    }
    if let Some((old, new)) = change {
        add(&mut lines, "change", [vec![String::new()], difference(old, new)].concat());
    }
    if let Some(more) = members.len().checked_sub(MAX_ARGUMENTS).filter(|more| *more > 0) {
        lines.push(format!("[{more} more arguments are not shown]"));
    }
    lines
}

/// Returns the lines that warn a person of a call that would run outside of the sandbox. `earlier` is
/// the output of the same call in the sandbox, if it failed there.
#[must_use]
pub fn outside_lines(earlier: Option<&str>) -> Vec<String> {
    let mut lines = vec![String::from(
        "OUTSIDE OF THE SANDBOX: this call would run with all of your rights: every file, the \
         network, your keys.",
    )];
    if let Some(output) = earlier {
        let output: String = output.chars().take(MAX_EARLIER_CHARS).collect();
        let output = [vec![String::new()], shown_lines(&output)].concat();
        add(&mut lines, "It failed in the sandbox", output);
    }
    lines
}

fn difference(old: &str, new: &str) -> Vec<String> {
    shown_lines(&diff_lines(old, new).join("\n"))
}

/// Returns the lines that show a person what a call would change in a file: what is removed and
/// added, with the lines around and their places.
#[must_use]
pub fn change_lines(change: &FileChange) -> Vec<String> {
    let Some(before) = &change.before else {
        return vec![String::from("The file is new.")];
    };
    if *before == change.after {
        return vec![String::from("The file stays as it is.")];
    }
    let long = |text: &str| text.lines().count() > MAX_COMPARED_LINES;
    let difference = match long(before) || long(&change.after) {
        true => diff_lines(before, &change.after).join("\n"),
        false => TextDiff::from_lines(before, &change.after).unified_diff().to_string(),
    };
    let mut lines = vec![String::from("The file changes:")];
    lines.extend(
        shown_lines(difference.trim_end_matches('\n')).iter().map(|line| format!("  | {line}")),
    );
    lines
}

/// Returns the difference of a file's text before and after, as a unified diff with the names of
/// both sides; `None` for a side without a file. Texts of more than 2,000 lines are compared as wholes.
#[must_use]
pub fn unified_diff(path: &str, before: Option<&str>, after: Option<&str>) -> String {
    let name = |side: &str, text: Option<&str>| match text {
        Some(_) => format!("{side}/{path}"),
        None => String::from("/dev/null"),
    };
    let (old, new) = (name("a", before), name("b", after));
    let (before, after) = (before.unwrap_or_default(), after.unwrap_or_default());
    let long = |text: &str| text.lines().count() > MAX_COMPARED_LINES;
    if long(before) || long(after) {
        return format!("--- {old}\n+++ {new}\n{}\n", diff_lines(before, after).join("\n"));
    }
    TextDiff::from_lines(before, after).unified_diff().header(&old, &new).to_string()
}

/// Adds an argument: a short text on its line, a longer one below, where a mark tells its lines from
/// those of others.
fn add(lines: &mut Vec<String>, name: &str, value: Vec<String>) {
    let name: String = name.chars().take(MAX_NAME_CHARS).collect();
    let name = spelled_out(&name).replace('\n', "\\n").replace('\t', "\\t");
    match value.as_slice() {
        [line] => lines.push(format!("{name}: {line}")),
        _ => {
            lines.push(format!("{name}:"));
            let below = value.iter().skip(usize::from(value.first().is_some_and(String::is_empty)));
            lines.extend(below.map(|line| format!("  | {line}")));
        }
    }
}

/// Members of an object, including duplicates of a name.
struct Members(Vec<(String, Value)>);

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_map(MembersVisitor)
    }
}

struct MembersVisitor;

impl<'de> Visitor<'de> for MembersVisitor {
    type Value = Members;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
        let mut members = Vec::new();
        while let Some(member) = map.next_entry()? {
            members.push(member);
        }
        Ok(Members(members))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_decoded_and_nothing_hides() {
        let spaces = " ".repeat(9_000);
        let text = format!(r#"{{"command":"git log{spaces}; \u0072m -rf .\u202e","n":[1, 2]}}"#);
        let lines = ["command: git log [9000 blanks] ; rm -rf .\\u{202e}", "n: [1,2]"];
        assert_eq!(question_lines(&text), lines);
    }

    #[test]
    fn a_value_cannot_pass_for_another_argument() {
        let lines = question_lines(r#"{"a\nb":"x\ny: z","a":"1","a":"2"}"#);
        assert_eq!(lines, ["a\\nb:", "  | x", "  | y: z", "a: 1", "a: 2"]);
        assert_eq!(question_lines("[\u{1b}"), ["[\\u{1b}"]);
    }

    #[test]
    fn a_change_of_a_file_is_shown_with_its_places() {
        let lines: Vec<String> = (1..60).map(|nth| format!("line {nth}")).collect();
        let before = lines.join("\n") + "\n";
        let after = before.replace("line 5\n", "").replace("line 50\n", "line fifty\u{202e}\n");
        let change = FileChange { before: Some(before.clone()), after };
        let shown = change_lines(&change).join("\n");
        assert!(shown.contains("| @@ -2,7 +2,6 @@"), "{shown}");
        assert!(shown.contains("| -line 5\n"), "{shown}");
        assert!(shown.contains("| -line 50\n  | +line fifty\\u{202e}"), "{shown}");
        assert!(!shown.contains("line 30"), "{shown}");
        let new = FileChange { before: None, after: before.clone() };
        assert_eq!(change_lines(&new), ["The file is new."]);
        let same = FileChange { before: Some(before.clone()), after: before };
        assert_eq!(change_lines(&same), ["The file stays as it is."]);
        let (long, other) = ("a\n".repeat(100_000), "b\n".repeat(100_000));
        let shown = change_lines(&FileChange { before: Some(long), after: other });
        assert!(shown.len() < 200, "{}", shown.len());
    }

    #[test]
    fn an_edit_is_shown_as_a_difference() {
        let lines = question_lines(r#"{"path":"a.rs","old":"a\nb\nc","new":"a\nx\nc"}"#);
        assert_eq!(lines, ["path: a.rs", "change:", "  |  a", "  | -b", "  | +x", "  |  c"]);
    }
}
