//! Requests that wait for the commit thread, and the answers to them.

use std::sync::OnceLock;
use std::time::Instant;

use tokio::sync::oneshot;
use windlass_core::{Epoch, Retry, SessionId};
use windlass_ports::{SessionClaim, StoreError, StoreErrorKind};

use crate::batch::Batch;

/// Sends the answer to a request that returns no value.
pub(crate) type ResultSender = oneshot::Sender<Result<(), StoreError>>;

/// A request in the queue. The thread serves the queue in order.
#[derive(Debug)]
pub(crate) struct QueuedRequest {
    pub(crate) request: PipelineRequest,
    pub(crate) at: Instant,
    /// Permits that the request holds of the room for waiting requests.
    pub(crate) permits: u32,
}

#[derive(Debug)]
pub(crate) enum PipelineRequest {
    Append(PendingAppend),
    Session(SessionRequest),
}

/// An append that was not yet checked.
#[derive(Debug)]
pub(crate) struct PendingAppend {
    pub(crate) batch: Batch,
    pub(crate) epoch: Epoch,
    pub(crate) answer: ResultSender,
}

/// A request that runs between two groups of appends.
#[derive(Debug)]
pub(crate) enum SessionRequest {
    Claim { session: SessionId, answer: oneshot::Sender<Result<SessionClaim, StoreError>> },
    Release { session: SessionId, epoch: Epoch, answer: ResultSender },
    Erase { session: SessionId, epoch: Epoch, answer: ResultSender },
}

impl PipelineRequest {
    pub(crate) fn refuse(self, error: StoreError) {
        match self {
            Self::Append(append) => PendingCaller::Done(append.answer, Ok(())).refuse(error),
            Self::Session(request) => request.refuse(error),
        }
    }
}

impl SessionRequest {
    pub(crate) fn refuse(self, error: StoreError) {
        match self {
            Self::Claim { answer, .. } => PendingCaller::Claim(answer).refuse(error),
            Self::Release { answer, .. } | Self::Erase { answer, .. } => {
                PendingCaller::Done(answer, Ok(())).refuse(error);
            }
        }
    }
}

/// A caller that waits for the current call of the backend.
#[derive(Debug)]
pub(crate) enum PendingCaller {
    Claim(oneshot::Sender<Result<SessionClaim, StoreError>>),
    /// With the answer to send if the call succeeds.
    Done(ResultSender, Result<(), StoreError>),
}

impl PendingCaller {
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

    pub(crate) fn claimed(self, claimed: &SessionClaim) {
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
pub(crate) struct StopCause(OnceLock<(StoreErrorKind, Retry, String)>);

impl StopCause {
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
