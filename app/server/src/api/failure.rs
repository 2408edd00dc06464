//! Failures: maps each error of the engine and the stores to a problem for clients. Paths and
//! server names in the errors go to the log, not to a client.

use windlass_engine::core::Reject;
use windlass_engine::ports::{
    BlobError, BlobErrorKind, MailboxError, MailboxErrorKind, StoreError, StoreErrorKind,
};
use windlass_engine::{DriverEnd, ForkError, SendError, StartError};

use crate::problem::{Problem, ProblemCode};
use crate::tenant::Refusal;

/// Seconds after which a pending command may be checked again.
const WAITS_S: u64 = 5;
/// Seconds after which an unavailable store may be retried.
const AWAY_S: u64 = 5;

/// Returns the problem of a draining server.
pub(crate) fn draining() -> Problem {
    let detail = "the server is going away: use another one, or retry later";
    Problem::new(ProblemCode::Draining, detail).retry_after(1)
}

/// Maps a tenant's refusal to run a session.
pub(crate) fn refused(refusal: &Refusal) -> Problem {
    Problem::new(ProblemCode::Refused, refusal.to_string())
}

/// Maps an error of opening a session.
pub(crate) fn start(error: &StartError) -> Problem {
    match error {
        StartError::Unknown(_) => Problem::no_session(),
        StartError::Exists(_) => super::key::key_reused("another session"),
        StartError::InvalidFact { .. } => damaged(error),
        StartError::Unfinished { .. } => {
            let detail = "the session is an incomplete fork: repeat the fork with the same key";
            Problem::new(ProblemCode::NoSession, detail)
        }
        StartError::Settings(_) | StartError::Child(_) | StartError::MissingParts { .. } => {
            Problem::new(ProblemCode::Refused, error.to_string())
        }
        StartError::Locked(error) | StartError::Corrupt(error) | StartError::Store(error) => {
            store(error)
        }
        StartError::Busy { .. } => {
            Problem::new(ProblemCode::Busy, error.to_string()).retry_after(1)
        }
        StartError::ShutDown(_) => draining(),
        _ => defect(error),
    }
}

/// Maps an error of forking a session.
pub(crate) fn fork(error: &ForkError) -> Problem {
    match error {
        ForkError::Unknown(_) => Problem::no_session(),
        ForkError::NoPosition { .. } | ForkError::UnderWay { .. } | ForkError::Unfinished(_) => {
            Problem::new(ProblemCode::NoForkHere, error.to_string())
        }
        ForkError::Exists(_) => super::key::key_reused("another fork"),
        ForkError::TooLarge { .. } | ForkError::TooManyBytes { .. } => {
            Problem::new(ProblemCode::TooLarge, error.to_string())
        }
        ForkError::TooMany { .. } => Problem::new(ProblemCode::Refused, error.to_string()),
        ForkError::InvalidFact { .. } => damaged(error),
        ForkError::Blob { .. } => {
            tracing::error!(%error, "what is kept beside a log cannot be copied");
            store_unavailable()
        }
        ForkError::Store(error) => store(error),
        ForkError::ShutDown(_) => draining(),
        _ => defect(error),
    }
}

/// Maps an error of sending an input.
pub(crate) fn send(error: &SendError) -> Problem {
    match error {
        SendError::Rejected(reject) => rejected(reject),
        SendError::Settings(_) | SendError::Image { .. } => {
            Problem::new(ProblemCode::Refused, error.to_string())
        }
        SendError::TooLarge(_) => Problem::new(ProblemCode::TooLarge, error.to_string()),
        SendError::Ended(error) => ended(error),
        SendError::Start(error) => start(error),
        SendError::Mailbox(error) => mailbox(error),
        SendError::Pending { .. } => {
            let detail = "the request was accepted, and the node that drives the session has \
                          not answered yet: send it again with the same Idempotency-Key to \
                          learn its result";
            Problem::new(ProblemCode::Waits, detail).retry_after(WAITS_S)
        }
        SendError::Expired { .. } => Problem::new(ProblemCode::Late, error.to_string()),
        SendError::Unreadable(_) => {
            tracing::error!(%error, "two nodes do not understand each other");
            let detail = "the node that drives the session has another release and does not \
                          understand this one: check the session before you retry";
            Problem::new(ProblemCode::HeldElsewhere, detail)
        }
        _ => defect(error),
    }
}

