//! State that all threads of an open store share, and the cell that holds it while it is open.

use std::fs::File;
use std::path::PathBuf;
use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Duration, Instant};

use sled::Db;
use windlass_ports::sync::{Mutex, MutexGuard};
use windlass_ports::{StoreError, StoreErrorKind};

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

/// Longest wait for reads of a store that is closed, and the pause between two looks.
const CLOSING: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(2);

/// Holds an open store. It is empty while the store is opened again.
#[derive(Debug)]
pub(crate) struct StoreCell {
    dir: PathBuf,
    open: Mutex<Option<Arc<OpenStore>>>,
}

impl StoreCell {
    pub(crate) fn new(store: OpenStore) -> Self {
        Self { dir: store.dir.clone(), open: Mutex::new(Some(Arc::new(store))) }
    }

    pub(crate) fn dir(&self) -> &PathBuf {
        &self.dir
    }

    /// Returns the open store.
    ///
    /// # Errors
    /// `Unavailable` while it is being opened again.
    pub(crate) fn get(&self) -> Result<Arc<OpenStore>, StoreError> {
        let open = self.open.lock().clone();
        open.ok_or_else(|| {
            let context = format!(
                "the sled store {} is closed after a failure and not open again yet: retry",
                self.dir.display()
            );
            StoreError::new(StoreErrorKind::Unavailable, context)
        })
    }

    /// Closes the store: nobody gets it any more, and its last user drops it.
    ///
    /// # Errors
    /// `Ended` when a read of it does not end in time: its lock stays with this process.
    pub(crate) fn close(&self) -> Result<(), StoreError> {
        let Some(store) = self.open.lock().take() else {
            return Ok(());
        };
        let closed = Arc::downgrade(&store);
        drop(store);
        let begun = Instant::now();
        while Weak::strong_count(&closed) > 0 {
            if begun.elapsed() > CLOSING {
                let context = format!(
                    "closing the sled store {}: a read of it does not end: end this process, and \
                     start it again",
                    self.dir.display()
                );
                return Err(StoreError::new(StoreErrorKind::Ended, context));
            }
            thread::sleep(PAUSE);
        }
        Ok(())
    }

    pub(crate) fn put(&self, store: OpenStore) {
        *self.open.lock() = Some(Arc::new(store));
    }
}
