//! `cargo xtask tidy`: the project's own rules, as data and as pure checks.
//!
//! `rules` lists the exceptions; each other file is one check over a [`Workspace`] value, so
//! that its tests need neither cargo nor files.

mod allowances;
mod decisions;
mod edges;
mod foreign;
mod items;
mod language;
mod links;
mod manifests;
mod names;
mod rules;
mod sources;
mod technologies;
mod workspace;

use std::fmt;

use crate::tidy::workspace::Workspace;
use xtask::say::{complain, say};
use xtask::step::root;

/// Checks the rules.
///
/// # Errors
/// When one is broken; each finding is printed with its remedy.
pub(crate) fn run() -> anyhow::Result<()> {
    let workspace = Workspace::load(&root())?;
    let findings = check(&workspace);
    for finding in &findings {
        complain(finding);
    }
    if !findings.is_empty() {
        anyhow::bail!("tidy: {} rule(s) broken", findings.len());
    }
    let (packages, files) = (workspace.packages.len(), workspace.texts.len());
    say(format_args!("tidy: ok, {packages} crates and {files} files"));
    Ok(())
}

/// Returns all findings in a stable order.
fn check(workspace: &Workspace) -> Vec<Finding> {
    let checks = [
        edges::check,
        technologies::check,
        manifests::check,
        foreign::check,
        sources::check,
        language::check,
        names::check,
        decisions::check,
        links::check,
    ];
    checks.iter().flat_map(|check| check(workspace)).collect()
}

/// Breach of a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Finding {
    /// File, with a line if there is one.
    place: String,
    /// Rule that is broken, in a few words.
    wrong: String,
    /// Instruction that removes the finding.
    remedy: String,
}

impl Finding {
    fn new(place: impl Into<String>, wrong: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { place: place.into(), wrong: wrong.into(), remedy: remedy.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}; {}", self.place, self.wrong, self.remedy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_workspace_keeps_the_rules() {
        let workspace = Workspace::load(&root()).unwrap();
        let found: Vec<String> = check(&workspace).iter().map(Finding::to_string).collect();
        assert!(found.is_empty(), "{}", found.join("\n"));
        assert!(workspace.packages.iter().any(|package| package.folder == "core"));
        assert!(workspace.texts.contains_key("xtask/src/tidy/mod.rs"));
    }
}
