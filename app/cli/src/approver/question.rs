//! Questions: formats a call for a person, and parses the reply. Pure.

use std::fmt;

use windlass_engine::core::{ApprovalReason, GrantLifetime, SessionId};
use windlass_engine::ports::{
    ApprovalRequest, FileChange, GrantOffer, change_lines, outside_lines, question_lines,
};

use windlass_interaction::Question;

use crate::present::visible;

/// Description of the keys.
const KEYS: &str = "[y]es, [n]o, [e]dit the arguments, or say why not: ";
/// The same with an offer.
const GRANT_KEYS: &str =
    "[y]es once, [s]ession, [p]refix always, [n]o, [e]dit the arguments, or say why not: ";

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
    /// The call may run, and calls like it.
    Grant(GrantLifetime),
    /// A key for an answer that is not offered.
    NotOffered,
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
        "\n? {asker} wants to call {} ({}){again}:\n{}{}\n",
        visible(&request.name).replace('\n', "\\n"),
        visible(posture),
        warning(request),
        arguments(&request.arguments, request.change.as_ref())
    ) + &offer_line(&request.offer)
}

/// Prompt for an answer to a question of the model.
pub(super) const ANSWER: &str = "your answer: ";

/// Formats a question of the model or of a tool, with the numbers of its choices.
pub(super) fn format_model_question(asked: &Question) -> String {
    let mut words = String::from("\n? You are asked:\n");
    for line in visible(&asked.question).lines() {
        words.push_str(&format!("  {line}\n"));
    }
    for (number, choice) in (1_u32..).zip(&asked.choices) {
        words.push_str(&format!("  [{number}] {}\n", one_line(choice)));
    }
    if !asked.choices.is_empty() {
        words.push_str("type a number, or other words\n");
    }
    words + ANSWER
}

/// Returns the warning of a call that would leave the sandbox.
fn warning(request: &ApprovalRequest) -> String {
    match request.reason {
        ApprovalReason::OutsideSandbox => outside_lines(request.earlier.as_deref())
            .iter()
            .map(|line| format!("  {line}\n"))
            .collect(),
        ApprovalReason::Permissions
        | ApprovalReason::Rule
        | ApprovalReason::PossibleDenial
        | ApprovalReason::Hook
        | ApprovalReason::Held => String::new(),
    }
}

/// Returns the line about calls like the one that is asked about.
fn offer_line(offer: &GrantOffer) -> String {
    match offer {
        GrantOffer::Offered { text } => {
            format!(
                "  [s] allows in this session, [p] always in this workspace: {}\n",
                one_line(text)
            )
        }
        GrantOffer::Withheld { .. } => String::new(),
    }
}

/// Returns the words for a key that is not offered.
pub(super) fn not_offered(offer: &GrantOffer) -> String {
    match offer {
        GrantOffer::Offered { .. } => String::new(),
        GrantOffer::Withheld { reason } => {
            format!("only this call can be allowed: {}\n", one_line(reason))
        }
    }
}

/// Returns the keys of a question.
pub(super) fn keys(offer: &GrantOffer) -> &'static str {
    match offer {
        GrantOffer::Offered { .. } => GRANT_KEYS,
        GrantOffer::Withheld { .. } => KEYS,
    }
}

fn one_line(text: &str) -> String {
    visible(text).replace('\n', "\\n")
}

/// Returns the line to the user about a call that is denied, since nobody can be asked.
pub(super) fn denial_hint(tool: &str, reason: ApprovalReason) -> String {
    let tool = one_line(tool);
    if reason == ApprovalReason::OutsideSandbox {
        return format!(
            "? denied {tool} outside of the sandbox: there is no terminal to ask a person"
        );
    }
    format!(
        "? denied {tool}: it needs an approval, and there is no terminal. --allow '{tool}' allows it, \
         and --permissions auto allows every call, unless a rule or a hook asks"
    )
}

/// Parses a typed line. Everything but a yes, a no and the offered keys is a denial with that reason.
pub(super) fn parse_reply(line: &str, offer: &GrantOffer) -> TypedReply {
    let grant = |lifetime| match offer {
        GrantOffer::Offered { .. } => TypedReply::Grant(lifetime),
        GrantOffer::Withheld { .. } => TypedReply::NotOffered,
    };
    match line.trim() {
        "s" | "S" | "session" => grant(GrantLifetime::Session),
        "p" | "P" | "prefix" | "always" => grant(GrantLifetime::Always),
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

/// Formats the arguments, a line or more for each.
fn arguments(text: &str, change: Option<&FileChange>) -> String {
    let change = change.map(change_lines).unwrap_or_default();
    let lines = question_lines(text).into_iter().chain(change);
    let lines: Vec<String> = lines.map(|line| format!("  {line}")).collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_steers_a_terminal_is_made_visible_and_what_is_cut_is_said() {
        let shown = arguments("{\"a\":\"\\u001b[1A\u{202e}\"}", None);
        assert_eq!(shown, "  a: \\u{1b}[1A\\u{202e}");
        let shown = arguments(&format!("{{\"a\":\"{}\"}}", "é".repeat(20_000)), None);
        assert!(shown.contains("[18000 characters are not shown]"), "{shown}");
        assert!(arguments(&"[".repeat(100_000), None).contains("are not shown"));
    }

    #[test]
    fn only_a_plain_yes_is_a_yes() {
        let none = GrantOffer::Withheld { reason: String::new() };
        assert_eq!(parse_reply(" y\n", &none), TypedReply::Allow);
        assert_eq!(parse_reply("yes\r\n", &none), TypedReply::Allow);
        assert_eq!(parse_reply("e\n", &none), TypedReply::Edit);
        assert_eq!(parse_reply("\n", &none), TypedReply::Nothing);
        for words in ["yes please", "yy", "not in this folder", "\u{1b}[A"] {
            let reason = words.to_owned();
            assert_eq!(parse_reply(words, &none), TypedReply::Deny { reason });
        }
    }

    #[test]
    fn only_an_offered_grant_is_given() {
        let none = GrantOffer::Withheld { reason: String::new() };
        let offered = GrantOffer::Offered { text: String::from("commands") };
        assert_eq!(parse_reply("s\n", &offered), TypedReply::Grant(GrantLifetime::Session));
        assert_eq!(parse_reply("p\n", &offered), TypedReply::Grant(GrantLifetime::Always));
        assert_eq!(parse_reply("s\n", &none), TypedReply::NotOffered);
        assert_eq!(parse_reply("p\n", &none), TypedReply::NotOffered);
    }

    #[test]
    fn an_edit_is_a_json_object() {
        assert_eq!(parse_edit(" {\"n\": 2}\n").unwrap(), "{\"n\": 2}");
        for bad in ["", "2", "[1]", "{", "{} {}"] {
            assert!(parse_edit(bad).is_err(), "{bad}");
        }
    }
}
