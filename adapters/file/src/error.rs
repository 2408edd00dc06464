//! Errors of the store, and the mapping of those of the operating system.

use std::io;
use std::path::Path;

use rustix::io::Errno;
use windlass_core::{Seq, SessionId};
use windlass_ports::{StoreError, StoreErrorKind};

use crate::unattributed::UnattributedDamage;

/// Maps an error of the operating system.
pub(crate) fn from_io(error: io::Error, doing: &str, path: &Path) -> StoreError {
    let errno = Errno::from_io_error(&error);
    let (kind, advice) = match errno {
        Some(Errno::NOSPC | Errno::DQUOT | Errno::FBIG) => {
            (StoreErrorKind::Full, "make room on the disk, or raise the quota, and go on")
        }
        Some(Errno::ROFS | Errno::ACCESS | Errno::PERM) => {
            (StoreErrorKind::ReadOnly, "allow this user to write there, or name another store")
        }
        _ => (StoreErrorKind::Io, "look at the disk and the folder, then try again"),
    };
    let context = format!("{doing} {} failed: {error}; {advice}", path.display());
    StoreError::new(kind, context).caused_by(error)
}

/// Maps an error of a read, always to `Io`.
pub(crate) fn reading(error: io::Error, path: &Path) -> StoreError {
    let mut error = from_io(error, "reading", path);
    error.kind = StoreErrorKind::Io;
    error
}

pub(crate) fn locked(session: &SessionId, folder: &Path) -> StoreError {
    StoreError::new(
        StoreErrorKind::Locked,
        format!(
            "session {session} is being written by another process, which holds its lock in {}: \
             wait until it ends, or end it",
            folder.display()
        ),
    )
}

pub(crate) fn crowded(folder: &Path) -> StoreError {
    StoreError::new(
        StoreErrorKind::Locked,
        format!(
            "too many processes write to the store in {} at the same time: end some of them",
            folder.display()
        ),
    )
}

pub(crate) fn busy_writer(folder: &Path) -> StoreError {
    StoreError::new(
        StoreErrorKind::Locked,
        format!("another process writes to {}: wait until it ends, or end it", folder.display()),
    )
}

/// A file of an open store was removed or replaced.
pub(crate) fn removed(path: &Path) -> StoreError {
    StoreError::new(
        StoreErrorKind::Io,
        format!(
            "{} was removed, or something else was put in its place, while the store was open, so \
             nothing that is written can be found again: put back what stood there, or name \
             another folder, and open the store again",
            path.display()
        ),
    )
}

pub(crate) fn unknown(session: &SessionId, path: &Path) -> StoreError {
    StoreError::new(
        StoreErrorKind::Unknown,
        format!("there is no session {session}: {} holds no fact", path.display()),
    )
}

pub(crate) fn too_large(session: &SessionId, what: &str, bytes: usize, most: u64) -> StoreError {
    StoreError::new(
        StoreErrorKind::TooLarge,
        format!(
            "{what} of {session} has {bytes} bytes and a file store takes {most}: nothing of it \
             was kept"
        ),
    )
}

pub(crate) fn newer(path: &Path, format: u32) -> StoreError {
    StoreError::new(
        StoreErrorKind::Newer,
        format!(
            "{} has format {format}, which a newer engine wrote: use that engine",
            path.display()
        ),
    )
}

pub(crate) fn corrupt(
    session: &SessionId,
    path: &Path,
    after: Seq,
    offset: u64,
    what: &str,
) -> StoreError {
    let kind = StoreErrorKind::Corrupt { after, offset: Some(offset) };
    let context = format!(
        "the log of {session} in {} is damaged at byte {offset}, after position {after}: {what}; \
         what stands before can be read; take the rest from a copy, or cut it off \
         with repair --truncate-at",
        path.display()
    );
    StoreError::new(kind, context)
}

/// Facts behind position `range.0` and up to position `range.1` that the witness knows are gone.
pub(crate) fn lost(
    session: &SessionId,
    path: &Path,
    range: (Seq, Seq),
    at: &UnattributedDamage,
) -> StoreError {
    let (after, last) = range;
    let kind = StoreErrorKind::Corrupt { after, offset: Some(at.at.offset) };
    let accept = match after {
        Seq::ZERO => "erase the session",
        _ => "cut the log off with repair --truncate-at",
    };
    let context = format!(
        "the log of {session} in {} is damaged at byte {}, after position {after}: {}; it had facts \
         up to position {last}; take the segment from a copy, or accept the loss: {accept}, or give \
         up the facts of all sessions there with repair --lost {}",
        path.display(),
        at.at.offset,
        at.description,
        at.at
    );
    StoreError::new(kind, context)
}

/// A log that an interrupted repair has cut off in part.
pub(crate) fn unfinished_repair(session: &SessionId, folder: &Path, at: Seq) -> StoreError {
    let kind = StoreErrorKind::Corrupt { after: at, offset: None };
    let context = format!(
        "the log of {session} in {} is being cut off after position {at}, and that was interrupted: \
         finish it with repair {session} --truncate-at {at}",
        folder.display()
    );
    StoreError::new(kind, context)
}

/// A segment that cannot be read, in which this session's log may continue.
pub(crate) fn unreadable(
    session: &SessionId,
    path: &Path,
    after: Seq,
    at: &UnattributedDamage,
) -> StoreError {
    let context = format!(
        "reading {}: {}; the log of {session} may go on there after position {after}; look at the \
         disk, take the segment from a copy, or accept the loss with repair --lost {}",
        path.display(),
        at.description,
        at.at
    );
    StoreError::new(StoreErrorKind::Io, context)
}

/// Damage of an unknown session, in which this session's log may continue.
pub(crate) fn unattributed(
    session: &SessionId,
    path: &Path,
    after: Seq,
    at: &UnattributedDamage,
) -> StoreError {
    let kind = StoreErrorKind::Corrupt { after, offset: Some(at.at.offset) };
    let context = format!(
        "{} is damaged at byte {}: {}; whose the bytes were cannot be told, so the log of {session} \
         may go on there after position {after}; take the segment from a copy, or accept the loss \
         with repair --lost {}",
        path.display(),
        at.at.offset,
        at.description,
        at.at
    );
    StoreError::new(kind, context)
}

pub(crate) fn unstable(session: &SessionId) -> StoreError {
    let mut error = StoreError::new(
        StoreErrorKind::Io,
        format!("looking at session {session}: its segments changed at every look; ask again"),
    );
    error.retry = windlass_core::Retry::Now;
    error
}

/// A thread of the store ended before it answered, as the process ends.
pub(crate) fn gone(session: &SessionId) -> StoreError {
    StoreError::new(
        StoreErrorKind::Io,
        format!("the store closed before it answered about {session}: open it again"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_the_system_are_classed() {
        for (errno, kind) in [
            (Errno::NOSPC, StoreErrorKind::Full),
            (Errno::DQUOT, StoreErrorKind::Full),
            (Errno::FBIG, StoreErrorKind::Full),
            (Errno::ROFS, StoreErrorKind::ReadOnly),
            (Errno::ACCESS, StoreErrorKind::ReadOnly),
            (Errno::PERM, StoreErrorKind::ReadOnly),
            (Errno::IO, StoreErrorKind::Io),
            (Errno::NOENT, StoreErrorKind::Io),
        ] {
            let error = from_io(errno.into(), "writing", Path::new("/logs/s.log"));
            assert_eq!(error.kind, kind);
            assert!(error.context.starts_with("writing /logs/s.log failed: "));
        }
    }
}
