//! The hooks file: what people write, checked, with the place of each fault.
//!
//! What the protocol knows and has no use here is left alone, what nobody knows is noted, and what
//! would make a hook run less than its author means is refused.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error as _, MapAccess, Visitor};
use serde_json::Value;
use windlass_core::{HookFailurePolicy, HookOrder};

use crate::error::LoadError;
use crate::event::{HookEvent, MatcherFilter, plain};
use crate::matcher::Matcher;

/// The most hooks of one file.
pub(crate) const MOST_HOOKS: usize = 256;
/// The longest that any hook may take, in seconds.
const LONGEST_SECS: f64 = 86_400.0;
/// Keys of a hook that say nothing about whether and how it runs.
const HARMLESS: [&str; 4] = ["statusMessage", "once", "commandWindows", "command_windows"];
/// Variables that only a plugin's host sets. Without them a command would not be found.
const PLUGIN: [&str; 2] = ["CLAUDE_PLUGIN_ROOT", "CLAUDE_PLUGIN_DATA"];

/// A hooks file that has been checked.
#[derive(Debug, Default)]
pub(crate) struct HooksFile {
    /// Its hooks, in file order.
    pub(crate) entries: Vec<HookDeclaration>,
    /// Patterns of what is taken out of answers.
    pub(crate) redact: Vec<String>,
    /// Notes for the author of the file.
    pub(crate) notes: Vec<String>,
}

/// One hook of a file.
#[derive(Debug)]
pub(crate) struct HookDeclaration {
    /// Position in the file, for example `PreToolUse[0].hooks[1]`.
    pub(crate) location: String,
    pub(crate) name: Option<String>,
    pub(crate) event: HookEvent,
    pub(crate) matcher: Matcher,
    pub(crate) run: HookCommand,
    pub(crate) timeout_ms: u64,
    pub(crate) on_failure: HookFailurePolicy,
    pub(crate) order: HookOrder,
    /// True if only its context for the model counts.
    pub(crate) background: bool,
}

/// Command of a hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum HookCommand {
    /// A command line, by this shell.
    Line { shell: &'static str, line: String },
    /// A program with its arguments.
    Program { program: String, args: Vec<String> },
}

#[derive(Deserialize)]
struct HooksFileJson {
    hooks: Option<HookEvents>,
    redact: Option<Vec<String>>,
    #[serde(rename = "disableAllHooks", default)]
    disabled: bool,
}

/// The events in file order. A name that comes twice is refused: the first of them would be lost.
struct HookEvents(Vec<(String, Value)>);

#[derive(Deserialize)]
struct HookGroup {
    matcher: Option<String>,
    hooks: Vec<Value>,
    #[serde(flatten)]
    rest: BTreeMap<String, Value>,
}

#[derive(Deserialize)]
struct HookHandler {
    r#type: String,
    command: Option<String>,
    args: Option<Vec<String>>,
    shell: Option<String>,
    timeout: Option<f64>,
    r#if: Option<Value>,
    r#async: Option<bool>,
    #[serde(rename = "asyncRewake")]
    rewake: Option<bool>,
    #[serde(rename = "onFailure")]
    their_on_failure: Option<String>,
    on_failure: Option<String>,
    parallel: Option<bool>,
    name: Option<String>,
    #[serde(flatten)]
    rest: BTreeMap<String, Value>,
}

impl HooksFile {
    /// Reads the text of a hooks file, or of a settings file with hooks in it.
    pub(crate) fn parse(text: &str) -> Result<Self, LoadError> {
        let whole: HooksFileJson = serde_json::from_str(text)
            .map_err(|error| LoadError::new(format!("it is not read: {error}")))?;
        if whole.hooks.is_none() && whole.redact.is_none() {
            return Err(LoadError::new(
                "it has no \"hooks\": write {\"hooks\": {\"PreToolUse\": [..]}}",
            ));
        }
        let mut file = Self { redact: whole.redact.unwrap_or_default(), ..Self::default() };
        if whole.disabled {
            file.notes.push(String::from("disableAllHooks is set: no hook is asked"));
            return Ok(file);
        }
        for (name, groups) in whole.hooks.map_or_else(Vec::new, |events| events.0) {
            file.event(&name, groups)?;
        }
        if file.entries.len() > MOST_HOOKS {
            return Err(LoadError::new(format!(
                "it declares {} hooks, more than {MOST_HOOKS}",
                file.entries.len()
            )));
        }
        Ok(file)
    }

