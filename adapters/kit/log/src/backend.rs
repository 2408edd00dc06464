//! The backend of a pipeline, and the requests that it commits.

use std::time::Duration;

use windlass_core::{Seq, SessionId};
use windlass_ports::{ChainLink, SessionSummary, StoreError, StoreErrorKind, TailRepair};

use crate::batch::Batch;

/// End of a log: its last position, link and summary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogEnd {
    /// Last position; [`Seq::ZERO`] for an empty log.
    pub last: Seq,
    /// Link of the last fact, or the genesis link of an empty log.
    pub link: ChainLink,
    /// Summary of the log; `None` for an empty log.
    pub summary: Option<SessionSummary>,
}

impl LogEnd {
    /// Creates the end of an empty log.
    #[must_use]
    pub fn empty(session: &SessionId) -> Self {
        Self { last: Seq::ZERO, link: ChainLink::genesis(session), summary: None }
    }
}

/// An append that follows the end of its session's log. A backend writes all of it or nothing.
#[derive(Debug)]
pub struct AppendRequest {
    /// Validated facts to append.
    pub batch: Batch,
    /// Link of each fact.
    pub links: Vec<ChainLink>,
    /// Link of the position before the first fact.
    pub before: ChainLink,
    /// End of the log with these facts.
    pub end: LogEnd,
}

impl AppendRequest {
    /// Links a batch to the end of its log. The batch begins after `before.last`.
    #[must_use]
    pub fn new(before: LogEnd, batch: Batch) -> Self {
        let links = batch.links(&before.link);
        let facts = batch.facts.iter().map(AsRef::as_ref);
        let end = LogEnd {
            last: batch.last(),
            link: links.last().copied().unwrap_or(before.link),
            summary: SessionSummary::after(before.summary, facts),
        };
        Self { batch, links, before: before.link, end }
    }
}

/// Durable storage of a pipeline, such as a file or an embedded database.
///
/// The pipeline calls it from its one thread and drops it there when the store is closed. It checks
/// claims and positions before a call and answers the callers after it.
pub trait CommitBackend: Send + 'static {
    /// Becomes the writer of a session: takes its lock, finds the end of its log and cuts off a
    /// torn tail. The returned end is durable.
    ///
    /// The session stays claimed until it is released or erased. The pipeline claims it again
    /// before that only after a [`commit`](Self::commit) or an [`erase`](Self::erase) of it failed.
    ///
    /// # Errors
    /// As [`LogStore::claim`](windlass_ports::LogStore::claim).
    fn claim(&mut self, session: &SessionId) -> Result<(LogEnd, Option<TailRepair>), StoreError>;

    /// Releases a claimed session, so that another process may claim it.
    fn release(&mut self, session: &SessionId);

    /// Writes appends of any sessions in this order and makes them durable. Appends of one session
    /// follow one another.
    ///
    /// After an error the pipeline does not know which appends are durable. It drops the claims of
    /// their sessions, and the next [`claim`](Self::claim) finds the actual end.
    ///
    /// # Errors
    /// `Full`, `ReadOnly`, `Io`; the pipeline stops if [`has_failed`](Self::has_failed) then.
    fn commit(&mut self, requests: &[AppendRequest]) -> Result<(), StoreError>;

    /// Erases a claimed session and releases it. After an error it is still claimed.
    ///
    /// # Errors
    /// `Full`, `ReadOnly`, `Io`.
    fn erase(&mut self, session: &SessionId) -> Result<(), StoreError>;

    /// Returns true once nothing can be written until the store is opened again. The pipeline asks
    /// after each error; a panic of the backend counts too.
    fn has_failed(&self) -> bool {
        false
    }

    /// Opens the storage again after [`has_failed`](Self::has_failed), or after a panic. All claims
    /// have ended. The pipeline calls it before a claim or a probe, at most once a second.
    ///
    /// The default is for storage that cannot be opened again while this process has it.
    ///
    /// # Errors
    /// `Ended` when no further attempt can succeed; others when one may.
    fn reopen(&mut self) -> Result<(), StoreError> {
        let context =
            "it cannot be opened again in this process: end the process, and start it again";
        Err(StoreError::new(StoreErrorKind::Ended, context))
    }

    /// Writes a probe beside the logs, makes it durable, and reads it back. The default does
    /// nothing.
    ///
    /// # Errors
    /// As [`commit`](Self::commit).
    fn probe(&mut self) -> Result<(), StoreError> {
        Ok(())
    }

    /// Runs a bounded piece of maintenance while no request waits. Returns the delay until the next
    /// piece, or `None` to wait for the next request.
    ///
    /// # Errors
    /// Any; the pipeline logs it, and stops if [`has_failed`](Self::has_failed) then.
    fn maintain(&mut self) -> Result<Option<Duration>, StoreError> {
        Ok(None)
    }
}
