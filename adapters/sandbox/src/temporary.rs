//! Folder for temporary files of confined processes.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// First part of the name of each folder.
const PREFIX: &str = "windlass-confined-";
/// Most abandoned folders that a start looks at.
const ABANDONED: usize = 64;

/// A folder of the user alone. Dropping it removes it. Its lock, which the kernel releases when the
/// process ends, tells others that it is in use.
#[derive(Debug)]
pub(crate) struct TemporaryFolder {
    path: PathBuf,
    _lock: File,
}

impl TemporaryFolder {
    /// Creates a folder, and removes those of processes that were killed.
    pub(crate) fn create(parent: &Path) -> io::Result<Self> {
        let parent = parent.canonicalize()?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let name = format!("{PREFIX}{}-{}", std::process::id(), now.as_nanos());
        let path = parent.join(name);
        // Nobody takes it for abandoned while it has another name.
        let unlocked = path.with_extension("new");
        fs::DirBuilder::new().mode(0o700).create(&unlocked)?;
        let lock = File::open(&unlocked)?;
        lock.try_lock()?;
        fs::rename(&unlocked, &path)?;
        remove_abandoned(&parent, lock.metadata()?.uid());
        Ok(Self { path, _lock: lock })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        // What a process made unremovable stays.
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// Removes folders of this user that no process has locked. What cannot be removed stays.
fn remove_abandoned(parent: &Path, user: u32) {
    let Ok(entries) = fs::read_dir(parent) else { return };
    let named = entries.flatten().filter(|entry| {
        let name = entry.file_name();
        name.to_str().is_some_and(|name| name.starts_with(PREFIX) && !name.contains('.'))
    });
    for entry in named.take(ABANDONED) {
        let path = entry.path();
        let own = path.symlink_metadata().is_ok_and(|meta| meta.is_dir() && meta.uid() == user);
        if own && File::open(&path).is_ok_and(|folder| folder.try_lock().is_ok()) {
            let _ = fs::remove_dir_all(&path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_nobody_locks_is_removed_by_the_next() {
        let parent = tempfile::tempdir().unwrap();
        let abandoned = parent.path().join(format!("{PREFIX}1-1"));
        let linked = parent.path().join(format!("{PREFIX}1-2"));
        let other = parent.path().join("windlass-other");
        for folder in [&abandoned, &other] {
            fs::create_dir_all(folder.join("x/y")).unwrap();
        }
        std::os::unix::fs::symlink(&other, &linked).unwrap();
        let first = TemporaryFolder::create(parent.path()).unwrap();
        assert!(!abandoned.exists());
        let second = TemporaryFolder::create(parent.path()).unwrap();
        assert!(first.path().is_dir() && second.path().is_dir());
        assert!(linked.exists() && other.join("x/y").exists());
        let path = first.path().to_owned();
        drop(first);
        assert!(!path.exists());
    }
}
