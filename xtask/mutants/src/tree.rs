//! Copies of the tree, to change.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};

/// A copy of the tree that nobody else uses meanwhile.
#[derive(Debug)]
pub(super) struct Copy {
    pub(super) root: PathBuf,
    _lock: File,
}

/// Names that are no part of the tree, wherever they are.
const LEFT_OUT: &[&str] = &[".git", ".windlass", "target"];

impl Copy {
    /// Brings the copy in `folder` up to date with the tree at `from`: all of it, or only `rooms`
    /// of the workspace with what is beside them; a room may be a folder without a package. Files that are the same stay untouched.
    ///
    /// # Errors
    /// When a file cannot be read or written, or another process works on the copy.
    pub(super) fn make(from: &Path, folder: &Path, rooms: Option<&[&str]>) -> anyhow::Result<Self> {
        fs::create_dir_all(folder).with_context(|| format!("making {}", folder.display()))?;
        let path = folder.join("lock");
        let lock = File::create(&path).with_context(|| format!("making {}", path.display()))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                bail!("another process works on {}: wait for it to end", folder.display())
            }
            Err(TryLockError::Error(error)) => {
                return Err(error).with_context(|| format!("locking {}", path.display()));
            }
        }
        let root = folder.join("tree");
        sync(from, &root, rooms.map(|_| rooms_beside(from)).as_ref())?;
        if let Some(rooms) = rooms {
            for room in rooms {
                sync(&from.join(room), &root.join(room), None)?;
            }
            narrow(from, &root, rooms)?;
        }
        Ok(Self { root, _lock: lock })
    }

    /// Writes a file of the copy.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(super) fn write(&self, file: &str, text: &str) -> anyhow::Result<()> {
        let path = self.root.join(file);
        fs::write(&path, text).with_context(|| format!("writing {}", path.display()))
    }
}

/// The folders at the top of the tree, which are left out where only some rooms are wanted.
fn rooms_beside(from: &Path) -> BTreeSet<PathBuf> {
    let entries = fs::read_dir(from).into_iter().flatten().flatten();
    let folders = entries.filter(|entry| entry.path().is_dir());
    let hidden = |path: &PathBuf| path.file_name().is_some_and(is_hidden);
    folders.map(|entry| entry.path()).filter(|path| !hidden(path)).collect()
}

fn is_hidden(name: &OsStr) -> bool {
    name.to_string_lossy().starts_with('.')
}

/// Makes `to` a copy of `from` without the excluded folders.
fn sync(from: &Path, to: &Path, but: Option<&BTreeSet<PathBuf>>) -> anyhow::Result<()> {
    fs::create_dir_all(to).with_context(|| format!("making {}", to.display()))?;
    let reading = || format!("reading {}", from.display());
    let mut names = BTreeSet::new();
    for entry in fs::read_dir(from).with_context(reading)? {
        let entry = entry.with_context(reading)?;
        let (path, name) = (entry.path(), entry.file_name());
        let left_out = name.to_str().is_some_and(|name| LEFT_OUT.contains(&name));
        if left_out {
            continue;
        }
        names.insert(name.clone());
        if but.is_some_and(|but| but.contains(&path)) {
            continue;
        }
        let kind = entry.file_type().with_context(reading)?;
        if kind.is_dir() {
            sync(&path, &to.join(&name), None)?;
        } else if kind.is_file() {
            copy(&path, &to.join(&name))?;
        }
    }
    for entry in fs::read_dir(to).with_context(|| format!("reading {}", to.display()))? {
        let entry = entry.with_context(|| format!("reading {}", to.display()))?;
        if !names.contains(&entry.file_name()) {
            let path = entry.path();
            let gone = match path.is_dir() {
                true => fs::remove_dir_all(&path),
                false => fs::remove_file(&path),
            };
            gone.with_context(|| format!("removing {}", path.display()))?;
        }
    }
    Ok(())
}

/// Copies a file only if it differs, so that cargo does not rebuild it.
fn copy(from: &Path, to: &Path) -> anyhow::Result<()> {
    let wanted = fs::read(from).with_context(|| format!("reading {}", from.display()))?;
    if fs::read(to).is_ok_and(|present| present == wanted) {
        return Ok(());
    }
    fs::write(to, wanted).with_context(|| format!("writing {}", to.display()))
}

/// Makes a workspace of some rooms only, so that nothing else is built.
fn narrow(from: &Path, root: &Path, rooms: &[&str]) -> anyhow::Result<()> {
    let path = from.join("Cargo.toml");
    let text = fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
    let is_package = |room: &&&str| from.join(room).join("Cargo.toml").is_file();
    let members: Vec<&&str> = rooms.iter().filter(is_package).collect();
    let narrowed = text.lines().map(|line| {
        if line.starts_with("members = ") {
            format!("members = {members:?}\n")
        } else {
            format!("{line}\n")
        }
    });
    let manifest = root.join("Cargo.toml");
    fs::write(&manifest, narrowed.collect::<String>())
        .with_context(|| format!("writing {}", manifest.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(folder: &Path, file: &str, text: &str) {
        let path = folder.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn a_copy_holds_the_tree_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let (from, copy) = (folder.path().join("from"), folder.path().join("copy"));
        at(&from, "Cargo.toml", "members = [\"core\", \"app/*\"]\n");
        at(&from, "core/src/lib.rs", "one");
        at(&from, "app/cli/src/main.rs", "two");
        at(&from, "target/debug/kit", "built");
        at(&copy, "tree/core/src/gone.rs", "old");
        at(&copy, "tree/core/src/lib.rs", "mutated");
        let whole = Copy::make(&from, &copy, None).unwrap();
        let read = |file: &str| fs::read_to_string(whole.root.join(file)).ok();
        assert_eq!(read("core/src/lib.rs").as_deref(), Some("one"));
        assert_eq!(read("app/cli/src/main.rs").as_deref(), Some("two"));
        assert_eq!(read("core/src/gone.rs"), None);
        assert_eq!(read("target/debug/kit"), None);
        let error = Copy::make(&from, &copy, None).unwrap_err().to_string();
        assert!(error.contains("another process"), "{error}");
    }

    #[test]
    fn a_copy_of_some_rooms_is_a_workspace_of_these() {
        let folder = tempfile::tempdir().unwrap();
        let (from, copy) = (folder.path().join("from"), folder.path().join("copy"));
        at(&from, "Cargo.toml", "a\nmembers = [\"core\", \"app/*\"]\nb\n");
        at(&from, "core/src/lib.rs", "one");
        at(&from, "app/cli/src/main.rs", "two");
        at(&from, ".cargo/config.toml", "three");
        at(&from, "core/Cargo.toml", "four");
        at(&from, "docs/words.md", "five");
        let some = Copy::make(&from, &copy, Some(&["core", "docs"])).unwrap();
        let read = |file: &str| fs::read_to_string(some.root.join(file)).ok();
        let manifest = read("Cargo.toml");
        assert_eq!(manifest.as_deref(), Some("a\nmembers = [\"core\"]\nb\n"));
        assert_eq!(read("core/src/lib.rs").as_deref(), Some("one"));
        assert_eq!(read(".cargo/config.toml").as_deref(), Some("three"));
        assert_eq!(read("docs/words.md").as_deref(), Some("five"));
        assert_eq!(read("app/cli/src/main.rs"), None);
    }
}
