//! Search of many files in parallel, with the result of a search one after the other.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::grep_file::{FileGrep, FileMatches};
use crate::open::file_at;
use crate::parallel::on_threads;
use crate::root::folder_at;
use crate::stop::HaltReason;

/// Search of the files of a walk.
///
/// Each thread takes the next file in their order until there are enough matches. All files before
/// one that is taken are taken too, so the first matches do not depend on the threads.
pub(super) struct GrepFiles<'a> {
    start: Arc<OwnedFd>,
    files: &'a [Vec<u8>],
    grep: FileGrep<'a>,
    next: AtomicUsize,
    matches: AtomicUsize,
    texts: AtomicU64,
    unread: AtomicU64,
    halt: OnceLock<HaltReason>,
    found: Mutex<BTreeMap<usize, FileMatches>>,
}

/// Result of a search.
pub(super) struct GrepResult<'a> {
    /// Files with matches, in the order of the files.
    pub(super) found: Vec<(&'a [u8], FileMatches)>,
    /// Number of text files that were searched.
    pub(super) texts: u64,
    /// Number of files that could not be opened.
    pub(super) unread: u64,
    /// Reason for an early end.
    pub(super) halt: Option<HaltReason>,
}

impl<'a> GrepFiles<'a> {
    /// Prepares a search of files by their paths below a folder.
    pub(super) fn new(start: Arc<OwnedFd>, files: &'a [Vec<u8>], grep: FileGrep<'a>) -> Self {
        Self {
            start,
            files,
            grep,
            next: AtomicUsize::new(0),
            matches: AtomicUsize::new(0),
            texts: AtomicU64::new(0),
            unread: AtomicU64::new(0),
            halt: OnceLock::new(),
            found: Mutex::default(),
        }
    }

    /// Searches until all files are done, there are enough matches, or it must stop.
    pub(super) fn run(self) -> GrepResult<'a> {
        on_threads(|| self.thread());
        let found = self.found.into_inner().unwrap_or_else(PoisonError::into_inner);
        let found = found.into_iter().filter_map(|(at, found)| Some((self.files.get(at)?, found)));
        GrepResult {
            found: found.map(|(path, found)| (path.as_slice(), found)).collect(),
            texts: self.texts.into_inner(),
            unread: self.unread.into_inner(),
            halt: self.halt.into_inner(),
        }
    }

    fn thread(&self) {
        let mut searcher = self.grep.searcher();
        let mut folder = LastFolder { path: &[], folder: self.start.clone() };
        while self.matches.load(Ordering::SeqCst) < self.grep.most && self.halt.get().is_none() {
            let at = self.next.fetch_add(1, Ordering::SeqCst);
            let Some(path) = self.files.get(at) else {
                return;
            };
            if let Err(halt) = self.grep.stop.check() {
                let _ = self.halt.set(halt);
                return;
            }
            let Some(file) = folder.open(&self.start, path) else {
                self.unread.fetch_add(1, Ordering::Relaxed);
                continue;
            };
            match self.grep.file_with(&mut searcher, file) {
                Ok(found) => self.add(at, found),
                Err(halt) => {
                    let _ = self.halt.set(halt);
                }
            }
        }
    }

    fn add(&self, at: usize, found: FileMatches) {
        self.texts.fetch_add(u64::from(!found.binary), Ordering::Relaxed);
        self.matches.fetch_add(found.matches, Ordering::SeqCst);
        if found.unread || !found.lines.is_empty() {
            self.found.lock().unwrap_or_else(PoisonError::into_inner).insert(at, found);
        }
    }
}

/// Folder of the last file, since the next one is often in the same.
struct LastFolder<'a> {
    path: &'a [u8],
    folder: Arc<OwnedFd>,
}

impl<'a> LastFolder<'a> {
    /// Opens a file by its path below the start, name by name and through no link.
    fn open(&mut self, start: &Arc<OwnedFd>, path: &'a [u8]) -> Option<File> {
        let end = memchr::memrchr(b'/', path);
        let folder = path.get(..end.unwrap_or_default()).unwrap_or_default();
        let name = path.get(end.map_or(0, |end| end + 1)..).unwrap_or_default();
        if folder != self.path {
            let mut open = start.clone();
            for part in folder.split(|byte| *byte == b'/') {
                open = Arc::new(folder_at(&open, OsStr::from_bytes(part)).ok()?);
            }
            (self.path, self.folder) = (folder, open);
        }
        Some(file_at(&self.folder, OsStr::from_bytes(name)).ok()?.0)
    }
}
