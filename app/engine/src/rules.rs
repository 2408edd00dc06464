//! Rules: finds the user's rules that match a call. Pure.
//!
//! Arguments are compared by their JSON value, not by its spelling: `"\u0072m"` is `rm`. A text is
//! compared as its tool's schema says with the keyword `format`:
//!
//! - `shell`: a command line. A rule that allows must match each command of it, together with the
//!   other rules that allow; one that asks or denies must match one of them. If a rule that denies
//!   only may match, a person is asked. See [`CommandLine`].
//! - `path`: a path of the workspace. It is compared without `.`, `..` and repeated slashes, and
//!   relative to the workspace. If the tool tells where it leads, a rule that allows is compared with
//!   that alone, and one that asks or denies with both.
//! - `patch`: changes of several files. The tool tells their paths, and they are compared as the
//!   argument `path`: a rule that allows must match all of them, one that asks or denies, any.
//! - else: as it is.
//!
//! Any other value is compared as compact JSON, with the names of its objects in alphabetical order.
//!
//! An argument that appears more than once, which is also a fault of the call, is checked each
//! time. A rule that allows must match all its values; one that asks or denies, any. A missing
//! argument matches no pattern.

use std::collections::HashMap;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value;
use windlass_core::{ArgumentPattern, Rule, RuleVerdict};
use windlass_ports::{ArgumentPath, Certainty, CommandLine, CommandPattern, glob, normal_path};

/// Meaning of a text argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TextFormat {
    /// Command line of a shell.
    Shell,
    /// Path of the workspace.
    Path,
    /// Changes of files whose paths are within the text.
    Patch,
}

impl TextFormat {
    /// Returns true if a text of this format has paths, which its tool tells.
    pub(crate) fn has_paths(self) -> bool {
        match self {
            Self::Path | Self::Patch => true,
            Self::Shell => false,
        }
    }
}

/// Formats of a tool's arguments that are not plain text, by name.
pub(crate) type TextFormats = HashMap<String, TextFormat>;

/// Returns the formats that a tool's schema declares.
pub(crate) fn text_formats(schema: &Value) -> TextFormats {
    let arguments = schema.get("properties").and_then(Value::as_object);
    let format = |argument: &Value| match argument.get("format")?.as_str()? {
        "shell" => Some(TextFormat::Shell),
        "path" => Some(TextFormat::Path),
        "patch" => Some(TextFormat::Patch),
        _ => None,
    };
    let known = arguments.into_iter().flatten();
    known.filter_map(|(name, argument)| Some((name.clone(), format(argument)?))).collect()
}

/// A call to compare with rules.
pub(crate) struct ComparedCall<'a> {
    /// Name of its tool.
    pub(crate) tool: &'a str,
    /// Its arguments, as JSON text.
    pub(crate) arguments: &'a str,
    /// Formats of its tool's arguments.
    pub(crate) formats: Option<&'a TextFormats>,
    /// Workspace of the session.
    pub(crate) workspace: Option<&'a str>,
    /// Paths that its arguments lead to, as its tool tells.
    pub(crate) paths: &'a [ArgumentPath],
}

/// Rules that a call matches, by index.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct MatchedRules {
    /// Rules that match. One that asks is among them as soon as it may match.
    pub(crate) certain: Vec<u32>,
    /// Rules that deny and may match or not.
    pub(crate) possible: Vec<u32>,
}

/// Returns the rules that match a call. Arguments that are no JSON object match no rule that
/// allows.
pub(crate) fn matching_rules(rules: &[Rule], call: &ComparedCall<'_>) -> MatchedRules {
    if rules.is_empty() {
        return MatchedRules::default();
    }
    let arguments: Option<ObjectMembers> = serde_json::from_str(call.arguments).ok();
    let numbered: Vec<(u32, &Rule)> =
        (0_u32..).zip(rules).filter(|(_, rule)| glob(&rule.tool, call.tool)).collect();
    let mut met = call.command_rules(&numbered, arguments.as_ref());
    for (place, rule) in numbered {
        if !call.is_about_command(rule) && call.matches(rule, arguments.as_ref()) {
            met.certain.push(place);
        }
    }
    met.certain.sort_unstable();
    met.possible.sort_unstable();
    met
}

