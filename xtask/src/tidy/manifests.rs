//! Checks of manifests and of the files that every checkout has.

use crate::tidy::Finding;
use crate::tidy::rules::{LICENSE, Layer, PRESENT};
use crate::tidy::workspace::{Package, Workspace};

/// Finds crates without licence, lints or description, and files that are missing.
pub(super) fn check(workspace: &Workspace) -> Vec<Finding> {
    let mut findings = Vec::new();
    for package in &workspace.packages {
        findings.extend(states(workspace, package));
        let readme = format!("{}/README.md", package.folder);
        if package.layer() == Some(Layer::Adapter) && !workspace.paths.contains(&readme) {
            findings.push(Finding::new(
                readme,
                "an adapter's README is missing",
                "write what it adapts, how it is configured and what it promises",
            ));
        }
    }
    let missing = PRESENT.iter().filter(|file| !workspace.paths.contains(**file));
    findings.extend(missing.map(|file| {
        Finding::new(*file, "the file is missing", "a checkout is not complete without it")
    }));
    findings
}

fn states(workspace: &Workspace, package: &Package) -> Vec<Finding> {
    let manifest = package.manifest();
    let text = workspace.texts.get(&manifest).map_or("", String::as_str);
    let mut findings = Vec::new();
    if package.license.as_deref() != Some(LICENSE) {
        findings.push(Finding::new(
            &manifest,
            format!("the licence is not `{LICENSE}`"),
            "add `license.workspace = true` to [package]",
        ));
    }
    if !section(text, "[lints]").any(|line| line == "workspace = true") {
        findings.push(Finding::new(
            &manifest,
            "the workspace's lints are off",
            "add `[lints]` with `workspace = true`",
        ));
    }
    if package.description.as_deref().is_none_or(str::is_empty) {
        findings.push(Finding::new(
            &manifest,
            "it has no description",
            "say in one sentence what the crate is for",
        ));
    }
    findings
}

/// Returns the lines of one section of a manifest.
fn section<'a>(text: &'a str, head: &'a str) -> impl Iterator<Item = &'a str> {
    let mut lines = text.lines().map(str::trim);
    let found = lines.any(|line| line == head);
    lines.take_while(move |line| found && !line.starts_with('['))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::workspace::build::{package, workspace};

    const MANIFEST: &str =
        "[package]\nname = \"a\"\n\n[lints]\nworkspace = true\n\n[dependencies]\n";

    fn findings(package: &Package, texts: &[(&str, &str)]) -> Vec<String> {
        let mut all: Vec<(&str, &str)> = PRESENT.iter().map(|path| (*path, "")).collect();
        all.extend(texts);
        let found = check(&workspace(std::slice::from_ref(package), &all));
        found.into_iter().map(|finding| finding.wrong).collect()
    }

    #[test]
    fn a_complete_adapter_is_fine() {
        let texts = [("adapters/a/Cargo.toml", MANIFEST), ("adapters/a/README.md", "A.")];
        assert_eq!(findings(&package("a", "adapters/a"), &texts), [""; 0]);
    }

    #[test]
    fn an_adapter_without_readme_is_found() {
        let texts = [("adapters/a/Cargo.toml", MANIFEST)];
        let found = findings(&package("a", "adapters/a"), &texts);
        assert_eq!(found, ["an adapter's README is missing"]);
    }

    #[test]
    fn another_licence_is_found() {
        let mut core = package("c", "core");
        core.license = Some("MIT".to_owned());
        let found = findings(&core, &[("core/Cargo.toml", MANIFEST)]);
        assert_eq!(found, ["the licence is not `MIT OR Apache-2.0`"]);
    }

    #[test]
    fn lints_that_are_off_are_found_also_where_another_section_inherits() {
        let manifest = "[lints]\n[lints.rust]\n[badges]\nworkspace = true\n";
        let found = findings(&package("c", "core"), &[("core/Cargo.toml", manifest)]);
        assert_eq!(found, ["the workspace's lints are off"]);
    }

    #[test]
    fn a_missing_description_is_found() {
        let mut core = package("c", "core");
        core.description = None;
        let found = findings(&core, &[("core/Cargo.toml", MANIFEST)]);
        assert_eq!(found, ["it has no description"]);
    }

    #[test]
    fn missing_licence_texts_are_found() {
        let found = check(&workspace(&[], &[("README.md", "")]));
        let places: Vec<&str> = found.iter().map(|finding| finding.place.as_str()).collect();
        assert_eq!(places, ["CHANGELOG.md", "CONTRIBUTING.md", "LICENSE-APACHE", "LICENSE-MIT"]);
    }
}
