//! Lookup: the owner of a session, read from its first fact alone.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use windlass_core::{Fact, RecordedFact, Scope, Seq, SessionId, SessionOpened, evolve_first};
use windlass_ports::sync::Mutex;
use windlass_ports::{LogStore, StoreErrorKind};

use crate::error::StartError;

/// Size of each half of the cache; the older half is dropped when the newer one is full or as old as a
/// lookup lives. A lookup has all settings of its session, so idle ones must not stay.
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
    /// Time of the first lookup in the newer half.
    began: Option<Instant>,
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
        let full = self.new.len() >= HALF_SIZE && !self.new.contains_key(id);
        if full || self.began.is_some_and(|began| began.elapsed() >= LIFETIME) {
            self.old = std::mem::take(&mut self.new);
            self.began = None;
        }
        self.began.get_or_insert_with(Instant::now);
        self.new.insert(id.clone(), (at, info.clone()));
    }
}

#[cfg(test)]
mod tests {
    use windlass_core::{Incoming, Lineage, OpenSession, decide_open};

    use super::*;

    fn info(id: &SessionId) -> SessionInfo {
        let opening = OpenSession {
            owner: Scope::local("tester"),
            workspace: None,
            settings: windlass_testkit::settings(),
            lineage: Lineage::Root,
        };
        let at = windlass_core::Timestamp(1);
        let first = decide_open(Incoming { at, entropy: 1, input: opening });
        let first = Arc::new(first.number(id, Seq::ZERO.next()));
        SessionInfo { owner: Arc::new(Scope::local("tester")), first }
    }

    #[tokio::test(start_paused = true)]
    async fn lookups_of_idle_sessions_do_not_stay() {
        let cache = LookupCache::default();
        let id = |n: usize| SessionId::new(&format!("s{n}")).unwrap();
        for n in 0..100 {
            cache.insert(&id(n), &info(&id(n)));
        }
        assert!(cache.get(&id(0)).is_some());
        for n in 100..103 {
            tokio::time::advance(LIFETIME).await;
            assert!(cache.get(&id(0)).is_none(), "it is too old");
            cache.insert(&id(n), &info(&id(n)));
        }
        let halves = cache.0.lock();
        assert!(halves.new.len() + halves.old.len() <= 3, "the first hundred are gone");
    }
}
