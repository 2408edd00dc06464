//! The files and folders of a store: paths, permissions, locks of lanes, and durable creation.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::io::Errno;
use windlass_core::SessionId;

use crate::format::SegmentId;
use crate::unattributed::DamageLocation;

/// Lane of the merged segments, which no process appends to.
pub(crate) const MERGED_WRITER: u16 = 0xffff;
/// Most lanes, and so most processes that write to one store at the same time.
pub(crate) const MAX_WRITERS: u16 = 1_024;

/// Paths in the folder of a store.
#[derive(Debug)]
pub(crate) struct StorePaths {
    root: PathBuf,
    /// True once the entries of the parent folders are durable.
    synced: AtomicBool,
}

impl StorePaths {
    pub(crate) fn new(root: PathBuf) -> Self {
        Self { root, synced: AtomicBool::new(false) }
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Folder of all lanes.
    pub(crate) fn writers_folder(&self) -> PathBuf {
        self.root.join("lanes")
    }

    pub(crate) fn writer_folder(&self, lane: u16) -> PathBuf {
        self.writers_folder().join(format!("{lane:04x}"))
    }

    pub(crate) fn segment(&self, place: SegmentId) -> PathBuf {
        self.writer_folder(place.writer).join(format!("{:08x}.seg", place.number))
    }

    pub(crate) fn index(&self, place: SegmentId) -> PathBuf {
        self.writer_folder(place.writer).join(format!("{:08x}.idx", place.number))
    }

    fn witnesses(&self) -> PathBuf {
        self.root.join("witness")
    }

    /// File that states the content of a segment.
    pub(crate) fn witness(&self, place: SegmentId) -> PathBuf {
        self.witnesses().join(format!("{:04x}", place.writer)).join(format!("{:08x}", place.number))
    }

    /// Lists the lanes of witnessed segments.
    pub(crate) fn list_witnessed_writers(&self) -> io::Result<Vec<u16>> {
        writers_in(&self.witnesses())
    }

    /// Lists the numbers of a lane's segments that have a witness.
    pub(crate) fn list_witnessed(&self, lane: u16) -> io::Result<Vec<u32>> {
        let names = names(&self.witnesses().join(format!("{lane:04x}")))?;
        let whole = names.iter().filter(|name| name.len() == 8);
        Ok(whole.filter_map(|name| u32::from_str_radix(name, 16).ok()).collect())
    }

    fn locks(&self) -> PathBuf {
        self.root.join("locks")
    }

    /// File that probes of the store write. It has no content between them.
    pub(crate) fn probe(&self) -> PathBuf {
        self.root.join("probe")
    }

    /// File that records that a session is being erased.
    pub(crate) fn erasing(&self, session: &SessionId) -> PathBuf {
        self.erasings().join(session.as_str())
    }

    fn erasings(&self) -> PathBuf {
        self.root.join("erasing")
    }

    /// Folder of the records of repairs in progress.
    pub(crate) fn repairs(&self) -> PathBuf {
        self.root.join("repairs")
    }

    /// File that records that a session's log is being cut off.
    pub(crate) fn truncating(&self, session: &SessionId) -> PathBuf {
        self.repairs().join(session.as_str())
    }

    /// File that records that damage is being discarded. No session has such a name.
    pub(crate) fn discarding(&self, at: DamageLocation) -> PathBuf {
        self.repairs().join(format!("@{}", at.to_string().replace(['/', '@'], "-")))
    }

    pub(crate) fn checkpoint(&self, session: &SessionId) -> PathBuf {
        self.checkpoints().join(format!("{session}.snap"))
    }

    pub(crate) fn checkpoints(&self) -> PathBuf {
        self.root.join("snapshots")
    }

    /// Folder of a session's long outputs.
    pub(crate) fn blobs(&self, session: &SessionId) -> PathBuf {
        self.root.join("blobs").join(session.as_str())
    }

    /// Lists the sessions that are being erased.
    pub(crate) fn list_erasings(&self) -> io::Result<Vec<SessionId>> {
        let names = names(&self.erasings())?;
        let names = names.iter().filter(|name| part_of(name).is_none());
        Ok(names.filter_map(|id| SessionId::new(id).ok()).collect())
    }

    /// Creates missing folders with access for the owner alone.
    pub(crate) fn create(&self) -> io::Result<()> {
        // Whoever finds lanes expects their locks.
        create(&self.locks())?;
        create(&self.writers_folder())
    }

    /// Makes the entries of a lane's folder durable, and the entry of that folder.
    ///
    /// Another process may create a lane at any time, so the folder of all lanes is synced each
    /// time and its parents once.
    pub(crate) fn sync_writer_folder(&self, lane: u16) -> io::Result<()> {
        File::open(self.writer_folder(lane))?.sync_all()?;
        File::open(self.writers_folder())?.sync_all()?;
        if self.synced.load(Ordering::SeqCst) {
            return Ok(());
        }
        sync_above(&self.root)?;
        self.synced.store(true, Ordering::SeqCst);
        Ok(())
    }

    /// Opens a lock file to look at its locks; `None` if there is none.
    pub(crate) fn lock_to_read(&self, name: &str) -> io::Result<Option<File>> {
        open_to_read(&self.locks().join(name))
    }

    /// Opens a lock file. It stays when its lock is released.
    pub(crate) fn open_lock(&self, name: &str) -> io::Result<File> {
        open_to_write(&self.locks().join(name), true)
    }

    /// Lock file of a lane's writer.
    pub(crate) fn writer_lock(&self, lane: u16) -> PathBuf {
        self.locks().join(format!("lane-{lane:04x}"))
    }

    /// Locks a lane. Returns `None` if another process holds it.
    pub(crate) fn lock_writer(&self, lane: u16) -> io::Result<Option<File>> {
        let file = open_to_write(&self.writer_lock(lane), true)?;
        try_lock(file, FlockOperation::NonBlockingLockExclusive)
    }

    /// Keeps sessions from being erased while an index is made from what a segment holds. Returns
    /// `None` while one is erased.
    pub(crate) fn lock_content(&self) -> io::Result<Option<File>> {
        try_lock(self.open_lock("content")?, FlockOperation::NonBlockingLockShared)
    }

    /// Keeps indexes from being made while a session is erased from a segment. Returns `None` while
    /// one is made.
    pub(crate) fn lock_erasing(&self) -> io::Result<Option<File>> {
        try_lock(self.open_lock("content")?, FlockOperation::NonBlockingLockExclusive)
    }

    /// Lists all lanes, including the lane of merged segments.
    pub(crate) fn list_writers(&self) -> io::Result<Vec<u16>> {
        let mut lanes = writers_in(&self.writers_folder())?;
        lanes.extend(self.list_witnessed_writers()?);
        lanes.sort_unstable();
        lanes.dedup();
        Ok(lanes)
    }

    /// Lists the numbers of a lane's segments, including those that are missing and have a witness.
    pub(crate) fn list_segments(&self, lane: u16) -> io::Result<Vec<u32>> {
        // What is removed in order loses its witness first.
        let mut numbers = self.list_witnessed(lane)?;
        numbers.extend(self.list_present(lane)?);
        numbers.sort_unstable();
        numbers.dedup();
        Ok(numbers)
    }

    /// Lists the numbers of a lane's segments that have a file.
    pub(crate) fn list_present(&self, lane: u16) -> io::Result<Vec<u32>> {
        let names = names(&self.writer_folder(lane))?;
        let mut numbers: Vec<u32> = names
            .iter()
            .filter_map(|name| name.strip_suffix(".seg"))
            .filter_map(|name| u32::from_str_radix(name, 16).ok())
            .collect();
        numbers.sort_unstable();
        Ok(numbers)
    }

    /// Lists all segments, lane by lane.
    pub(crate) fn list_all(&self) -> io::Result<Vec<SegmentId>> {
        let mut all = Vec::new();
        for lane in self.list_writers()? {
            let numbers = self.list_segments(lane)?.into_iter();
            all.extend(numbers.map(|number| SegmentId { writer: lane, number }));
        }
        Ok(all)
    }
}

/// Identity of an open file, independent of its path. No other file has the same while it is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileIdentity {
    device: u64,
    number: u64,
}

