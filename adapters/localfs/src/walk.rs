//! All files below a folder, found in parallel and by descriptors: no name is opened through a link.

use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use rustix::fs::{Dir, FileType};

use crate::ignore_rules::IgnoreRules;
use crate::parallel::on_threads;
use crate::root::{folder_at, private};
use crate::stop::{HaltReason, StopCheck};
use crate::tree::kind_at;

/// Largest depth of folders within folders.
const DEEPEST: usize = 64;
/// Most entries that are looked at.
const MOST: u64 = 500_000;

/// Walk through a folder and all folders below it, without the engine's own and git's.
pub(crate) struct FolderWalk<'a> {
    /// Folder that the walk starts in.
    pub(crate) folder: Arc<OwnedFd>,
    /// Rules that apply in it.
    pub(crate) rules: IgnoreRules,
    /// Returns true for a file to list, by its path below the folder.
    pub(crate) wanted: &'a (dyn Fn(&[u8], FileType) -> bool + Sync),
    /// Check for a stop request.
    pub(crate) stop: &'a StopCheck,
}

/// Files that a walk found.
#[derive(Debug, Default)]
pub(crate) struct WalkedFiles {
    /// Paths below the folder, in the order of their bytes.
    pub(crate) files: Vec<Vec<u8>>,
    /// Number of folders that could not be read.
    pub(crate) unread: u64,
    /// Number of files and folders that were left out by the rules.
    pub(crate) ignored: u64,
    /// True if there are more entries than the walk looks at.
    pub(crate) cut: bool,
    /// Reason for an early end. The files are incomplete then.
    pub(crate) halt: Option<HaltReason>,
}

/// Folder that is found and not walked yet.
struct FoundFolder {
    parent: Arc<OwnedFd>,
    name: OsString,
    /// Its path below the start, with its last slash; empty for the start.
    path: Vec<u8>,
    /// Rules of the folder that it lies in.
    rules: IgnoreRules,
    depth: usize,
}

/// State that the threads of a walk share.
#[derive(Default)]
struct WalkState {
    /// Folders to walk. The last one is next, so that few folders are open at a time.
    folders: Vec<FoundFolder>,
    /// Number of threads that may still find folders.
    busy: usize,
    found: WalkedFiles,
}

impl FolderWalk<'_> {
    /// Walks to the end, or until it must stop.
    pub(crate) fn run(&self) -> WalkedFiles {
        let shared =
            SharedWalk { state: Mutex::default(), change: Condvar::new(), seen: AtomicU64::new(0) };
        let mut first = WalkedFiles::default();
        let folders = self.folder(&self.folder, &[], &self.rules, 0, &shared, &mut first);
        shared.lock().folders = folders;
        shared.lock().found = first;
        on_threads(|| {
            while let Some((folder, busy)) = shared.next() {
                let mut found = WalkedFiles::default();
                let below = self.below(&folder, &shared, &mut found);
                busy.done(below, found);
            }
        });
        let mut found = std::mem::take(&mut shared.lock().found);
        found.files.sort_unstable();
        found
    }

    fn below(
        &self,
        folder: &FoundFolder,
        shared: &SharedWalk,
        found: &mut WalkedFiles,
    ) -> Vec<FoundFolder> {
        match folder_at(&folder.parent, &folder.name) {
            Ok(open) if folder.depth < DEEPEST => {
                let rules = folder.rules.enter(&folder.name, &open);
                self.folder(&Arc::new(open), &folder.path, &rules, folder.depth, shared, found)
            }
            Ok(_) | Err(_) => {
                found.unread += 1;
                Vec::new()
            }
        }
    }

    /// Lists one folder: its files are found, and the folders in it are returned.
    fn folder(
        &self,
        folder: &Arc<OwnedFd>,
        path: &[u8],
        rules: &IgnoreRules,
        depth: usize,
        shared: &SharedWalk,
        found: &mut WalkedFiles,
    ) -> Vec<FoundFolder> {
        let mut below = Vec::new();
        let Ok(entries) = Dir::read_from(folder) else {
            found.unread += 1;
            return below;
        };
        for entry in entries {
            if let Err(halt) = self.stop.check() {
                found.halt = Some(halt);
                return below;
            }
            let Ok(entry) = entry else {
                found.unread += 1;
                return below;
            };
            let name = entry.file_name().to_bytes();
            if matches!(name, b"." | b"..") || private(name) {
                continue;
            }
            if shared.seen.fetch_add(1, Ordering::Relaxed) >= MOST {
                found.cut = true;
                return below;
            }
            let name = OsStr::from_bytes(name);
            let told = entry.file_type();
            let kind = if told == FileType::Unknown { kind_at(folder, name) } else { told };
            let is_dir = kind == FileType::Directory;
            if is_dir && name == ".git" {
                continue;
            }
            if rules.ignores(name, is_dir) {
                found.ignored += 1;
                continue;
            }
            let mut path = [path, name.as_bytes()].concat();
            if is_dir {
                path.push(b'/');
                let (parent, rules) = (folder.clone(), rules.clone());
                let name = OsString::from_vec(name.as_bytes().to_vec());
                below.push(FoundFolder { parent, name, path, rules, depth: depth + 1 });
            } else if (self.wanted)(&path, kind) {
                found.files.push(path);
            }
        }
        below
    }
}

struct SharedWalk {
    state: Mutex<WalkState>,
    change: Condvar,
    /// Number of entries looked at.
    seen: AtomicU64,
}

impl SharedWalk {
    fn lock(&self) -> MutexGuard<'_, WalkState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a folder to walk; `None` at the end of the walk.
    fn next(&self) -> Option<(FoundFolder, BusyThread<'_>)> {
        let mut state = self.lock();
        loop {
            if state.found.halt.is_some() || state.found.cut {
                return None;
            }
            if let Some(folder) = state.folders.pop() {
                state.busy += 1;
                return Some((folder, BusyThread { shared: self }));
            }
            if state.busy == 0 {
                return None;
            }
            state = self.change.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// Thread that walks a folder. Nobody waits for it once this is dropped.
struct BusyThread<'a> {
    shared: &'a SharedWalk,
}

impl BusyThread<'_> {
    fn done(self, below: Vec<FoundFolder>, found: WalkedFiles) {
        let mut state = self.shared.lock();
        state.folders.extend(below);
        state.found.add(found);
    }
}

impl Drop for BusyThread<'_> {
    fn drop(&mut self) {
        self.shared.lock().busy -= 1;
        self.shared.change.notify_all();
    }
}

impl WalkedFiles {
    fn add(&mut self, more: Self) {
        self.files.extend(more.files);
        self.unread += more.unread;
        self.ignored += more.ignored;
        self.cut |= more.cut;
        self.halt = self.halt.or(more.halt);
    }
}
