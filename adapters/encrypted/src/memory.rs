//! Keys in memory, for tests and temporary sessions.

use std::collections::BTreeMap;
use std::io;

use async_trait::async_trait;
use windlass_core::SessionId;
use windlass_ports::sync::Mutex;

use crate::storage::KeyStorage;

/// Keys of sessions in memory. They are lost with the object, and with them all that they encrypt.
#[derive(Debug, Default)]
pub struct MemoryKeys(Mutex<Records>);

#[derive(Debug, Default)]
struct Records {
    keys: BTreeMap<SessionId, Vec<u8>>,
    hidden: BTreeMap<SessionId, Vec<u8>>,
    blobs: BTreeMap<(SessionId, String), Vec<u8>>,
}

#[async_trait]
impl KeyStorage for MemoryKeys {
    fn place(&self) -> String {
        "memory".to_owned()
    }

    async fn key(&self, session: &SessionId) -> io::Result<Option<Vec<u8>>> {
        Ok(self.0.lock().keys.get(session).cloned())
    }

    async fn create_key(&self, session: &SessionId, record: &[u8]) -> io::Result<bool> {
        let mut records = self.0.lock();
        if records.keys.contains_key(session) {
            return Ok(false);
        }
        records.keys.insert(session.clone(), record.to_owned());
        Ok(true)
    }

    async fn replace_key(&self, session: &SessionId, record: &[u8]) -> io::Result<()> {
        self.0.lock().keys.insert(session.clone(), record.to_owned());
        Ok(())
    }

    async fn hide_key(&self, session: &SessionId) -> io::Result<()> {
        let mut records = self.0.lock();
        if let Some(key) = records.keys.remove(session) {
            records.hidden.insert(session.clone(), key);
        }
        Ok(())
    }

    async fn restore_key(&self, session: &SessionId) -> io::Result<()> {
        let mut records = self.0.lock();
        if let Some(key) = records.hidden.remove(session) {
            records.keys.entry(session.clone()).or_insert(key);
        }
        Ok(())
    }

    async fn destroy_hidden_key(&self, session: &SessionId) -> io::Result<()> {
        self.0.lock().hidden.remove(session);
        Ok(())
    }

    async fn sessions(&self) -> io::Result<Vec<SessionId>> {
        Ok(self.0.lock().keys.keys().cloned().collect())
    }

    async fn hidden(&self) -> io::Result<Vec<SessionId>> {
        Ok(self.0.lock().hidden.keys().cloned().collect())
    }

    async fn blob(&self, session: &SessionId, name: &str) -> io::Result<Option<Vec<u8>>> {
        Ok(self.0.lock().blobs.get(&(session.clone(), name.to_owned())).cloned())
    }

    async fn create_blob(
        &self,
        session: &SessionId,
        name: &str,
        record: &[u8],
    ) -> io::Result<bool> {
        let (key, mut records) = ((session.clone(), name.to_owned()), self.0.lock());
        if records.blobs.contains_key(&key) {
            return Ok(false);
        }
        records.blobs.insert(key, record.to_owned());
        Ok(true)
    }

    async fn remove_blobs(&self, session: &SessionId) -> io::Result<()> {
        self.0.lock().blobs.retain(|(of, _), _| of != session);
        Ok(())
    }
}
