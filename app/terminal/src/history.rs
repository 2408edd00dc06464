//! Texts that a person sent before, over sessions, in one file.
//!
//! The file has a JSON object a line and mode 0600. Terminals that share it append under a lock on a
//! file beside it. Damaged lines are skipped, and left out when the file is written again.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::composer::Draft;

/// Most entries in memory and in the file.
const ENTRIES: usize = 1_000;
/// Most bytes in the file.
const BYTES: usize = 1024 * 1024;
/// Most bytes of an entry in the file.
const ENTRY: usize = 16 * 1024;
/// Most tries to lock the file, and the time between two.
const TRIES: usize = 200;
const PAUSE: Duration = Duration::from_millis(1);

/// Texts that were sent, the oldest first.
#[derive(Debug, Default)]
pub struct History {
    entries: Vec<Draft>,
    path: Option<PathBuf>,
    failed: bool,
}

/// A line of the file.
#[derive(Serialize, Deserialize)]
struct Entry {
    text: String,
}

impl History {
    /// Creates a history that no file keeps.
    #[must_use]
    pub fn memory() -> Self {
        Self::default()
    }

    /// Reads the last 1,000 entries of a file, which need not exist. If it cannot be read, the
    /// history starts empty, keeps to memory, and the error is returned beside it.
    #[must_use]
    pub fn open(path: impl Into<PathBuf>) -> (Self, Option<io::Error>) {
        let path = path.into();
        match read(&path) {
            Ok(bytes) => {
                let entries = last_lines(&bytes, ENTRIES, BYTES).filter_map(parse).collect();
                (Self { entries, path: Some(path), failed: false }, None)
            }
            Err(error) => (Self::memory(), Some(context("read", &path, &error))),
        }
    }

    /// Adds a text unless it is empty or the last one. A text above 16 KiB stays in memory only.
    ///
    /// # Errors
    /// The file cannot be written. This is returned once; the entry and later ones stay in memory.
    pub fn push(&mut self, draft: Draft) -> io::Result<()> {
        let text = draft.with_paths();
        if text.trim().is_empty() || self.entries.last() == Some(&draft) {
            return Ok(());
        }
        self.entries.push(draft);
        let surplus = self.entries.len().saturating_sub(ENTRIES);
        self.entries.drain(..surplus);
        let Some(path) = self.path.as_ref().filter(|_| text.len() <= ENTRY) else {
            return Ok(());
        };
        let written = append(path, &Entry { text });
        let first = written.is_err() && !std::mem::replace(&mut self.failed, written.is_err());
        written.or_else(|error| if first { Err(context("write", path, &error)) } else { Ok(()) })
    }

    /// Returns the number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns true without entries.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns an entry by its position, the oldest at 0.
    #[must_use]
    pub fn entry(&self, at: usize) -> Option<&Draft> {
        self.entries.get(at)
    }

    /// Returns the position of the last entry before a position that contains a text. Case counts
    /// only if the text has an upper-case letter.
    #[must_use]
    pub fn find(&self, text: &str, before: usize) -> Option<usize> {
        let exact = text.chars().any(char::is_uppercase);
        let contains = |entry: &Draft| match exact {
            true => entry.text.contains(text),
            false => entry.text.to_lowercase().contains(text),
        };
        self.entries[..before.min(self.entries.len())].iter().rposition(contains)
    }
}

/// Reads the end of a file that may contain entries.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(BYTES as u64)))?;
    let mut bytes = Vec::new();
    file.take(BYTES as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Appends a line, or writes the file again where it would become too large.
fn append(path: &Path, entry: &Entry) -> io::Result<()> {
    let mut line = serde_json::to_vec(entry)?;
    line.push(b'\n');
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let lock = private(&path.with_extension("lock"), OpenOptions::new().append(true))?;
    wait_for(&lock)?;
    let old = read(path)?;
    let lines = memchr::memchr_iter(b'\n', &old).count();
    if lines >= ENTRIES || old.len() + line.len() > BYTES {
        return rewrite(path, &old, &line);
    }
    if old.last().is_some_and(|last| *last != b'\n') {
        line.insert(0, b'\n');
    }
    private(path, OpenOptions::new().append(true))?.write_all(&line)
}

/// Locks a file. Others hold the lock for milliseconds; one that was stopped meanwhile is not waited for.
fn wait_for(lock: &File) -> io::Result<()> {
    for _ in 0..TRIES {
        match lock.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::WouldBlock) => std::thread::sleep(PAUSE),
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
    Err(io::Error::new(io::ErrorKind::TimedOut, "another process holds its lock"))
}

/// Replaces the file by one with nine tenths of the limits, so that this is rare.
fn rewrite(path: &Path, old: &[u8], line: &[u8]) -> io::Result<()> {
    let kept = last_lines(old, ENTRIES * 9 / 10, BYTES * 9 / 10 - line.len());
    let mut new: Vec<u8> = Vec::with_capacity(BYTES);
    for kept in kept.filter(|line| parse(line).is_some()) {
        new.extend_from_slice(kept);
        new.push(b'\n');
    }
    new.extend_from_slice(line);
    let beside = path.with_extension("new");
    let mut file = private(&beside, OpenOptions::new().write(true).truncate(true))?;
    file.write_all(&new)?;
    file.sync_all()?;
    std::fs::rename(beside, path)
}

/// Opens a file that only its owner reads and writes.
fn private(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    let file = options.create(true).mode(0o600).open(path)?;
    if file.metadata()?.permissions().mode() & 0o077 != 0 {
        file.set_permissions(std::fs::Permissions::from_mode(0o600))?;
    }
    Ok(file)
}

/// Returns the last lines within a number and a size, in their order.
fn last_lines(bytes: &[u8], most: usize, size: usize) -> impl Iterator<Item = &[u8]> {
    let start = bytes.len().saturating_sub(size);
    let cut = start > 0 && bytes[start - 1] != b'\n';
    let lines: Vec<&[u8]> =
        bytes[start..].split(|byte| *byte == b'\n').skip(usize::from(cut)).collect();
    let lines: Vec<&[u8]> = lines.into_iter().filter(|line| !line.is_empty()).collect();
    let surplus = lines.len().saturating_sub(most);
    lines.into_iter().skip(surplus)
}

fn parse(line: &[u8]) -> Option<Draft> {
    let entry: Entry = serde_json::from_slice(line).ok()?;
    Some(entry.text.as_str().into())
}

fn context(verb: &str, path: &Path, error: &io::Error) -> io::Error {
    let path = path.display();
    io::Error::new(error.kind(), format!("cannot {verb} the history {path}: {error}"))
}

#[cfg(test)]
mod tests;
