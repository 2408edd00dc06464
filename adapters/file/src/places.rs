//! Places: where a store's files are, who may see them, and how they come to stay there.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::io::Errno;
use windlass_core::SessionId;

/// How often a lock is tried anew because the file was replaced meanwhile.
const TRIES: u32 = 16;

/// How long a lock that another holds is waited for.
const PATIENCE: Duration = Duration::from_millis(500);
/// Between two looks at it.
const PAUSE: Duration = Duration::from_millis(5);

/// The folder of a store.
#[derive(Debug)]
pub(crate) struct Places {
    root: PathBuf,
    /// Whether the entries of the folders are known to be durable.
    synced: AtomicBool,
}

/// What came of trying to lock a file.
pub(crate) enum Locked {
    /// It is ours until the file is closed.
    Ours(File),
    /// Another holds it.
    Theirs,
}

impl Places {
    pub(crate) fn new(root: PathBuf) -> Self {
        Self {
            root,
            synced: AtomicBool::new(false),
        }
    }

    /// The folder that holds a file a session.
    pub(crate) fn sessions(&self) -> PathBuf {
        self.root.join("sessions")
    }

    /// A session's file.
    pub(crate) fn log(&self, session: &SessionId) -> PathBuf {
        self.sessions().join(format!("{session}.log"))
    }

    /// Creates the folders where they are missing, each for the owner alone.
    pub(crate) fn create(&self) -> io::Result<()> {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(self.sessions())
    }

    /// Makes the entry of a new file durable, and, the first time, those of the folders above.
    pub(crate) fn sync(&self) -> io::Result<()> {
        File::open(self.sessions())?.sync_all()?;
        if self.synced.load(Ordering::SeqCst) {
            return Ok(());
        }
        sync_above(&self.root)?;
        self.synced.store(true, Ordering::SeqCst);
        Ok(())
    }

    /// Opens a session's file for writing, creating it, and takes the lock on it.
    ///
    /// An empty file is removed when its claim ends, so the file that was locked may not be the
    /// one that now has the name; then it is tried anew.
    pub(crate) fn lock(&self, path: &Path) -> io::Result<Locked> {
        for _ in 0..TRIES {
            let file = OpenOptions::new()
                .read(true)
                .write(true)
                .create(true)
                .truncate(false)
                .mode(0o600)
                .custom_flags(flags(OFlags::NOFOLLOW | OFlags::NONBLOCK))
                .open(path)?;
            regular(&file)?;
            match patiently(&file) {
                Ok(()) => {}
                Err(Errno::WOULDBLOCK) => return Ok(Locked::Theirs),
                Err(error) => return Err(error.into()),
            }
            let ours = file.metadata()?;
            match fs::symlink_metadata(path) {
                Ok(named) if (named.dev(), named.ino()) == (ours.dev(), ours.ino()) => {
                    return Ok(Locked::Ours(file));
                }
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Locked::Theirs)
    }

    /// Opens a session's file for reading; nothing when there is none.
    pub(crate) fn open(&self, session: &SessionId) -> io::Result<Option<File>> {
        let mut options = OpenOptions::new();
        // Without waiting, because opening a FIFO waits for its other end.
        let how = OFlags::NOFOLLOW | OFlags::NONBLOCK;
        options.read(true).custom_flags(flags(how));
        match options.open(self.log(session)) {
            Ok(file) => regular(&file).map(|()| Some(file)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// All sessions that have a file, in the order of their ids, after `after`.
    pub(crate) fn list(&self, after: Option<&SessionId>) -> io::Result<Vec<SessionId>> {
        let entries = match fs::read_dir(self.sessions()) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut ids = Vec::new();
        for entry in entries {
            let name = entry?.file_name();
            let id = name.to_str().and_then(|name| name.strip_suffix(".log"));
            let id = id.and_then(|id| SessionId::new(id).ok());
            ids.extend(id.filter(|id| after.is_none_or(|after| id > after)));
        }
        ids.sort_unstable();
        Ok(ids)
    }
}

/// Makes the entries of a folder durable, and those of the folders above it.
///
/// Who created these, and whether that process lived to sync them, is not known, so all of the
/// filesystem's are synced. A parent that this user may not open was there before.
pub(crate) fn sync_above(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()?;
    let root = fs::canonicalize(folder)?;
    let device = fs::metadata(&root)?.dev();
    for parent in root.ancestors().skip(1) {
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

/// Refuses a FIFO, a device or a folder, which could hold a reader for ever.
pub(crate) fn regular(file: &File) -> io::Result<()> {
    if file.metadata()?.is_file() {
        return Ok(());
    }
    Err(io::Error::other("it is no regular file"))
}

/// Open flags as the standard library takes them.
pub(crate) fn flags(flags: OFlags) -> i32 {
    i32::try_from(flags.bits()).unwrap_or_default()
}
