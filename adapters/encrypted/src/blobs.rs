//! The blob store: encrypts outputs before another store keeps them.

use std::sync::Arc;

use async_trait::async_trait;
use sha2::{Digest as _, Sha256};
use windlass_core::{SessionId, StoredOutput};
use windlass_ports::{
    BlobCapabilities, BlobError, BlobErrorKind, BlobStore, BlobWriter, is_blob_name,
};

use crate::blob_format::{
    BlobId, BlobRecord, CHUNK, ID_BYTES, SEALED_CHUNK, most_bytes, offset, record_name,
};
use crate::error::KeyError;
use crate::session_keys::{SessionKey, SessionKeys};

/// A blob store that encrypts what another one keeps.
///
/// The names of blobs are the digests of their bytes, as in every store. The inner store names the
/// encrypted bytes; a record beside the keys connects the two names. Bytes that a session stores
/// twice are one blob, and the inner store keeps the second form until the session is erased.
pub struct EncryptedBlobs {
    inner: Arc<dyn BlobStore>,
    keys: Arc<SessionKeys>,
}

impl EncryptedBlobs {
    /// Creates a store over another one. The log store should have the same keys.
    #[must_use]
    pub fn new(inner: Arc<dyn BlobStore>, keys: Arc<SessionKeys>) -> Self {
        Self { inner, keys }
    }

    async fn find(
        &self,
        session: &SessionId,
        sha256: &str,
    ) -> Result<(Arc<SessionKey>, BlobRecord), BlobError> {
        let not_found = || BlobError::not_found(session, sha256);
        let failed = |error: KeyError| error.of_blobs("reading", session);
        if !is_blob_name(sha256) {
            return Err(not_found());
        }
        let key = self.keys.find(session).await.map_err(failed)?.ok_or_else(not_found)?;
        let name = record_name(&key.key, sha256);
        let record = self.keys.storage.blob(session, &name).await;
        let record = record.map_err(|source| failed(self.keys.io(source)))?;
        let record: Option<BlobRecord> = match record {
            None => return Err(not_found()),
            Some(record) => serde_json::from_slice(&record).ok(),
        };
        let record = record.filter(|record| record.v == BlobRecord::VERSION);
        Ok((key, record.ok_or_else(|| corrupt(session, sha256))?))
    }

    /// Reads the id of a stored blob.
    async fn id(
        &self,
        session: &SessionId,
        sha256: &str,
        record: &BlobRecord,
    ) -> Result<BlobId, BlobError> {
        let id = self.inner.read(session, &record.stored, 0, ID_BYTES).await?;
        let id = id.try_into().map_err(|_| corrupt(session, sha256))?;
        Ok(BlobId { session: session.clone(), id })
    }

    /// Reads and decrypts one chunk.
    async fn chunk(
        &self,
        blob: &BlobId,
        sha256: &str,
        (key, record): (&SessionKey, &BlobRecord),
        chunk: u64,
    ) -> Result<Vec<u8>, BlobError> {
        let session = &blob.session;
        let sealed = self.inner.read(session, &record.stored, offset(chunk), SEALED_CHUNK).await?;
        let is_last = chunk == record.last_chunk();
        let opened = blob.open(&key.key, chunk, is_last, &sealed);
        opened.ok_or_else(|| corrupt(session, sha256))
    }
}

#[async_trait]
impl BlobStore for EncryptedBlobs {
    fn capabilities(&self) -> BlobCapabilities {
        let inner = self.inner.capabilities();
        BlobCapabilities { max_bytes: most_bytes(inner.max_bytes), ..inner }
    }

    async fn begin(&self, session: &SessionId) -> Result<Box<dyn BlobWriter>, BlobError> {
        let inner = self.inner.begin(session).await?;
        let failed = |error: KeyError| error.of_blobs("storing", session);
        let key = self.keys.of_blobs(session).await.map_err(failed)?;
        let blob = BlobId::random(session).map_err(|error| failed(KeyError::Random(error)))?;
        Ok(Box::new(Writer {
            inner,
            keys: self.keys.clone(),
            key,
            blob,
            begun: false,
            chunk: 0,
            pending: Vec::new(),
            digest: Sha256::new(),
            bytes: 0,
            most: self.capabilities().max_bytes,
        }))
    }

