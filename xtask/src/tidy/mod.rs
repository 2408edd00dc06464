//! `cargo xtask tidy`: the project's own rules, as data and as checks that are pure.
//!
//! What is allowed stands in `rules`; each other file is one check over a [`Workspace`] value, so
//! that its tests need neither cargo nor files.

mod decisions;
mod edges;
mod links;
mod manifests;
mod rules;
mod sources;
mod technologies;
mod workspace;

use std::fmt;

use crate::step::root;
use crate::tidy::workspace::Workspace;
use xtask::say::{complain, say};

/// Checks the rules.
///
/// # Errors
/// When one is broken; each break is printed with what to do about it.
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
    say(format_args!(
        "tidy: ok, {packages} crates and {files} files"
    ));
    Ok(())
}

/// All that is wrong, in a stable order.
fn check(workspace: &Workspace) -> Vec<Finding> {
    let checks = [
        edges::check,
        technologies::check,
        manifests::check,
        sources::check,
        decisions::check,
        links::check,
    ];
    checks.iter().flat_map(|check| check(workspace)).collect()
}

/// A rule that is broken.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Finding {
    /// Where: a file, with a line where there is one.
    place: String,
    /// What is wrong.
    wrong: String,
    /// What to do about it.
    remedy: String,
}

impl Finding {
    fn new(place: impl Into<String>, wrong: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self {
            place: place.into(),
            wrong: wrong.into(),
            remedy: remedy.into(),
        }
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
        assert!(
            workspace
                .packages
                .iter()
                .any(|package| package.folder == "core")
        );
        assert!(workspace.texts.contains_key("xtask/src/tidy/mod.rs"));
    }
}
