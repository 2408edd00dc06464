//! Checks of dependencies between our crates, and of the inner layers on foreign crates.

use crate::tidy::Finding;
use crate::tidy::rules::{EDGES, FOREIGN, Kind, Layer};
use crate::tidy::workspace::{Dependency, Package, Workspace};

const TABLE: &str = "remove it, or allow it in xtask/src/tidy/rules.rs with a decision record";

/// Finds dependencies that the table does not allow.
pub(super) fn check(workspace: &Workspace) -> Vec<Finding> {
    let mut findings = Vec::new();
    for package in &workspace.packages {
        let Some(layer) = package.layer() else {
            findings.push(Finding::new(
                package.manifest(),
                format!("no rule says what a crate in `{}` is", package.folder),
                "move it to a folder of the layout, or add the folder to FOLDERS in \
                 xtask/src/tidy/rules.rs with a decision record",
            ));
            continue;
        };
        for dependency in &package.dependencies {
            let ours = workspace.package(&dependency.name);
            let broken = match ours {
                Some(target) => inner(package, layer, dependency, target),
                None => foreign(package, layer, dependency),
            };
            findings.extend(broken);
        }
        findings.extend(no_std(workspace, package, layer));
    }
    findings
}

/// Checks an edge between two of our crates.
fn inner(
    package: &Package,
    layer: Layer,
    dependency: &Dependency,
    target: &Package,
) -> Option<Finding> {
    let to = target.layer()?;
    let row = |row: &&(Layer, Kind, &[Layer])| row.0 == layer && row.1 == dependency.kind;
    let allowed = EDGES.iter().find(row).map_or(&[][..], |row| row.2);
    if allowed.contains(&to) {
        return None;
    }
    Some(Finding::new(
        package.manifest(),
        format!(
            "the edge {} -> {} ({}, {layer:?} -> {to:?}) is new",
            package.name,
            target.name,
            word(dependency.kind)
        ),
        TABLE,
    ))
}

/// Checks a dependency on a foreign crate, and refuses build scripts.
fn foreign(package: &Package, layer: Layer, dependency: &Dependency) -> Option<Finding> {
    let allowed = FOREIGN.iter().find(|row| row.0 == layer).map(|row| row.1);
    let fine = match dependency.kind {
        Kind::Normal => allowed.is_none_or(|names| names.contains(&dependency.name.as_str())),
        Kind::Dev => true,
        Kind::Build => false,
    };
    if fine {
        return None;
    }
    let edge = format!(
        "the edge {} -> {} ({}) is new",
        package.name,
        dependency.name,
        word(dependency.kind)
    );
    Some(Finding::new(package.manifest(), edge, TABLE))
}

/// Checks that the core does without the standard library, which keeps clocks and files out of it.
fn no_std(workspace: &Workspace, package: &Package, layer: Layer) -> Vec<Finding> {
    if layer != Layer::Core {
        return Vec::new();
    }
    let remedy = "the core is no_std, so that the compiler refuses a clock, a file and a socket";
    let mut findings = Vec::new();
    let root = format!("{}/src/lib.rs", package.folder);
    let text = workspace.texts.get(&root);
    if !text.is_some_and(|text| text.lines().any(|line| line.trim() == "#![no_std]")) {
        findings.push(Finding::new(root, "`#![no_std]` is missing", remedy));
    }
    for dependency in &package.dependencies {
        let with_std = dependency.default_features
            || dependency.features.iter().any(|feature| feature == "std");
        if dependency.kind == Kind::Normal && with_std {
            findings.push(Finding::new(
                package.manifest(),
                format!("{} comes with the standard library", dependency.name),
                remedy,
            ));
        }
    }
    findings
}

