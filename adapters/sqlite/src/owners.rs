//! Owners of claims: each store object has a number, and a lock on a file of that name while it
//! lives. A claim whose owner has no lock any more is free.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io;

use rusqlite::Connection;
use windlass_ports::StoreError;

use crate::error::{io_error, sqlite_error};
use crate::folder::{StoreFolder, lock_file, try_lock};

/// This store object as an owner.
#[derive(Debug)]
pub(crate) struct Owner {
    pub(crate) number: i64,
    folder: StoreFolder,
    _lock: File,
}

impl Owner {
    /// Takes the next number. It is locked before any claim can name it.
    pub(crate) fn register(folder: &StoreFolder, db: &Connection) -> Result<Self, StoreError> {
        const NEXT: &str = "update store set owners = owners + 1 returning owners";
        loop {
            let number: i64 = db
                .query_row(NEXT, [], |row| row.get(0))
                .map_err(|error| sqlite_error("opening", &folder.dir, error))?;
            let path = folder.owner_lock(number);
            let locked = lock_file(&path).and_then(|file| Ok(try_lock(&file)?.then_some(file)));
            match locked.map_err(|error| io_error("locking", &path, error))? {
                Some(lock) => return Ok(Self { number, folder: folder.clone(), _lock: lock }),
                // A restored database counts from where it was: somebody has this number.
                None => continue,
            }
        }
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        let path = self.folder.owner_lock(self.number);
        if let Err(error) = fs::remove_file(&path) {
            tracing::debug!(%error, path = %path.display(), "a lock file was not removed");
        }
    }
}

/// Living owners, looked up once each.
#[derive(Debug)]
pub(crate) struct LivingOwners<'a> {
    folder: &'a StoreFolder,
    known: HashMap<i64, bool>,
}

impl<'a> LivingOwners<'a> {
    pub(crate) fn new(folder: &'a StoreFolder) -> Self {
        Self { folder, known: HashMap::new() }
    }

    /// Returns true while a store object with this number lives. The file of a dead one is removed.
    pub(crate) fn is_alive(&mut self, owner: i64) -> io::Result<bool> {
        if let Some(known) = self.known.get(&owner) {
            return Ok(*known);
        }
        let path = self.folder.owner_lock(owner);
        let alive = match File::open(&path) {
            Ok(file) => !try_lock(&file)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => false,
            Err(error) => return Err(error),
        };
        if !alive && let Err(error) = fs::remove_file(&path) {
            tracing::trace!(%error, "the lock file of a dead owner is gone already");
        }
        self.known.insert(owner, alive);
        Ok(alive)
    }
}
