//! The store: one map of logs behind one lock, which is never held across a wait.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::time::timeout;
use windlass_core::{Epoch, RecordedFact, Seq, SessionId};
use windlass_ports::sync::Mutex;
use windlass_ports::{
    Durability, Fencing, LogStore, LogVerification, MAX_FACT_BYTES, SessionClaim, SessionFilter,
    SessionListing, SessionSummary, StoreCapabilities, StoreError, StoreErrorKind,
    StoredCheckpoint,
};

use crate::live_bus::{BusNodes, MemoryLiveBus};
use crate::log::{
    SessionLog, WriterClaim, check_numbers, conflict, full, link, measure, not_claimed,
};
use crate::mailbox::{Mailboxes, MemoryMailbox};

const MAX_CHECKPOINT_BYTES: usize = 64 * 1024 * 1024;
const LIMIT_BYTES: u64 = 1024 * 1024 * 1024;
const ACK_RETENTION_MS: u64 = 10 * 60 * 1000;

/// A log store in memory.
///
/// Its claims go with it: when it is dropped, what it held is free for another one of the same place
/// ([`beside`](Self::another_node)).
#[derive(Debug)]
pub struct MemoryStore {
    replies_ms: u64,
    claimant: Claimant,
    state: Arc<Mutex<StoreState>>,
    nodes: Arc<BusNodes>,
}

/// A store object as the claims of its place know it.
#[derive(Debug)]
struct Claimant {
    number: u64,
    state: Arc<Mutex<StoreState>>,
}

#[derive(Debug)]
pub(crate) struct StoreState {
    /// Number of store objects so far.
    claimants: u64,
    limit_bytes: u64,
    epoch: u64,
    bytes: u64,
    logs: BTreeMap<SessionId, SessionLog>,
    pub(crate) mailboxes: Mailboxes,
}

impl Claimant {
    fn new(state: &Arc<Mutex<StoreState>>) -> Self {
        let mut locked = state.lock();
        locked.claimants = locked.claimants.saturating_add(1);
        Self { number: locked.claimants, state: Arc::clone(state) }
    }

    fn expire(&self) {
        let mut state = self.state.lock();
        let ours = |log: &SessionLog| log.claim.is_some_and(|claim| claim.by == self.number);
        state.logs.retain(|_, log| {
            if ours(log) {
                log.claim = None;
            }
            log.claim.is_some() || !log.facts.is_empty()
        });
    }
}

impl Drop for Claimant {
    fn drop(&mut self) {
        self.expire();
    }
}

impl MemoryStore {
    /// An empty store that holds up to 1 GiB of facts, snapshots and letters.
    #[must_use]
    pub fn new() -> Self {
        Self::with_limit(LIMIT_BYTES)
    }

    /// An empty store that holds up to `limit_bytes` bytes of facts, in their text form, of
    /// snapshots and of letters.
    #[must_use]
    pub fn with_limit(limit_bytes: u64) -> Self {
        let state = StoreState {
            claimants: 0,
            limit_bytes,
            epoch: 0,
            bytes: 0,
            logs: BTreeMap::new(),
            mailboxes: Mailboxes::default(),
        };
        let state = Arc::new(Mutex::new(state));
        Self {
            replies_ms: ACK_RETENTION_MS,
            claimant: Claimant::new(&state),
            state,
            nodes: Arc::default(),
        }
    }

    /// Another store object of the same place, as another node has one. What one of them holds the
    /// others find locked until it is given back, until that one [lapses](Self::expire_claims), or is dropped.
    #[must_use]
    pub fn another_node(&self) -> Self {
        Self {
            replies_ms: self.replies_ms,
            claimant: Claimant::new(&self.state),
            state: Arc::clone(&self.state),
            nodes: Arc::clone(&self.nodes),
        }
    }

    /// Ends all claims of this store object, as if it had stood still for longer than its lease.
    pub fn expire_claims(&self) {
        self.claimant.expire();
    }

    /// The same store, whose inbox keeps replies for so many milliseconds instead of ten minutes.
    #[must_use]
    pub fn with_ack_retention(self, replies_ms: u64) -> Self {
        Self { replies_ms, ..self }
    }

    /// The inbox beside these logs.
    #[must_use]
    pub fn mailbox(&self) -> MemoryMailbox {
        MemoryMailbox::new(Arc::clone(&self.state), self.replies_ms)
    }

