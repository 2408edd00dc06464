//! What the store object asks of its committer, and the state that all its threads share.

use std::fs::File;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use sled::Db;
use tokio::sync::{OwnedSemaphorePermit, oneshot};
use windlass_core::{Epoch, Seq, SessionId};
use windlass_ports::{Claimed, StoreError, StoreErrorKind};

use crate::heads::Heads;

/// An open store. The fields are dropped in this order: the lock outlives the database.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) dir: PathBuf,
    pub(crate) db: Db,
    /// The database's file, to sync it: sled's own flush does not.
    pub(crate) data: File,
    pub(crate) heads: Mutex<Heads>,
    pub(crate) _lock: File,
}

impl Shared {
    /// No panic can leave the heads half changed, so a poisoned lock is as good as any.
    pub(crate) fn heads(&self) -> MutexGuard<'_, Heads> {
        self.heads.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Something for the committer to do, in the order of asking.
#[derive(Debug)]
pub(crate) enum Request {
    Claim {
        session: SessionId,
        answer: oneshot::Sender<Result<Claimed, StoreError>>,
        room: OwnedSemaphorePermit,
    },
    Release {
        session: SessionId,
        epoch: Epoch,
        answer: oneshot::Sender<Result<(), StoreError>>,
        room: OwnedSemaphorePermit,
    },
    Append(Append),
}

/// An append whose facts are numbered on from `after`.
#[derive(Debug)]
pub(crate) struct Append {
    pub(crate) session: SessionId,
    pub(crate) epoch: Epoch,
    pub(crate) after: Seq,
    pub(crate) texts: Vec<Vec<u8>>,
    pub(crate) bytes: usize,
    pub(crate) answer: oneshot::Sender<Result<(), StoreError>>,
    pub(crate) room: OwnedSemaphorePermit,
}

/// Whether the store writes no more, and why: set once.
#[derive(Debug, Default)]
pub(crate) struct Stopped(OnceLock<(StoreErrorKind, String)>);

impl Stopped {
    /// Stops the store for this reason, unless it has stopped for another.
    pub(crate) fn stop(&self, error: &StoreError) {
        let reason = (error.kind.clone(), error.context.clone());
        if self.0.set(reason).is_ok() {
            tracing::error!(error = %error, "the sled store has stopped; it must be opened again");
        }
    }

    /// The reason, as an error, when the store has stopped.
    pub(crate) fn check(&self) -> Result<(), StoreError> {
        match self.0.get() {
            None => Ok(()),
            Some((kind, context)) => Err(StoreError::new(
                kind.clone(),
                format!(
                    "the store takes no more appends until it is opened again, since {context}"
                ),
            )),
        }
    }
}
