//! Errors: one mapping per source, so that each message names the database and the remedy.

use std::io;
use std::path::Path;

use rusqlite::ErrorCode;
use windlass_core::{Seq, SessionId};
use windlass_ports::{StoreError, StoreErrorKind};

pub(crate) const RESTORE: &str = "copy the folder away before anything else, then restore it \
     from a backup; what stands before the damage can be exported";

/// Maps an error of the operating system while `doing` something to `path`.
pub(crate) fn io_error(doing: &str, path: &Path, error: io::Error) -> StoreError {
    const FULL: [io::ErrorKind; 3] =
        [io::ErrorKind::StorageFull, io::ErrorKind::QuotaExceeded, io::ErrorKind::FileTooLarge];
    const BARRED: [io::ErrorKind; 2] =
        [io::ErrorKind::ReadOnlyFilesystem, io::ErrorKind::PermissionDenied];
    let (kind, remedy) = if FULL.contains(&error.kind()) {
        (StoreErrorKind::Full, "free space on its disk")
    } else if BARRED.contains(&error.kind()) {
        (StoreErrorKind::ReadOnly, "give this user the right to write there")
    } else {
        (StoreErrorKind::Io, "check the disk and the kernel's log")
    };
    let context = format!("{doing} {}: {error}; {remedy}", path.display());
    StoreError::new(kind, context).caused_by(error)
}

/// Maps an error of the database while `doing` something to the store in `dir`.
pub(crate) fn sqlite_error(doing: &str, dir: &Path, error: rusqlite::Error) -> StoreError {
    let (kind, remedy) = meaning(&error);
    let context = format!("{doing} the SQLite store {}: {error}; {remedy}", dir.display());
    StoreError::new(kind, context).caused_by(error)
}

/// Runs a step, and once more if SQLite found the database malformed. It says so too if a page could not
/// be read (`EIO`), which may pass; damage does not.
pub(crate) fn twice_if_malformed<T>(
    mut step: impl FnMut() -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    match step() {
        Err(error) if is_malformed(&error) => {
            tracing::warn!(%error, "SQLite found damage, or could not read: it is asked again");
            step()
        }
        done => done,
    }
}

fn is_malformed(error: &StoreError) -> bool {
    let source = std::error::Error::source(error);
    let sqlite = source.and_then(|source| source.downcast_ref::<rusqlite::Error>());
    let code = sqlite.and_then(rusqlite::Error::sqlite_error_code);
    code == Some(ErrorCode::DatabaseCorrupt)
}

/// Kind of an error of the database, and the remedy.
fn meaning(error: &rusqlite::Error) -> (StoreErrorKind, &'static str) {
    let Some(code) = error.sqlite_error_code() else {
        // A column of another type than this store writes.
        return (damaged(Seq::ZERO), RESTORE);
    };
    #[expect(clippy::wildcard_enum_match_arm, reason = "the enum is not ours")]
    match code {
        ErrorCode::DiskFull => (StoreErrorKind::Full, "free space on its disk"),
        ErrorCode::ReadOnly
        | ErrorCode::PermissionDenied
        | ErrorCode::AuthorizationForStatementDenied => {
            (StoreErrorKind::ReadOnly, "give this user the right to write there")
        }
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => (
            StoreErrorKind::Unavailable,
            "another process writes to it for too long: retry, or end that process",
        ),
        ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase => (damaged(Seq::ZERO), RESTORE),
        _ => (StoreErrorKind::Io, "check the disk and the kernel's log"),
    }
}

/// Damage of a session's log.
pub(crate) fn corrupt(dir: &Path, session: &SessionId, after: Seq, what: &str) -> StoreError {
    let dir = dir.display();
    StoreError::new(
        damaged(after),
        format!(
            "the log of session {session} in the SQLite store {dir} is damaged after position \
             {after}: {what}; {RESTORE}"
        ),
    )
}

/// Damage of the whole store.
pub(crate) fn corrupt_store(dir: &Path, what: &str) -> StoreError {
    let dir = dir.display();
    StoreError::new(
        damaged(Seq::ZERO),
        format!("the SQLite store {dir} is damaged: {what}; {RESTORE}"),
    )
}

pub(crate) fn unknown(dir: &Path, session: &SessionId) -> StoreError {
    let context = format!("the SQLite store {} has no session {session}", dir.display());
    StoreError::new(StoreErrorKind::Unknown, context)
}

fn damaged(after: Seq) -> StoreErrorKind {
    StoreErrorKind::Corrupt { after, offset: None }
}
