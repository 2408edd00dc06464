//! Questions: formats a call for a person, and parses the reply. Pure.

use std::fmt;

use windlass_engine::core::SessionId;
use windlass_engine::ports::ApprovalRequest;

use crate::present::visible;

/// Most bytes of arguments that are shown.
const MAX_SHOWN: usize = 16 * 1024;

/// Meaning of a typed line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum TypedReply {
    /// The call may run.
    Allow,
    /// Denies the call.
    Deny {
        /// Reason for the denial.
        reason: String,
    },
    /// The call may run with other arguments, which are typed next.
    Edit,
    /// An empty line.
    Nothing,
}

/// Session or agent that wants to make a call.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum CallOrigin {
    /// Model of the session that the person uses.
    Model,
    /// Model of a child session. Several may ask, one after the other.
    Agent {
        /// Name of the agent; empty if unknown.
        name: String,
        session: SessionId,
    },
}

impl fmt::Display for CallOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Model => write!(f, "The model"),
            Self::Agent { name, session } if name.is_empty() => {
                write!(f, "The agent of session {session}")
            }
            Self::Agent { name, session } => {
                let name = visible(name).replace('\n', "\\n");
                write!(f, "The agent {name} (session {session})")
            }
        }
    }
}

/// Formats the question to the person.
pub(super) fn format_question(
    request: &ApprovalRequest,
    asker: &CallOrigin,
    posture: &str,
) -> String {
    let again = match request.attempt {
        1 => "",
        _ => " (asked again)",
    };
    format!(
        "\n? {asker} wants to call {} ({posture}){again}:\n{}\n",
        visible(&request.name).replace('\n', "\\n"),
        arguments(&request.arguments)
    )
}

/// Parses a typed line. Everything but a yes or a no is a denial with that reason.
pub(super) fn parse_reply(line: &str) -> TypedReply {
    match line.trim() {
        "" => TypedReply::Nothing,
        "y" | "Y" | "yes" => TypedReply::Allow,
        "n" | "N" | "no" => TypedReply::Deny { reason: String::new() },
        "e" | "E" | "edit" => TypedReply::Edit,
        reason => TypedReply::Deny { reason: reason.to_owned() },
    }
}

/// Parses typed arguments. `Err` describes the fault.
pub(super) fn parse_edit(line: &str) -> Result<String, String> {
    let line = line.trim();
    match serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(line) {
        Ok(_) => Ok(line.to_owned()),
        Err(error) => Err(visible(&format!("that is no JSON object: {error}"))),
    }
}

/// Formats the exact arguments with line breaks, within a limit, and without control characters. A
/// cut is shown, so that nobody unknowingly approves hidden arguments.
fn arguments(text: &str) -> String {
    let laid_out = visible(&laid_out(text));
    if laid_out.len() <= MAX_SHOWN {
        return laid_out;
    }
    let cut = laid_out.floor_char_boundary(MAX_SHOWN);
    format!(
        "{}\n! ONLY {cut} OF {} BYTES ARE SHOWN: `windlass show` has them all",
        &laid_out[..cut],
        laid_out.len()
    )
}

/// Adds line breaks and indents to JSON text, and changes no other byte. Parsing it would lose
/// duplicate keys.
fn laid_out(text: &str) -> String {
    let mut out = String::with_capacity(text.len().saturating_mul(2));
    let (mut depth, mut in_string, mut escaped) = (1_usize, false, false);
    let mut before = ' ';
    out.push_str("  ");
    let indent = |out: &mut String, depth: usize| {
        out.push('\n');
        // Bounded for deeply nested text.
        out.extend(std::iter::repeat_n("  ", depth.min(20)));
    };
    for c in text.chars() {
        if in_string {
            out.push(c);
            in_string = escaped || c != '"';
            escaped = !escaped && c == '\\';
            before = c;
            continue;
        }
        match c {
            ' ' | '\t' | '\n' | '\r' => continue,
            '"' | '{' | '[' | ':' | ',' => {}
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                if !matches!(before, '{' | '[') {
                    indent(&mut out, depth);
                }
                out.push(c);
                before = c;
                continue;
            }
            _ => {}
        }
        if matches!(before, '{' | '[' | ',') {
            indent(&mut out, depth);
        }
        out.push(c);
        match c {
            '{' | '[' => depth = depth.saturating_add(1),
            ':' => out.push(' '),
            '"' => in_string = true,
            _ => {}
        }
        before = c;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_laid_out_and_exact() {
        let text = r#"{"a":"x, {\"y\"}\\","a" : [1,2,{}],"b":{"c":null}}"#;
        let shown = laid_out(text);
        assert_eq!(
            shown,
            "  {\n    \"a\": \"x, {\\\"y\\\"}\\\\\",\n    \"a\": [\n      1,\n      2,\n      {}\n    \
             ],\n    \"b\": {\n      \"c\": null\n    }\n  }"
        );
    }

    #[test]
    fn what_steers_a_terminal_is_made_visible_and_what_is_cut_is_said() {
        let shown = arguments("{\"a\":\"\u{1b}[1A\u{202e}\"}");
        assert!(shown.contains("\\u{1b}[1A\\u{202e}"), "{shown}");
        let long = format!("{{\"a\":\"{}\"}}", "é".repeat(MAX_SHOWN));
        let shown = arguments(&long);
        assert!(shown.len() < MAX_SHOWN + 200);
        assert!(shown.contains("ARE SHOWN"), "{shown}");
        assert!(arguments(&"[".repeat(100_000)).contains("ARE SHOWN"));
    }

    #[test]
    fn only_a_plain_yes_is_a_yes() {
        assert_eq!(parse_reply(" y\n"), TypedReply::Allow);
        assert_eq!(parse_reply("yes\r\n"), TypedReply::Allow);
        assert_eq!(parse_reply("e\n"), TypedReply::Edit);
        assert_eq!(parse_reply("\n"), TypedReply::Nothing);
        for words in ["yes please", "yy", "not in this folder", "\u{1b}[A"] {
            let reason = words.to_owned();
            assert_eq!(parse_reply(words), TypedReply::Deny { reason });
        }
    }

    #[test]
    fn an_edit_is_a_json_object() {
        assert_eq!(parse_edit(" {\"n\": 2}\n").unwrap(), "{\"n\": 2}");
        for bad in ["", "2", "[1]", "{", "{} {}"] {
            assert!(parse_edit(bad).is_err(), "{bad}");
        }
    }
}