    /// A live relay between all who take one of this store: each is a node of its own.
    #[must_use]
    pub fn live_bus(&self) -> MemoryLiveBus {
        MemoryLiveBus::new(Arc::clone(&self.nodes))
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new()
    }
}

#[async_trait]
impl LogStore for MemoryStore {
    fn capabilities(&self) -> StoreCapabilities {
        StoreCapabilities {
            durability: Durability::Memory,
            max_fact_bytes: MAX_FACT_BYTES,
            fencing: Fencing::AllWriters,
            tail_delay_ms: Some(0),
            erase: true,
            retention_ms: None,
            max_checkpoint_bytes: Some(MAX_CHECKPOINT_BYTES),
        }
    }

    async fn claim(&self, session: &SessionId) -> Result<SessionClaim, StoreError> {
        let mut state = self.state.lock();
        let by = self.claimant.number;
        let claim = state.logs.get(session).and_then(|log| log.claim);
        if claim.is_some_and(|claim| claim.by != by) {
            let context = format!(
                "claiming {session}: another store object of this place holds it; ask that one, or \
                 wait for it to end"
            );
            return Err(StoreError::new(StoreErrorKind::Locked, context));
        }
        state.epoch = state.epoch.saturating_add(1);
        let epoch = Epoch(state.epoch);
        let log = state.logs.entry(session.clone()).or_default();
        log.claim = Some(WriterClaim { epoch, by });
        log.recent = None;
        Ok(SessionClaim { epoch, last: log.last(), repaired: None })
    }

    async fn release(&self, session: &SessionId, epoch: Epoch) -> Result<(), StoreError> {
        let mut state = self.state.lock();
        let Some(log) = state.logs.get_mut(session) else {
            return Ok(());
        };
        if log.is_claimed(epoch) {
            log.claim = None;
            if log.facts.is_empty() {
                state.logs.remove(session);
            }
        }
        Ok(())
    }

    async fn append(
        &self,
        session: &SessionId,
        epoch: Epoch,
        after: Seq,
        facts: &[Arc<RecordedFact>],
    ) -> Result<(), StoreError> {
        let bytes = measure(session, facts)?;
        let mut state = self.state.lock();
        let (total, limit_bytes) = (state.bytes.saturating_add(bytes), state.limit_bytes);
        let log = state
            .logs
            .get_mut(session)
            .filter(|log| log.is_claimed(epoch))
            .ok_or_else(|| not_claimed(session, epoch, "appending to"))?;
        let last = log.last();
        if log.recent == Some(after) && log.after(after) == facts {
            return Ok(());
        }
        if after != last {
            return Err(conflict(session, after, last));
        }
        check_numbers(session, after, facts)?;
        if total > limit_bytes {
            return Err(full(session, limit_bytes));
        }
        let new = facts.iter().map(AsRef::as_ref);
        log.summary = SessionSummary::after(log.summary.take(), new);
        log.recent = Some(after);
        log.facts.extend_from_slice(facts);
        log.bytes = log.bytes.saturating_add(bytes);
        log.grown.notify_waiters();
        state.bytes = total;
        Ok(())
    }

    async fn read(
        &self,
        session: &SessionId,
        after: Seq,
        limit: usize,
    ) -> Result<Vec<RecordedFact>, StoreError> {
        let page = {
            let state = self.state.lock();
            let log = state.written(session)?;
            log.after(after).iter().take(limit).cloned().collect::<Vec<_>>()
        };
        Ok(page.into_iter().map(Arc::unwrap_or_clone).collect())
    }

    async fn probe(&self) -> Result<(), StoreError> {
        Ok(())
    }

    async fn sessions(
        &self,
        filter: &SessionFilter,
        after: Option<&SessionId>,
        limit: usize,
    ) -> Result<Vec<SessionListing>, StoreError> {
        let state = self.state.lock();
        let start = after.map_or(Bound::Unbounded, Bound::Excluded);
        let logs = state.logs.range((start, Bound::Unbounded));
        let written = logs.filter(|(_, log)| !log.facts.is_empty());
        let takes = |log: &SessionLog| filter.matches(log.summary.as_ref(), || log.claim.is_some());
        let taken = written.filter(|(_, log)| takes(log));
        let heads = taken
            .take(limit)
            .map(|(id, log)| SessionListing { id: id.clone(), summary: log.summary.clone() });
        Ok(heads.collect())
    }

