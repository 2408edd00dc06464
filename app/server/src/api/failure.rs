//! Failures: what the engine and the stores say, as clients are told it. Each class is mapped once, here.
//! What they say of paths and servers goes to the log, not to a client.

use windlass_engine::core::Reject;
use windlass_engine::ports::{
    BlobError, BlobErrorKind, InboxError, InboxErrorKind, StoreError, StoreErrorKind,
};
use windlass_engine::{Ended, ForkError, SendError, StartError};

use crate::problem::{Code, Problem};
use crate::tenant::Refusal;

/// After how many seconds it is worth asking what became of what waits.
const WAITS_S: u64 = 5;
/// After how many seconds a store that does not answer is asked again.
const AWAY_S: u64 = 5;

/// The server goes away.
pub(crate) fn draining() -> Problem {
    let detail = "the server is going away: ask another one, or this one later";
    Problem::new(Code::Draining, detail).retry_after(1)
}

/// Maps a tenant's refusal to run a session.
pub(crate) fn refused(refusal: &Refusal) -> Problem {
    Problem::new(Code::Refused, refusal.to_string())
}

/// Maps an error of opening a session.
pub(crate) fn start(error: &StartError) -> Problem {
    match error {
        StartError::Unknown(_) => Problem::no_session(),
        StartError::Exists(_) => super::key::reused("another session"),
        StartError::Misfit { .. } => damaged(error),
        StartError::Unfinished { .. } => {
            let detail =
                "it is a fork that is not whole: ask for the fork once more, with the same key";
            Problem::new(Code::NoSession, detail)
        }
        StartError::Settings(_) | StartError::Child(_) | StartError::Lacking { .. } => {
            Problem::new(Code::Refused, error.to_string())
        }
        StartError::Locked(error) | StartError::Corrupt(error) | StartError::Store(error) => {
            store(error)
        }
        StartError::Busy { .. } => Problem::new(Code::Busy, error.to_string()).retry_after(1),
        StartError::Shut(_) => draining(),
    }
}

/// Maps an error of forking a session.
pub(crate) fn fork(error: &ForkError) -> Problem {
    match error {
        ForkError::Unknown(_) => Problem::no_session(),
        ForkError::NoPosition { .. } | ForkError::UnderWay { .. } | ForkError::Unfinished(_) => {
            Problem::new(Code::NoForkHere, error.to_string())
        }
        ForkError::Exists(_) => super::key::reused("another fork"),
        ForkError::TooLarge { .. } => Problem::new(Code::TooLarge, error.to_string()),
        ForkError::TooMany { .. } => Problem::new(Code::Refused, error.to_string()),
        ForkError::Misfit { .. } => damaged(error),
        ForkError::Blob { .. } => {
            tracing::error!(%error, "what is kept beside a log cannot be copied");
            away()
        }
        ForkError::Store(error) => store(error),
        ForkError::Shut(_) => draining(),
    }
}

/// Maps an error of sending an input.
pub(crate) fn send(error: &SendError) -> Problem {
    match error {
        SendError::Rejected(reject) => rejected(reject),
        SendError::Settings(_) | SendError::Image { .. } => {
            Problem::new(Code::Refused, error.to_string())
        }
        SendError::TooLarge(_) => Problem::new(Code::TooLarge, error.to_string()),
        SendError::Ended(error) => ended(error),
        SendError::Start(error) => start(error),
        SendError::Inbox(error) => inbox(error),
        SendError::Waits { .. } => {
            let detail = "it was accepted and will be done, and the node that drives the session has \
                          not answered yet: ask again with the same Idempotency-Key to learn what \
                          became of it";
            Problem::new(Code::Waits, detail).retry_after(WAITS_S)
        }
        SendError::Late { .. } => Problem::new(Code::Late, error.to_string()),
        SendError::Unread(_) => {
            tracing::error!(%error, "two nodes do not understand each other");
            let detail = "the node that drives the session is of another release and does not \
                          understand this one: look at the session before you ask again";
            Problem::new(Code::HeldElsewhere, detail)
        }
    }
}

