//! What waits for the pipeline's thread, and what all its threads share.

use std::hint::black_box;
use std::sync::OnceLock;
use std::time::Instant;

use tokio::sync::oneshot;
use windlass_core::{Epoch, Retry, SessionId};
use windlass_ports::{Claimed, StoreError, StoreErrorKind};

use crate::batch::Batch;
use crate::medium::{End, Seat, Unit};

/// Where an answer goes that says no more than that it is done.
pub(crate) type Done = oneshot::Sender<Result<(), StoreError>>;

/// Something for the pipeline's thread to do, in the order of asking.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) request: Request,
    /// When it was asked.
    pub(crate) at: Instant,
    /// What it takes of the room for what waits.
    pub(crate) room: u32,
    /// The bytes of its facts.
    pub(crate) bytes: usize,
}

impl Asked {
    /// Has the processor fetch what comes to be needed of an append. Answers its seat.
    pub(crate) fn fetch(&self) -> Option<Seat> {
        let Request::Append { append, seat, .. } = &self.request else {
            return None;
        };
        if let Append::Unit(unit) = append {
            unit.fetch();
        }
        *seat
    }
}

#[derive(Debug)]
pub(crate) enum Request {
    Claim {
        session: SessionId,
        answer: oneshot::Sender<Result<Claimed, StoreError>>,
    },
    Release {
        session: SessionId,
        epoch: Epoch,
        answer: Done,
    },
    Erase {
        session: SessionId,
        epoch: Epoch,
        answer: Done,
    },
    Append {
        append: Append,
        /// That of the claim with this epoch, where whoever appends knew it.
        seat: Option<Seat>,
        epoch: Epoch,
        answer: Kept,
    },
}

/// An append that is asked for.
#[derive(Debug)]
pub(crate) enum Append {
    /// Whoever asks knew where the log ends, and made of it what is kept.
    Unit(Box<Unit>),
    Batch(Box<Batch>),
}

impl Append {
    pub(crate) fn batch(&self) -> &Batch {
        match self {
            Self::Unit(unit) => &unit.batch,
            Self::Batch(batch) => batch,
        }
    }

    /// The append to a log that ends there, of a session that has this seat.
    pub(crate) fn on(self, end: &End, seat: Seat) -> Box<Unit> {
        match self {
            Self::Unit(unit) if unit.is_on(end) && unit.seat == seat => unit,
            Self::Unit(unit) => Box::new(Unit::seated(end.clone(), unit.batch, seat)),
            Self::Batch(batch) => Box::new(Unit::seated(end.clone(), *batch, seat)),
        }
    }
}

/// Where the answer to an append goes. What was appended goes back with it: whoever made it frees it,
/// and the pipeline's thread, which many wait for, does not. An error is boxed, so that the answers of
/// all have little memory to go through.
pub(crate) type Kept = oneshot::Sender<Result<Option<Box<Unit>>, Box<StoreError>>>;

/// Whoever waits for what the medium does now.
#[derive(Debug)]
pub(crate) enum Waiting {
    Claim(oneshot::Sender<Result<Claimed, StoreError>>),
    /// With the answer if the medium does it.
    Done(Done, Result<(), StoreError>),
    /// An append that is kept with a group.
    Unit(Kept),
    /// An append that is not kept, with the answer if the group is. There are few, among many units.
    Append(Kept, Box<Result<(), StoreError>>),
}

impl Waiting {
    /// Answers that it is done. Nobody may wait any more.
    pub(crate) fn done(self) {
        match self {
            // A claim is answered with what was claimed.
            Self::Claim(_) => {}
            Self::Done(answer, outcome) => {
                let _ = answer.send(outcome);
            }
            Self::Unit(answer) => {
                let _ = answer.send(Ok(None));
            }
            Self::Append(answer, outcome) => {
                let _ = answer.send((*outcome).map(|()| None).map_err(Box::new));
            }
        }
    }

    /// Has the processor fetch what comes to be needed.
    pub(crate) fn fetch(&self) {
        if let Self::Unit(answer) = self {
            black_box(answer.is_closed());
        }
    }

    /// Answers that a group was kept, of which these are the units.
    pub(crate) fn kept(self, units: &mut impl Iterator<Item = Box<Unit>>) {
        match self {
            Self::Unit(answer) => {
                let _ = answer.send(Ok(units.next()));
            }
            Self::Claim(_) | Self::Done(..) | Self::Append(..) => self.done(),
        }
    }

    pub(crate) fn claimed(self, claimed: &Claimed) {
        match self {
            Self::Claim(answer) => {
                let _ = answer.send(Ok(claimed.clone()));
            }
            Self::Done(..) | Self::Unit(_) | Self::Append(..) => {}
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
            Self::Unit(answer) | Self::Append(answer, _) => {
                let _ = answer.send(Err(Box::new(error)));
            }
        }
    }
}

impl Request {
    pub(crate) fn refuse(self, error: StoreError) {
        match self {
            Self::Claim { answer, .. } => Waiting::Claim(answer).refuse(error),
            Self::Release { answer, .. } | Self::Erase { answer, .. } => {
                Waiting::Done(answer, Ok(())).refuse(error);
            }
            Self::Append { answer, .. } => Waiting::Unit(answer).refuse(error),
        }
    }
}

/// The same error, without its source, for one more of those whom it meets.
pub(crate) fn same(error: &StoreError) -> StoreError {
    let mut other = StoreError::new(error.kind.clone(), error.context.clone());
    other.retry = error.retry;
    other
}

/// Whether the pipeline writes no more, and why: set once.
#[derive(Debug, Default)]
pub(crate) struct Stopped(OnceLock<(StoreErrorKind, Retry, String)>);

impl Stopped {
    /// Stops for this reason, unless it has stopped for another.
    pub(crate) fn stop(&self, place: &str, error: &StoreError) {
        let reason = (error.kind.clone(), error.retry, error.context.clone());
        if self.0.set(reason).is_ok() {
            tracing::error!(%error, "{place} has stopped; it must be opened again");
        }
    }

    /// The reason, as an error, when it has stopped.
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
