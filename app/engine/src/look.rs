//! Look: whose session it is, from its first fact alone.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use windlass_core::{Fact, Recorded, Scope, Seq, SessionId, SessionOpened, opened};
use windlass_ports::{LogStore, StoreErrorKind};

use crate::error::StartError;

/// How many sessions are remembered at most, in two halves of which the older one makes room.
const HALF: usize = 512;
/// How long what was looked up counts.
const LASTS: Duration = Duration::from_secs(60);

/// A session that was looked at.
#[derive(Debug, Clone)]
pub struct Looked {
    /// Whose it is.
    pub owner: Arc<Scope>,
    /// Its first fact, a [`Fact::SessionOpened`].
    pub first: Arc<Recorded>,
}

impl Looked {
    /// What the session was opened with; its settings may have changed since.
    #[must_use]
    pub fn opened(&self) -> Option<&SessionOpened> {
        let Fact::SessionOpened(opened) = &self.first.fact else {
            return None;
        };
        Some(opened)
    }
}

/// Reads a session's first fact.
pub(crate) async fn read(store: &dyn LogStore, id: &SessionId) -> Result<Looked, StartError> {
    let facts = match store.read(id, Seq::ZERO, 1).await {
        Ok(facts) => facts,
        Err(error) if error.kind == StoreErrorKind::Unknown => Vec::new(),
        Err(error) => return Err(error.into()),
    };
    let Some(first) = facts.into_iter().next() else {
        return Err(StartError::Unknown(id.clone()));
    };
    let misfit = |misfit| StartError::Misfit {
        session: id.clone(),
        misfit,
    };
    let session = opened(&first).map_err(misfit)?;
    Ok(Looked {
        owner: session.owner,
        first: Arc::new(first),
    })
}

/// What was looked up lately. The first fact of a session never changes; it ends with its session.
#[derive(Default)]
pub(crate) struct Looks(Mutex<Halves>);

#[derive(Default)]
struct Halves {
    new: HashMap<SessionId, (Instant, Looked)>,
    old: HashMap<SessionId, (Instant, Looked)>,
}

impl Looks {
    fn halves(&self) -> MutexGuard<'_, Halves> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn find(&self, id: &SessionId) -> Option<Looked> {
        let mut halves = self.halves();
        if let Some((at, looked)) = halves.new.get(id) {
            return (at.elapsed() < LASTS).then(|| looked.clone());
        }
        let (at, looked) = halves.old.remove(id)?;
        if at.elapsed() >= LASTS {
            return None;
        }
        halves.put(id, at, &looked);
        Some(looked)
    }

    pub(crate) fn keep(&self, id: &SessionId, looked: &Looked) {
        self.halves().put(id, Instant::now(), looked);
    }

    pub(crate) fn forget(&self, id: &SessionId) {
        let mut halves = self.halves();
        halves.new.remove(id);
        halves.old.remove(id);
    }
}

impl Halves {
    fn put(&mut self, id: &SessionId, at: Instant, looked: &Looked) {
        if self.new.len() >= HALF && !self.new.contains_key(id) {
            self.old = std::mem::take(&mut self.new);
        }
        self.new.insert(id.clone(), (at, looked.clone()));
    }
}
