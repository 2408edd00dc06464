//! Trouble with the server, and how it is told as an error of a port: what was being done, what
//! went wrong, what to do.

use windlass_core::{Epoch, Seq, SessionId};
use windlass_ports::{
    BlobError, BlobErrorKind, LeaseError, LeaseErrorKind, MailboxError, MailboxErrorKind,
    StoreError, StoreErrorKind,
};

use crate::header::HeaderError;

/// Reason why the server did not perform a request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ServerError {
    /// It could not be reached, or did not answer in time: nobody knows whether it was done.
    #[error(
        "the NATS server could not be reached or did not answer in time ({0}); look at the server and \
         the network, and ask again"
    )]
    Unavailable(String),
    /// The last message of the subject is not the one that was expected.
    #[error("others wrote there each time; ask again when fewer write the same session")]
    Moved,
    /// There is no room.
    #[error(
        "JetStream has no room ({0}); make room on its disk, or raise the limits of the account or \
         the stream"
    )]
    Full(String),
    /// It refused, with the code of its error.
    #[error(
        "JetStream refused with error {0} ({1}); look at the server's log and at what this user may do"
    )]
    Refused(u64, String),
    /// It answered what cannot be.
    #[error(
        "the NATS server answered what cannot be ({0}); look at its version and at what else writes \
         to these streams"
    )]
    Unexpected(String),
}

/// Codes of errors of JetStream that are told apart. <https://github.com/nats-io/nats-server>,
/// `server/errors.json`.
mod code {
    /// The expected last sequence of the subject is another.
    pub(super) const WRONG_LAST_SEQUENCE: u64 = 10_071;
    /// The same, while another message of the subject is on its way: it may not come to stand.
    pub(super) const WRONG_LAST_SEQUENCE_IN_FLIGHT: u64 = 10_164;
    /// A message with this id is on its way.
    pub(super) const DUPLICATE_IN_FLIGHT: u64 = 10_158;
    /// There is no leader of the stream or of the cluster at present.
    pub(super) const AWAY: &[u64] = &[10_008, 10_009, 10_074, 10_118];
    /// No memory, no storage, a limit of the account or of the stream.
    pub(super) const FULL: &[u64] = &[10_002, 10_023, 10_028, 10_047, 10_077, 10_122];
}

impl ServerError {
    /// Maps an error code of JetStream.
    pub(crate) fn of(code: u64, text: String) -> Self {
        match code {
            code::WRONG_LAST_SEQUENCE => Self::Moved,
            code if code::AWAY.contains(&code) => Self::Unavailable(text),
            code if code::FULL.contains(&code) => Self::Full(text),
            code => Self::Refused(code, text),
        }
    }

    /// Returns true if the request may be sent again: nothing was done, or doing it twice has one
    /// effect.
    pub(crate) fn passes(&self) -> bool {
        match self {
            Self::Unavailable(_) => true,
            Self::Refused(code, _) => {
                matches!(*code, code::WRONG_LAST_SEQUENCE_IN_FLIGHT | code::DUPLICATE_IN_FLIGHT)
            }
            Self::Moved | Self::Full(_) | Self::Unexpected(_) => false,
        }
    }

    /// As an error of a log store.
    pub(crate) fn in_store(self, doing: &str) -> StoreError {
        let kind = match &self {
            Self::Full(_) => StoreErrorKind::Full,
            Self::Unexpected(_) => StoreErrorKind::Io,
            Self::Refused(..) if !self.passes() => StoreErrorKind::Io,
            Self::Unavailable(_) | Self::Moved | Self::Refused(..) => StoreErrorKind::Unavailable,
        };
        StoreError::new(kind, format!("{doing}: {self}"))
    }

    /// As an error of leases.
    pub(crate) fn in_leases(self, doing: &str) -> LeaseError {
        let kind = match &self {
            Self::Full(_) | Self::Unexpected(_) => LeaseErrorKind::Io,
            Self::Refused(..) if !self.passes() => LeaseErrorKind::Io,
            Self::Unavailable(_) | Self::Moved | Self::Refused(..) => LeaseErrorKind::Unavailable,
        };
        LeaseError::new(kind, format!("{doing}: {self}"))
    }
}

