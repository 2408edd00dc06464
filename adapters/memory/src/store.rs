//! The store: one map of logs behind one lock, which is never held across a wait.

use std::collections::BTreeMap;
use std::io;
use std::ops::Bound;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::Notify;
use tokio::time::timeout;
use windlass_core::{Epoch, Recorded, Seq, SessionId};
use windlass_ports::{
    Claimed, Durability, Fencing, Link, LogStore, SessionFilter, SessionHead, Snapshot,
    StoreCapabilities, StoreError, StoreErrorKind, Summary, Verified,
};

use crate::inbox::{Letters, MemoryInbox};
use crate::relay::{MemoryRelay, Nodes};

const MAX_FACT_BYTES: usize = 16 * 1024 * 1024;
const MAX_SNAPSHOT_BYTES: usize = 64 * 1024 * 1024;
const LIMIT_BYTES: u64 = 1024 * 1024 * 1024;
const REPLIES_MS: u64 = 10 * 60 * 1000;

/// A log store in memory.
#[derive(Debug)]
pub struct MemoryStore {
    replies_ms: u64,
    state: Arc<Mutex<State>>,
    nodes: Arc<Nodes>,
}

#[derive(Debug)]
pub(crate) struct State {
    limit_bytes: u64,
    epoch: u64,
    bytes: u64,
    logs: BTreeMap<SessionId, Log>,
    pub(crate) letters: Letters,
}

