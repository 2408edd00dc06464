//! The workspace as a value: its crates from `cargo metadata`, its files from disk.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::Context as _;
use serde::Deserialize;

use crate::tidy::rules::{Kind, Layer, layer};
use xtask::step::cargo;

/// Endings of the names of files that are read as text.
const READ: &[&str] = &[".rs", ".toml", ".md", ".sh", ".ci/run", "tidy/words.txt"];

/// Folders to skip: they hold no sources.
const SKIPPED: &[&str] = &["target", ".git", ".windlass"];

/// Input of the checks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Workspace {
    /// Crates of the workspace.
    pub(super) packages: Vec<Package>,
    /// Crates of others that it is built with on this machine, also indirectly.
    pub(super) foreign: Vec<ForeignCrate>,
    /// Text files by their path from the root, with `/`.
    pub(super) texts: BTreeMap<String, String>,
    /// Every file and folder, by its path from the root.
    pub(super) paths: BTreeSet<String>,
}

/// Crate of the workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Package {
    pub(super) name: String,
    /// Folder, relative to the root.
    pub(super) folder: String,
    pub(super) license: Option<String>,
    pub(super) description: Option<String>,
    pub(super) dependencies: Vec<Dependency>,
}

/// Crate of somebody else.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct ForeignCrate {
    pub(super) name: String,
    pub(super) version: String,
    pub(super) license: Option<String>,
    /// Source of the crate; `None` for a path.
    pub(super) source: Option<String>,
}

/// Dependency of a crate of the workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Dependency {
    pub(super) name: String,
    pub(super) kind: Kind,
    pub(super) default_features: bool,
    pub(super) features: Vec<String>,
}

impl Workspace {
    /// Runs `cargo metadata` and reads the files.
    ///
    /// # Errors
    /// When cargo fails, or a file cannot be read.
    pub(super) fn load(root: &Path) -> anyhow::Result<Self> {
        let own = metadata(root, &["--no-deps"])?;
        let packages = packages(serde_json::from_slice(&own).context("reading cargo metadata")?)?;
        let all = metadata(root, &["--locked", "--filter-platform", &host()?])?;
        let all: ForeignMetadata =
            serde_json::from_slice(&all).context("reading cargo metadata of all crates")?;
        let is_own = |one: &ForeignCrate| packages.iter().any(|own| own.name == one.name);
        let foreign = all.packages.into_iter().filter(|one| !is_own(one)).collect();
        let mut workspace = Self { packages, foreign, ..Self::default() };
        workspace.collect(root, "")?;
        Ok(workspace)
    }

    /// Returns the crate with this name.
    pub(super) fn package(&self, name: &str) -> Option<&Package> {
        self.packages.iter().find(|package| package.name == name)
    }

    fn collect(&mut self, root: &Path, folder: &str) -> anyhow::Result<()> {
        let here = root.join(folder);
        let entries = fs::read_dir(&here).with_context(|| format!("listing {}", here.display()))?;
        for entry in entries {
            let entry = entry.with_context(|| format!("listing {}", here.display()))?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
            let kind = entry.file_type().with_context(|| format!("looking at {path}"))?;
            if kind.is_dir() && SKIPPED.contains(&name.as_str()) {
                continue;
            }
            if kind.is_dir() {
                self.collect(root, &path)?;
            } else if READ.iter().any(|ending| path.ends_with(ending)) {
                let text = fs::read_to_string(entry.path())
                    .with_context(|| format!("reading {path} as UTF-8"))?;
                self.texts.insert(path.clone(), text);
            }
            self.paths.insert(path);
        }
        Ok(())
    }
}

impl Package {
    /// Returns the crate's layer, if its folder has one.
    pub(super) fn layer(&self) -> Option<Layer> {
        layer(&self.folder)
    }

    /// Returns the path of the manifest.
    pub(super) fn manifest(&self) -> String {
        format!("{}/Cargo.toml", self.folder)
    }
}

/// Returns the output of `cargo metadata`.
fn metadata(root: &Path, words: &[&str]) -> anyhow::Result<Vec<u8>> {
    let mut command = cargo();
    command.current_dir(root).args(["metadata", "--format-version", "1"]).args(words);
    let output = command.output().context("running cargo metadata")?;
    if !output.status.success() {
        let why = String::from_utf8_lossy(&output.stderr);
        anyhow::bail!("cargo metadata failed: {}", why.trim());
    }
    Ok(output.stdout)
}

/// Returns the platform of this machine. Crates of other platforms are not downloaded here.
fn host() -> anyhow::Result<String> {
    let output = Command::new("rustc").arg("-vV").output().context("running rustc -vV")?;
    let text = String::from_utf8_lossy(&output.stdout);
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).context("rustc -vV names no host")
}

