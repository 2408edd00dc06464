//! The folder of the blobs: paths, permissions, and removal of unfinished files.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use rustix::fs::{FlockOperation, OFlags, flock};
use sha2::{Digest as _, Sha256};
use windlass_core::{SessionId, StoredOutput};
use windlass_ports::{BlobError, BlobErrorKind, is_blob_name};

use super::from_io;
use super::partial::{PartialBlob, hex};
use crate::disk::Disk;
use crate::paths::{flags, regular, sync_above};

/// Suffix of an unfinished blob.
const UNFINISHED: &str = ".part";
/// Attempts to find an unused name.
const TRIES: u32 = 64;
/// Bytes per read of a whole blob.
const PAGE: usize = 256 * 1024;

/// Next number for the name of an unfinished file.
static NEXT: AtomicU64 = AtomicU64::new(1);

/// Folder of all blobs, with one folder per session.
#[derive(Debug)]
pub(super) struct BlobFolder {
    /// Path of the folder `blobs`.
    root: PathBuf,
    /// True once the entries of the parent folders are durable.
    synced: AtomicBool,
}

impl BlobFolder {
    pub(super) fn new(root: PathBuf) -> Self {
        Self { root, synced: AtomicBool::new(false) }
    }

    fn all(&self) -> PathBuf {
        self.root.join("blobs")
    }

    fn folder(&self, session: &SessionId) -> PathBuf {
        self.all().join(session.as_str())
    }

    /// Creates a session's folder and removes abandoned unfinished files. Returns the bytes of the
    /// remaining blobs.
    pub(super) fn open(&self, session: &SessionId) -> Result<u64, BlobError> {
        let folder = self.folder(session);
        let at = |error| from_io(error, "keeping an output in", &folder);
        let mut create = DirBuilder::new();
        create.recursive(true).mode(0o700);
        create.create(&folder).map_err(at)?;
        let mut held = 0_u64;
        for entry in fs::read_dir(&folder).map_err(at)? {
            let path = entry.map_err(at)?.path();
            let unfinished = path.as_os_str().as_encoded_bytes().ends_with(b".part");
            if unfinished && abandoned(&path) && fs::remove_file(&path).is_ok() {
                continue;
            }
            // What went meanwhile takes nothing.
            let bytes = fs::symlink_metadata(&path).map_or(0, |found| found.len());
            held = held.saturating_add(bytes);
        }
        Ok(held)
    }

    /// Removes a session's folder and its content.
    pub(super) fn erase(&self, session: &SessionId) -> Result<(), BlobError> {
        let folder = self.folder(session);
        let at = |error| from_io(error, "erasing the outputs in", &folder);
        match fs::remove_dir_all(&folder) {
            Ok(()) => File::open(self.all()).and_then(|all| all.sync_all()).map_err(at),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(at(error)),
        }
    }

    /// Creates an unfinished file with a lock that marks it as being written.
    pub(super) fn begin(
        &self,
        session: &SessionId,
        disk: &dyn Disk,
    ) -> Result<PartialBlob, BlobError> {
        let folder = self.folder(session);
        let at = |error| from_io(error, "keeping an output in", &folder);
        for _ in 0..TRIES {
            let number = NEXT.fetch_add(1, Ordering::SeqCst);
            let path = folder.join(format!("{}-{number}{UNFINISHED}", process::id()));
            let created =
                OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&path);
            let file = match created {
                Ok(file) => file,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                Err(error) => return Err(at(error)),
            };
            // Another process may have swept it away before it was locked.
            if flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok() && is_at(&file, &path)
            {
                return Ok(PartialBlob::new(disk.wrap(file, &path), path));
            }
        }
        Err(at(io::Error::other("no name for it is free")))
    }

    /// Renames a finished file to its final name, durably.
    pub(super) fn name(
        &self,
        session: &SessionId,
        unfinished: &Path,
        name: &str,
    ) -> io::Result<()> {
        let folder = self.folder(session);
        fs::rename(unfinished, folder.join(name))?;
        File::open(&folder)?.sync_all()?;
        File::open(self.all())?.sync_all()?;
        if !self.synced.load(Ordering::SeqCst) {
            sync_above(&self.root)?;
            self.synced.store(true, Ordering::SeqCst);
        }
        Ok(())
    }

    pub(super) fn read(
        &self,
        session: &SessionId,
        name: &str,
        offset: u64,
        limit: usize,
    ) -> Result<Vec<u8>, BlobError> {
        let (file, path) = self.find(session, name)?;
        let at = |error| from_io(error, "reading", &path);
        let left = file.metadata().map_err(at)?.len().saturating_sub(offset);
        let room = usize::try_from(left).unwrap_or(usize::MAX).min(limit);
        let mut page = vec![0; room];
        let read = fill(&file, &mut page, offset).map_err(at)?;
        page.truncate(read);
        Ok(page)
    }

    pub(super) fn verify(
        &self,
        session: &SessionId,
        name: &str,
    ) -> Result<StoredOutput, BlobError> {
        let (file, path) = self.find(session, name)?;
        let (mut hash, mut bytes) = (Sha256::new(), 0_u64);
        let mut page = vec![0; PAGE];
        loop {
            let read = fill(&file, &mut page, bytes);
            let read = read.map_err(|error| from_io(error, "reading", &path))?;
            hash.update(page.get(..read).unwrap_or_default());
            bytes = bytes.saturating_add(read as u64);
            if read < PAGE {
                break;
            }
        }
        let sha256 = hex(hash);
        if sha256 != name {
            let context = format!(
                "{} is damaged: its {bytes} bytes have the digest {sha256}; it must come from a \
                 copy",
                path.display()
            );
            return Err(BlobError::new(BlobErrorKind::Corrupt, context));
        }
        Ok(StoredOutput { sha256, bytes })
    }

    fn find(&self, session: &SessionId, name: &str) -> Result<(File, PathBuf), BlobError> {
        if !is_blob_name(name) {
            return Err(BlobError::not_found(session, name));
        }
        let path = self.folder(session).join(name);
        let opened = open(&path).and_then(|file| regular(&file).map(|()| file));
        match opened {
            Ok(file) => Ok((file, path)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Err(BlobError::not_found(session, name))
            }
            Err(error) => Err(from_io(error, "reading", &path)),
        }
    }
}

/// Opens a file for reading. Does not block on a FIFO.
fn open(path: &Path) -> io::Result<File> {
    let how = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    OpenOptions::new().read(true).custom_flags(flags(how)).open(path)
}

/// Returns true if no process writes an unfinished file: its writer held a lock.
fn abandoned(path: &Path) -> bool {
    open(path).is_ok_and(|file| {
        regular(&file).is_ok() && flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok()
    })
}

/// Returns true if an open file is the one at this path.
fn is_at(file: &File, path: &Path) -> bool {
    let place = |found: fs::Metadata| (found.dev(), found.ino());
    let named = fs::symlink_metadata(path).map(place);
    let ours = file.metadata().map(place);
    matches!((named, ours), (Ok(named), Ok(ours)) if named == ours)
}

/// Reads until the buffer is full or the file ends. Returns the number of bytes.
fn fill(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    let mut done = 0;
    while let Some(rest) = buffer.get_mut(done..).filter(|rest| !rest.is_empty()) {
        match file.read_at(rest, offset.saturating_add(done as u64)) {
            Ok(0) => break,
            Ok(read) => done += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(done)
}
