//! Denials in what a hook says, found wherever one can be read: whatever else is wrong with its
//! JSON, it has said no. Pure.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use windlass_core::HookVerdict;

use crate::event::HookEvent;

/// Denial by a hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Denial {
    pub(crate) verdict: HookVerdict,
    /// Empty where it gave none that can be read.
    pub(crate) reason: String,
}

/// The strongest denial in a JSON text, if there is one that counts at this event.
pub(crate) fn find(event: HookEvent, text: &str) -> Option<Denial> {
    let denials = objects(text).into_iter().filter_map(|said| of_object(event, &said));
    denials.max_by_key(|denial| denial.verdict == HookVerdict::Halt)
}

/// Keys that make an object a verdict.
const VERDICT: [&str; 5] =
    ["continue", "decision", "hookSpecificOutput", "permissionDecision", "behavior"];

/// Returns true if a text contains the verdict of a hook, or the beginning of one.
pub(crate) fn has_verdict(text: &str) -> bool {
    let whole = |object: &JsonTree| VERDICT.iter().any(|key| object.all(key).next().is_some());
    let begun = || {
        let rest = text.split_once('{').map(|(_, rest)| rest);
        // A key is followed by a colon; a quoted word of prose is not.
        let quoted = |key: &str| {
            let word = format!("\"{key}\"");
            let mut after = rest.unwrap_or_default().split(&*word).skip(1);
            after.any(|after| after.trim_start().starts_with(':'))
        };
        VERDICT.iter().any(|key| quoted(key))
    };
    objects(text).iter().any(whole) || begun()
}

/// Returns the complete JSON objects in a text, in order.
fn objects(text: &str) -> Vec<JsonTree> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find('{') {
        rest = rest.get(at..).unwrap_or_default();
        let mut values = serde_json::Deserializer::from_str(rest).into_iter::<JsonTree>();
        let object = values.next().and_then(Result::ok);
        let end = if object.is_some() { values.byte_offset() } else { 1 };
        found.extend(object);
        rest = rest.get(end..).unwrap_or_default();
    }
    found
}

/// The denial in an object, if there is one that counts at this event.
fn of_object(event: HookEvent, said: &JsonTree) -> Option<Denial> {
    let mut reasons = Vec::new();
    let mut halts = false;
    if event.can_halt() && said.all("continue").any(|word| *word == JsonTree::Bool(false)) {
        halts = true;
        reasons.extend(said.text("stopReason"));
    }
    let mut denies = said.denies("decision");
    reasons.extend(denies.then(|| said.text("reason")).flatten());
    for specific in said.all("hookSpecificOutput") {
        if specific.denies("permissionDecision") {
            denies = true;
            reasons.extend(specific.text("permissionDecisionReason"));
        }
        for behavior in specific.all("decision") {
            if behavior.denies("behavior") {
                denies = true;
                let mut interrupts = behavior.all("interrupt");
                halts |= event.can_block() && interrupts.any(|word| *word == JsonTree::Bool(true));
                reasons.extend(behavior.text("message"));
            }
        }
    }
    let verdict = match (halts, denies && event.can_block()) {
        (true, _) => HookVerdict::Halt,
        (false, true) => HookVerdict::Deny,
        (false, false) => return None,
    };
    let reason = reasons.into_iter().next().unwrap_or_default().to_owned();
    Some(Denial { verdict, reason })
}

/// JSON as far as denials need it, with members of the same name.
#[derive(Debug, PartialEq)]
enum JsonTree {
    Bool(bool),
    Text(String),
    Object(Vec<(String, Self)>),
    Other,
}

impl JsonTree {
    /// Members of this name.
    fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Self> {
        let members = match self {
            Self::Object(members) => members.as_slice(),
            Self::Bool(_) | Self::Text(_) | Self::Other => &[],
        };
        let named = members.iter().filter(move |(other, _)| other == name);
        named.map(|(_, value)| value)
    }

    /// Returns true if a member of this name denies.
    fn denies(&self, name: &str) -> bool {
        self.all(name).any(|word| match word {
            Self::Text(word) => matches!(word.as_str(), "block" | "deny"),
            Self::Bool(_) | Self::Object(_) | Self::Other => false,
        })
    }

    /// The first words under this name.
    fn text<'a>(&'a self, name: &'a str) -> Option<&'a str> {
        self.all(name).find_map(|value| match value {
            Self::Text(text) => Some(text.trim()).filter(|text| !text.is_empty()),
            Self::Bool(_) | Self::Object(_) | Self::Other => None,
        })
    }
}

impl<'de> Deserialize<'de> for JsonTree {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(JsonTreeVisitor)
    }
}

struct JsonTreeVisitor;

impl<'de> Visitor<'de> for JsonTreeVisitor {
    type Value = JsonTree;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E>(self, value: bool) -> Result<JsonTree, E> {
        Ok(JsonTree::Bool(value))
    }

    fn visit_str<E>(self, text: &str) -> Result<JsonTree, E> {
        Ok(JsonTree::Text(text.to_owned()))
    }

    fn visit_unit<E>(self) -> Result<JsonTree, E> {
        Ok(JsonTree::Other)
    }

    fn visit_i64<E>(self, _: i64) -> Result<JsonTree, E> {
        Ok(JsonTree::Other)
    }

    fn visit_u64<E>(self, _: u64) -> Result<JsonTree, E> {
        Ok(JsonTree::Other)
    }

    fn visit_f64<E>(self, _: f64) -> Result<JsonTree, E> {
        Ok(JsonTree::Other)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<JsonTree, A::Error> {
        while seq.next_element::<JsonTree>()?.is_some() {}
        Ok(JsonTree::Other)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<JsonTree, A::Error> {
        let mut members = Vec::new();
        while let Some(member) = map.next_entry()? {
            members.push(member);
        }
        Ok(JsonTree::Object(members))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn denial(verdict: HookVerdict, reason: &str) -> Option<Denial> {
        let reason = reason.to_owned();
        Some(Denial { verdict, reason })
    }

    #[test]
    fn a_denial_is_found_wherever_it_stands() {
        use HookVerdict::{Deny, Halt};
        for (text, wanted) in [
            (r#"{"decision":"block","reason":" no "}"#, denial(Deny, "no")),
            (r#"{"decision":"block","decision":"approve"}"#, denial(Deny, "")),
            (r#"{"decision":"deny","reason":["no"]}"#, denial(Deny, "")),
            (
                r#"{"decision":7,"hookSpecificOutput":{"permissionDecision":"deny",
                    "permissionDecisionReason":"so"}}"#,
                denial(Deny, "so"),
            ),
            (
                r#"{"hookSpecificOutput":{"decision":{"behavior":"deny","message":"m"}}}"#,
                denial(Deny, "m"),
            ),
            (
                r#"{"hookSpecificOutput":{"decision":{"behavior":"deny","interrupt":true}}}"#,
                denial(Halt, ""),
            ),
            (r#"{"continue":false,"stopReason":"s"}"#, denial(Halt, "s")),
            (r#"{"continue":"false","decision":"nope"}"#, None),
            (r#"{"hookSpecificOutput":"deny","reason":"block"}"#, None),
            (r#"{"nested":{"decision":"block"}}"#, None),
            ("{", None),
        ] {
            assert_eq!(find(HookEvent::PermissionRequest, text), wanted, "{text}");
        }
        let both = r#"{"continue":false,"decision":"block"}"#;
        assert_eq!(find(HookEvent::SessionStart, both), denial(Halt, ""));
        assert_eq!(find(HookEvent::SessionEnd, both), None);
    }
}