    /// Unlike other stores, checks the bytes: those of each chunk that is read.
    async fn read(
        &self,
        session: &SessionId,
        sha256: &str,
        at: u64,
        limit: usize,
    ) -> Result<Vec<u8>, BlobError> {
        let (key, record) = self.find(session, sha256).await?;
        let end = at.saturating_add(limit as u64).min(record.bytes);
        let mut bytes = Vec::new();
        if at >= end {
            return Ok(bytes);
        }
        let blob = self.id(session, sha256, &record).await?;
        let (first, last) = (at / CHUNK as u64, end.saturating_sub(1) / CHUNK as u64);
        for chunk in first..=last {
            let plain = self.chunk(&blob, sha256, (&key, &record), chunk).await?;
            let start = chunk.saturating_mul(CHUNK as u64);
            let within = |position: u64| {
                let position = usize::try_from(position.saturating_sub(start));
                position.unwrap_or(usize::MAX).min(plain.len())
            };
            bytes.extend_from_slice(plain.get(within(at)..within(end)).unwrap_or_default());
        }
        Ok(bytes)
    }

    async fn verify(&self, session: &SessionId, sha256: &str) -> Result<StoredOutput, BlobError> {
        let (key, record) = self.find(session, sha256).await?;
        let blob = self.id(session, sha256, &record).await?;
        let (mut digest, mut bytes) = (Sha256::new(), 0_u64);
        for chunk in 0..=record.last_chunk() {
            let plain = self.chunk(&blob, sha256, (&key, &record), chunk).await?;
            digest.update(&plain);
            bytes = bytes.saturating_add(plain.len() as u64);
        }
        if bytes != record.bytes || hexadecimal(digest) != sha256 {
            return Err(corrupt(session, sha256));
        }
        Ok(StoredOutput { sha256: sha256.to_owned(), bytes })
    }

    async fn erase(&self, session: &SessionId) -> Result<(), BlobError> {
        let removed = self.keys.storage.remove_blobs(session).await;
        removed.map_err(|source| self.keys.io(source).of_blobs("erasing", session))?;
        self.inner.erase(session).await
    }
}

/// Writes one blob.
struct Writer {
    inner: Box<dyn BlobWriter>,
    keys: Arc<SessionKeys>,
    key: Arc<SessionKey>,
    blob: BlobId,
    /// True once the id is written.
    begun: bool,
    /// Number of the next chunk.
    chunk: u64,
    /// Bytes that are not written yet: at most a chunk, since the last one is marked.
    pending: Vec<u8>,
    digest: Sha256,
    bytes: u64,
    most: u64,
}

impl Writer {
    async fn write_chunk(&mut self, is_last: bool) -> Result<(), BlobError> {
        if !self.begun {
            self.begun = true;
            self.inner.write(&self.blob.id).await?;
        }
        let sealed = self.blob.seal(&self.key.key, self.chunk, is_last, &self.pending);
        let sealed = sealed
            .map_err(|error| KeyError::Random(error).of_blobs("storing", &self.blob.session))?;
        self.pending.clear();
        self.chunk = self.chunk.saturating_add(1);
        self.inner.write(&sealed).await
    }
}

#[async_trait]
impl BlobWriter for Writer {
    async fn write(&mut self, bytes: &[u8]) -> Result<(), BlobError> {
        let room = usize::try_from(self.most.saturating_sub(self.bytes)).unwrap_or(usize::MAX);
        let mut rest = bytes.get(..room.min(bytes.len())).unwrap_or_default();
        self.digest.update(rest);
        self.bytes = self.bytes.saturating_add(rest.len() as u64);
        while !rest.is_empty() {
            if self.pending.len() == CHUNK {
                self.write_chunk(false).await?;
            }
            let (part, next) = rest.split_at(rest.len().min(CHUNK - self.pending.len()));
            self.pending.extend_from_slice(part);
            rest = next;
        }
        Ok(())
    }

    async fn finish(mut self: Box<Self>) -> Result<StoredOutput, BlobError> {
        self.write_chunk(true).await?;
        let stored = self.inner.finish().await?;
        let session = &self.blob.session;
        let sha256 = hexadecimal(self.digest);
        let record =
            BlobRecord { v: BlobRecord::VERSION, stored: stored.sha256, bytes: self.bytes };
        let record = serde_json::to_vec(&record).unwrap_or_default();
        let name = record_name(&self.key.key, &sha256);
        // If there is one, the session has these bytes already.
        let created = self.keys.storage.create_blob(session, &name, &record).await;
        created.map_err(|source| self.keys.io(source).of_blobs("storing", session))?;
        Ok(StoredOutput { sha256, bytes: self.bytes })
    }
}

fn hexadecimal(digest: Sha256) -> String {
    digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

fn corrupt(session: &SessionId, sha256: &str) -> BlobError {
    let context = format!(
        "the output {sha256} of session {session} was changed, moved or encrypted with another key"
    );
    BlobError::new(BlobErrorKind::Corrupt, context)
}