/// Maps a rejected input.
fn rejected(reject: &Reject) -> Problem {
    let code = match reject {
        Reject::Idle | Reject::OtherTurn(_) => Code::NothingRuns,
        Reject::NothingWaits => Code::NothingWaits,
        Reject::Stopping => Code::Stopping,
        Reject::QueueFull { .. } => Code::QueueFull,
        Reject::NotAsked(_) => Code::NotAsked,
        Reject::OtherArguments(_) => Code::OtherArguments,
        Reject::Empty
        | Reject::ContextTooLarge { .. }
        | Reject::NotRunning(_)
        | Reject::OwnDeadline
        | Reject::TooManyParts { .. }
        | Reject::TooManyImages { .. }
        | Reject::Widens(_)
        | Reject::NoGoal => Code::Refused,
        Reject::Foreign => return Problem::no_session(),
        Reject::Stale(_) | Reject::Duplicate(_) | Reject::NotSaid | Reject::Defect(_) => {
            return defect(reject);
        }
    };
    Problem::new(code, reject.to_string())
}

/// Maps the end of a session's driver.
pub(crate) fn ended(error: &Ended) -> Problem {
    match error {
        // Whoever holds a conversation keeps its driver, so it was told to end.
        Ended::Closed | Ended::Abandoned | Ended::Parted { .. } => draining(),
        Ended::Superseded(_) => elsewhere(),
        Ended::Store(error) => store(error),
        Ended::Defect(_) => defect(error),
    }
}

/// Maps an error of the log store.
pub(crate) fn store(error: &StoreError) -> Problem {
    match &error.kind {
        StoreErrorKind::Unknown => Problem::no_session(),
        StoreErrorKind::Locked | StoreErrorKind::NotClaimed | StoreErrorKind::Conflict { .. } => {
            elsewhere()
        }
        StoreErrorKind::TooLarge => {
            let detail = "the input is larger than the store takes: say less";
            Problem::new(Code::TooLarge, detail)
        }
        StoreErrorKind::Corrupt { .. } => damaged(error),
        StoreErrorKind::Newer => {
            let detail = "a newer release wrote this session's log: ask a server of that release";
            Problem::new(Code::Damaged, detail)
        }
        StoreErrorKind::Full | StoreErrorKind::ReadOnly => {
            tracing::error!(%error, "the store takes no more");
            let detail = "nothing was kept: whoever runs the server must have its store take writes, or \
                          make room";
            Problem::new(Code::StoreFull, detail)
        }
        StoreErrorKind::Unavailable | StoreErrorKind::Io => {
            tracing::error!(%error, "the store does not answer");
            away()
        }
        StoreErrorKind::Invalid | StoreErrorKind::Unsupported => defect(error),
    }
}

/// Maps an error of leaving a command for the node that drives a session.
fn inbox(error: &InboxError) -> Problem {
    match error.kind {
        InboxErrorKind::Full => {
            let detail = "as much waits for the node that drives the session as may: ask again in a \
                          while";
            Problem::new(Code::QueueFull, detail).retry_after(WAITS_S)
        }
        InboxErrorKind::TooLarge => {
            let detail = "the input is larger than the store takes: say less";
            Problem::new(Code::TooLarge, detail)
        }
        InboxErrorKind::Unavailable | InboxErrorKind::Io => {
            tracing::error!(%error, "letters cannot be left");
            away()
        }
        InboxErrorKind::NotClaimed => defect(error),
    }
}

/// Maps an error of the store of outputs.
pub(crate) fn blobs(error: &BlobError) -> Problem {
    match error.kind {
        BlobErrorKind::Off | BlobErrorKind::NotFound => {
            let detail = "the output is not kept any more: what the log has is all there is";
            Problem::new(Code::NoCall, detail)
        }
        BlobErrorKind::Full | BlobErrorKind::Corrupt | BlobErrorKind::Io => {
            tracing::error!(%error, "an output that is kept beside the log cannot be read");
            away()
        }
    }
}

/// Something that cannot be, whatever a client sends.
pub(crate) fn defect(error: &dyn std::fmt::Display) -> Problem {
    tracing::error!(%error, "a defect of the server");
    Problem::new(
        Code::Defect,
        "the server has logged what happened: report it",
    )
}

fn elsewhere() -> Problem {
    let detail = "another process drives the session: ask that one, or again once it is gone";
    Problem::new(Code::HeldElsewhere, detail)
}

/// A log that cannot be read, or does not fit together.
pub(super) fn damaged(error: &dyn std::fmt::Display) -> Problem {
    tracing::error!(%error, "a log is damaged");
    let detail = "the session's log is damaged: whoever runs the server can repair it";
    Problem::new(Code::Damaged, detail)
}

fn away() -> Problem {
    let detail = "the store does not answer: ask again with the same key";
    Problem::new(Code::StoreAway, detail).retry_after(AWAY_S)
}