/// Maps a rejected input.
fn rejected(reject: &Reject) -> Problem {
    let code = match reject {
        Reject::Idle => ProblemCode::NothingRuns,
        Reject::TurnMismatch(_) => ProblemCode::TurnOver,
        Reject::InputNotWaiting(_) => ProblemCode::InputNotWaiting,
        Reject::InputLocked(_) | Reject::InputOpened { .. } => ProblemCode::InputLocked,
        Reject::NoPendingInput => ProblemCode::NothingWaits,
        Reject::TurnRunning(_) => ProblemCode::TurnRunning,
        Reject::NoRewindPoint { .. } => ProblemCode::NoRewindHere,
        Reject::RewindOutOfReach { .. } => ProblemCode::RewindOutOfReach,
        Reject::Stopping => ProblemCode::Stopping,
        Reject::QueueFull { .. } => ProblemCode::QueueFull,
        Reject::SessionFull { .. } => ProblemCode::SessionFull,
        Reject::NoOpenQuestion(_) => ProblemCode::NotAsked,
        Reject::ArgumentsMismatch(_) => ProblemCode::OtherArguments,
        Reject::ResultNotAwaited(_) => ProblemCode::NotAwaited,
        Reject::Empty
        | Reject::ContextTooLarge { .. }
        | Reject::NotRunning(_)
        | Reject::NotDetached(_)
        | Reject::NothingToCompact
        | Reject::DeadlineReserved
        | Reject::TooManyParts { .. }
        | Reject::TooManyImages { .. }
        | Reject::WidensPermissions(_)
        | Reject::InvalidTitle { .. }
        | Reject::CommandRefused(_)
        | Reject::InvalidGoal => ProblemCode::Refused,
        Reject::OutOfScope => return Problem::no_session(),
        Reject::Stale(_) | Reject::Duplicate(_) | Reject::KeyNotAllowed | Reject::Defect(_) => {
            return defect(reject);
        }
    };
    Problem::new(code, reject.to_string())
}

/// Maps the end of a session's driver.
pub(crate) fn ended(error: &DriverEnd) -> Problem {
    match error {
        // A session handle keeps its driver alive, so the driver was told to end.
        DriverEnd::Closed | DriverEnd::Abandoned | DriverEnd::HandOff { .. } => draining(),
        DriverEnd::Superseded(_) => driven_elsewhere(),
        DriverEnd::Store(error) => store(error),
        DriverEnd::Defect(_) => defect(error),
        _ => defect(error),
    }
}

/// Maps an error of the log store.
pub(crate) fn store(error: &StoreError) -> Problem {
    match &error.kind {
        StoreErrorKind::Unknown => Problem::no_session(),
        StoreErrorKind::Locked | StoreErrorKind::NotClaimed | StoreErrorKind::Conflict { .. } => {
            driven_elsewhere()
        }
        StoreErrorKind::TooLarge => {
            let detail = "the input is larger than the store accepts: shorten it";
            Problem::new(ProblemCode::TooLarge, detail)
        }
        StoreErrorKind::Corrupt { .. } => damaged(error),
        StoreErrorKind::Newer => {
            let detail = "a newer release wrote this session's log: use a server of that release";
            Problem::new(ProblemCode::Damaged, detail)
        }
        StoreErrorKind::WrongKey => {
            tracing::error!(%error, "a log cannot be decrypted");
            let detail = "the server does not have the key of this session's log";
            Problem::new(ProblemCode::Damaged, detail)
        }
        StoreErrorKind::Full | StoreErrorKind::ReadOnly => {
            tracing::error!(%error, "the store takes no more");
            let detail = "nothing was stored: the operator must make the store writable, or \
                          make room";
            Problem::new(ProblemCode::StoreFull, detail)
        }
        StoreErrorKind::Unavailable | StoreErrorKind::Io | StoreErrorKind::Ended => {
            tracing::error!(%error, "the store does not answer");
            store_unavailable()
        }
        StoreErrorKind::Invalid | StoreErrorKind::Unsupported => defect(error),
    }
}

/// Maps an error of storing a command for the node that drives a session.
fn mailbox(error: &MailboxError) -> Problem {
    match error.kind {
        MailboxErrorKind::Full => {
            let detail = "too many requests wait for the node that drives the session: retry later";
            Problem::new(ProblemCode::QueueFull, detail).retry_after(WAITS_S)
        }
        MailboxErrorKind::TooLarge => {
            let detail = "the input is larger than the store accepts: shorten it";
            Problem::new(ProblemCode::TooLarge, detail)
        }
        MailboxErrorKind::Unavailable | MailboxErrorKind::Io => {
            tracing::error!(%error, "cannot leave a remote command");
            store_unavailable()
        }
        MailboxErrorKind::NotClaimed => defect(error),
    }
}

/// Maps an error of the store of outputs.
pub(crate) fn blobs(error: &BlobError) -> Problem {
    match error.kind {
        BlobErrorKind::Disabled | BlobErrorKind::NotFound => {
            let detail = "the output is no longer stored: the log has all that is left";
            Problem::new(ProblemCode::NoCall, detail)
        }
        BlobErrorKind::Full | BlobErrorKind::Corrupt | BlobErrorKind::Io => {
            tracing::error!(%error, "an output that is kept beside the log cannot be read");
            store_unavailable()
        }
    }
}

/// Maps a fault that no request should be able to cause.
pub(crate) fn defect(error: &dyn std::fmt::Display) -> Problem {
    tracing::error!(%error, "a defect of the server");
    Problem::new(ProblemCode::Defect, "the server has logged what happened: report it")
}

fn driven_elsewhere() -> Problem {
    let detail = "another process drives the session: use that one, or retry once it has ended";
    Problem::new(ProblemCode::HeldElsewhere, detail)
}

/// Maps a log that is unreadable or has an invalid fact.
pub(super) fn damaged(error: &dyn std::fmt::Display) -> Problem {
    tracing::error!(%error, "a log is damaged");
    let detail = "the session's log is damaged: the operator can repair it";
    Problem::new(ProblemCode::Damaged, detail)
}

fn store_unavailable() -> Problem {
    let detail = "the store does not answer: retry with the same key";
    Problem::new(ProblemCode::StoreAway, detail).retry_after(AWAY_S)
}
