//! The log store: encrypts facts and checkpoints before another store appends them.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use windlass_core::{Epoch, RecordedFact, Seq, SessionId};
use windlass_ports::{
    ChainLink, LogStore, LogVerification, SessionClaim, SessionFilter, SessionListing,
    StoreCapabilities, StoreError, StoreErrorKind, StoredCheckpoint, codec,
};

use crate::cipher::{Bound, OVERHEAD, open, seal};
use crate::error::KeyError;
use crate::fact::{open_fact, seal_fact, tenant};
use crate::recent::RecentAppends;
use crate::session_keys::{SessionKey, SessionKeys};

/// Number of facts that a verification reads at a time.
const PAGE: usize = 128;

/// A log store that encrypts what another one keeps.
pub struct EncryptedStore {
    inner: Arc<dyn LogStore>,
    keys: Arc<SessionKeys>,
    recent: RecentAppends,
}

impl EncryptedStore {
    /// Opens a store. Keys of sessions that were erased when an earlier process ended are destroyed.
    ///
    /// # Errors
    /// `Io` when the keys cannot be listed; those of reading a log.
    pub async fn open(
        inner: Arc<dyn LogStore>,
        keys: Arc<SessionKeys>,
    ) -> Result<Self, StoreError> {
        let hidden = keys.storage.hidden().await.map_err(|source| {
            let error = keys.io(source);
            StoreError::new(StoreErrorKind::Io, "opening an encrypted store").caused_by(error)
        })?;
        for session in hidden {
            match inner.read(&session, Seq::ZERO, 1).await {
                Err(error) if error.kind == StoreErrorKind::Unknown => {
                    let destroyed = keys.storage.destroy_hidden_key(&session).await;
                    destroyed.map_err(|source| keys.io(source).of_log("erasing", &session))?;
                }
                // Its log is there: whoever reads it restores the key.
                Ok(_) | Err(_) => {}
            }
        }
        Ok(Self { inner, keys, recent: RecentAppends::default() })
    }

    /// Destroys the keys of sessions that have no log: the store erased them by itself, or their first
    /// append failed. Returns the number of keys. A session that a writer has claimed keeps its key.
    ///
    /// # Errors
    /// `Io` when the keys cannot be listed or removed; those of claiming a session.
    pub async fn destroy_unused_keys(&self) -> Result<usize, StoreError> {
        let listed = self.keys.storage.sessions().await.map_err(|source| {
            let error = self.keys.io(source);
            StoreError::new(StoreErrorKind::Io, "listing the keys").caused_by(error)
        })?;
        let mut destroyed = 0;
        for session in listed {
            if !self.is_new(&session).await? {
                continue;
            }
            // With the claim, nobody else can make the first append.
            let claim = match self.inner.claim(&session).await {
                Ok(claim) => claim,
                Err(error) if error.kind == StoreErrorKind::Locked => continue,
                Err(error) => return Err(error),
            };
            let done = match claim.last {
                Seq::ZERO => self.destroy_key(&session).await.map(|()| destroyed += 1),
                _ => Ok(()),
            };
            self.inner.release(&session, claim.epoch).await?;
            done?;
        }
        Ok(destroyed)
    }

    async fn destroy_key(&self, session: &SessionId) -> Result<(), StoreError> {
        let failed = |source| self.keys.io(source).of_log("destroying the key of", session);
        self.keys.forget(session);
        self.keys.storage.hide_key(session).await.map_err(failed)?;
        self.keys.storage.destroy_hidden_key(session).await.map_err(failed)
    }

    async fn key_of_append(
        &self,
        session: &SessionId,
        after: Seq,
        facts: &[Arc<RecordedFact>],
    ) -> Result<Arc<SessionKey>, StoreError> {
        let found = match after {
            Seq::ZERO => self.keys.find(session).await,
            _ => self.keys.of_log(session).await.map(Some),
        };
        let key = match found {
            Ok(Some(key)) => Ok(key),
            Ok(None) | Err(KeyError::Missing { .. }) if self.is_new(session).await? => {
                self.keys.of_new(session, tenant(facts).as_deref()).await
            }
            Ok(None) => self.keys.of_log(session).await,
            Err(error) => Err(error),
        };
        key.map_err(|error| error.of_log("appending to", session))
    }

