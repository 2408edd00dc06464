//! Locks of the calls' processes, in the user's state folder: a command that outlived its process is
//! ended before its session goes on.

use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};
use windlass::store::StoreUrl;
use windlass_localfs::RunLocks;

use super::user_state::state_folder;

/// Folder of the locks in the state folder.
const FOLDER: &str = "runs";
/// Bytes of the digest that names a store.
const NAME_BYTES: usize = 12;

/// Returns the locks of a store. Each store has its own, since their sessions may have the
/// same ids. `None` where nobody continues a session, and where there is no state folder, which is
/// reported.
pub(crate) fn run_locks(store: &StoreUrl) -> Option<RunLocks> {
    if store.ends_with_process() {
        return None;
    }
    let digest = Sha256::digest(identity(store));
    let digest = digest.iter().take(NAME_BYTES);
    let name: String = digest.map(|byte| format!("{byte:02x}")).collect();
    match state_folder() {
        // The first call makes it.
        Ok(state) => Some(RunLocks::new(state.join(FOLDER).join(name))),
        Err(failure) => {
            tracing::warn!(
                error = %failure.message,
                "a command that outlives windlass will not be known: there is no folder for locks"
            );
            None
        }
    }
}

/// Ends, in a task of its own, the processes that a windlass left which is gone. `run_locks` alone does
/// nothing of the sessions that this one does not open.
pub(crate) fn end_abandoned(locks: Option<&RunLocks>) {
    let Some(locks) = locks.cloned() else { return };
    tokio::spawn(async move {
        if let Err(error) = locks.end_abandoned().await {
            tracing::warn!(%error, "cannot look for the processes of an earlier windlass");
        }
    });
}

/// Returns the name of a store: the same before and after its folder is made.
fn identity(store: &StoreUrl) -> String {
    match store.path() {
        Some(path) => resolve(path).display().to_string(),
        None => store.to_string(),
    }
}

/// Resolves the symbolic links of the part of a path that exists.
fn resolve(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let resolved = path.ancestors().find_map(|folder| {
        let rest = path.strip_prefix(folder).ok()?;
        // Without the separator that joining nothing adds.
        folder.canonicalize().ok().map(|folder| folder.join(rest).components().collect())
    });
    resolved.unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_has_one_name_before_and_after_it_is_made() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("a")).unwrap();
        std::os::unix::fs::symlink(dir.path().join("a"), dir.path().join("link")).unwrap();
        let store = |path: &str| {
            StoreUrl::parse(&format!("file:{}", dir.path().join(path).display())).unwrap()
        };
        let before = identity(&store("link/b/c"));
        std::fs::create_dir_all(dir.path().join("a/b/c")).unwrap();
        let names = ["link/b/c", "a/b/c", "a/./b/c/"].map(|path| identity(&store(path)));
        assert!(names.iter().all(|name| *name == before), "{before} {names:?}");
        assert_ne!(identity(&store("a/b")), before);
    }
}
