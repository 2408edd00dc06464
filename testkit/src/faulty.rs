//! A log store in memory whose faults are scripted.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Bound;
use std::sync::Arc;

use async_trait::async_trait;
use windlass_core::{Epoch, RecordedFact, Seq, SessionId};
use windlass_ports::codec::{self, CodecError};
use windlass_ports::sync::Mutex;
use windlass_ports::{
    ChainLink, Durability, Fencing, LogStore, LogVerification, MAX_APPEND_BYTES, MAX_FACT_BYTES,
    SessionClaim, SessionFilter, SessionListing, SessionSummary, StoreCapabilities, StoreError,
    StoreErrorKind, counted_bytes,
};

use crate::gate::Gate;

/// A log store in memory that fails where a script says so, and otherwise keeps every promise of
/// the port. Clones are the same store.
///
/// It outlives the runtime that used it, as a disk outlives a process: [`reopen`](Self::reopen)
/// gives the store that the next process opens over the same logs.
///
/// ```
/// use windlass_ports::StoreErrorKind;
/// use windlass_testkit::Gate;
/// use windlass_testkit::faulty::{Fault, FaultyStore};
///
/// let (stuck, lost) = (Gate::new(), StoreErrorKind::Io);
/// let store = FaultyStore::responding(move |operation, number| match number {
///     2 => vec![Fault::Wait(stuck.clone())],
///     3 => vec![Fault::FailAfter(lost.clone())],
///     _ => Vec::new(),
/// });
/// assert_eq!(store.reopen().appends(), 0);
/// ```
#[derive(Clone)]
pub struct FaultyStore {
    disk: Arc<Mutex<Disk>>,
    script: Arc<Script>,
    opening: u64,
}

type Script = dyn Fn(Operation, usize) -> Vec<Fault> + Send + Sync;

/// What a store is asked to do that may fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// To claim a session.
    Claim,
    /// To release one.
    Release,
    /// To append.
    Append,
    /// To read a page.
    Read,
    /// To probe.
    Probe,
}

/// What happens to an operation, in the order of a script's answer.
#[derive(Debug, Clone)]
pub enum Fault {
    /// It waits at this gate and has done nothing yet. Dropped there, it never happened.
    Wait(Gate),
    /// It fails and has done nothing.
    Fail(StoreErrorKind),
    /// It is done, and waits at this gate before it says so. Dropped there, it happened.
    WaitAfter(Gate),
    /// It is done, and says that it failed.
    FailAfter(StoreErrorKind),
}

#[derive(Default)]
struct Disk {
    opening: u64,
    epoch: u64,
    counts: BTreeMap<&'static str, usize>,
    logs: BTreeMap<SessionId, Log>,
    /// Appends that have not answered, by session.
    appending: BTreeMap<SessionId, usize>,
}

#[derive(Default)]
struct Log {
    claim: Option<Epoch>,
    /// Where the last append of this claim stands.
    recent: Option<Seq>,
    /// The facts as they come back from their text form.
    facts: Vec<Arc<RecordedFact>>,
    bytes: u64,
}

impl Default for FaultyStore {
    fn default() -> Self {
        Self::new()
    }
}

impl FaultyStore {
    /// An empty store without a fault.
    #[must_use]
    pub fn new() -> Self {
        Self::responding(|_, _| Vec::new())
    }

    /// An empty store that asks a function for the faults of each operation, which it numbers
    /// from 1, each kind by itself and over all openings.
    #[must_use]
    pub fn responding(
        script: impl Fn(Operation, usize) -> Vec<Fault> + Send + Sync + 'static,
    ) -> Self {
        Self { disk: Arc::default(), script: Arc::new(script), opening: 0 }
    }

    /// The store as the next process opens it: nothing is claimed, and stores that were opened
    /// before append nothing more.
    #[must_use]
    pub fn reopen(&self) -> Self {
        let mut disk = self.disk.lock();
        disk.opening += 1;
        for log in disk.logs.values_mut() {
            log.claim = None;
        }
        disk.logs.retain(|_, log| !log.facts.is_empty());
        Self { opening: disk.opening, ..self.clone() }
    }

    /// How many appends were asked for, also those that failed.
    #[must_use]
    pub fn appends(&self) -> usize {
        self.disk.lock().count(Operation::Append)
    }

    /// Returns true if somebody holds a session.
    #[must_use]
    pub fn claimed(&self, session: &SessionId) -> bool {
        let disk = self.disk.lock();
        let log = disk.logs.get(session);
        log.is_some_and(|log| log.claim.is_some())
    }

    /// Returns true if an append to a session is asked for and has not answered.
    #[must_use]
    pub fn appending(&self, session: &SessionId) -> bool {
        self.disk.lock().appending.contains_key(session)
    }

    /// The facts of a session as they would be read now; none when there is no such session.
    #[must_use]
    pub fn log(&self, session: &SessionId) -> Vec<RecordedFact> {
        let facts = match self.disk.lock().logs.get(session) {
            Some(log) => log.facts.clone(),
            None => Vec::new(),
        };
        facts.into_iter().map(Arc::unwrap_or_clone).collect()
    }