fn word(kind: Kind) -> &'static str {
    match kind {
        Kind::Normal => "dependency",
        Kind::Dev => "dev-dependency",
        Kind::Build => "build-dependency",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::workspace::build::{package, with, workspace};

    fn crates() -> Vec<Package> {
        vec![
            with(package("windlass-core", "core"), Kind::Normal, &["serde"]),
            with(package("windlass-ports", "ports"), Kind::Normal, &["windlass-core"]),
            package("windlass-sled", "adapters/sled"),
            package("windlass-file", "adapters/file"),
            package("windlass-engine", "app/engine"),
            package("windlass", "app/windlass"),
            package("windlass-server", "app/server"),
            package("windlass-kit-log", "adapters/kit/log"),
            package("windlass-cli", "app/cli"),
            package("windlass-testkit", "testkit"),
            package("xtask", "xtask"),
            package("xtask-bench", "xtask/bench"),
        ]
    }

    fn findings(crates: &[Package]) -> Vec<String> {
        let lib = ("core/src/lib.rs", "//! Core.\n#![no_std]\n");
        let found = check(&workspace(crates, &[lib]));
        found.iter().map(Finding::to_string).collect()
    }

    /// The findings once `from` has one more dependency.
    fn adding(from: &str, kind: Kind, to: &str) -> Vec<String> {
        let more = |package: Package| {
            if package.name == from { with(package, kind, &[to]) } else { package }
        };
        findings(&crates().into_iter().map(more).collect::<Vec<_>>())
    }

    #[test]
    fn the_table_allows_what_the_design_draws() {
        assert!(findings(&crates()).is_empty());
        for (from, kind, to) in [
            ("windlass-sled", Kind::Normal, "windlass-ports"),
            ("windlass-sled", Kind::Normal, "sled"),
            ("windlass-sled", Kind::Dev, "windlass-testkit"),
            ("windlass-engine", Kind::Normal, "windlass-ports"),
            ("windlass-engine", Kind::Dev, "windlass-testkit"),
            ("windlass-testkit", Kind::Normal, "windlass-ports"),
            ("windlass-cli", Kind::Normal, "windlass-sled"),
            ("windlass-sled", Kind::Normal, "windlass-kit-log"),
            ("windlass-cli", Kind::Dev, "windlass-kit-log"),
            ("windlass", Kind::Normal, "windlass-sled"),
            ("xtask", Kind::Normal, "windlass-cli"),
            ("xtask-bench", Kind::Normal, "xtask"),
            ("windlass-core", Kind::Dev, "proptest"),
        ] {
            assert_eq!(adding(from, kind, to), [""; 0], "{from} -> {to}");
        }
    }

    #[test]
    fn an_edge_added_by_hand_is_found() {
        for (from, kind, to) in [
            ("windlass-core", Kind::Normal, "windlass-ports"),
            ("windlass-core", Kind::Dev, "windlass-testkit"),
            ("windlass-core", Kind::Normal, "tokio"),
            ("windlass-ports", Kind::Normal, "tokio"),
            ("windlass-ports", Kind::Normal, "windlass-file"),
            ("windlass-sled", Kind::Normal, "windlass-file"),
            ("windlass-sled", Kind::Dev, "windlass-file"),
            ("windlass-sled", Kind::Normal, "windlass-engine"),
            ("windlass-sled", Kind::Normal, "windlass-testkit"),
            ("windlass-engine", Kind::Normal, "windlass-file"),
            ("windlass-engine", Kind::Dev, "windlass-file"),
            ("windlass-engine", Kind::Normal, "windlass-testkit"),
            ("windlass-testkit", Kind::Normal, "windlass-engine"),
            ("windlass-cli", Kind::Normal, "windlass-testkit"),
            ("windlass-cli", Kind::Normal, "windlass-kit-log"),
            ("windlass-engine", Kind::Normal, "windlass-kit-log"),
            ("windlass", Kind::Normal, "windlass-kit-log"),
            ("windlass", Kind::Normal, "windlass-server"),
            ("windlass-server", Kind::Normal, "windlass"),
            ("windlass-testkit", Kind::Normal, "xtask"),
            ("windlass-sled", Kind::Build, "cc"),
        ] {
            let found = adding(from, kind, to);
            assert_eq!(found.len(), 1, "{from} -> {to}: {found:?}");
            assert!(found[0].contains(&format!("the edge {from} -> {to} (")), "{found:?}");
        }
    }

    #[test]
    fn a_finding_names_the_edge_and_what_to_do() {
        assert_eq!(
            adding("windlass-engine", Kind::Normal, "windlass-sled"),
            ["app/engine/Cargo.toml: the edge windlass-engine -> windlass-sled (dependency, \
              Engine -> Adapter) is new; remove it, or allow it in xtask/src/tidy/rules.rs with \
              a decision record"]
        );
    }

    #[test]
    fn a_crate_in_a_folder_without_a_rule_is_found() {
        let found = findings(&[package("stray", "lib/stray")]);
        assert!(found[0].contains("no rule says what a crate in `lib/stray` is"), "{found:?}");
    }

    #[test]
    fn a_core_with_the_standard_library_is_found() {
        let core = with(package("windlass-core", "core"), Kind::Normal, &["serde"]);
        let found = check(&workspace(std::slice::from_ref(&core), &[("core/src/lib.rs", "//!\n")]));
        assert_eq!(found[0].wrong, "`#![no_std]` is missing");
        let mut by_feature = core.clone();
        by_feature.dependencies[0].features.push("std".to_owned());
        assert!(findings(&[by_feature])[0].contains("serde comes with the standard library"));
        let mut by_default = core;
        by_default.dependencies[0].default_features = true;
        assert!(findings(&[by_default])[0].contains("serde comes with the standard library"));
    }
}