    /// Returns true if a session has no log.
    async fn is_new(&self, session: &SessionId) -> Result<bool, StoreError> {
        match self.inner.read(session, Seq::ZERO, 1).await {
            Ok(_) => Ok(false),
            Err(error) if error.kind == StoreErrorKind::Unknown => Ok(true),
            Err(error) => Err(error),
        }
    }

    /// Decrypts facts. If that fails with a key that was in memory, the key is read again: another
    /// process may have erased the session and begun another one of this id.
    async fn open_facts(
        &self,
        session: &SessionId,
        stored: Vec<RecordedFact>,
    ) -> Result<Vec<RecordedFact>, StoreError> {
        if stored.is_empty() {
            return Ok(stored);
        }
        let failed = |error: KeyError| error.of_log("reading", session);
        let key = self.keys.of_log(session).await.map_err(failed)?;
        let opened: Result<Vec<_>, _> =
            stored.iter().cloned().map(|fact| open_fact(&key, fact)).collect();
        match opened {
            Err(error) if matches!(error.kind, StoreErrorKind::Corrupt { .. }) => {
                self.keys.forget(session);
                let key = self.keys.of_log(session).await.map_err(failed)?;
                stored.into_iter().map(|fact| open_fact(&key, fact)).collect()
            }
            opened => opened,
        }
    }
}

#[async_trait]
impl LogStore for EncryptedStore {
    fn capabilities(&self) -> StoreCapabilities {
        let inner = self.inner.capabilities();
        let max_checkpoint_bytes =
            inner.max_checkpoint_bytes.map(|bytes| bytes.saturating_sub(OVERHEAD));
        StoreCapabilities { max_checkpoint_bytes, ..inner }
    }

    async fn claim(&self, session: &SessionId) -> Result<SessionClaim, StoreError> {
        self.inner.claim(session).await
    }

    async fn release(&self, session: &SessionId, epoch: Epoch) -> Result<(), StoreError> {
        self.recent.on_end(session, epoch);
        self.inner.release(session, epoch).await
    }

    async fn append(
        &self,
        session: &SessionId,
        epoch: Epoch,
        after: Seq,
        facts: &[Arc<RecordedFact>],
    ) -> Result<(), StoreError> {
        let sealed = match self.recent.find(session, epoch, after, facts) {
            Some(sealed) => sealed,
            None => {
                let key = self.key_of_append(session, after, facts).await?;
                let sealed = facts.iter().map(|fact| seal_fact(&key, fact).map(Arc::new));
                let sealed = sealed.collect::<Result<_, _>>()?;
                self.recent.insert(session, epoch, after, facts, sealed)
            }
        };
        let appended = self.inner.append(session, epoch, after, &sealed).await;
        match &appended {
            Ok(()) => self.recent.on_success(session, epoch, after),
            Err(error) if is_rejection(&error.kind) => self.recent.on_rejection(session, &sealed),
            Err(_) => {}
        }
        appended
    }

    async fn read(
        &self,
        session: &SessionId,
        after: Seq,
        limit: usize,
    ) -> Result<Vec<RecordedFact>, StoreError> {
        let stored = self.inner.read(session, after, limit).await?;
        self.open_facts(session, stored).await
    }

    async fn probe(&self) -> Result<(), StoreError> {
        self.inner.probe().await
    }

    async fn sessions(
        &self,
        filter: &SessionFilter,
        after: Option<&SessionId>,
        limit: usize,
    ) -> Result<Vec<SessionListing>, StoreError> {
        self.inner.sessions(filter, after, limit).await
    }

