//! Mutations of the core as cargo-mutants lists them.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, ensure};
use serde::Deserialize;

/// One change of the source.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Mutation {
    /// With its file and place: no two have the same.
    pub(super) name: String,
    pub(super) file: String,
    pub(super) genre: Genre,
    /// Text that replaces `span`.
    pub(super) replacement: String,
    pub(super) span: Span,
}

/// Kind of change, as cargo-mutants names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(super) enum Genre {
    FnValue,
    BinaryOperator,
    UnaryOperator,
    MatchArm,
    MatchArmGuard,
    StructField,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(super) struct Span {
    pub(super) start: Place,
    pub(super) end: Place,
}

/// A place in a file; both count from 1, columns in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(super) struct Place {
    pub(super) line: usize,
    pub(super) column: usize,
}

/// The mutations of the core in the tree at `root`, narrowed by `arguments`.
///
/// # Errors
/// When cargo-mutants cannot list them, or lists none.
pub(super) fn list(
    mut mutants: Command,
    root: &Path,
    arguments: &[String],
) -> anyhow::Result<Vec<Mutation>> {
    let output = mutants
        .current_dir(root)
        .args(["mutants", "--list", "--json", "--package", "windlass-core"])
        .args(arguments)
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .context("starting cargo-mutants")?;
    ensure!(
        output.status.success(),
        "cargo-mutants ends with {} where it should list the mutations",
        output.status
    );
    let mutations: Vec<Mutation> =
        serde_json::from_slice(&output.stdout).context("reading the list of cargo-mutants")?;
    ensure!(
        !mutations.is_empty(),
        "cargo-mutants finds nothing to change: look at what follows `--`"
    );
    Ok(mutations)
}