    /// Returns the logs of all sessions as they would be read now.
    #[must_use]
    pub fn logs(&self) -> Vec<Vec<RecordedFact>> {
        let disk = self.disk.lock();
        let logs = disk.logs.values().map(|log| log.facts.iter());
        logs.map(|facts| facts.map(|fact| RecordedFact::clone(fact)).collect()).collect()
    }

    /// Forgets a session, as a store does that was copied or restored without it, or that was told
    /// to erase it.
    pub fn lose(&self, session: &SessionId) {
        self.disk.lock().logs.remove(session);
    }

    /// The faults of the next operation of this kind. The script is asked outside the lock, so
    /// that it may look at the store.
    fn faults(&self, operation: Operation) -> Vec<Fault> {
        let number = {
            let mut disk = self.disk.lock();
            let count = disk.counts.entry(operation.name()).or_default();
            *count += 1;
            *count
        };
        (self.script)(operation, number)
    }

    /// Does something, with the faults of an operation before and after it.
    async fn with_faults<T>(
        &self,
        operation: Operation,
        act: impl FnOnce(&mut Disk) -> Result<T, StoreError> + Send,
    ) -> Result<T, StoreError>
    where
        T: Send,
    {
        let mut after = Vec::new();
        for fault in self.faults(operation) {
            match fault {
                Fault::Wait(gate) => gate.pass().await,
                Fault::Fail(kind) => return Err(scripted(kind)),
                Fault::WaitAfter(_) | Fault::FailAfter(_) => after.push(fault),
            }
        }
        let done = act(&mut self.disk.lock())?;
        for fault in after {
            match fault {
                Fault::WaitAfter(gate) => gate.pass().await,
                Fault::FailAfter(kind) => return Err(scripted(kind)),
                Fault::Wait(_) | Fault::Fail(_) => {}
            }
        }
        Ok(done)
    }
}

/// An append that has not answered; it is over when this is dropped.
struct Appending {
    store: FaultyStore,
    session: SessionId,
}

impl Appending {
    fn to(store: &FaultyStore, session: &SessionId) -> Self {
        let mut disk = store.disk.lock();
        *disk.appending.entry(session.clone()).or_default() += 1;
        drop(disk);
        Self { store: store.clone(), session: session.clone() }
    }
}

impl Drop for Appending {
    fn drop(&mut self) {
        let mut disk = self.store.disk.lock();
        if let Some(count) = disk.appending.get_mut(&self.session) {
            *count -= 1;
            if *count == 0 {
                disk.appending.remove(&self.session);
            }
        }
    }
}

impl Operation {
    fn name(self) -> &'static str {
        match self {
            Self::Claim => "claim",
            Self::Release => "release",
            Self::Append => "append",
            Self::Read => "read",
            Self::Probe => "probe",
        }
    }
}

impl Disk {
    fn count(&self, operation: Operation) -> usize {
        self.counts.get(operation.name()).copied().unwrap_or(0)
    }

    fn written(&self, session: &SessionId) -> Result<&Log, StoreError> {
        let log = self.logs.get(session).filter(|log| !log.facts.is_empty());
        log.ok_or_else(|| {
            let context = format!("there is no session {session} in this scripted store");
            StoreError::new(StoreErrorKind::Unknown, context)
        })
    }

    fn append(
        &mut self,
        session: &SessionId,
        epoch: Epoch,
        after: Seq,
        facts: &[Arc<RecordedFact>],
    ) -> Result<(), StoreError> {
        let refused = |kind, why: &str| {
            let context = format!("appending to {session} after {after}: {why}");
            Err(StoreError::new(kind, context))
        };
        let log = self.logs.get_mut(session);
        let Some(log) = log.filter(|log| log.claim == Some(epoch)) else {
            return refused(StoreErrorKind::NotClaimed, "this writer was superseded");
        };
        let last = log.last();
        if log.recent == Some(after) && log.ends_with(after, facts) {
            return Ok(());
        }
        if after != last {
            return refused(StoreErrorKind::Conflict { last }, "that is not the end");
        }
        let (mut kept, mut bytes) = (Vec::new(), 0);
        for (index, fact) in (1..).zip(facts) {
            if fact.session != *session || fact.seq != after.plus(index) {
                return refused(StoreErrorKind::Invalid, "a fact does not belong there");
            }
            let unread = |error: CodecError| {
                let context = format!("fact {} of {session} does not come back", fact.seq);
                StoreError::new(StoreErrorKind::Invalid, context).caused_by(error)
            };
            let text = codec::encode(fact).map_err(unread)?;
            if counted_bytes(fact, &text) > MAX_FACT_BYTES {
                return refused(StoreErrorKind::TooLarge, "a fact is too large");
            }
            kept.push(Arc::new(codec::decode(&text).map_err(unread)?));
            bytes += text.len() as u64;
        }
        if bytes > MAX_APPEND_BYTES as u64 {
            return refused(StoreErrorKind::TooLarge, "its facts are too large together");
        }
        if kept.is_empty() {
            return refused(StoreErrorKind::Invalid, "it holds no fact");
        }
        log.recent = Some(after);
        log.facts.extend(kept);
        log.bytes += bytes;
        Ok(())
    }
}

