//! Requests that wait for the commit thread, and the answers to them.

use std::sync::OnceLock;
use std::time::Instant;

use tokio::sync::oneshot;
use windlass_core::{Epoch, Retry, SessionId};
use windlass_ports::{Claimed, StoreError, StoreErrorKind};

use crate::batch::Batch;

/// Sends the answer to a request that returns no value.
pub(crate) type Answer = oneshot::Sender<Result<(), StoreError>>;

/// A request in the queue. The thread serves the queue in order.
#[derive(Debug)]
pub(crate) struct Queued {
    pub(crate) request: Request,
    pub(crate) at: Instant,
    /// Permits that it holds of the room for waiting requests.
    pub(crate) permits: u32,
}

#[derive(Debug)]
pub(crate) enum Request {
    Append(Append),
    Session(SessionRequest),
}

/// An append that was not yet checked.
#[derive(Debug)]
pub(crate) struct Append {
    pub(crate) batch: Batch,
    pub(crate) epoch: Epoch,
    pub(crate) answer: Answer,
}

/// A request that runs between two groups of appends.
#[derive(Debug)]
pub(crate) enum SessionRequest {
    Claim {
        session: SessionId,
        answer: oneshot::Sender<Result<Claimed, StoreError>>,
    },
    Release {
        session: SessionId,
        epoch: Epoch,
        answer: Answer,
    },
    Erase {
        session: SessionId,
        epoch: Epoch,
        answer: Answer,
    },
}

impl Request {
    pub(crate) fn refuse(self, error: StoreError) {
        match self {
            Self::Append(append) => Waiting::Done(append.answer, Ok(())).refuse(error),
            Self::Session(request) => request.refuse(error),
        }
    }
}

impl SessionRequest {
    pub(crate) fn refuse(self, error: StoreError) {
        match self {
            Self::Claim { answer, .. } => Waiting::Claim(answer).refuse(error),
            Self::Release { answer, .. } | Self::Erase { answer, .. } => {
                Waiting::Done(answer, Ok(())).refuse(error);
            }
        }
    }
}

/// A caller that waits for the current call of the backend.
#[derive(Debug)]
pub(crate) enum Waiting {
    Claim(oneshot::Sender<Result<Claimed, StoreError>>),
    /// With the answer to send if the call succeeds.
    Done(Answer, Result<(), StoreError>),
}

impl Waiting {
    /// Answers that the call succeeded. Ignores a caller that has gone away.
    pub(crate) fn done(self) {
        match self {
            // A claim is answered by `claimed`.
            Self::Claim(_) => {}
            Self::Done(answer, outcome) => {
                let _ = answer.send(outcome);
            }
        }
    }

    pub(crate) fn claimed(self, claimed: &Claimed) {
        match self {
            Self::Claim(answer) => {
                let _ = answer.send(Ok(claimed.clone()));
            }
            Self::Done(..) => {}
        }
    }

    pub(crate) fn refuse(self, error: StoreError) {
        match self {
            Self::Claim(answer) => {
                let _ = answer.send(Err(error));
            }
            Self::Done(answer, _) => {
                let _ = answer.send(Err(error));
            }
        }
    }
}

/// Copies an error without its source, to answer several callers.
pub(crate) fn copy_of(error: &StoreError) -> StoreError {
    let mut copy = StoreError::new(error.kind.clone(), error.context.clone());
    copy.retry = error.retry;
    copy
}

/// The reason why the pipeline stopped, once it has.
#[derive(Debug, Default)]
pub(crate) struct Stopped(OnceLock<(StoreErrorKind, Retry, String)>);

impl Stopped {
    /// Stops for this reason. The first reason stays.
    pub(crate) fn stop(&self, place: &str, error: &StoreError) {
        let reason = (error.kind.clone(), error.retry, error.context.clone());
        if self.0.set(reason).is_ok() {
            tracing::error!(%error, "{place} has stopped; it must be opened again");
        }
    }

    /// Returns the reason as an error once stopped.
    pub(crate) fn check(&self) -> Result<(), StoreError> {
        match self.0.get() {
            None => Ok(()),
            Some((kind, retry, context)) => {
                let context = format!(
                    "the store takes no more appends until it is opened again, since {context}"
                );
                let mut error = StoreError::new(kind.clone(), context);
                error.retry = *retry;
                Err(error)
            }
        }
    }
}
