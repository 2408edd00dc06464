//! Requests that wait for the commit thread, and the answers to them.

use std::time::{Duration, Instant};

use tokio::sync::oneshot;
use windlass_core::{Epoch, SessionId};
use windlass_ports::sync::Mutex;
use windlass_ports::{SessionClaim, StoreError, StoreErrorKind};

use crate::batch::Batch;

/// Pause between two attempts to open the storage again.
const REOPEN_PAUSE: Duration = Duration::from_secs(1);

/// Sends the answer to a request that returns no value.
pub(crate) type ResultSender = oneshot::Sender<Result<(), StoreError>>;

/// A request in the queue. The thread serves the requests for a session in order.
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
    Probe { answer: ResultSender },
}

impl PipelineRequest {
    /// Session of the request; `None` for a probe.
    pub(crate) fn session(&self) -> Option<&SessionId> {
        match self {
            Self::Append(append) => Some(&append.batch.session),
            Self::Session(
                SessionRequest::Claim { session, .. }
                | SessionRequest::Release { session, .. }
                | SessionRequest::Erase { session, .. },
            ) => Some(session),
            Self::Session(SessionRequest::Probe { .. }) => None,
        }
    }

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
            Self::Release { answer, .. } | Self::Erase { answer, .. } | Self::Probe { answer } => {
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

/// The reason why the pipeline stopped, while it has.
#[derive(Debug, Default)]
pub(crate) struct StopCause(Mutex<Option<StopReason>>);

#[derive(Debug, Clone)]
struct StopReason {
    kind: StoreErrorKind,
    context: String,
    /// Time of the last attempt to open the storage again.
    tried: Option<Instant>,
}

impl StopCause {
    /// Stops for this reason, unless it has stopped for good.
    pub(crate) fn stop(&self, place: &str, error: &StoreError) {
        let mut stopped = self.0.lock();
        let ended = stopped.as_ref().is_some_and(|reason| reason.kind == StoreErrorKind::Ended);
        if ended {
            return;
        }
        let tried = stopped.as_ref().and_then(|reason| reason.tried);
        if stopped.is_none() || error.kind == StoreErrorKind::Ended {
            tracing::error!(%error, "{place} has stopped; it must be opened again");
        }
        let reason = StopReason { kind: error.kind.clone(), context: error.context.clone(), tried };
        *stopped = Some(reason);
    }

    /// Returns the reason as an error while stopped.
    pub(crate) fn check(&self) -> Result<(), StoreError> {
        match &*self.0.lock() {
            None => Ok(()),
            Some(reason) => Err(reason.error()),
        }
    }

    /// Checks that a request may begin that opens the storage again if it must. Attempts have a
    /// pause between them.
    pub(crate) fn check_reopening(&self) -> Result<(), StoreError> {
        match &*self.0.lock() {
            Some(reason) if reason.kind == StoreErrorKind::Ended => Err(reason.error()),
            Some(reason) if reason.tried.is_some_and(|tried| tried.elapsed() < REOPEN_PAUSE) => {
                Err(reason.error())
            }
            None | Some(_) => Ok(()),
        }
    }

    /// Returns true if the storage must be opened again, and notes the attempt.
    pub(crate) fn begin_reopening(&self) -> bool {
        let mut stopped = self.0.lock();
        let reason = stopped.as_mut();
        reason.map(|reason| reason.tried = Some(Instant::now())).is_some()
    }

    /// Notes that the storage did not open again. Returns the error for the caller.
    pub(crate) fn on_not_reopened(&self, place: &str, error: StoreError) -> StoreError {
        if error.kind != StoreErrorKind::Ended {
            return error;
        }
        let first = self.0.lock().as_ref().map(|reason| reason.context.clone());
        let context = format!("{}; {}", first.unwrap_or_default(), error.context);
        let ended = StoreError::new(StoreErrorKind::Ended, context).caused_by(error);
        self.stop(place, &ended);
        ended
    }

    /// Notes that the storage is open again.
    pub(crate) fn resume(&self, place: &str) {
        *self.0.lock() = None;
        tracing::warn!("{place} was opened again after its failure");
    }
}

impl StopReason {
    fn error(&self) -> StoreError {
        let again = match self.kind == StoreErrorKind::Ended {
            true => "this process writes nothing more to the store",
            false => "the store takes no appends until it is opened again",
        };
        StoreError::new(self.kind.clone(), format!("{again}, since {}", self.context))
    }
}