impl Log {
    fn last(&self) -> Seq {
        Seq(self.facts.len() as u64)
    }

    /// Returns true if these facts are what stands after a position.
    fn ends_with(&self, after: Seq, facts: &[Arc<RecordedFact>]) -> bool {
        let start = usize::try_from(after.0).unwrap_or(usize::MAX);
        self.facts.get(start..) == Some(facts)
    }
}

/// A session whose log holds these facts, as a listing tells it.
fn head(id: &SessionId, facts: &[Arc<RecordedFact>]) -> SessionListing {
    SessionListing {
        id: id.clone(),
        summary: SessionSummary::after(None, facts.iter().map(AsRef::as_ref)),
    }
}

fn scripted(kind: StoreErrorKind) -> StoreError {
    let context = format!("the script says that the store fails: {kind:?}");
    StoreError::new(kind, context)
}

impl fmt::Debug for FaultyStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FaultyStore")
            .field("opening", &self.opening)
            .field("sessions", &self.disk.lock().logs.len())
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl LogStore for FaultyStore {
    fn capabilities(&self) -> StoreCapabilities {
        StoreCapabilities {
            durability: Durability::Process,
            max_fact_bytes: MAX_FACT_BYTES,
            fencing: Fencing::AllWriters,
            tail_delay_ms: None,
            erase: false,
            retention_ms: None,
            max_checkpoint_bytes: None,
        }
    }

    async fn claim(&self, session: &SessionId) -> Result<SessionClaim, StoreError> {
        let opening = self.opening;
        self.with_faults(Operation::Claim, |disk| {
            if disk.opening != opening {
                let context = format!("claiming {session}: the store was opened again since");
                return Err(StoreError::new(StoreErrorKind::Locked, context));
            }
            disk.epoch += 1;
            let epoch = Epoch(disk.epoch);
            let log = disk.logs.entry(session.clone()).or_default();
            log.claim = Some(epoch);
            log.recent = None;
            Ok(SessionClaim { epoch, last: log.last(), repaired: None })
        })
        .await
    }

    async fn release(&self, session: &SessionId, epoch: Epoch) -> Result<(), StoreError> {
        self.with_faults(Operation::Release, |disk| {
            if let Some(log) = disk.logs.get_mut(session)
                && log.claim == Some(epoch)
            {
                log.claim = None;
                if log.facts.is_empty() {
                    disk.logs.remove(session);
                }
            }
            Ok(())
        })
        .await
    }

    async fn append(
        &self,
        session: &SessionId,
        epoch: Epoch,
        after: Seq,
        facts: &[Arc<RecordedFact>],
    ) -> Result<(), StoreError> {
        let _appending = Appending::to(self, session);
        self.with_faults(Operation::Append, |disk| disk.append(session, epoch, after, facts)).await
    }

    async fn read(
        &self,
        session: &SessionId,
        after: Seq,
        limit: usize,
    ) -> Result<Vec<RecordedFact>, StoreError> {
        self.with_faults(Operation::Read, |disk| {
            let log = disk.written(session)?;
            let start = usize::try_from(after.0).unwrap_or(usize::MAX);
            let rest = log.facts.get(start..).unwrap_or_default();
            let page = rest.iter().take(limit);
            Ok(page.map(|fact| RecordedFact::clone(fact)).collect())
        })
        .await
    }

    async fn probe(&self) -> Result<(), StoreError> {
        self.with_faults(Operation::Probe, |_| Ok(())).await
    }

    async fn sessions(
        &self,
        filter: &SessionFilter,
        after: Option<&SessionId>,
        limit: usize,
    ) -> Result<Vec<SessionListing>, StoreError> {
        let disk = self.disk.lock();
        let start = after.map_or(Bound::Unbounded, Bound::Excluded);
        let logs = disk.logs.range((start, Bound::Unbounded));
        let written = logs.filter(|(_, log)| !log.facts.is_empty());
        let heads = written.map(|(id, log)| head(id, &log.facts));
        let held = |id: &SessionId| disk.logs.get(id).is_some_and(|log| log.claim.is_some());
        let taken = heads.filter(|head| filter.matches(head.summary.as_ref(), || held(&head.id)));
        Ok(taken.take(limit).collect())
    }

    async fn verify(&self, session: &SessionId) -> Result<LogVerification, StoreError> {
        let disk = self.disk.lock();
        let log = disk.written(session)?;
        Ok(LogVerification {
            last: log.last(),
            bytes: log.bytes,
            torn_bytes: 0,
            chain: ChainLink::of_log(session, log.facts.iter().map(AsRef::as_ref)).map_err(
                |error| {
                    let context = format!("a fact of {session} has no text form");
                    StoreError::new(StoreErrorKind::Io, context).caused_by(error)
                },
            )?,
        })
    }
}

#[cfg(test)]
mod tests;
