//! Rules: finds the user's rules that match a call. Pure.
//!
//! Arguments are compared by their JSON value, not by its spelling: `"\u0072m"` is `rm`. A text is
//! compared as it is. Any other value is compared as compact JSON, with the names of its objects in
//! alphabetical order. There is no other normalisation: not of case, spaces, paths or the words of
//! a command line. To make a rule safe against evasion, let it name tools rather than the form of
//! arguments.
//!
//! An argument that appears more than once, which is also a fault of the call, is checked each
//! time. A rule that allows must match all its values; one that asks or denies, any. A missing
//! argument matches no pattern.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value;
use windlass_core::{ArgumentPattern, Rule, RuleVerdict};
use windlass_ports::glob;

/// Returns the indexes of the rules that match a call. Arguments that are no JSON object match no
/// rule that allows.
pub(crate) fn matching_rules(rules: &[Rule], tool: &str, arguments: &str) -> Vec<u32> {
    if rules.is_empty() {
        return Vec::new();
    }
    let arguments: Option<ObjectMembers> = serde_json::from_str(arguments).ok();
    let numbered = (0_u32..).zip(rules);
    let met = numbered.filter(|(_, rule)| matches(rule, tool, arguments.as_ref()));
    met.map(|(place, _)| place).collect()
}

fn matches(rule: &Rule, tool: &str, arguments: Option<&ObjectMembers>) -> bool {
    if !glob(&rule.tool, tool) {
        return false;
    }
    match (&rule.argument, arguments, rule.verdict) {
        (_, None, RuleVerdict::Allow) => false,
        (None, _, RuleVerdict::Allow | RuleVerdict::Ask | RuleVerdict::Deny) => true,
        (Some(_), None, RuleVerdict::Ask | RuleVerdict::Deny) => false,
        (Some(pattern), Some(arguments), RuleVerdict::Allow) => {
            let mut values = arguments.of(&pattern.name).peekable();
            values.peek().is_some() && values.all(|value| pattern_matches(pattern, value))
        }
        (Some(pattern), Some(arguments), RuleVerdict::Ask | RuleVerdict::Deny) => {
            arguments.of(&pattern.name).any(|value| pattern_matches(pattern, value))
        }
    }
}

fn pattern_matches(pattern: &ArgumentPattern, value: &Value) -> bool {
    match value {
        Value::String(text) => glob(&pattern.pattern, text),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            glob(&pattern.pattern, &value.to_string())
        }
    }
}

/// Members of an object, including duplicates of a name.
struct ObjectMembers(Vec<(String, Value)>);

impl ObjectMembers {
    fn of<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Value> {
        let members = self.0.iter().filter(move |(other, _)| other == name);
        members.map(|(_, value)| value)
    }
}

impl<'de> Deserialize<'de> for ObjectMembers {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_map(MembersVisitor)
    }
}

struct MembersVisitor;

impl<'de> Visitor<'de> for MembersVisitor {
    type Value = ObjectMembers;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<ObjectMembers, A::Error> {
        let mut members = Vec::new();
        while let Some(member) = map.next_entry()? {
            members.push(member);
        }
        Ok(ObjectMembers(members))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(verdict: RuleVerdict, tool: &str, argument: Option<(&str, &str)>) -> Rule {
        Rule {
            verdict,
            tool: tool.into(),
            argument: argument.map(|(name, pattern)| ArgumentPattern {
                name: name.into(),
                pattern: pattern.into(),
            }),
        }
    }

    #[test]
    fn arguments_are_compared_by_what_they_say() {
        let rules = [rule(RuleVerdict::Deny, "sh*", Some(("command", "rm *")))];
        for (arguments, denied) in [
            (r#"{"command":"rm -rf /"}"#, true),
            (r#"{"command":"\u0072m -rf \/"}"#, true),
            (r#"{"\u0063ommand":"rm x"}"#, true),
            (r#"{"command":"\\u0072m x"}"#, false),
            (r#"{"command":" rm x"}"#, false),
            (r#"{"command":["rm","x"]}"#, false),
            (r#"{"other":"rm x"}"#, false),
            (r#"{"nested":{"command":"rm x"}}"#, false),
            (r#"{"command":"ls","command":"rm x"}"#, true),
            (r#"{"command":"rm x","command":"ls"}"#, true),
            ("{command", false),
            (r#"["rm x"]"#, false),
        ] {
            let met = matching_rules(&rules, "shell", arguments);
            assert_eq!(!met.is_empty(), denied, "{arguments}");
        }
        assert!(matching_rules(&rules, "bash", r#"{"command":"rm x"}"#).is_empty());
    }

    #[test]
    fn values_that_are_no_text_are_compared_as_compact_json() {
        let meets = |pattern: &str, arguments: &str| {
            let rules = [rule(RuleVerdict::Ask, "t", Some(("v", pattern)))];
            !matching_rules(&rules, "t", arguments).is_empty()
        };
        assert!(meets("true", r#"{"v": true }"#));
        assert!(meets("true", r#"{"v":"true"}"#));
        assert!(meets("null", r#"{"v":null}"#));
        assert!(meets("12", r#"{"v":12}"#));
        assert!(meets(r#"["a",*]"#, r#"{"v":[ "a" , "b" ]}"#));
        assert!(meets(r#"{"a":1,"b":2}"#, r#"{"v":{"b":2,"a":1}}"#));
        assert!(meets(r#"["rm"*"#, r#"{"v":["\u0072m"]}"#));
    }

    #[test]
    fn an_allowance_is_never_met_by_what_cannot_be_read() {
        let rules = [
            rule(RuleVerdict::Allow, "*", None),
            rule(RuleVerdict::Ask, "*", None),
            rule(RuleVerdict::Deny, "*", None),
            rule(RuleVerdict::Allow, "*", Some(("path", "*"))),
        ];
        assert_eq!(matching_rules(&rules, "t", "{"), [1, 2]);
        assert_eq!(matching_rules(&rules, "t", "[]"), [1, 2]);
        assert_eq!(matching_rules(&rules, "t", "{}"), [0, 1, 2]);
        assert_eq!(matching_rules(&rules, "t", r#"{"path":"x"}"#), [0, 1, 2, 3]);
    }

    #[test]
    fn an_allowance_must_fit_all_that_is_there_twice() {
        let rules = [rule(RuleVerdict::Allow, "t", Some(("path", "src/*")))];
        assert_eq!(matching_rules(&rules, "t", r#"{"path":"src/a","path":"src/b"}"#), [0]);
        let twice = r#"{"path":"src/a","path":"/etc/passwd"}"#;
        assert!(matching_rules(&rules, "t", twice).is_empty());
        let twice = r#"{"path":"/etc/passwd","path":"src/a"}"#;
        assert!(matching_rules(&rules, "t", twice).is_empty());
    }
}
