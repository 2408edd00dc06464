//! State that all threads of an open store share.

use std::fs::File;
use std::path::PathBuf;

use sled::Db;
use windlass_ports::StoreError;
use windlass_ports::sync::{Mutex, MutexGuard};

use crate::folder::{StoreFolder, check_there};
use crate::head_index::HeadIndex;

/// An open store. Fields are dropped in this order, so that the lock outlives the database.
#[derive(Debug)]
pub(crate) struct OpenStore {
    pub(crate) dir: PathBuf,
    pub(crate) db: Db,
    /// Data file of the database, for syncs: sled's flush does not sync.
    pub(crate) data: File,
    pub(crate) heads: Mutex<HeadIndex>,
    pub(crate) lock: File,
}

impl OpenStore {
    /// Checks that the lock and the data file are still at their paths.
    pub(crate) fn check_there(&self) -> Result<(), StoreError> {
        let folder = StoreFolder { dir: self.dir.clone() };
        check_there(&self.lock, &folder.lock_file())?;
        check_there(&self.data, &folder.data_file())
    }

    pub(crate) fn heads(&self) -> MutexGuard<'_, HeadIndex> {
        self.heads.lock()
    }
}
