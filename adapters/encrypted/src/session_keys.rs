//! The keys of sessions, as a process has them: decrypted once, and kept while there is room.

use std::collections::HashMap;
use std::sync::Arc;

use windlass_core::SessionId;
use windlass_ports::sync::Mutex;

use crate::cipher::Key;
use crate::error::KeyError;
use crate::master::MasterKeys;
use crate::record::KeyRecord;
use crate::storage::KeyStorage;

/// Most keys that are kept. Beyond them all are read again.
const CACHED: usize = 4_096;

/// Keys of sessions. A log store and a blob store share them.
pub struct SessionKeys {
    pub(crate) storage: Arc<dyn KeyStorage>,
    masters: MasterKeys,
    cache: Mutex<HashMap<SessionId, Arc<SessionKey>>>,
}

/// Key of one session.
#[derive(Debug)]
pub(crate) struct SessionKey {
    pub(crate) key: Key,
    pub(crate) tenant: Option<String>,
}

impl SessionKeys {
    /// Creates the keys of a place, which these master keys encrypt.
    #[must_use]
    pub fn new(storage: Arc<dyn KeyStorage>, masters: MasterKeys) -> Arc<Self> {
        Arc::new(Self { storage, masters, cache: Mutex::default() })
    }

    /// Returns the key of a session; `None` if it has none.
    pub(crate) async fn find(
        &self,
        session: &SessionId,
    ) -> Result<Option<Arc<SessionKey>>, KeyError> {
        if let Some(key) = self.cache.lock().get(session) {
            return Ok(Some(key.clone()));
        }
        let stored = self.storage.key(session).await.map_err(|source| self.io(source))?;
        let Some(stored) = stored else {
            return Ok(None);
        };
        let place = self.storage.place();
        let record = KeyRecord::decode(&stored, &place)?;
        let key = record.unwrap(session, &self.masters, &place)?;
        Ok(Some(self.insert(session, SessionKey { key, tenant: record.tenant })))
    }

    /// Returns the key of a session that has a log. One that was hidden by an erasing that did not
    /// come to its end is restored.
    pub(crate) async fn of_log(&self, session: &SessionId) -> Result<Arc<SessionKey>, KeyError> {
        if let Some(key) = self.find(session).await? {
            return Ok(key);
        }
        self.storage.restore_key(session).await.map_err(|source| self.io(source))?;
        let missing = || KeyError::Missing { place: self.storage.place() };
        self.find(session).await?.ok_or_else(missing)
    }

    /// Returns the key of a session without a log. It is created if there is none.
    pub(crate) async fn of_new(
        &self,
        session: &SessionId,
        tenant: Option<&str>,
    ) -> Result<Arc<SessionKey>, KeyError> {
        let io = |source| self.io(source);
        // Its blobs came first, or an earlier first append failed.
        if let Some(key) = self.find(session).await? {
            return Ok(key);
        }
        self.storage.destroy_hidden_key(session).await.map_err(io)?;
        let key = Key::random().map_err(KeyError::Random)?;
        let record = KeyRecord::wrap(&key, session, tenant, &self.masters.current)?;
        // Another process may have been faster: its key counts.
        self.storage.create_key(session, &record.encode()).await.map_err(io)?;
        let missing = || KeyError::Missing { place: self.storage.place() };
        self.find(session).await?.ok_or_else(missing)
    }

    /// Returns the key for blobs of a session, which may have no log yet.
    pub(crate) async fn of_blobs(&self, session: &SessionId) -> Result<Arc<SessionKey>, KeyError> {
        match self.find(session).await? {
            Some(key) => Ok(key),
            None => self.of_new(session, None).await,
        }
    }

    /// Removes a key from memory. It is read again where it is needed.
    pub(crate) fn forget(&self, session: &SessionId) {
        self.cache.lock().remove(session);
    }

    pub(crate) fn io(&self, source: std::io::Error) -> KeyError {
        KeyError::Io { place: self.storage.place(), source }
    }

    fn insert(&self, session: &SessionId, key: SessionKey) -> Arc<SessionKey> {
        let (key, mut cache) = (Arc::new(key), self.cache.lock());
        if cache.len() >= CACHED {
            cache.clear();
        }
        cache.insert(session.clone(), key.clone());
        key
    }
}
