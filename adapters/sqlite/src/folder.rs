//! The folder of a store: the database with SQLite's own files beside it, the witness, and the locks.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use windlass_ports::{StoreError, StoreErrorKind};

use crate::error::io_error;

/// Longest wait for another process that opens the store.
const PATIENCE: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(5);

/// Paths in the folder of a store.
#[derive(Debug, Clone)]
pub(crate) struct StoreFolder {
    pub(crate) dir: PathBuf,
}

/// Identity of a file: its device and its number.
pub(crate) type FileId = (u64, u64);

impl StoreFolder {
    pub(crate) fn database(&self) -> PathBuf {
        self.dir.join("windlass.sqlite3")
    }

    pub(crate) fn witness(&self) -> PathBuf {
        self.dir.join("witness")
    }

    fn locks(&self) -> PathBuf {
        self.dir.join("locks")
    }

    pub(crate) fn checkpoints(&self) -> PathBuf {
        self.dir.join("checkpoints")
    }

    /// Lock file of a store object.
    pub(crate) fn owner_lock(&self, owner: i64) -> PathBuf {
        self.locks().join(owner.to_string())
    }

    /// Creates the folders that are missing.
    pub(crate) fn create(&self) -> Result<(), StoreError> {
        for folder in [self.locks(), self.checkpoints()] {
            let created = DirBuilder::new().recursive(true).mode(0o700).create(&folder);
            created.map_err(|error| io_error("creating", &folder, error))?;
        }
        Ok(())
    }

    /// Locks the store for its opening, waiting for other processes.
    pub(crate) fn lock_opening(&self) -> Result<File, StoreError> {
        let path = self.locks().join("opening");
        let file = lock_file(&path).map_err(|error| io_error("locking", &path, error))?;
        let begun = Instant::now();
        loop {
            if try_lock(&file).map_err(|error| io_error("locking", &path, error))? {
                return Ok(file);
            }
            if begun.elapsed() > PATIENCE {
                let context = format!(
                    "opening the SQLite store {}: another process opens it for longer than {} s; \
                     wait for it or end it",
                    self.dir.display(),
                    PATIENCE.as_secs()
                );
                return Err(StoreError::new(StoreErrorKind::Locked, context));
            }
            thread::sleep(PAUSE);
        }
    }

    /// Creates the file of the database, readable for its user alone, and makes its name durable. An
    /// existing one is not opened: closing it would end the locks that SQLite holds on it in this process.
    pub(crate) fn create_database(&self) -> Result<(), StoreError> {
        let path = self.database();
        let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
        match made {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(io_error("creating", &path, error)),
        }
        // Any of the folders above may be new, made by a process that ended before it synced them.
        for folder in self.dir.ancestors() {
            match sync_folder(folder) {
                // Nobody who may not read a folder made this store's name in it.
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {}
                synced => synced.map_err(|error| io_error("syncing", folder, error))?,
            }
        }
        Ok(())
    }

    /// Identity and size of the database's file; `None` if there is none.
    pub(crate) fn database_file(&self) -> Result<Option<(FileId, u64)>, StoreError> {
        let path = self.database();
        match fs::metadata(&path) {
            Ok(file) => Ok(Some(((file.dev(), file.ino()), file.len()))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(io_error("opening", &path, error)),
        }
    }
}

/// Opens a lock file, which has no content.
pub(crate) fn lock_file(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(path)
}

/// Takes an exclusive lock, if nobody else has the file locked. It ends with the file.
pub(crate) fn try_lock(file: &File) -> io::Result<bool> {
    match flock(file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(true),
        Err(Errno::WOULDBLOCK) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

fn sync_folder(folder: &Path) -> io::Result<()> {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    File::open(folder)?.sync_all()
}
