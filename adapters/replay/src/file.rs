//! The file of a cassette: made readable for its owner alone, locked by who writes, bounded.

use std::fs::{File, OpenOptions, Permissions, TryLockError};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use crate::cassette::{self, Cassette};
use crate::error::ReplayError;

/// The most bytes of a cassette: it is read whole.
pub const CASSETTE_BYTES: u64 = 256 * 1024 * 1024;

/// Only the owner may read what somebody said to a model.
const MODE: u32 = 0o600;

/// A cassette that is written.
#[derive(Debug)]
pub(crate) struct CassetteFile {
    path: PathBuf,
    file: File,
    /// Bytes of whole lines.
    bytes: u64,
}

impl CassetteFile {
    /// Creates a new file.
    pub(crate) fn create(path: &Path) -> Result<Self, ReplayError> {
        let made = OpenOptions::new().write(true).create_new(true).mode(MODE).open(path);
        let file = made.map_err(|error| match error.kind() == io::ErrorKind::AlreadyExists {
            true => ReplayError::Exists(path.to_owned()),
            false => io("creating", path)(error),
        })?;
        Self::begin(path, file)
    }

    /// A file that exists, with what is in it; a torn last line is cut off, and it is taken from
    /// the eyes of all but its owner. Where there is none, a new one.
    pub(crate) fn append(path: &Path) -> Result<(Self, Cassette), ReplayError> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let mut file = open(options.mode(MODE), path)?;
        lock(&file, path)?;
        let bytes = whole(&mut file, path)?;
        if bytes.is_empty() {
            close(&file, path)?;
            return Ok((Self::begin(path, file)?, Cassette::default()));
        }
        let cassette =
            Cassette::parse(&bytes).map_err(|fault| ReplayError::of(fault, path.to_owned()))?;
        // Only now: a file that is no cassette is none of ours to change.
        close(&file, path)?;
        let kept = u64::try_from(cassette.whole_bytes).unwrap_or(u64::MAX);
        file.set_len(kept).map_err(io("repairing", path))?;
        let end = file.seek(SeekFrom::End(0));
        end.map_err(io("writing", path))?;
        let tape = Self { path: path.to_owned(), file, bytes: kept };
        Ok((tape, cassette))
    }

    /// Appends a line. After an error the file ends where it did before.
    pub(crate) fn write(&mut self, line: &[u8]) -> Result<(), ReplayError> {
        let size = u64::try_from(line.len()).unwrap_or(u64::MAX);
        if self.bytes.saturating_add(size) > CASSETTE_BYTES {
            return Err(ReplayError::TooLarge(self.path.clone()));
        }
        if let Err(error) = self.file.write_all(line) {
            // Best effort: a line that stays torn is found and told of by who reads.
            let _ = self.file.set_len(self.bytes);
            return Err(io("writing", &self.path)(error));
        }
        self.bytes = self.bytes.saturating_add(size);
        Ok(())
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    fn begin(path: &Path, file: File) -> Result<Self, ReplayError> {
        lock(&file, path)?;
        let mut tape = Self { path: path.to_owned(), file, bytes: 0 };
        let head = cassette::head().map_err(|error| io("writing", path)(error.into()))?;
        tape.write(&head)?;
        Ok(tape)
    }
}

/// Reads a cassette from a file.
pub(crate) fn read(path: &Path) -> Result<Cassette, ReplayError> {
    let mut file = open(OpenOptions::new().read(true), path)?;
    let bytes = whole(&mut file, path)?;
    Cassette::parse(&bytes).map_err(|fault| ReplayError::of(fault, path.to_owned()))
}

/// Opens what is a plain file, and nothing that would have its reader wait or be a device's.
fn open(options: &mut OpenOptions, path: &Path) -> Result<File, ReplayError> {
    // Without waiting, because opening a FIFO waits for its other end. On a plain file the flag
    // does nothing.
    let how = OFlags::NONBLOCK | OFlags::NOCTTY;
    let how = i32::try_from(how.bits()).unwrap_or_default();
    let opened = options.custom_flags(how).open(path);
    let file = match opened {
        Ok(file) => file,
        // A folder, a FIFO or a socket may refuse to be opened so, in words that say little.
        Err(_) if path.metadata().is_ok_and(|found| !found.is_file()) => {
            return Err(ReplayError::NotAFile(path.to_owned()));
        }
        Err(error) => return Err(io("opening", path)(error)),
    };
    match file.metadata().map_err(io("opening", path))?.is_file() {
        true => Ok(file),
        false => Err(ReplayError::NotAFile(path.to_owned())),
    }
}

/// Closes a file to all but its owner.
fn close(file: &File, path: &Path) -> Result<(), ReplayError> {
    let closed = file.set_permissions(Permissions::from_mode(MODE));
    closed.map_err(io("setting the mode of", path))
}

fn whole(file: &mut File, path: &Path) -> Result<Vec<u8>, ReplayError> {
    let mut bytes = Vec::new();
    let most = CASSETTE_BYTES.saturating_add(1);
    let read = file.take(most).read_to_end(&mut bytes);
    let read = read.map_err(io("reading", path))?;
    if u64::try_from(read).unwrap_or(u64::MAX) > CASSETTE_BYTES {
        return Err(ReplayError::TooLarge(path.to_owned()));
    }
    Ok(bytes)
}

/// Taken twice by the same open file, it is had once.
fn lock(file: &File, path: &Path) -> Result<(), ReplayError> {
    file.try_lock().map_err(|error| match error {
        TryLockError::WouldBlock => ReplayError::Locked(path.to_owned()),
        TryLockError::Error(error) => io("locking", path)(error),
    })
}

fn io(operation: &'static str, path: &Path) -> impl Fn(io::Error) -> ReplayError {
    move |source| ReplayError::Io { operation, path: path.to_owned(), source }
}
