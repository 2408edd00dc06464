//! Errors of keys, and their form as errors of the stores.

use std::io;

use windlass_core::{Seq, SessionId};
use windlass_ports::{BlobError, BlobErrorKind, StoreError, StoreErrorKind};

/// Failure of a session's key.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// There is a log, and no key of it.
    #[error(
        "its key is not in {place}: it was destroyed, or is elsewhere; name the folder that has it"
    )]
    Missing {
        /// Place of the keys.
        place: String,
    },
    /// Another master key encrypted the session's key.
    #[error("its key was encrypted with master key {master}, which this process does not have")]
    OtherMaster {
        /// Id of the master key.
        master: String,
    },
    /// The session's key was changed, or belongs to another session.
    #[error("its key in {place} is damaged: restore the file from a copy")]
    Damaged {
        /// Place of the keys.
        place: String,
    },
    /// The log is not encrypted.
    #[error("it is not encrypted: open it without a key, or copy it into an encrypted store")]
    NotEncrypted,
    /// The place of the keys could not be read or written.
    #[error("its key could not be read or written in {place}")]
    Io {
        /// Place of the keys.
        place: String,
        /// Cause of the failure.
        source: io::Error,
    },
    /// The system has no random numbers.
    #[error("the system has no random numbers")]
    Random(#[source] getrandom::Error),
}

impl KeyError {
    /// Returns the error of an operation on a session's log.
    pub(crate) fn of_log(self, doing: &str, session: &SessionId) -> StoreError {
        let context = format!("{doing} session {session}: {self}");
        let kind = match &self {
            Self::Missing { .. }
            | Self::OtherMaster { .. }
            | Self::Damaged { .. }
            | Self::NotEncrypted => StoreErrorKind::WrongKey,
            Self::Io { source, .. } if is_full(source) => StoreErrorKind::Full,
            Self::Io { .. } | Self::Random(_) => StoreErrorKind::Io,
        };
        StoreError::new(kind, context).caused_by(self)
    }

    /// Returns the error of an operation on a session's blobs.
    pub(crate) fn of_blobs(self, doing: &str, session: &SessionId) -> BlobError {
        let kind = match &self {
            Self::Io { source, .. } if is_full(source) => BlobErrorKind::Full,
            Self::Missing { .. }
            | Self::OtherMaster { .. }
            | Self::Damaged { .. }
            | Self::NotEncrypted
            | Self::Io { .. }
            | Self::Random(_) => BlobErrorKind::Io,
        };
        let context = format!("{doing} an output of session {session}: {self}");
        BlobError::new(kind, context).caused_by(self)
    }
}

fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

/// Error of a fact that does not decrypt, or is not the one of its position.
pub(crate) fn damaged(session: &SessionId, seq: Seq) -> StoreError {
    let after = Seq(seq.0.saturating_sub(1));
    let context = format!(
        "reading session {session}: the fact at position {seq} was changed, moved or encrypted \
         with another key; restore the log from a copy"
    );
    StoreError::new(StoreErrorKind::Corrupt { after, offset: None }, context)
}
