//! Errors: one mapping per source, so that each message names the folder and the remedy.

use std::io;
use std::path::Path;

use windlass_core::{Seq, SessionId};
use windlass_ports::{StoreError, StoreErrorKind};

pub(crate) const RESTORE: &str = "copy the folder away before anything else, then restore it \
     from a backup; where the store still opens, what stands before the damage can be exported";

/// Failure to read a record.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RecordError {
    /// An error of the database.
    #[error("the database says: {0}")]
    Sled(#[from] sled::Error),
    /// Damaged content of the database.
    #[error("{0}")]
    Bad(String),
}

/// Maps an error of the operating system while `doing` something to `path`.
pub(crate) fn io_error(doing: &str, path: &Path, error: io::Error) -> StoreError {
    let (kind, remedy) = io_kind(&error);
    let context = format!("{doing} {}: {error}; {remedy}", path.display());
    StoreError::new(kind, context).caused_by(error)
}

/// Maps an error of the database while `doing` something to the store in `dir`.
pub(crate) fn sled_error(doing: &str, dir: &Path, error: sled::Error) -> StoreError {
    let dir = dir.display();
    let (kind, remedy) = match &error {
        sled::Error::Io(io) => io_kind(io),
        sled::Error::Corruption { .. } => (damaged(Seq::ZERO), RESTORE),
        sled::Error::Unsupported(_) | sled::Error::CollectionNotFound(_) => (
            damaged(Seq::ZERO),
            "its files are not as this store writes them; restore the folder from a backup",
        ),
        sled::Error::ReportableBug(_) => {
            (StoreErrorKind::Io, "end this process and open the store again")
        }
    };
    let context = format!("{doing} the sled store {dir}: {error}; {remedy}");
    StoreError::new(kind, context).caused_by(error)
}

/// Damage of a session's log.
pub(crate) fn corrupt(dir: &Path, session: &SessionId, after: Seq, what: &str) -> StoreError {
    let dir = dir.display();
    StoreError::new(
        damaged(after),
        format!(
            "the log of session {session} in the sled store {dir} is damaged after position \
             {after}: {what}; {RESTORE}"
        ),
    )
}

/// Damage of the whole store.
pub(crate) fn corrupt_store(dir: &Path, what: &str) -> StoreError {
    let dir = dir.display();
    StoreError::new(damaged(Seq::ZERO), format!("the sled store {dir} is damaged: {what}"))
}

/// Maps a fault in a session's log after position `after`.
pub(crate) fn fault(dir: &Path, session: &SessionId, after: Seq, fault: RecordError) -> StoreError {
    match fault {
        RecordError::Sled(sled::Error::Corruption { .. }) => {
            corrupt(dir, session, after, "the database cannot read a page")
        }
        RecordError::Sled(error) => {
            sled_error(&format!("reading session {session} in"), dir, error)
        }
        RecordError::Bad(what) => corrupt(dir, session, after, &what),
    }
}

fn damaged(after: Seq) -> StoreErrorKind {
    StoreErrorKind::Corrupt { after, offset: None }
}

fn io_kind(error: &io::Error) -> (StoreErrorKind, &'static str) {
    const FULL: [io::ErrorKind; 3] =
        [io::ErrorKind::StorageFull, io::ErrorKind::QuotaExceeded, io::ErrorKind::FileTooLarge];
    const BARRED: [io::ErrorKind; 2] =
        [io::ErrorKind::ReadOnlyFilesystem, io::ErrorKind::PermissionDenied];
    if FULL.contains(&error.kind()) {
        return (
            StoreErrorKind::Full,
            "free space on its disk or raise the quota, then open the store again",
        );
    }
    if BARRED.contains(&error.kind()) {
        return (
            StoreErrorKind::ReadOnly,
            "this store writes even to be read: give this user the right to write there, or name \
             another folder",
        );
    }
    (StoreErrorKind::Io, "look to the disk and the kernel's log, then open the store again")
}
