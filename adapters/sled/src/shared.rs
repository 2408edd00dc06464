//! The state that all threads of an open store share.

use std::fs::File;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use sled::Db;
use windlass_ports::StoreError;

use crate::folder::{Folder, check_there};
use crate::heads::Heads;

/// An open store. The fields are dropped in this order: the lock outlives the database.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) dir: PathBuf,
    pub(crate) db: Db,
    /// The database's file, to sync it: sled's own flush does not.
    pub(crate) data: File,
    pub(crate) heads: Mutex<Heads>,
    pub(crate) lock: File,
}

impl Shared {
    /// Checks that the lock and the database's file stand where they are looked for.
    pub(crate) fn check_there(&self) -> Result<(), StoreError> {
        let folder = Folder {
            dir: self.dir.clone(),
        };
        check_there(&self.lock, &folder.lock_file())?;
        check_there(&self.data, &folder.data_file())
    }

    /// No panic can leave the heads half changed, so a poisoned lock is as good as any.
    pub(crate) fn heads(&self) -> MutexGuard<'_, Heads> {
        self.heads.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
