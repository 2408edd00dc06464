//! The roster: the hooks of a file as a session declares them, under unique names, each with the
//! subjects that it is asked about.

use windlass_core::{HookPoint, HookSpec, ToolSpec};

use crate::alias::ToolAlias;
use crate::error::LoadError;
use crate::event::{HookEvent, MatcherFilter};
use crate::file::{HookCommand, HookDeclaration};

/// A hook as it is declared, and what it runs.
#[derive(Debug)]
pub(crate) struct RosterEntry {
    pub(crate) spec: HookSpec,
    pub(crate) event: HookEvent,
    pub(crate) run: HookCommand,
    pub(crate) background: bool,
}

/// Declares the hooks of a file for a session with these tools.
pub(crate) fn roster(
    entries: Vec<HookDeclaration>,
    tools: &[ToolSpec],
    aliases: &[ToolAlias],
    notes: &mut Vec<String>,
) -> Result<Vec<RosterEntry>, LoadError> {
    let mut rows: Vec<RosterEntry> = Vec::new();
    for entry in entries {
        for row in declared(entry, tools, aliases, notes) {
            if rows.iter().any(|other| other.spec.name == row.spec.name) {
                return Err(LoadError::new(format!(
                    "two hooks have the name {:?}; names are unique",
                    row.spec.name
                )));
            }
            rows.push(row);
        }
    }
    Ok(rows)
}

fn declared(
    entry: HookDeclaration,
    tools: &[ToolSpec],
    aliases: &[ToolAlias],
    notes: &mut Vec<String>,
) -> Vec<RosterEntry> {
    let only = subjects(&entry, tools, aliases);
    let never = only.as_ref().is_some_and(Vec::is_empty);
    // A session also starts anew, to its hooks, when its conversation was compacted.
    let compact = entry.event == HookEvent::SessionStart && entry.matcher.matches("compact");
    if never && !compact {
        let place = &entry.location;
        notes.push(match entry.event.filter() {
            MatcherFilter::Tool => {
                format!("{place}: its matcher names no tool of this session; it is never asked")
            }
            MatcherFilter::Start
            | MatcherFilter::Trigger
            | MatcherFilter::Word(_)
            | MatcherFilter::Nothing => {
                format!("{place}: its matcher names nothing that occurs here; it is never asked")
            }
        });
    }
    let name = entry.name.clone().unwrap_or_else(|| generated_name(&entry));
    let row = |name: String, point: HookPoint, only: Option<Vec<String>>| RosterEntry {
        spec: HookSpec::new(name, point, entry.timeout_ms).with(|it| {
            it.only = only;
            it.order = entry.order;
            it.on_failure = entry.on_failure;
        }),
        event: entry.event,
        run: entry.run.clone(),
        background: entry.background,
    };
    let mut rows = Vec::new();
    if compact {
        let name = format!("{name} (compact)");
        rows.push(row(name, HookEvent::PostCompact.point(), None));
    }
    if !(never && compact) {
        rows.insert(0, row(name, entry.event.point(), only));
    }
    rows
}

/// The subjects that a hook is asked about; `None` means all.
fn subjects(
    entry: &HookDeclaration,
    tools: &[ToolSpec],
    aliases: &[ToolAlias],
) -> Option<Vec<String>> {
    let matcher = &entry.matcher;
    if matcher.is_all() {
        return None;
    }
    let named = |names: &[(&str, &str)]| {
        let matched =
            names.iter().filter(|(ours, theirs)| matcher.matches(ours) || matcher.matches(theirs));
        matched.map(|(ours, _)| String::from(*ours)).collect()
    };
    match entry.event.filter() {
        MatcherFilter::Nothing => None,
        MatcherFilter::Word(word) => (!matcher.matches(word)).then(Vec::new),
        MatcherFilter::Start => Some(named(&[("startup", "startup"), ("resume", "resume")])),
        MatcherFilter::Trigger => Some(named(&[("window", "auto"), ("overflow", "auto")])),
        MatcherFilter::Tool => {
            let matched = tools.iter().filter(|tool| {
                let mut theirs = aliases.iter().filter(|alias| alias.name == tool.name);
                matcher.matches(&tool.name) || theirs.any(|alias| matcher.matches(&alias.alias))
            });
            Some(matched.map(|tool| tool.name.clone()).collect())
        }
    }
}

/// A name from the hook's place and its program. The rest of a command line may hold a secret, and
/// names are recorded.
fn generated_name(entry: &HookDeclaration) -> String {
    let line = match &entry.run {
        HookCommand::Line { line, .. } => line,
        HookCommand::Program { program, .. } => program,
    };
    let word = line.split_whitespace().find(|word| !word.contains('='));
    let program = word.unwrap_or_default().rsplit('/').next().unwrap_or_default();
    let plain = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    let program: String = program.chars().filter(plain).take(40).collect();
    format!("{} {program}", entry.location).trim_end().to_owned()
}