/// Crates of all owners in the output of `cargo metadata`.
#[derive(Debug, Deserialize)]
struct ForeignMetadata {
    packages: Vec<ForeignCrate>,
}

/// Part of the output of `cargo metadata` that the checks use.
#[derive(Debug, Deserialize)]
pub(super) struct Metadata {
    packages: Vec<MetadataPackage>,
    workspace_root: String,
}

#[derive(Debug, Deserialize)]
struct MetadataPackage {
    name: String,
    manifest_path: String,
    license: Option<String>,
    description: Option<String>,
    dependencies: Vec<MetadataDependency>,
}

#[derive(Debug, Deserialize)]
struct MetadataDependency {
    name: String,
    kind: Option<String>,
    uses_default_features: bool,
    features: Vec<String>,
}

/// Converts the output of `cargo metadata`.
pub(super) fn packages(metadata: Metadata) -> anyhow::Result<Vec<Package>> {
    let root = format!("{}/", metadata.workspace_root);
    let package = |package: MetadataPackage| {
        let folder = package
            .manifest_path
            .strip_prefix(&root)
            .and_then(|path| path.strip_suffix("/Cargo.toml"))
            .with_context(|| format!("{} lies outside {root}", package.manifest_path))?
            .to_owned();
        let dependencies: anyhow::Result<Vec<_>> =
            package.dependencies.into_iter().map(dependency).collect();
        Ok(Package {
            name: package.name,
            folder,
            license: package.license,
            description: package.description,
            dependencies: dependencies?,
        })
    };
    metadata.packages.into_iter().map(package).collect()
}

fn dependency(dependency: MetadataDependency) -> anyhow::Result<Dependency> {
    let kind = match dependency.kind.as_deref() {
        None => Kind::Normal,
        Some("dev") => Kind::Dev,
        Some("build") => Kind::Build,
        Some(other) => anyhow::bail!("cargo metadata names an unknown kind of dependency: {other}"),
    };
    Ok(Dependency {
        name: dependency.name,
        kind,
        default_features: dependency.uses_default_features,
        features: dependency.features,
    })
}

/// Builders for the tests of the checks.
#[cfg(test)]
pub(super) mod build {
    use super::*;

    /// A crate that keeps all rules.
    pub(in crate::tidy) fn package(name: &str, folder: &str) -> Package {
        Package {
            name: name.to_owned(),
            folder: folder.to_owned(),
            license: Some(crate::tidy::rules::LICENSE.to_owned()),
            description: Some("Does one thing.".to_owned()),
            dependencies: Vec::new(),
        }
    }

    /// A crate with these dependencies more.
    pub(in crate::tidy) fn with(mut package: Package, kind: Kind, names: &[&str]) -> Package {
        package.dependencies.extend(names.iter().map(|name| Dependency {
            name: (*name).to_owned(),
            kind,
            default_features: false,
            features: Vec::new(),
        }));
        package
    }

    /// A workspace with these crates and files.
    pub(in crate::tidy) fn workspace(packages: &[Package], texts: &[(&str, &str)]) -> Workspace {
        let texts: BTreeMap<String, String> =
            texts.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
        let paths = texts.keys().cloned().collect();
        Workspace { packages: packages.to_vec(), foreign: Vec::new(), paths, texts }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_becomes_packages() {
        let metadata = serde_json::from_str(
            r#"{"workspace_root": "/w", "packages": [{"name": "a", "manifest_path": "/w/x/a/Cargo.toml",
            "license": null, "description": null, "dependencies": [
            {"name": "b", "kind": null, "uses_default_features": true, "features": ["f"]},
            {"name": "c", "kind": "dev", "uses_default_features": false, "features": []}]}]}"#,
        )
        .unwrap();
        let packages = packages(metadata).unwrap();
        assert_eq!(packages[0].folder, "x/a");
        assert_eq!(packages[0].dependencies[0].kind, Kind::Normal);
        assert_eq!(packages[0].dependencies[0].features, ["f"]);
        assert_eq!(packages[0].dependencies[1].kind, Kind::Dev);
    }

    #[test]
    fn a_crate_outside_the_workspace_is_an_error() {
        let metadata = serde_json::from_str(
            r#"{"workspace_root": "/w", "packages": [{"name": "a", "manifest_path": "/v/a/Cargo.toml",
            "license": null, "description": null, "dependencies": []}]}"#,
        )
        .unwrap();
        let error = packages(metadata).unwrap_err();
        assert_eq!(error.to_string(), "/v/a/Cargo.toml lies outside /w/");
    }
}