    async fn verify(&self, session: &SessionId) -> Result<LogVerification, StoreError> {
        let state = self.state.lock();
        let log = state.written(session)?;
        Ok(LogVerification {
            last: log.last(),
            bytes: log.bytes,
            torn_bytes: 0,
            chain: link(session, &log.facts)?,
        })
    }

    async fn tail(
        &self,
        session: &SessionId,
        after: Seq,
        patience: Duration,
    ) -> Result<Seq, StoreError> {
        let last = || self.state.lock().written(session).map(SessionLog::last);
        let follow = async {
            loop {
                // Who follows is on the list before it looks, so no append comes between.
                let grown = self.state.lock().written(session)?.grown.clone();
                let grows = grown.notified();
                let last = last()?;
                if last > after {
                    return Ok(last);
                }
                grows.await;
            }
        };
        match timeout(patience, follow).await {
            Ok(answer) => answer,
            Err(_over) => last(),
        }
    }

    async fn erase(&self, session: &SessionId, epoch: Epoch) -> Result<(), StoreError> {
        let mut state = self.state.lock();
        if !state.is_claimed(session, epoch) {
            return Err(not_claimed(session, epoch, "erasing"));
        }
        let Some(log) = state.logs.remove(session) else {
            return Ok(());
        };
        let letters = state.mailboxes.erase(session);
        state.free(log.held().saturating_add(letters));
        log.grown.notify_waiters();
        Ok(())
    }

    async fn write_checkpoint(
        &self,
        session: &SessionId,
        snapshot: &StoredCheckpoint,
    ) -> Result<(), StoreError> {
        let mut state = self.state.lock();
        let (all, log) = (state.bytes, state.written(session)?);
        let (last, bytes) = (log.last(), snapshot.bytes.len());
        let refused = |kind, what: String| {
            let context = format!("keeping a snapshot of {session}: {what}");
            Err(StoreError::new(kind, context))
        };
        if snapshot.seq > last {
            let what = format!("it is of position {} and the log ends at {last}", snapshot.seq);
            return refused(StoreErrorKind::Invalid, what);
        }
        if bytes > MAX_CHECKPOINT_BYTES {
            let what = format!("it has {bytes} bytes and {MAX_CHECKPOINT_BYTES} are taken");
            return refused(StoreErrorKind::TooLarge, what);
        }
        let total = all.saturating_sub(log.checkpoint_bytes()).saturating_add(bytes as u64);
        if total > state.limit_bytes {
            let what = format!("it would pass the {} bytes of this store", state.limit_bytes);
            return refused(StoreErrorKind::Full, what);
        }
        if let Some(log) = state.logs.get_mut(session) {
            log.checkpoint = Some(snapshot.clone());
            state.bytes = total;
        }
        Ok(())
    }

    async fn read_checkpoint(
        &self,
        session: &SessionId,
        version: &str,
    ) -> Result<Option<StoredCheckpoint>, StoreError> {
        let state = self.state.lock();
        let snapshot = state.written(session)?.checkpoint.as_ref();
        Ok(snapshot.filter(|kept| kept.version == version).cloned())
    }
}

impl StoreState {
    /// Returns true if a claim of this epoch is in force.
    pub(crate) fn is_claimed(&self, session: &SessionId, epoch: Epoch) -> bool {
        self.logs.get(session).is_some_and(|log| log.is_claimed(epoch))
    }

    /// Takes room for bytes, if there is so much.
    pub(crate) fn reserve(&mut self, bytes: u64) -> bool {
        let total = self.bytes.saturating_add(bytes);
        let fits = total <= self.limit_bytes;
        if fits {
            self.bytes = total;
        }
        fits
    }

    /// Releases bytes of the store's limit.
    pub(crate) fn free(&mut self, bytes: u64) {
        self.bytes = self.bytes.saturating_sub(bytes);
    }

    /// A session's log, which exists once it has a fact.
    fn written(&self, session: &SessionId) -> Result<&SessionLog, StoreError> {
        let log = self.logs.get(session).filter(|log| !log.facts.is_empty());
        log.ok_or_else(|| {
            StoreError::new(
                StoreErrorKind::Unknown,
                format!("there is no session {session} in this memory store"),
            )
        })
    }
}
