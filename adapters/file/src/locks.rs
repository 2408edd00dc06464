//! The locks of sessions: a byte of a lock file each, so that a session that is claimed holds no file
//! of its own.
//!
//! They are locks of an open file description: they keep out other processes and other store objects
//! of this one, and go with the process, however it ends.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::thread;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, fcntl};
use nix::libc;

use crate::format::Key;
use crate::places::Places;

/// How many lock files there are. The system looks through all locks of a file for each, so many
/// claims are spread over several.
pub(crate) const FILES: u64 = 16;

/// How long a lock that another holds is waited for.
///
/// A process that is killed while it starts another leaves a fork of itself, which holds the lock
/// until it has become the other program. Whoever restarts at once must not be told that it is
/// locked, so it is waited for a little.
pub(crate) const PATIENCE: Duration = Duration::from_millis(500);
/// Between two looks at it.
pub(crate) const PAUSE: Duration = Duration::from_millis(5);

/// The locks that a store object holds.
#[derive(Debug, Default)]
pub(crate) struct Locks {
    files: HashMap<u64, File>,
    /// How many sessions there are behind each byte that is locked.
    held: HashMap<Key, u32>,
}

impl Locks {
    /// Takes the lock of a session, and waits a little for it. Answers whether it is ours now.
    pub(crate) fn take(&mut self, places: &Places, key: Key) -> io::Result<bool> {
        self.take_within(places, key, PATIENCE)
    }

    /// Takes the lock of a session if nobody holds it at this moment.
    pub(crate) fn try_take(&mut self, places: &Places, key: Key) -> io::Result<bool> {
        self.take_within(places, key, Duration::ZERO)
    }

    fn take_within(&mut self, places: &Places, key: Key, patience: Duration) -> io::Result<bool> {
        if let Some(held) = self.held.get_mut(&key) {
            *held += 1;
            return Ok(true);
        }
        let file = self.file(places, key)?;
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

    /// Gives the lock of a session back.
    pub(crate) fn give_back(&mut self, key: Key) {
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

    fn file(&mut self, places: &Places, key: Key) -> io::Result<&File> {
        let number = number(key);
        match self.files.entry(number) {
            std::collections::hash_map::Entry::Occupied(held) => Ok(held.into_mut()),
            std::collections::hash_map::Entry::Vacant(free) => {
                Ok(free.insert(places.open_lock(&format!("{number:x}"))?))
            }
        }
    }
}

fn number(key: Key) -> u64 {
    key.0 % FILES
}

fn set(file: &File, key: Key, kind: libc::c_int) -> nix::Result<()> {
    // Half of what a place in a file may be, so that none is out of range.
    let at = libc::off_t::try_from(key.0 >> 2).unwrap_or_default();
    let lock = libc::flock {
        l_type: kind as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: at,
        l_len: 1,
        l_pid: 0,
    };
    fcntl(file, FcntlArg::F_OFD_SETLK(&lock)).map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_keeps_others_out_until_it_is_given_back() {
        let dir = tempfile::TempDir::new().unwrap();
        let places = Places::new(dir.path().join("store"));
        places.create().unwrap();
        let (mut first, mut second) = (Locks::default(), Locks::default());
        let (one, two) = (Key(7), Key(7 + FILES * 4));
        assert!(first.take(&places, one).unwrap());
        assert!(first.take(&places, one).unwrap());
        assert!(!second.take(&places, one).unwrap());
        assert!(second.take(&places, two).unwrap());
        first.give_back(one);
        assert!(!second.take(&places, one).unwrap());
        first.give_back(one);
        assert!(second.take(&places, one).unwrap());
        drop(second);
        assert!(first.take(&places, one).unwrap());
    }
}
