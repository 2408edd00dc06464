//! The newcomer's crate, in a temporary folder outside of the workspace.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};

/// Crate in the tree, without its store and its main program.
const CRATE: &str = "testkit/newcomer";
/// The store of the guide.
const STORE: &str = "testkit/examples/new_store/store.rs";

/// Copy of the crate, which is removed with this value.
#[derive(Debug)]
pub(super) struct CrateFolder(PathBuf);

impl CrateFolder {
    /// Copies the crate, whose dependencies on the tree are by path, and adds the quick start of the README,
    /// the store of the guide and the versions of the workspace, which are at hand without a network.
    ///
    /// # Errors
    /// When a file cannot be read or written, or the README has no quick start.
    pub(super) fn make(tree: &Path) -> anyhow::Result<Self> {
        let path = std::env::temp_dir().join(format!("windlass-newcomer-{}", std::process::id()));
        let made = Self(path);
        copy(&tree.join(CRATE), &made.0)?;
        let manifest = made.0.join("Cargo.toml");
        let text = read(&manifest)?;
        write(&manifest, &with_paths(&text, tree))?;
        write(&made.0.join("src/main.rs"), &quick_start(&read(&tree.join("README.md"))?)?)?;
        let store = read(&tree.join(STORE))?.replace("pub(crate)", "pub");
        write(&made.0.join("src/store.rs"), &store)?;
        write(&made.0.join("Cargo.lock"), &read(&tree.join("Cargo.lock"))?)?;
        Ok(made)
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for CrateFolder {
    fn drop(&mut self) {
        // A folder that is left behind harms nobody.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A manifest whose relative paths begin at the tree.
fn with_paths(manifest: &str, tree: &Path) -> String {
    let tree = tree.display();
    manifest
        .replace("path = \"../../", &format!("path = \"{tree}/"))
        .replace("path = \"..\"", &format!("path = \"{tree}/testkit\""))
}

/// The program of ten lines that the README shows.
pub(super) fn quick_start(readme: &str) -> anyhow::Result<String> {
    let blocks = readme.split("```rust\n").skip(1);
    let blocks = blocks.filter_map(|rest| Some(rest.split_once("```")?.0));
    let programs: Vec<&str> = blocks.filter(|block| block.contains("async fn main")).collect();
    ensure!(programs.len() == 1, "the README has {} quick starts", programs.len());
    Ok(programs.concat())
}

pub(super) fn read(file: &Path) -> anyhow::Result<String> {
    fs::read_to_string(file).with_context(|| format!("reading {}", file.display()))
}

pub(super) fn write(file: &Path, text: &str) -> anyhow::Result<()> {
    fs::write(file, text).with_context(|| format!("writing {}", file.display()))
}

fn copy(from: &Path, to: &Path) -> anyhow::Result<()> {
    let copying = || format!("copying {}", from.display());
    fs::create_dir_all(to).with_context(copying)?;
    for entry in fs::read_dir(from).with_context(copying)? {
        let entry = entry.with_context(copying)?;
        let (path, to) = (entry.path(), to.join(entry.file_name()));
        match entry.file_type().with_context(copying)?.is_dir() {
            true if entry.file_name() == "target" => {}
            true => copy(&path, &to)?,
            false => drop(fs::copy(&path, &to).with_context(copying)?),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_readme_has_one_quick_start_and_the_paths_are_those_of_the_tree() {
        let tree = xtask::step::root();
        let program = quick_start(&read(&tree.join("README.md")).unwrap()).unwrap();
        assert_eq!(program.lines().count(), 10, "{program}");
        let manifest = read(&tree.join(CRATE).join("Cargo.toml")).unwrap();
        let manifest = with_paths(&manifest, &tree);
        assert!(!manifest.contains("\"..") && manifest.contains("/app/windlass\""), "{manifest}");
    }
}