/// A session that is claimed, has facts, or both.
#[derive(Debug, Default)]
struct Log {
    claim: Option<Epoch>,
    /// Where the last append of this claim stands.
    recent: Option<Seq>,
    /// Bytes of the facts.
    bytes: u64,
    summary: Option<Summary>,
    facts: Vec<Arc<Recorded>>,
    /// It goes with the log, and a log only grows, so what it was made of still stands.
    snapshot: Option<Snapshot>,
    /// Wakes who follows the log.
    grown: Arc<Notify>,
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
        let state = State {
            limit_bytes,
            epoch: 0,
            bytes: 0,
            logs: BTreeMap::new(),
            letters: Letters::default(),
        };
        Self {
            replies_ms: REPLIES_MS,
            state: Arc::new(Mutex::new(state)),
            nodes: Arc::default(),
        }
    }

    /// The same store, whose inbox keeps replies for so many milliseconds instead of ten minutes.
    #[must_use]
    pub fn with_replies_kept(self, replies_ms: u64) -> Self {
        Self { replies_ms, ..self }
    }

    /// The inbox beside these logs.
    #[must_use]
    pub fn inbox(&self) -> MemoryInbox {
        MemoryInbox::new(Arc::clone(&self.state), self.replies_ms)
    }

    /// A live relay between all who take one of this store: each is a node of its own.
    #[must_use]
    pub fn relay(&self) -> MemoryRelay {
        MemoryRelay::new(Arc::clone(&self.nodes))
    }

    /// No panic can leave the state half changed, so a poisoned lock is as good as any.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
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
            fencing: Fencing::Object,
            tail: Some(0),
            erase: true,
            snapshots: Some(MAX_SNAPSHOT_BYTES),
        }
    }

    async fn claim(&self, session: &SessionId) -> Result<Claimed, StoreError> {
        let mut state = self.state();
        state.epoch = state.epoch.saturating_add(1);
        let epoch = Epoch(state.epoch);
        let log = state.logs.entry(session.clone()).or_default();
        log.claim = Some(epoch);
        log.recent = None;
        Ok(Claimed {
            epoch,
            last: log.last(),
            repaired: None,
        })
    }

    async fn release(&self, session: &SessionId, epoch: Epoch) -> Result<(), StoreError> {
        let mut state = self.state();
        let Some(log) = state.logs.get_mut(session) else {
            return Ok(());
        };
        if log.claim == Some(epoch) {
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
        facts: &[Arc<Recorded>],
    ) -> Result<(), StoreError> {
        let bytes = measure(session, facts)?;
        let mut state = self.state();
        let (total, limit_bytes) = (state.bytes.saturating_add(bytes), state.limit_bytes);
        let log = state
            .logs
            .get_mut(session)
            .filter(|log| log.claim == Some(epoch))
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
        log.summary = Summary::after(log.summary.take(), new);
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
    ) -> Result<Vec<Recorded>, StoreError> {
        let page = {
            let state = self.state();
            let log = state.written(session)?;
            log.after(after)
                .iter()
                .take(limit)
                .cloned()
                .collect::<Vec<_>>()
        };
        Ok(page.into_iter().map(Arc::unwrap_or_clone).collect())
    }

    async fn sessions(
        &self,
        filter: &SessionFilter,
        after: Option<&SessionId>,
        limit: usize,
    ) -> Result<Vec<SessionHead>, StoreError> {
        let state = self.state();
        let start = after.map_or(Bound::Unbounded, Bound::Excluded);
        let logs = state.logs.range((start, Bound::Unbounded));
        let written = logs.filter(|(_, log)| !log.facts.is_empty());
        let taken = written.filter(|(_, log)| filter.takes(log.summary.as_ref()));
        let heads = taken.take(limit).map(|(id, log)| SessionHead {
            id: id.clone(),
            summary: log.summary.clone(),
        });
        Ok(heads.collect())
    }

    async fn verify(&self, session: &SessionId) -> Result<Verified, StoreError> {
        let state = self.state();
        let log = state.written(session)?;
        Ok(Verified {
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
        let last = || self.state().written(session).map(Log::last);
        let follow = async {
            loop {
                // Who follows is on the list before it looks, so no append comes between.
                let grown = self.state().written(session)?.grown.clone();
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
        let mut state = self.state();
        let claimed = |log: &Log| log.claim == Some(epoch);
        if !state.logs.get(session).is_some_and(claimed) {
            return Err(not_claimed(session, epoch, "erasing"));
        }
        let Some(log) = state.logs.remove(session) else {
            return Ok(());
        };
        let letters = state.letters.erase(session);
        state.free(log.held().saturating_add(letters));
        log.grown.notify_waiters();
        Ok(())
    }

    async fn keep_snapshot(
        &self,
        session: &SessionId,
        snapshot: &Snapshot,
    ) -> Result<(), StoreError> {
        let mut state = self.state();
        let (all, log) = (state.bytes, state.written(session)?);
        let (last, bytes) = (log.last(), snapshot.bytes.len());
        let refused = |kind, what: String| {
            let context = format!("keeping a snapshot of {session}: {what}");
            Err(StoreError::new(kind, context))
        };
        if snapshot.seq > last {
            let what = format!(
                "it is of position {} and the log ends at {last}",
                snapshot.seq
            );
            return refused(StoreErrorKind::Invalid, what);
        }
        if bytes > MAX_SNAPSHOT_BYTES {
            let what = format!("it has {bytes} bytes and {MAX_SNAPSHOT_BYTES} are taken");
            return refused(StoreErrorKind::TooLarge, what);
        }
        let total = all
            .saturating_sub(log.snapshot_bytes())
            .saturating_add(bytes as u64);
        if total > state.limit_bytes {
            let what = format!(
                "it would pass the {} bytes of this store",
                state.limit_bytes
            );
            return refused(StoreErrorKind::Full, what);
        }
        if let Some(log) = state.logs.get_mut(session) {
            log.snapshot = Some(snapshot.clone());
            state.bytes = total;
        }
        Ok(())
    }

    async fn snapshot(
        &self,
        session: &SessionId,
        version: &str,
    ) -> Result<Option<Snapshot>, StoreError> {
        let state = self.state();
        let snapshot = state.written(session)?.snapshot.as_ref();
        Ok(snapshot.filter(|kept| kept.version == version).cloned())
    }
}

impl State {
    /// Whether a claim of this epoch stands.
    pub(crate) fn is_claimed(&self, session: &SessionId, epoch: Epoch) -> bool {
        self.logs
            .get(session)
            .is_some_and(|log| log.claim == Some(epoch))
    }

    /// Takes room for bytes, if there is so much.
    pub(crate) fn take(&mut self, bytes: u64) -> bool {
        let total = self.bytes.saturating_add(bytes);
        let fits = total <= self.limit_bytes;
        if fits {
            self.bytes = total;
        }
        fits
    }

    /// Gives room back.
    pub(crate) fn free(&mut self, bytes: u64) {
        self.bytes = self.bytes.saturating_sub(bytes);
    }

    /// A session's log, which exists once it has a fact.
    fn written(&self, session: &SessionId) -> Result<&Log, StoreError> {
        let log = self.logs.get(session).filter(|log| !log.facts.is_empty());
        log.ok_or_else(|| {
            StoreError::new(
                StoreErrorKind::Unknown,
                format!("there is no session {session} in this memory store"),
            )
        })
    }
}

impl Log {
    fn last(&self) -> Seq {
        self.facts.last().map_or(Seq::ZERO, |fact| fact.seq)
    }

    /// The facts after a position.
    fn after(&self, after: Seq) -> &[Arc<Recorded>] {
        let start = usize::try_from(after.0).unwrap_or(usize::MAX);
        self.facts.get(start..).unwrap_or_default()
    }

    fn snapshot_bytes(&self) -> u64 {
        let snapshot = self.snapshot.as_ref();
        snapshot.map_or(0, |snapshot| snapshot.bytes.len() as u64)
    }

    /// Bytes of all that it holds.
    fn held(&self) -> u64 {
        self.bytes.saturating_add(self.snapshot_bytes())
    }
}

/// The bytes of the facts' text forms, each of which must be within the limit.
fn measure(session: &SessionId, facts: &[Arc<Recorded>]) -> Result<u64, StoreError> {
    let mut total = 0_u64;
    for fact in facts {
        let mut count = Count(0);
        serde_json::to_writer(&mut count, &**fact).map_err(|error| {
            let context = format!("fact {} of {session} has no text form", fact.seq);
            StoreError::new(StoreErrorKind::Invalid, context).caused_by(error)
        })?;
        if count.0 > MAX_FACT_BYTES {
            return Err(StoreError::new(
                StoreErrorKind::TooLarge,
                format!(
                    "fact {} of {session} has {} bytes and a memory store takes {MAX_FACT_BYTES}: \
                     nothing of the batch was kept",
                    fact.seq, count.0
                ),
            ));
        }
        total = total.saturating_add(count.0 as u64);
    }
    Ok(total)
}

/// Counts what is written to it.
struct Count(usize);

impl io::Write for Count {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.saturating_add(bytes.len());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The last link of the chain over these facts.
fn link(session: &SessionId, facts: &[Arc<Recorded>]) -> Result<Link, StoreError> {
    Link::of(session, facts.iter().map(AsRef::as_ref)).map_err(|error| {
        let context = format!("a fact of {session} has no text form");
        StoreError::new(StoreErrorKind::Io, context).caused_by(error)
    })
}

/// Holds a batch to what may be appended after a position.
fn check_numbers(
    session: &SessionId,
    after: Seq,
    facts: &[Arc<Recorded>],
) -> Result<(), StoreError> {
    if facts.is_empty() {
        return Err(invalid(format!("an append to {session} holds no fact")));
    }
    let mut expected = after;
    for fact in facts {
        expected = expected.next();
        if fact.session != *session {
            let context = format!("an append to {session} holds a fact of {}", fact.session);
            return Err(invalid(context));
        }
        if fact.seq != expected {
            let context = format!(
                "an append to {session} holds position {} where {expected} must stand",
                fact.seq
            );
            return Err(invalid(context));
        }
    }
    Ok(())
}

fn invalid(context: String) -> StoreError {
    StoreError::new(StoreErrorKind::Invalid, context)
}

fn not_claimed(session: &SessionId, epoch: Epoch, doing: &str) -> StoreError {
    StoreError::new(
        StoreErrorKind::NotClaimed,
        format!(
            "{doing} {session} under epoch {epoch}, which is not that of its latest claim: \
             another writer took over, or the claim was released"
        ),
    )
}

fn conflict(session: &SessionId, after: Seq, last: Seq) -> StoreError {
    StoreError::new(
        StoreErrorKind::Conflict { last },
        format!("appending to {session} after {after}, but its log ends at {last}"),
    )
}

fn full(session: &SessionId, limit: u64) -> StoreError {
    StoreError::new(
        StoreErrorKind::Full,
        format!(
            "appending to {session} would pass the {limit} bytes that this memory store holds: \
             use a store on disk for sessions that are this long"
        ),
    )
}
