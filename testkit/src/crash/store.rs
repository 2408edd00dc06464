//! The layer over a log store that dies or fails at the N-th sync.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use windlass_core::{Epoch, RecordedFact, Seq, SessionId};
use windlass_ports::{LogStore, SessionClaim, StoreError, StoreErrorKind};

use super::plan::{Fault, Plan};

/// A log store that dies or fails where a [`Plan`] says so, over one that does the work.
///
/// What is counted are the operations that make something durable: claims, appends and erasures, in
/// the order in which they are asked for, from 1. Everything else is passed on untouched, also a
/// snapshot, which need not be durable.
pub struct CrashingStore {
    inner: Arc<dyn LogStore>,
    plan: Option<Plan>,
    syncs: Arc<AtomicU64>,
}

impl CrashingStore {
    /// Puts the layer over a store. Without a plan it only counts.
    #[must_use]
    pub fn new(inner: Arc<dyn LogStore>, plan: Option<Plan>) -> Self {
        Self { inner, plan, syncs: Arc::default() }
    }

    /// The count of syncs so far, to be read when the store is out of reach.
    #[must_use]
    pub fn syncs(&self) -> Arc<AtomicU64> {
        self.syncs.clone()
    }

    /// Does something durable, with the fault that strikes it.
    async fn through<T: Send>(
        &self,
        doing: &str,
        done: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        let sync = self.syncs.fetch_add(1, Ordering::SeqCst) + 1;
        let fault = self.plan.and_then(|plan| plan.strikes(sync));
        let says = |kind: StoreErrorKind, what: &str| {
            let context = format!(
                "{doing}: {what} (a fault that a test has planned for sync {sync}); take the plan \
                 away and go on"
            );
            Err(StoreError::new(kind, context))
        };
        match fault {
            None => done.await,
            Some(Fault::KillBefore) => die(),
            Some(Fault::KillAfter) => {
                done.await?;
                die()
            }
            Some(Fault::Io) => says(StoreErrorKind::Io, "the disk failed"),
            Some(Fault::IoKept) => {
                done.await?;
                says(StoreErrorKind::Io, "the disk failed")
            }
            Some(Fault::Full) => says(StoreErrorKind::Full, "the disk is full"),
        }
    }
}

/// Ends the process as `kill -9` does: nothing is unwound, flushed or given back.
pub(crate) fn die() -> ! {
    #[cfg(unix)]
    {
        use rustix::process::{Signal, getpid, kill_process};
        // If it fails, the next line ends the process nearly as abruptly.
        let _ = kill_process(getpid(), Signal::KILL);
    }
    std::process::abort()
}

#[async_trait]
impl LogStore for CrashingStore {
    crate::forward!(inner: capabilities, probe, release, read, sessions, verify, tail, write_checkpoint, read_checkpoint);

    async fn claim(&self, session: &SessionId) -> Result<SessionClaim, StoreError> {
        let doing = format!("claiming session {session}");
        self.through(&doing, self.inner.claim(session)).await
    }

    async fn append(
        &self,
        session: &SessionId,
        epoch: Epoch,
        after: Seq,
        facts: &[Arc<RecordedFact>],
    ) -> Result<(), StoreError> {
        let doing = format!("appending to session {session} after position {after}");
        let appended = self.inner.append(session, epoch, after, facts);
        self.through(&doing, appended).await
    }

    async fn erase(&self, session: &SessionId, epoch: Epoch) -> Result<(), StoreError> {
        let doing = format!("erasing session {session}");
        let erased = self.inner.erase(session, epoch);
        self.through(&doing, erased).await
    }
}

impl std::fmt::Debug for CrashingStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CrashingStore")
            .field("plan", &self.plan)
            .field("syncs", &self.syncs)
            .finish_non_exhaustive()
    }
}
