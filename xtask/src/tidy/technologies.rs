//! Checks that a technology has one home: only the crate that adapts it depends on it.
//!
//! The layer `Xtask` is exempt: it measures technologies bare, and is part of no product.

use std::collections::BTreeMap;

use crate::tidy::Finding;
use crate::tidy::rules::{HOMES, Kind, Layer, SHARED};
use crate::tidy::workspace::{Package, Workspace};

/// Finds technologies outside their homes, and unlisted foreign crates with two parents.
pub(super) fn check(workspace: &Workspace) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (technology, parents) in parents(workspace) {
        if SHARED.contains(&technology) {
            continue;
        }
        let homes = HOMES.iter().find(|row| row.0 == technology).map(|row| row.1);
        match homes {
            Some(homes) => findings.extend(
                parents
                    .iter()
                    .filter(|parent| !homes.contains(&parent.folder.as_str()))
                    .map(|parent| astray(parent, technology, homes)),
            ),
            None if parents.len() > 1 => findings.push(doubled(&parents, technology)),
            None => {}
        }
    }
    findings
}

/// Returns foreign crates with our published crates that depend on them.
fn parents(workspace: &Workspace) -> BTreeMap<&str, Vec<&Package>> {
    let mut parents: BTreeMap<&str, Vec<&Package>> = BTreeMap::new();
    let shipped = workspace.packages.iter().filter(|package| package.layer() != Some(Layer::Xtask));
    for package in shipped {
        for dependency in &package.dependencies {
            let foreign = workspace.package(&dependency.name).is_none();
            let known = parents.entry(&dependency.name).or_default();
            let new = known.last().is_none_or(|last| last.name != package.name);
            if foreign && new && dependency.kind == Kind::Normal {
                known.push(package);
            }
        }
    }
    parents
}

fn astray(parent: &Package, technology: &str, homes: &[&str]) -> Finding {
    Finding::new(
        parent.manifest(),
        format!("{} depends on {technology}, whose home is {}", parent.name, homes.join(" or ")),
        "go through a port, or change HOMES in xtask/src/tidy/rules.rs with a decision record",
    )
}

fn doubled(parents: &[&Package], technology: &str) -> Finding {
    let names: Vec<&str> = parents.iter().map(|parent| parent.name.as_str()).collect();
    Finding::new(
        "Cargo.toml",
        format!("{technology} has more than one parent: {}", names.join(", ")),
        "a technology belongs to one crate; if it is a plain library, add it to SHARED in \
         xtask/src/tidy/rules.rs",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::workspace::build::{package, with, workspace};

    fn findings(packages: &[Package]) -> Vec<String> {
        check(&workspace(packages, &[])).iter().map(Finding::to_string).collect()
    }

    #[test]
    fn a_technology_at_home_is_fine_and_a_test_may_use_it_elsewhere() {
        let packages = [
            with(package("windlass-sled", "adapters/sled"), Kind::Normal, &["sled", "serde"]),
            with(package("windlass-file", "adapters/file"), Kind::Normal, &["serde"]),
            with(package("windlass-cli", "app/cli"), Kind::Dev, &["sled"]),
            with(package("xtask", "xtask"), Kind::Normal, &["reqwest", "sled"]),
        ];
        assert_eq!(findings(&packages), [""; 0]);
    }

    #[test]
    fn a_technology_away_from_home_is_found() {
        let packages = [with(package("windlass-engine", "app/engine"), Kind::Normal, &["sled"])];
        let found = findings(&packages);
        assert_eq!(found.len(), 1);
        assert!(found[0].contains("windlass-engine depends on sled, whose home is adapters/sled"));
    }

    #[test]
    fn a_foreign_crate_with_a_second_parent_is_found() {
        let packages = [
            with(package("windlass-a", "adapters/a"), Kind::Normal, &["newdb"]),
            with(package("windlass-b", "adapters/b"), Kind::Normal, &["newdb"]),
        ];
        let found = findings(&packages);
        assert_eq!(found.len(), 1);
        assert!(found[0].contains("newdb has more than one parent: windlass-a, windlass-b"));
        assert_eq!(findings(&packages[..1]), [""; 0]);
    }
}