impl FileIdentity {
    pub(crate) fn of(file: &File) -> io::Result<Self> {
        file.metadata().map(|found| Self::from_metadata(&found))
    }

    fn from_metadata(found: &fs::Metadata) -> Self {
        Self { device: found.dev(), number: found.ino() }
    }

    /// Returns true if this file is at `path`.
    pub(crate) fn is_at(self, path: &Path) -> io::Result<bool> {
        if let Some(found) = Self::looked_up(path) {
            return Ok(found == self);
        }
        match fs::symlink_metadata(path) {
            Ok(found) => Ok(Self::from_metadata(&found) == self),
            Err(error) if is_absent(&error) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Looks up the file at `path` without its times, if the system can.
    ///
    /// Since Linux 6.13 a query of a file's times makes the next write record a new one
    /// ("multigrain timestamps"), so that each sync writes the inode too. A query per group cost a
    /// quarter of the appends.
    #[cfg(target_os = "linux")]
    fn looked_up(path: &Path) -> Option<Self> {
        use rustix::fs::{AtFlags, CWD, StatxFlags, makedev, statx};
        let found = statx(CWD, path, AtFlags::SYMLINK_NOFOLLOW, StatxFlags::INO).ok()?;
        Some(Self {
            device: makedev(found.stx_dev_major, found.stx_dev_minor),
            number: found.stx_ino,
        })
    }

    #[cfg(not(target_os = "linux"))]
    fn looked_up(_: &Path) -> Option<Self> {
        None
    }
}

/// Returns true if an error means that nothing is at a path.
fn is_absent(error: &io::Error) -> bool {
    let kind = error.kind();
    kind == io::ErrorKind::NotFound || kind == io::ErrorKind::NotADirectory
}

/// Next number for the name of an unfinished file.
static PARTS: AtomicU64 = AtomicU64::new(1);

/// Lists the lanes whose names are in a folder.
fn writers_in(folder: &Path) -> io::Result<Vec<u16>> {
    let names = names(folder)?;
    let lanes = names.iter().filter(|name| name.len() == 4);
    Ok(lanes.filter_map(|name| u16::from_str_radix(name, 16).ok()).collect())
}

/// Lists the names in a folder; a missing folder has none.
pub(crate) fn names(folder: &Path) -> io::Result<Vec<String>> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut names = Vec::new();
    for entry in entries {
        names.extend(entry?.file_name().into_string().ok());
    }
    Ok(names)
}

/// Creates a missing folder with access for the owner alone.
pub(crate) fn create(folder: &Path) -> io::Result<()> {
    let mut create = DirBuilder::new();
    create.recursive(true).mode(0o700).create(folder)
}

fn try_lock(file: File, how: FlockOperation) -> io::Result<Option<File>> {
    match flock(&file, how) {
        Ok(()) => Ok(Some(file)),
        Err(Errno::WOULDBLOCK) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Opens a file for reading; returns `None` if there is none.
pub(crate) fn open_to_read(path: &Path) -> io::Result<Option<File>> {
    #[cfg(test)]
    crate::disk::calls::count();
    let mut options = OpenOptions::new();
    // Without waiting, because opening a FIFO waits for its other end.
    let how = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    options.read(true).custom_flags(flags(how));
    match options.open(path) {
        Ok(file) => regular(&file).map(|()| Some(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Opens a file for reading and writing.
pub(crate) fn open_to_write(path: &Path, create: bool) -> io::Result<File> {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(create)
        .truncate(false)
        .mode(0o600)
        .custom_flags(flags(OFlags::NOFOLLOW | OFlags::NONBLOCK))
        .open(path)?;
    regular(&file)?;
    Ok(file)
}

/// Returns the final name of an unfinished file of [`put`].
pub(crate) fn part_of(name: &str) -> Option<&str> {
    let (name, writer) = name.strip_suffix(".part")?.rsplit_once('.')?;
    let (process, number) = writer.split_once('-')?;
    let numbers = [process, number].iter().all(|part| part.parse::<u64>().is_ok());
    numbers.then_some(name)
}

/// Writes a file completely or not at all. It is durable only with `sync`.
pub(crate) fn put(path: &Path, bytes: &[u8], sync: bool) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    create(folder)?;
    let mut part = path.as_os_str().to_owned();
    let number = PARTS.fetch_add(1, Ordering::SeqCst);
    part.push(format!(".{}-{number}.part", std::process::id()));
    let part = PathBuf::from(part);
    let written = (|| {
        let file = open_to_write(&part, true)?;
        file.set_len(0)?;
        crate::disk::write_all_at(&file, bytes, 0)?;
        if sync {
            file.sync_all()?;
        }
        fs::rename(&part, path)?;
        if sync {
            File::open(folder)?.sync_all()?;
        }
        Ok(())
    })();
    if written.is_err() {
        let _ = fs::remove_file(&part);
    }
    written
}

/// Makes the entries of a folder and of its parents durable.
///
/// Another process may have created a parent and died before a sync, so all parents on the file
/// system are synced. A parent that this user may not open existed before.
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

/// Refuses a FIFO, a device or a folder, which could block a reader forever.
pub(crate) fn regular(file: &File) -> io::Result<()> {
    if file.metadata()?.is_file() {
        return Ok(());
    }
    Err(io::Error::other("it is no regular file"))
}

/// Converts open flags for the standard library.
pub(crate) fn flags(flags: OFlags) -> i32 {
    i32::try_from(flags.bits()).unwrap_or_default()
}
