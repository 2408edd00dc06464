//! The layer over a log store that fails, or dies, at the N-th call of a method.

use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use windlass_core::{Epoch, RecordedFact, Seq, SessionId};
use windlass_ports::{
    LogStore, SessionClaim, SessionFilter, SessionListing, StoreError, StoreErrorKind,
    StoredCheckpoint,
};

use super::plan::{CallFault, CallPlan, RandomFaults, StoreCall};
use crate::crash::die;

/// A log store that fails or dies where a [`CallPlan`] says so, over one that does the work.
///
/// The calls of each method are counted from 1, in the order in which they are made. What the plan
/// does not name is passed on.
pub struct FaultingStore {
    inner: Arc<dyn LogStore>,
    faults: Faults,
    /// Calls of each method.
    calls: [AtomicU64; StoreCall::ALL.len()],
    /// File that is created when the fault strikes, so that another process sees it.
    note: Option<PathBuf>,
}

/// Where a layer fails.
#[derive(Debug, Clone, Copy)]
enum Faults {
    Nowhere,
    At(CallPlan),
    Random(RandomFaults),
}

impl Faults {
    /// The fault that strikes this call of a method.
    fn strikes(self, call: StoreCall, number: u64) -> Option<CallFault> {
        match self {
            Self::Nowhere => None,
            Self::At(plan) => (plan.call == call && plan.strikes(number)).then_some(plan.fault),
            Self::Random(faults) => faults.strikes(call, number),
        }
    }
}

impl FaultingStore {
    /// Puts the layer over a store. Without a plan it passes everything on.
    #[must_use]
    pub fn new(inner: Arc<dyn LogStore>, plan: Option<CallPlan>) -> Self {
        Self::over(inner, plan.map_or(Faults::Nowhere, Faults::At))
    }

    /// Puts a layer over a store that fails at random calls.
    #[must_use]
    pub fn random(inner: Arc<dyn LogStore>, faults: RandomFaults) -> Self {
        Self::over(inner, Faults::Random(faults))
    }

    fn over(inner: Arc<dyn LogStore>, faults: Faults) -> Self {
        Self { inner, faults, calls: Default::default(), note: None }
    }

    /// Creates this file when the fault strikes.
    #[must_use]
    pub fn noting(self, note: PathBuf) -> Self {
        Self { note: Some(note), ..self }
    }

    async fn through<T: Send>(
        &self,
        call: StoreCall,
        done: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        let method = StoreCall::ALL.iter().position(|known| *known == call);
        let Some(calls) = method.and_then(|method| self.calls.get(method)) else {
            return done.await;
        };
        let number = calls.fetch_add(1, Ordering::SeqCst) + 1;
        let Some(fault) = self.faults.strikes(call, number) else {
            return done.await;
        };
        let plan = CallPlan { call, fault, number };
        if let Some(note) = &self.note {
            // A test that finds no note says so.
            let _ = std::fs::write(note, plan.to_string());
        }
        let fails = |kind: StoreErrorKind| {
            let context = format!("a test has planned {plan}");
            Err(StoreError::new(kind, context))
        };
        match fault {
            CallFault::Io => fails(StoreErrorKind::Io),
            CallFault::IoKept => {
                done.await?;
                fails(StoreErrorKind::Io)
            }
            CallFault::Full => fails(StoreErrorKind::Full),
            CallFault::Away => fails(StoreErrorKind::Unavailable),
            CallFault::KillBefore => die(),
            CallFault::KillAfter => {
                // Whatever came of it, nobody is told.
                let _ = done.await;
                die()
            }
        }
    }
}

#[async_trait]
impl LogStore for FaultingStore {
    crate::forward!(inner: capabilities, probe, verify, tail, erase, write_checkpoint);

    async fn claim(&self, session: &SessionId) -> Result<SessionClaim, StoreError> {
        self.through(StoreCall::Claim, self.inner.claim(session)).await
    }

    async fn release(&self, session: &SessionId, epoch: Epoch) -> Result<(), StoreError> {
        self.through(StoreCall::Release, self.inner.release(session, epoch)).await
    }

    async fn append(
        &self,
        session: &SessionId,
        epoch: Epoch,
        after: Seq,
        facts: &[Arc<RecordedFact>],
    ) -> Result<(), StoreError> {
        let appended = self.inner.append(session, epoch, after, facts);
        self.through(StoreCall::Append, appended).await
    }

    async fn read(
        &self,
        session: &SessionId,
        after: Seq,
        limit: usize,
    ) -> Result<Vec<RecordedFact>, StoreError> {
        self.through(StoreCall::Read, self.inner.read(session, after, limit)).await
    }

    async fn read_checkpoint(
        &self,
        session: &SessionId,
        version: &str,
    ) -> Result<Option<StoredCheckpoint>, StoreError> {
        self.through(StoreCall::Read, self.inner.read_checkpoint(session, version)).await
    }

    async fn sessions(
        &self,
        filter: &SessionFilter,
        after: Option<&SessionId>,
        limit: usize,
    ) -> Result<Vec<SessionListing>, StoreError> {
        self.through(StoreCall::List, self.inner.sessions(filter, after, limit)).await
    }
}

impl std::fmt::Debug for FaultingStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FaultingStore").field("faults", &self.faults).finish_non_exhaustive()
    }
}
