//! A store of blobs in memory that fails where a test says so.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use sha2::{Digest as _, Sha256};
use windlass_core::{SessionId, StoredOutput};
use windlass_ports::sync::{Mutex, MutexGuard};
use windlass_ports::{
    BlobCapabilities, BlobError, BlobErrorKind, BlobStore, BlobWriter, Durability,
};

use crate::gate::Gate;

/// A store of blobs in memory. By itself it keeps the laws of the port.
#[derive(Debug, Clone)]
pub struct HeldBlobs {
    max_bytes: u64,
    full_after: Option<u64>,
    sticks_after: Option<u64>,
    stuck: Gate,
    gate: Option<Gate>,
    kept: Held,
}

type Held = Arc<Mutex<BTreeMap<(SessionId, String), Vec<u8>>>>;

impl HeldBlobs {
    /// A store that keeps up to so many bytes of one blob.
    #[must_use]
    pub fn new(max_bytes: u64) -> Self {
        Self {
            max_bytes,
            full_after: None,
            sticks_after: None,
            stuck: Gate::new(),
            gate: None,
            kept: Held::default(),
        }
    }

    /// The same store, whose disk is full after so many bytes of each blob.
    #[must_use]
    pub fn full_after(mut self, bytes: u64) -> Self {
        self.full_after = Some(bytes);
        self
    }

    /// The same store, which takes so many bytes of a blob, and for more lets wait for ever.
    #[must_use]
    pub fn sticks_after(mut self, bytes: u64) -> Self {
        self.sticks_after = Some(bytes);
        self
    }

    /// The same store, which finishes a blob once this gate is open.
    #[must_use]
    pub fn finishing_at(mut self, gate: Gate) -> Self {
        self.gate = Some(gate);
        self
    }

    /// Waits until somebody waits for ever, as after [`sticks_after`](Self::sticks_after).
    pub async fn stuck(&self) {
        self.stuck.reached().await;
    }

    /// How many blobs there are.
    #[must_use]
    pub fn count(&self) -> usize {
        held(&self.kept).len()
    }

    /// The bytes of a blob.
    #[must_use]
    pub fn bytes(&self, session: &SessionId, sha256: &str) -> Option<Vec<u8>> {
        let key = (session.clone(), sha256.to_owned());
        held(&self.kept).get(&key).cloned()
    }

    /// Changes a byte of a blob. False when there is none.
    #[must_use]
    pub fn damage(&self, session: &SessionId, sha256: &str) -> bool {
        let key = (session.clone(), sha256.to_owned());
        let mut kept = held(&self.kept);
        let last = kept.get_mut(&key).and_then(|bytes| bytes.last_mut());
        last.map(|byte| *byte ^= 1).is_some()
    }
}

fn held(kept: &Held) -> MutexGuard<'_, BTreeMap<(SessionId, String), Vec<u8>>> {
    kept.lock()
}

fn sha256(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[async_trait]
impl BlobStore for HeldBlobs {
    fn capabilities(&self) -> BlobCapabilities {
        BlobCapabilities { durability: Durability::Memory, max_bytes: self.max_bytes }
    }

    async fn begin(&self, session: &SessionId) -> Result<Box<dyn BlobWriter>, BlobError> {
        Ok(Box::new(Writer {
            store: self.clone(),
            session: session.clone(),
            bytes: Vec::new(),
            broken: false,
        }))
    }

    async fn read(
        &self,
        session: &SessionId,
        sha256: &str,
        offset: u64,
        limit: usize,
    ) -> Result<Vec<u8>, BlobError> {
        let bytes = self.bytes(session, sha256);
        let bytes = bytes.ok_or_else(|| BlobError::not_found(session, sha256))?;
        let offset = usize::try_from(offset).unwrap_or(usize::MAX);
        Ok(bytes.into_iter().skip(offset).take(limit).collect())
    }

    async fn verify(&self, session: &SessionId, name: &str) -> Result<StoredOutput, BlobError> {
        let bytes = self.bytes(session, name);
        let bytes = bytes.ok_or_else(|| BlobError::not_found(session, name))?;
        if sha256(&bytes) != name {
            let context = format!("blob {name} of {session} was changed: it must come from a copy");
            return Err(BlobError::new(BlobErrorKind::Corrupt, context));
        }
        Ok(StoredOutput { sha256: name.into(), bytes: bytes.len() as u64 })
    }

    async fn erase(&self, session: &SessionId) -> Result<(), BlobError> {
        held(&self.kept).retain(|(of, _), _| of != session);
        Ok(())
    }
}

struct Writer {
    store: HeldBlobs,
    session: SessionId,
    bytes: Vec<u8>,
    /// True if a write has failed.
    broken: bool,
}

impl Writer {
    fn full(&self) -> BlobError {
        let context = format!("the disk was made full for {}: make room", self.session);
        BlobError::new(BlobErrorKind::Full, context)
    }
}

#[async_trait]
impl BlobWriter for Writer {
    async fn write(&mut self, bytes: &[u8]) -> Result<(), BlobError> {
        let length = self.bytes.len() as u64 + bytes.len() as u64;
        if self.store.sticks_after.is_some_and(|most| length > most) {
            self.store.stuck.pass().await;
        }
        let most = self.store.full_after.unwrap_or(u64::MAX);
        self.broken |= length > most;
        if self.broken {
            return Err(self.full());
        }
        let room = self.store.max_bytes.saturating_sub(self.bytes.len() as u64);
        let room = usize::try_from(room).unwrap_or(usize::MAX);
        self.bytes.extend(bytes.iter().take(room));
        Ok(())
    }

    async fn finish(self: Box<Self>) -> Result<StoredOutput, BlobError> {
        if let Some(gate) = &self.store.gate {
            gate.pass().await;
        }
        if self.broken {
            return Err(self.full());
        }
        let kept = StoredOutput { sha256: sha256(&self.bytes), bytes: self.bytes.len() as u64 };
        let key = (self.session, kept.sha256.clone());
        held(&self.store.kept).insert(key, self.bytes);
        Ok(kept)
    }
}
