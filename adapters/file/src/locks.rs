//! The locks of sessions: one byte of a lock file each, so that a claimed session needs no open
//! file.
//!
//! They are open file description locks: they exclude other processes and other store objects of
//! this one, and end with the process.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fs::File;
use std::io;
use std::thread;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, fcntl};
use nix::libc;

use crate::format::SessionKey;
use crate::paths::{MERGED_WRITER, StorePaths};

/// Number of lock files. The system searches all locks of a file, so claims are spread over
/// several.
pub(crate) const FILES: u64 = 16;

/// Longest wait for a lock of another process.
///
/// A process that is killed while it starts a child leaves a fork that holds its locks until it
/// executes the child's program. Without the wait, an immediate restart would fail.
pub(crate) const PATIENCE: Duration = Duration::from_millis(500);
/// Pause between two attempts.
pub(crate) const PAUSE: Duration = Duration::from_millis(5);

/// Longest wait for what another process does with the whole store.
const STORE_PATIENCE: Duration = Duration::from_secs(30);

/// Waits for the lock of the merged segments.
pub(crate) fn lock_merged(paths: &StorePaths) -> io::Result<File> {
    wait_for("keeps up the store", || paths.lock_writer(MERGED_WRITER))
}

/// Waits until no process makes an index, and keeps others from it.
pub(crate) fn lock_erasing(paths: &StorePaths) -> io::Result<File> {
    wait_for("makes an index of the store", || paths.lock_erasing())
}

fn wait_for(other: &str, lock: impl Fn() -> io::Result<Option<File>>) -> io::Result<File> {
    let begun = Instant::now();
    loop {
        if let Some(lock) = lock()? {
            return Ok(lock);
        }
        if begun.elapsed() > STORE_PATIENCE {
            let most = STORE_PATIENCE.as_secs();
            return Err(io::Error::other(format!(
                "another process {other} for longer than {most} s"
            )));
        }
        thread::sleep(PAUSE);
    }
}

/// Locks that a store object holds.
#[derive(Debug, Default)]
pub(crate) struct SessionLocks {
    files: HashMap<u64, File>,
    /// Number of sessions behind each locked byte.
    held: HashMap<SessionKey, u32>,
}

impl SessionLocks {
    /// Locks a session, waiting up to [`PATIENCE`]. Returns true if the lock was taken.
    pub(crate) fn acquire(&mut self, paths: &StorePaths, key: SessionKey) -> io::Result<bool> {
        self.acquire_within(paths, key, PATIENCE)
    }

    /// Locks a session if the lock is free now. Returns true if it was taken.
    pub(crate) fn try_acquire(&mut self, paths: &StorePaths, key: SessionKey) -> io::Result<bool> {
        self.acquire_within(paths, key, Duration::ZERO)
    }

    fn acquire_within(
        &mut self,
        paths: &StorePaths,
        key: SessionKey,
        patience: Duration,
    ) -> io::Result<bool> {
        if let Some(held) = self.held.get_mut(&key) {
            *held += 1;
            return Ok(true);
        }
        let file = self.file(paths, key)?;
        let begun = Instant::now();
        loop {
            match set(file, key, libc::F_WRLCK) {
                Ok(()) => break,
                Err(Errno::EAGAIN | Errno::EACCES) if begun.elapsed() < patience => {
                    thread::sleep(PAUSE);
                }
                Err(Errno::EAGAIN | Errno::EACCES) => return Ok(false),
                Err(error) => return Err(error.into()),
            }
        }
        self.held.insert(key, 1);
        Ok(true)
    }

    /// Releases the lock of a session.
    pub(crate) fn release(&mut self, key: SessionKey) {
        let Some(held) = self.held.get_mut(&key) else {
            return;
        };
        *held -= 1;
        if *held > 0 {
            return;
        }
        self.held.remove(&key);
        let file = self.files.get(&number(key));
        if let Some(Err(error)) = file.map(|file| set(file, key, libc::F_UNLCK)) {
            tracing::warn!(%error, "the lock of a session could not be given back");
        }
    }

    fn file(&mut self, paths: &StorePaths, key: SessionKey) -> io::Result<&File> {
        let number = number(key);
        match self.files.entry(number) {
            Entry::Occupied(held) => Ok(held.into_mut()),
            Entry::Vacant(free) => Ok(free.insert(paths.open_lock(&format!("{number:x}"))?)),
        }
    }
}

/// Looks at locks of any store object, without taking one.
#[derive(Debug, Default)]
pub(crate) struct LockLookup {
    /// `None` for a lock file that nobody has made yet.
    files: HashMap<u64, Option<File>>,
}

impl LockLookup {
    /// Returns true if a store object holds the lock of a session.
    pub(crate) fn is_held(&mut self, paths: &StorePaths, key: SessionKey) -> io::Result<bool> {
        let number = number(key);
        let file = match self.files.entry(number) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => new.insert(paths.lock_to_read(&format!("{number:x}"))?),
        };
        let Some(file) = file else {
            return Ok(false);
        };
        let mut lock = lock(key, libc::F_WRLCK);
        fcntl(&*file, FcntlArg::F_OFD_GETLK(&mut lock))?;
        Ok(libc::c_int::from(lock.l_type) != libc::F_UNLCK)
    }
}

fn number(key: SessionKey) -> u64 {
    key.0 % FILES
}

fn set(file: &File, key: SessionKey, kind: libc::c_int) -> nix::Result<()> {
    fcntl(file, FcntlArg::F_OFD_SETLK(&lock(key, kind))).map(|_| ())
}

fn lock(key: SessionKey, kind: libc::c_int) -> libc::flock {
    // Half of what a place in a file may be, so that none is out of range.
    let at = libc::off_t::try_from(key.0 >> 2).unwrap_or_default();
    libc::flock {
        l_type: kind as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: at,
        l_len: 1,
        l_pid: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_keeps_others_out_until_it_is_given_back() {
        let dir = tempfile::TempDir::new().unwrap();
        let paths = StorePaths::new(dir.path().join("store"));
        paths.create().unwrap();
        let (mut first, mut second) = (SessionLocks::default(), SessionLocks::default());
        let (one, two) = (SessionKey(7), SessionKey(7 + FILES * 4));
        assert!(first.acquire(&paths, one).unwrap());
        assert!(first.acquire(&paths, one).unwrap());
        assert!(!second.acquire(&paths, one).unwrap());
        assert!(second.acquire(&paths, two).unwrap());
        first.release(one);
        assert!(!second.acquire(&paths, one).unwrap());
        assert!(LockLookup::default().is_held(&paths, one).unwrap());
        first.release(one);
        assert!(!LockLookup::default().is_held(&paths, one).unwrap());
        assert!(!LockLookup::default().is_held(&paths, SessionKey(8)).unwrap());
        assert!(second.acquire(&paths, one).unwrap());
        drop(second);
        assert!(first.acquire(&paths, one).unwrap());
    }
}
