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
    let detail = "the server is going away: ask another one, or this one later";
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
            let detail =
                "it is a fork that is not whole: ask for the fork once more, with the same key";
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
        ForkError::TooLarge { .. } => Problem::new(ProblemCode::TooLarge, error.to_string()),
        ForkError::TooMany { .. } => Problem::new(ProblemCode::Refused, error.to_string()),
        ForkError::InvalidFact { .. } => damaged(error),
        ForkError::Blob { .. } => {
            tracing::error!(%error, "what is kept beside a log cannot be copied");
            store_unavailable()
        }
        ForkError::Store(error) => store(error),
        ForkError::ShutDown(_) => draining(),
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
            let detail = "it was accepted and will be done, and the node that drives the session has \
                          not answered yet: ask again with the same Idempotency-Key to learn what \
                          became of it";
            Problem::new(ProblemCode::Waits, detail).retry_after(WAITS_S)
        }
        SendError::Expired { .. } => Problem::new(ProblemCode::Late, error.to_string()),
        SendError::Unreadable(_) => {
            tracing::error!(%error, "two nodes do not understand each other");
            let detail = "the node that drives the session is of another release and does not \
                          understand this one: look at the session before you ask again";
            Problem::new(ProblemCode::HeldElsewhere, detail)
        }
    }
}

/// Maps a rejected input.
fn rejected(reject: &Reject) -> Problem {
    let code = match reject {
        Reject::Idle | Reject::TurnMismatch(_) => ProblemCode::NothingRuns,
        Reject::NoPendingInput => ProblemCode::NothingWaits,
        Reject::Stopping => ProblemCode::Stopping,
        Reject::QueueFull { .. } => ProblemCode::QueueFull,
        Reject::NoOpenQuestion(_) => ProblemCode::NotAsked,
        Reject::ArgumentsMismatch(_) => ProblemCode::OtherArguments,
        Reject::Empty
        | Reject::ContextTooLarge { .. }
        | Reject::NotRunning(_)
        | Reject::DeadlineReserved
        | Reject::TooManyParts { .. }
        | Reject::TooManyImages { .. }
        | Reject::WidensPermissions(_)
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
            let detail = "the input is larger than the store takes: say less";
            Problem::new(ProblemCode::TooLarge, detail)
        }
        StoreErrorKind::Corrupt { .. } => damaged(error),
        StoreErrorKind::Newer => {
            let detail = "a newer release wrote this session's log: ask a server of that release";
            Problem::new(ProblemCode::Damaged, detail)
        }
        StoreErrorKind::Full | StoreErrorKind::ReadOnly => {
            tracing::error!(%error, "the store takes no more");
            let detail = "nothing was kept: whoever runs the server must have its store take writes, or \
                          make room";
            Problem::new(ProblemCode::StoreFull, detail)
        }
        StoreErrorKind::Unavailable | StoreErrorKind::Io => {
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
            let detail = "as much waits for the node that drives the session as may: ask again in a \
                          while";
            Problem::new(ProblemCode::QueueFull, detail).retry_after(WAITS_S)
        }
        MailboxErrorKind::TooLarge => {
            let detail = "the input is larger than the store takes: say less";
            Problem::new(ProblemCode::TooLarge, detail)
        }
        MailboxErrorKind::Unavailable | MailboxErrorKind::Io => {
            tracing::error!(%error, "letters cannot be left");
            store_unavailable()
        }
        MailboxErrorKind::NotClaimed => defect(error),
    }
}

/// Maps an error of the store of outputs.
pub(crate) fn blobs(error: &BlobError) -> Problem {
    match error.kind {
        BlobErrorKind::Disabled | BlobErrorKind::NotFound => {
            let detail = "the output is not kept any more: what the log has is all there is";
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
    Problem::new(
        ProblemCode::Defect,
        "the server has logged what happened: report it",
    )
}

fn driven_elsewhere() -> Problem {
    let detail = "another process drives the session: ask that one, or again once it is gone";
    Problem::new(ProblemCode::HeldElsewhere, detail)
}

/// Maps a log that is unreadable or has an invalid fact.
pub(super) fn damaged(error: &dyn std::fmt::Display) -> Problem {
    tracing::error!(%error, "a log is damaged");
    let detail = "the session's log is damaged: whoever runs the server can repair it";
    Problem::new(ProblemCode::Damaged, detail)
}

fn store_unavailable() -> Problem {
    let detail = "the store does not answer: ask again with the same key";
    Problem::new(ProblemCode::StoreAway, detail).retry_after(AWAY_S)
}