    async fn verify(&self, session: &SessionId) -> Result<LogVerification, StoreError> {
        let stored = self.inner.verify(session).await?;
        let (mut chain, mut after) = (ChainLink::genesis(session), Seq::ZERO);
        while after < stored.last {
            let page = self.read(session, after, PAGE).await?;
            let Some(last) = page.last().map(|fact| fact.seq) else {
                break;
            };
            // Facts that were appended in the meantime are not part of the verification.
            for fact in page.iter().take_while(|fact| fact.seq <= stored.last) {
                let text = codec::encode(fact).map_err(|error| {
                    let context = format!("verifying session {session}");
                    StoreError::new(StoreErrorKind::Io, context).caused_by(error)
                })?;
                chain = chain.next(&text);
            }
            after = last;
        }
        Ok(LogVerification { chain, ..stored })
    }

    async fn tail(
        &self,
        session: &SessionId,
        after: Seq,
        patience: Duration,
    ) -> Result<Seq, StoreError> {
        self.inner.tail(session, after, patience).await
    }

    /// Destroys the key too: copies of the log elsewhere cannot be read any more. The key is hidden
    /// first, so that a process that ends in between leaves either a session with its key or
    /// neither.
    async fn erase(&self, session: &SessionId, epoch: Epoch) -> Result<(), StoreError> {
        let failed = |source| self.keys.io(source).of_log("erasing", session);
        let storage = &self.keys.storage;
        storage.hide_key(session).await.map_err(failed)?;
        self.keys.forget(session);
        match self.inner.erase(session, epoch).await {
            Ok(()) => storage.destroy_hidden_key(session).await.map_err(failed)?,
            Err(error) => {
                // Whoever reads the log restores the key if this fails.
                let _ = storage.restore_key(session).await;
                return Err(error);
            }
        }
        self.recent.on_end(session, epoch);
        Ok(())
    }

    async fn write_checkpoint(
        &self,
        session: &SessionId,
        checkpoint: &StoredCheckpoint,
    ) -> Result<(), StoreError> {
        let doing = "writing a checkpoint of";
        let Some(key) = self.find_key(session, doing).await? else {
            self.inner.read(session, Seq::ZERO, 1).await?;
            let missing = KeyError::Missing { place: self.keys.storage.place() };
            return Err(missing.of_log(doing, session));
        };
        let bound = checkpoint_bound(session, checkpoint.seq, &checkpoint.version);
        let bytes = seal(&key.key, &bound, &checkpoint.bytes)
            .map_err(|error| KeyError::Random(error).of_log(doing, session))?;
        let sealed = StoredCheckpoint { bytes, ..checkpoint.clone() };
        self.inner.write_checkpoint(session, &sealed).await
    }

    async fn read_checkpoint(
        &self,
        session: &SessionId,
        version: &str,
    ) -> Result<Option<StoredCheckpoint>, StoreError> {
        let Some(stored) = self.inner.read_checkpoint(session, version).await? else {
            return Ok(None);
        };
        let Some(key) = self.find_key(session, "reading a checkpoint of").await? else {
            return Ok(None);
        };
        let bound = checkpoint_bound(session, stored.seq, version);
        let opened = open(&key.key, &bound, &stored.bytes);
        Ok(opened.map(|bytes| StoredCheckpoint { bytes, ..stored }))
    }
}

impl EncryptedStore {
    async fn find_key(
        &self,
        session: &SessionId,
        doing: &str,
    ) -> Result<Option<Arc<SessionKey>>, StoreError> {
        self.keys.find(session).await.map_err(|error| error.of_log(doing, session))
    }
}

/// Returns true if nothing of the append is stored.
fn is_rejection(kind: &StoreErrorKind) -> bool {
    matches!(
        kind,
        StoreErrorKind::Conflict { .. }
            | StoreErrorKind::NotClaimed
            | StoreErrorKind::Invalid
            | StoreErrorKind::TooLarge
    )
}

fn checkpoint_bound(session: &SessionId, seq: Seq, version: &str) -> Bound {
    Bound::to("windlass checkpoint 1")
        .and(session.as_str().as_bytes())
        .and(&seq.0.to_le_bytes())
        .and(version.as_bytes())
}