impl ServerError {
    /// As an error of an inbox.
    pub(crate) fn in_mailbox(self, doing: &str) -> MailboxError {
        let kind = match &self {
            Self::Full(_) => MailboxErrorKind::Full,
            Self::Unexpected(_) => MailboxErrorKind::Io,
            Self::Refused(..) if !self.passes() => MailboxErrorKind::Io,
            Self::Unavailable(_) | Self::Moved | Self::Refused(..) => MailboxErrorKind::Unavailable,
        };
        MailboxError::new(kind, format!("{doing}: {self}"))
    }

    /// As an error of a store of blobs.
    pub(crate) fn in_blobs(self, doing: &str) -> BlobError {
        let kind = match &self {
            Self::Full(_) => BlobErrorKind::Full,
            Self::Unavailable(_) | Self::Moved | Self::Refused(..) | Self::Unexpected(_) => {
                BlobErrorKind::Io
            }
        };
        BlobError::new(kind, format!("{doing}: {self}"))
    }
}

pub(crate) fn unknown(session: &SessionId, place: &str) -> StoreError {
    let context = format!("there is no session {session} in {place}");
    StoreError::new(StoreErrorKind::Unknown, context)
}

pub(crate) fn not_claimed(session: &SessionId, epoch: Epoch) -> StoreError {
    StoreError::new(
        StoreErrorKind::NotClaimed,
        format!(
            "writing to {session} under epoch {epoch}, which is not that of its latest claim: \
             another writer took over, or the claim was released"
        ),
    )
}

pub(crate) fn conflict(session: &SessionId, after: Seq, last: Seq) -> StoreError {
    StoreError::new(
        StoreErrorKind::Conflict { last },
        format!("appending to {session} after {after}, but its log ends at {last}"),
    )
}

/// A log that is not what was written: what stands there, in words.
pub(crate) fn corrupt(session: &SessionId, after: Seq, at: u64, what: &str) -> StoreError {
    let kind = StoreErrorKind::Corrupt { after, offset: Some(at) };
    StoreError::new(
        kind,
        format!(
            "the log of {session} is damaged at the stream's message {at}, after position {after}: \
             {what}; what stands before can be read, the rest must come from a copy"
        ),
    )
}

/// A message whose head cannot be taken.
pub(crate) fn bad_head(session: &SessionId, after: Seq, at: u64, bad: &HeaderError) -> StoreError {
    match bad {
        HeaderError::Newer(version) => StoreError::new(
            StoreErrorKind::Newer,
            format!(
                "the log of {session} has, at the stream's message {at}, format {version}, which a \
                 newer engine wrote: use that engine"
            ),
        ),
        HeaderError::Broken(what) => corrupt(session, after, at, what),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_wrong_last_sequence_is_a_conflict() {
        assert_eq!(ServerError::of(10_071, String::new()), ServerError::Moved);
        for code in [10_164, 10_158, 10_008] {
            assert!(ServerError::of(code, String::new()).passes(), "{code}");
        }
        for code in [10_071, 10_077, 10_059] {
            assert!(!ServerError::of(code, String::new()).passes(), "{code}");
        }
    }

    #[test]
    fn trouble_is_classed() {
        let kind = |code| ServerError::of(code, String::from("said")).in_store("doing").kind;
        assert_eq!(kind(10_008), StoreErrorKind::Unavailable);
        assert_eq!(kind(10_164), StoreErrorKind::Unavailable);
        assert_eq!(kind(10_023), StoreErrorKind::Full);
        assert_eq!(kind(10_059), StoreErrorKind::Io);
        let error = ServerError::Unavailable(String::from("said")).in_leases("doing");
        assert_eq!(error.kind, LeaseErrorKind::Unavailable);
        assert!(error.context.starts_with("doing: ") && error.context.contains("(said)"));
    }
}
