//! Lookup: the owner of a session, read from its first fact alone.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use windlass_core::{Fact, RecordedFact, Scope, Seq, SessionId, SessionOpened, evolve_first};
use windlass_ports::sync::Mutex;
use windlass_ports::{LogStore, StoreErrorKind};

use crate::error::StartError;

/// Size of each half of the cache; the older half is dropped when the newer one is full.
const HALF_SIZE: usize = 512;
/// Life of a cached lookup.
const LIFETIME: Duration = Duration::from_secs(60);

/// Owner and first fact of a session.
#[derive(Debug, Clone)]
pub struct SessionInfo {
    /// Owner of the session.
    pub owner: Arc<Scope>,
    /// First fact of the session, a [`Fact::SessionOpened`].
    pub first: Arc<RecordedFact>,
}

impl SessionInfo {
    /// Returns the fact that opened the session; its settings may have changed since.
    #[must_use]
    pub fn opened(&self) -> Option<&SessionOpened> {
        let Fact::SessionOpened(opened) = &self.first.fact else {
            return None;
        };
        Some(opened)
    }
}

/// Reads a session's first fact.
pub(crate) async fn read(store: &dyn LogStore, id: &SessionId) -> Result<SessionInfo, StartError> {
    let facts = match store.read(id, Seq::ZERO, 1).await {
        Ok(facts) => facts,
        Err(error) if error.kind == StoreErrorKind::Unknown => Vec::new(),
        Err(error) => return Err(error.into()),
    };
    let Some(first) = facts.into_iter().next() else {
        return Err(StartError::Unknown(id.clone()));
    };
    let invalid = |cause| StartError::InvalidFact { session: id.clone(), cause };
    let session = evolve_first(&first).map_err(invalid)?;
    Ok(SessionInfo { owner: session.owner, first: Arc::new(first) })
}

/// Cache of lookups. The first fact of a session never changes while the session exists.
#[derive(Default)]
pub(crate) struct LookupCache(Mutex<CacheHalves>);

#[derive(Default)]
struct CacheHalves {
    new: HashMap<SessionId, (Instant, SessionInfo)>,
    old: HashMap<SessionId, (Instant, SessionInfo)>,
}

impl LookupCache {
    pub(crate) fn get(&self, id: &SessionId) -> Option<SessionInfo> {
        let mut halves = self.0.lock();
        if let Some((at, info)) = halves.new.get(id) {
            return (at.elapsed() < LIFETIME).then(|| info.clone());
        }
        let (at, info) = halves.old.remove(id)?;
        if at.elapsed() >= LIFETIME {
            return None;
        }
        halves.put(id, at, &info);
        Some(info)
    }

    pub(crate) fn insert(&self, id: &SessionId, info: &SessionInfo) {
        self.0.lock().put(id, Instant::now(), info);
    }

    pub(crate) fn forget(&self, id: &SessionId) {
        let mut halves = self.0.lock();
        halves.new.remove(id);
        halves.old.remove(id);
    }
}

impl CacheHalves {
    fn put(&mut self, id: &SessionId, at: Instant, info: &SessionInfo) {
        if self.new.len() >= HALF_SIZE && !self.new.contains_key(id) {
            self.old = std::mem::take(&mut self.new);
        }
        self.new.insert(id.clone(), (at, info.clone()));
    }
}