    fn event(&mut self, name: &str, groups: Value) -> Result<(), LoadError> {
        let Some(event) = HookEvent::named(name) else {
            if let Some(meant) = HookEvent::suggest(name) {
                let words = format!("{name}: there is no such event; write {}", meant.name());
                return Err(LoadError::new(words));
            }
            self.notes
                .push(format!("{name}: this event does not occur here; its hooks are never asked"));
            return Ok(());
        };
        let groups: Vec<Value> = read(groups, name)?;
        for (index, group) in groups.into_iter().enumerate() {
            self.group(event, group, &format!("{name}[{index}]"))?;
        }
        Ok(())
    }

    fn group(&mut self, event: HookEvent, group: Value, place: &str) -> Result<(), LoadError> {
        let group: HookGroup = read(group, place)?;
        self.note_unknown(&group.rest, place);
        let matcher = Matcher::parse(group.matcher.as_deref()).map_err(|error| error.at(place))?;
        if event.filter() == MatcherFilter::Nothing && !matcher.is_all() {
            self.notes.push(format!(
                "{place}: a matcher has no meaning at {}; its hooks are always asked",
                event.name()
            ));
        }
        for (index, handler) in group.hooks.into_iter().enumerate() {
            let place = format!("{place}.hooks[{index}]");
            let handler: HookHandler = read(handler, &place)?;
            self.note_unknown(&handler.rest, &place);
            let entry = self.entry(event, matcher.clone(), handler, &place);
            self.entries.push(entry.map_err(|error| error.at(&place))?);
        }
        Ok(())
    }

    fn entry(
        &mut self,
        event: HookEvent,
        matcher: Matcher,
        handler: HookHandler,
        place: &str,
    ) -> Result<HookDeclaration, LoadError> {
        if handler.r#type != "command" {
            return Err(LoadError::new(format!(
                "hooks of the type {:?} do not run here, and one that does not run protects \
                 nothing: write it as a \"command\", or take it out",
                handler.r#type
            )));
        }
        if handler.r#if.is_some() {
            return Err(LoadError::new(
                "\"if\" is not supported: leave it out and let the command look at tool_input",
            ));
        }
        misspelt(&handler.rest)?;
        let background = handler.r#async == Some(true) || handler.rewake == Some(true);
        if background {
            self.notes.push(format!(
                "{place}: it is waited for, since nothing outlives its question; of what it says, \
                 only the context for the model counts"
            ));
        }
        let parallel = handler.parallel == Some(true) || background;
        Ok(HookDeclaration {
            location: place.to_owned(),
            timeout_ms: self.timeout_ms(event, handler.timeout, place)?,
            on_failure: on_failure(
                handler.on_failure.as_deref(),
                handler.their_on_failure.as_deref(),
            )?,
            name: handler.name.map(name).transpose()?,
            run: run(handler.command, handler.args, handler.shell)?,
            order: if parallel { HookOrder::Parallel } else { HookOrder::Sequential },
            event,
            matcher,
            background,
        })
    }

    fn timeout_ms(
        &mut self,
        event: HookEvent,
        secs: Option<f64>,
        place: &str,
    ) -> Result<u64, LoadError> {
        let Some(secs) = secs else {
            return Ok(event.timeout_ms());
        };
        if secs.is_nan() || secs <= 0.0 {
            return Err(LoadError::new("the timeout is in seconds, and more than 0"));
        }
        if secs > LONGEST_SECS {
            self.notes.push(format!(
                "{place}: a timeout of {secs} seconds is cut to {LONGEST_SECS}; it is not in \
                 milliseconds"
            ));
        }
        let span = std::time::Duration::from_secs_f64(secs.min(LONGEST_SECS));
        Ok(u64::try_from(span.as_millis()).unwrap_or(u64::MAX).max(1))
    }

    fn note_unknown(&mut self, rest: &BTreeMap<String, Value>, place: &str) {
        let unknown = rest.keys().filter(|key| !HARMLESS.contains(&key.as_str()));
        let notes = unknown.map(|key| format!("{place}: nothing is known of the key {key:?}"));
        self.notes.extend(notes);
    }
}

