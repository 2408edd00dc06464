//! The folder of a store: `lock`, `witness`, and `db/`, which is sled's own.

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

/// How long a lock that another holds is waited for.
const PATIENCE: Duration = Duration::from_millis(500);
/// Between two looks at it.
const PAUSE: Duration = Duration::from_millis(5);

/// Where things are.
#[derive(Debug, Clone)]
pub(crate) struct Folder {
    pub(crate) dir: PathBuf,
}

/// What there is of the database before it is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DataFile {
    /// There is not even a folder for it.
    Never,
    Gone,
    Present {
        bytes: u64,
    },
}

/// Takes the lock, and waits a little for it.
///
/// A process that is killed while it starts another leaves a fork of itself, which holds the lock
/// until it has become the other program. Whoever restarts at once must not be told `Locked`.
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

impl Folder {
    /// The folder given to sled.
    pub(crate) fn database(&self) -> PathBuf {
        self.dir.join("db")
    }

    /// The one file in which sled keeps everything.
    pub(crate) fn data_file(&self) -> PathBuf {
        self.database().join("db")
    }

    pub(crate) fn witness(&self) -> PathBuf {
        self.dir.join("witness")
    }

    /// The folder in which a new database is made.
    pub(crate) fn unfinished(&self) -> PathBuf {
        self.dir.join("db.new")
    }

    /// Makes the folder, for its owner alone.
    pub(crate) fn create(&self) -> Result<(), StoreError> {
        create(&self.dir)
    }

    /// Makes an empty folder for a new database. What is in the way never held a fact.
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

    /// Gives a new database its place, once all of it is on the disk.
    pub(crate) fn finish_database(&self) -> Result<(), StoreError> {
        let dir = self.unfinished();
        self.sync(&dir)?;
        let renamed = fs::rename(&dir, self.database());
        renamed.map_err(|error| io_error("renaming the new", &dir, error))?;
        self.sync(&self.database())
    }

    /// Becomes the one process, and the one store object in it, that has this folder.
    ///
    /// The lock is the kernel's and ends with the process.
    pub(crate) fn lock(&self) -> Result<File, StoreError> {
        let path = self.lock_file();
        let mut options = OpenOptions::new();
        options
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600);
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
        let noted = file
            .set_len(0)
            .and_then(|()| file.write_all(number.as_bytes()));
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

    /// Removes what a kill in the middle of opening leaves: sled takes a half-written snapshot
    /// for its newest one and never opens again, though the one before is whole.
    pub(crate) fn clear_half_snapshots(&self) -> Result<(), StoreError> {
        for path in files(&self.database())? {
            if path.to_string_lossy().ends_with(".generating") {
                let removed = fs::remove_file(&path);
                removed.map_err(|error| io_error("removing", &path, error))?;
            }
        }
        Ok(())
    }

    /// Syncs every file and folder of a database and the folders above it, up to the root of the
    /// filesystem, and makes the files their owner's alone.
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

    /// The file that is locked while the store is open.
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

/// Checks that a file which is open stands at its path.
///
/// Somebody may have removed or moved the folder, or the file in it, and what is written to it is
/// lost then.
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

/// Whether an error says that there is nothing under a name.
fn is_absent(error: &io::Error) -> bool {
    let kind = error.kind();
    kind == io::ErrorKind::NotFound || kind == io::ErrorKind::NotADirectory
}

/// Makes the name of a folder durable, and those of the folders above it.
///
/// Who created these, and whether that process lived to sync them, is not known, so all of the
/// filesystem's are synced. A parent that this user may not open was there before.
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
