//! The folder of a store: `lock`, `witness` (the head index file), and `db/`, which belongs to
//! sled.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use windlass_ports::{StoreError, StoreErrorKind};

use crate::error::io_error;

/// Bytes that a disk must take before the store is opened again.
const TRIED_BYTES: usize = 1024 * 1024;
/// Longest wait for a lock of another process.
const PATIENCE: Duration = Duration::from_millis(500);
/// Pause between two attempts.
const PAUSE: Duration = Duration::from_millis(5);

/// Paths in the folder of a store.
#[derive(Debug, Clone)]
pub(crate) struct StoreFolder {
    pub(crate) dir: PathBuf,
}

/// State of the database folder before opening.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DataFile {
    /// Missing, with its folder.
    Never,
    Gone,
    Present {
        bytes: u64,
    },
}

/// Locks a file, waiting a little.
///
/// A process that is killed while it starts a child leaves a fork that holds its locks until it
/// executes the child's program. Without the wait, an immediate restart would get `Locked`.
fn patiently(file: &File) -> Result<(), Errno> {
    let begun = Instant::now();
    loop {
        let taken = flock(file, FlockOperation::NonBlockingLockExclusive);
        if taken != Err(Errno::WOULDBLOCK) || begun.elapsed() >= PATIENCE {
            return taken;
        }
        thread::sleep(PAUSE);
    }
}

impl StoreFolder {
    /// Folder of the database.
    pub(crate) fn database(&self) -> PathBuf {
        self.dir.join("db")
    }

    /// Data file of the database.
    pub(crate) fn data_file(&self) -> PathBuf {
        self.database().join("db")
    }

    pub(crate) fn head_index_path(&self) -> PathBuf {
        self.dir.join("witness")
    }

    /// Folder to create a new database in.
    pub(crate) fn unfinished(&self) -> PathBuf {
        self.dir.join("db.new")
    }

    /// Creates the folder with access for its owner alone.
    pub(crate) fn create(&self) -> Result<(), StoreError> {
        create(&self.dir)
    }

    /// Creates an empty folder for a new database and removes an unfinished one.
    pub(crate) fn begin_database(&self) -> Result<PathBuf, StoreError> {
        let dir = self.unfinished();
        match fs::remove_dir_all(&dir) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(io_error("removing the unfinished", &dir, error)),
        }
        create(&dir)?;
        Ok(dir)
    }

    /// Renames a new database to its final path once it is durable.
    pub(crate) fn finish_database(&self) -> Result<(), StoreError> {
        let dir = self.unfinished();
        self.sync(&dir)?;
        let renamed = fs::rename(&dir, self.database());
        renamed.map_err(|error| io_error("renaming the new", &dir, error))?;
        self.sync(&self.database())
    }

    /// Locks the folder for this process and store object. The kernel releases the lock when the
    /// process ends.
    pub(crate) fn lock(&self) -> Result<File, StoreError> {
        let path = self.lock_file();
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let opened = options.open(&path);
        let mut file = opened.map_err(|error| io_error("opening the lock file", &path, error))?;
        match patiently(&file) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => return Err(self.locked(&path)),
            Err(error) => return Err(io_error("locking", &path, error.into())),
        }
        // The holder's number is a courtesy in the message of whoever comes second; a full disk
        // does not keep the store from opening.
        let number = format!("{}\n", std::process::id());
        let noted = file.set_len(0).and_then(|()| file.write_all(number.as_bytes()));
        if let Err(error) = noted {
            tracing::debug!(%error, "the lock file does not name its holder");
        }
        Ok(file)
    }

    pub(crate) fn data(&self) -> Result<DataFile, StoreError> {
        let path = self.data_file();
        match fs::metadata(&path) {
            Ok(meta) if meta.len() == 0 => Ok(DataFile::Gone),
            Ok(meta) => Ok(DataFile::Present { bytes: meta.len() }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                match self.database().symlink_metadata() {
                    Ok(_) => Ok(DataFile::Gone),
                    Err(_) => Ok(DataFile::Never),
                }
            }
            Err(error) => Err(io_error("looking at", &path, error)),
        }
    }

    /// Removes unfinished snapshots of sled. It would take one for its newest snapshot and never
    /// open again.
    pub(crate) fn clear_half_checkpoints(&self) -> Result<(), StoreError> {
        for path in files(&self.database())? {
            if path.to_string_lossy().ends_with(".generating") {
                let removed = fs::remove_file(&path);
                removed.map_err(|error| io_error("removing", &path, error))?;
            }
        }
        Ok(())
    }

    /// Syncs all files and folders of a database and their parents, and restricts the files to
    /// their owner.
    pub(crate) fn sync(&self, database: &Path) -> Result<(), StoreError> {
        let blobs = database.join("blobs");
        for path in files(database)?.into_iter().chain(files(&blobs)?) {
            sync_file(&path).map_err(|error| io_error("syncing", &path, error))?;
        }
        for path in [&*blobs, database, &*self.dir] {
            let synced = File::open(path).and_then(|dir| dir.sync_all());
            synced.map_err(|error| io_error("syncing the folder", path, error))?;
        }
        sync_above(&self.dir)
            .map_err(|error| io_error("syncing the folders above", &self.dir, error))
    }

    /// Writes a file of some size, makes it durable, and removes it.
    ///
    /// # Errors
    /// `Ended` when the folder is gone; else those of writing.
    pub(crate) fn try_write(&self) -> Result<(), StoreError> {
        let path = self.dir.join("probe");
        let tried = File::create(&path).and_then(|mut file| {
            file.write_all(&vec![0; TRIED_BYTES])?;
            file.sync_all()
        });
        let removed = fs::remove_file(&path);
        tried.and(removed).map_err(|error| {
            if error.kind() != io::ErrorKind::NotFound {
                return io_error("writing a file in", &self.dir, error);
            }
            let context = format!(
                "the folder {} is gone: end this process, and start it again once that is repaired",
                self.dir.display()
            );
            StoreError::new(StoreErrorKind::Ended, context).caused_by(error)
        })
    }

    /// Lock file of an open store.
    pub(crate) fn lock_file(&self) -> PathBuf {
        self.dir.join("lock")
    }

    fn locked(&self, path: &Path) -> StoreError {
        let holder = fs::read_to_string(path).unwrap_or_default();
        let holder = match holder.trim().parse::<u32>() {
            Ok(number) => format!("process {number}"),
            Err(_) => "another process".to_owned(),
        };
        StoreError::new(
            StoreErrorKind::Locked,
            format!(
                "the sled store {} is open in {holder}, and only one can have it: end that one, \
                 or use a store of your own",
                self.dir.display()
            ),
        )
    }
}