fn read<T: for<'de> Deserialize<'de>>(value: Value, place: &str) -> Result<T, LoadError> {
    serde_json::from_value(value).map_err(|error| LoadError::new(format!("{place}: {error}")))
}

/// Refuses a key that is nearly one that decides what a failure counts as.
fn misspelt(rest: &BTreeMap<String, Value>) -> Result<(), LoadError> {
    for key in rest.keys() {
        for meant in ["on_failure", "timeout", "parallel"] {
            if plain(key) == plain(meant) {
                let words = format!("the key {key:?} is unknown; write {meant:?}");
                return Err(LoadError::new(words));
            }
        }
    }
    Ok(())
}

fn on_failure(ours: Option<&str>, theirs: Option<&str>) -> Result<HookFailurePolicy, LoadError> {
    let ours = match ours {
        None => None,
        Some("closed") => Some(HookFailurePolicy::Closed),
        Some("open") => Some(HookFailurePolicy::Open),
        Some(other) => {
            let words = format!("on_failure is \"closed\" or \"open\", not {other:?}");
            return Err(LoadError::new(words));
        }
    };
    let theirs = match theirs {
        None => None,
        Some("block") => Some(HookFailurePolicy::Closed),
        Some("continue" | "allow") => Some(HookFailurePolicy::Open),
        Some(other) => {
            let words = format!("onFailure is \"block\" or \"continue\", not {other:?}");
            return Err(LoadError::new(words));
        }
    };
    match (ours, theirs) {
        (Some(ours), Some(theirs)) if ours != theirs => {
            Err(LoadError::new("on_failure and onFailure say different things; leave one out"))
        }
        (Some(said), _) | (None, Some(said)) => Ok(said),
        (None, None) => Ok(HookFailurePolicy::Open),
    }
}

fn name(name: String) -> Result<String, LoadError> {
    let fits = !name.trim().is_empty() && name.len() <= 100;
    if fits && !name.chars().any(char::is_control) {
        return Ok(name);
    }
    Err(LoadError::new(format!(
        "the name {name:?} is not 1 to 100 bytes without control characters"
    )))
}

fn run(
    command: Option<String>,
    args: Option<Vec<String>>,
    shell: Option<String>,
) -> Result<HookCommand, LoadError> {
    let command = command.filter(|command| !command.trim().is_empty());
    let command = command.ok_or_else(|| LoadError::new("\"command\" is missing or empty"))?;
    for variable in PLUGIN {
        let used =
            command.contains(variable) || args.iter().flatten().any(|arg| arg.contains(variable));
        if used && std::env::var_os(variable).is_none() {
            return Err(LoadError::new(format!(
                "the command needs {variable}, which is not set: set it, or write the path"
            )));
        }
    }
    let shell = match (shell.as_deref(), &args) {
        (None, _) | (Some(_), Some(_)) => "/bin/sh",
        (Some("bash"), None) => "bash",
        (Some(other), None) => {
            let words = format!("the shell {other:?} is not supported; there is \"bash\"");
            return Err(LoadError::new(words));
        }
    };
    Ok(match args {
        None => HookCommand::Line { shell, line: command },
        Some(args) => HookCommand::Program { program: command, args },
    })
}

impl<'de> Deserialize<'de> for HookEvents {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct HookEventsVisitor;

        impl<'de> Visitor<'de> for HookEventsVisitor {
            type Value = HookEvents;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object that maps names of events to lists")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<HookEvents, A::Error> {
                let mut events: Vec<(String, Value)> = Vec::new();
                while let Some((name, value)) = map.next_entry::<String, Value>()? {
                    if events.iter().any(|(other, _)| *other == name) {
                        let words = format!("the event {name} comes twice; put both in one list");
                        return Err(A::Error::custom(words));
                    }
                    events.push((name, value));
                }
                Ok(HookEvents(events))
            }
        }

        deserializer.deserialize_map(HookEventsVisitor)
    }
}