impl ComparedCall<'_> {
    fn format(&self, argument: &str) -> Option<TextFormat> {
        self.formats?.get(argument).copied()
    }

    fn is_about_command(&self, rule: &Rule) -> bool {
        let argument = rule.argument.as_ref();
        argument.is_some_and(|pattern| self.format(&pattern.name) == Some(TextFormat::Shell))
    }

    /// Paths that are within another argument and that a pattern is about.
    fn paths_within(&self, pattern: &ArgumentPattern) -> impl Iterator<Item = (&str, &str)> {
        let about = self.paths.iter().filter(move |path| path.argument == pattern.name);
        about.filter_map(|path| Some((path.path.as_str(), path.written.as_deref()?)))
    }

    fn matches(&self, rule: &Rule, arguments: Option<&ObjectMembers>) -> bool {
        match (&rule.argument, arguments, rule.verdict) {
            (_, None, RuleVerdict::Allow) => false,
            (None, _, RuleVerdict::Allow | RuleVerdict::Ask | RuleVerdict::Deny) => true,
            (Some(_), None, RuleVerdict::Ask | RuleVerdict::Deny) => false,
            (Some(pattern), Some(arguments), RuleVerdict::Allow) => {
                let mut values = arguments.of(&pattern.name).peekable();
                let mut paths = self.paths_within(pattern).peekable();
                (values.peek().is_some() || paths.peek().is_some())
                    && values.all(|value| self.allows(pattern, value))
                    && paths.all(|(path, _)| self.path_matches(pattern, path))
            }
            (Some(pattern), Some(arguments), RuleVerdict::Ask | RuleVerdict::Deny) => {
                let mut paths = self.paths_within(pattern);
                arguments.of(&pattern.name).any(|value| self.forbids(pattern, value))
                    || paths.any(|(path, written)| {
                        self.path_matches(pattern, path) || self.path_matches(pattern, written)
                    })
            }
        }
    }

    /// Compares a value with the pattern of a rule that allows: a path is what it leads to, if that
    /// is known.
    fn allows(&self, pattern: &ArgumentPattern, value: &Value) -> bool {
        match (self.format(&pattern.name), value, self.leads_to(&pattern.name)) {
            (Some(TextFormat::Path), Value::String(_), Some(path)) => {
                self.path_matches(pattern, path)
            }
            (Some(TextFormat::Path), Value::String(path), None) => self.path_matches(pattern, path),
            _ => pattern_matches(pattern, value),
        }
    }

    /// Compares a value with the pattern of a rule that asks or denies: a path is as it is written
    /// and what it leads to.
    fn forbids(&self, pattern: &ArgumentPattern, value: &Value) -> bool {
        let written = match (self.format(&pattern.name), value) {
            (Some(TextFormat::Path), Value::String(path)) => self.path_matches(pattern, path),
            _ => false,
        };
        written || pattern_matches(pattern, value) || self.allows(pattern, value)
    }

    fn leads_to(&self, argument: &str) -> Option<&str> {
        let mut paths = self.paths.iter().filter(|path| path.written.is_none());
        let found = paths.find(|path| path.argument == argument);
        found.map(|found| found.path.as_str())
    }

    fn path_matches(&self, pattern: &ArgumentPattern, path: &str) -> bool {
        let path = normal_path(path, self.workspace);
        glob(&pattern.pattern, &path) || glob(&normal_path(&pattern.pattern, self.workspace), &path)
    }

    /// Returns the rules about command lines that match.
    fn command_rules(
        &self,
        rules: &[(u32, &Rule)],
        arguments: Option<&ObjectMembers>,
    ) -> MatchedRules {
        let mut met = MatchedRules::default();
        let names = self.formats.into_iter().flatten();
        for name in names.filter(|(_, format)| **format == TextFormat::Shell).map(|(name, _)| name)
        {
            let mut allowing = PatternSet::default();
            let (mut asking, mut denying) = (PatternSet::default(), PatternSet::default());
            for (place, rule) in rules {
                match (&rule.argument, rule.verdict) {
                    (Some(pattern), RuleVerdict::Allow) if pattern.name == *name => {
                        allowing.add(*place, pattern);
                    }
                    (Some(pattern), RuleVerdict::Ask) if pattern.name == *name => {
                        asking.add(*place, pattern);
                    }
                    (Some(pattern), RuleVerdict::Deny) if pattern.name == *name => {
                        denying.add(*place, pattern);
                    }
                    (Some(_) | None, _) => {}
                }
            }
            if [&allowing, &asking, &denying].iter().all(|set| set.places.is_empty()) {
                continue;
            }
            let values = arguments.into_iter().flat_map(|arguments| arguments.of(name));
            let lines: Vec<CommandLine> = values.map(line).collect();
            met.certain.extend(allowing.allowing(&lines));
            met.certain.extend(asking.forbidding(&lines, |certainty| certainty > Certainty::No));
            met.certain.extend(denying.forbidding(&lines, |it| it == Certainty::Certain));
            met.possible.extend(denying.forbidding(&lines, |it| it == Certainty::Possible));
        }
        met
    }
}

/// Patterns of rules about one argument.
#[derive(Default)]
struct PatternSet {
    places: Vec<u32>,
    patterns: Vec<CommandPattern>,
}

impl PatternSet {
    fn add(&mut self, place: u32, pattern: &ArgumentPattern) {
        self.places.push(place);
        self.patterns.push(CommandPattern::new(&pattern.pattern));
    }

    /// Returns the rules that allow all lines together.
    fn allowing(&self, lines: &[CommandLine]) -> Vec<u32> {
        let mut met = Vec::new();
        for line in lines {
            let used = line.allowed_by(&self.patterns);
            if used.is_empty() {
                return Vec::new();
            }
            met.extend(used.iter().filter_map(|place| self.places.get(*place)));
        }
        met.sort_unstable();
        met.dedup();
        met
    }

    /// Returns the rules that match one of the lines with such a certainty.
    fn forbidding(&self, lines: &[CommandLine], fits: impl Fn(Certainty) -> bool) -> Vec<u32> {
        let strongest = |pattern: &CommandPattern| {
            let all = lines.iter().map(|line| line.matches(pattern));
            all.max().unwrap_or(Certainty::No)
        };
        let numbered = self.places.iter().zip(&self.patterns);
        let meant = numbered.filter(|(_, pattern)| fits(strongest(pattern)));
        meant.map(|(place, _)| *place).collect()
    }
}

/// Reads a value as a command line. One that is no text is a fault of the call.
fn line(value: &Value) -> CommandLine {
    CommandLine::new(value.as_str().unwrap_or(&value.to_string()))
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
#[path = "rules_tests.rs"]
mod tests;