/// Checks that an open file is still at its path. If someone moved or removed it, writes to it are
/// lost.
pub(crate) fn check_there(file: &File, path: &Path) -> Result<(), StoreError> {
    let stands = || -> io::Result<bool> {
        let open = file.metadata()?;
        match fs::symlink_metadata(path) {
            Ok(found) => Ok((found.dev(), found.ino()) == (open.dev(), open.ino())),
            Err(error) if is_absent(&error) => Ok(false),
            Err(error) => Err(error),
        }
    };
    if stands().map_err(|error| io_error("looking at", path, error))? {
        return Ok(());
    }
    Err(StoreError::new(
        StoreErrorKind::Io,
        format!(
            "{} was removed, or something else was put in its place, while the store was open, so \
             nothing that is written can be found again: put back what stood there, or name \
             another folder, and open the store again",
            path.display()
        ),
    ))
}

/// Returns true if an error means that nothing is at a path.
fn is_absent(error: &io::Error) -> bool {
    let kind = error.kind();
    kind == io::ErrorKind::NotFound || kind == io::ErrorKind::NotADirectory
}

/// Makes the entries of a folder and of its parents durable.
///
/// Another process may have created a parent and died before a sync, so all parents on the file
/// system are synced. A parent that this user may not open existed before.
fn sync_above(folder: &Path) -> io::Result<()> {
    let folder = fs::canonicalize(folder)?;
    let device = fs::metadata(&folder)?.dev();
    for parent in folder.ancestors().skip(1) {
        let Ok(folder) = File::open(parent) else {
            break;
        };
        if folder.metadata()?.dev() != device {
            break;
        }
        folder.sync_all()?;
    }
    Ok(())
}

fn create(dir: &Path) -> Result<(), StoreError> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(dir);
    made.map_err(|error| io_error("creating the folder", dir, error))
}

fn sync_file(path: &Path) -> io::Result<()> {
    let file = OpenOptions::new().read(true).write(true).open(path)?;
    if file.metadata()?.permissions().mode() & 0o077 != 0 {
        file.set_permissions(Permissions::from_mode(0o600))?;
    }
    file.sync_all()
}

fn files(dir: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let list = || -> io::Result<Vec<PathBuf>> {
        let mut files = Vec::new();
        for entry in fs::read_dir(dir)? {
            let entry = entry?;
            if entry.file_type()?.is_file() {
                files.push(entry.path());
            }
        }
        files.sort();
        Ok(files)
    };
    match list() {
        Ok(files) => Ok(files),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(io_error("listing", dir, error)),
    }
}
