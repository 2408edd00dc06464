//! The blobs: one map behind one lock, which is never held across a wait.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

use async_trait::async_trait;
use sha2::{Digest as _, Sha256};
use windlass_core::{SessionId, StoredOutput};
use windlass_ports::sync::Mutex;
use windlass_ports::{
    BlobCapabilities, BlobError, BlobErrorKind, BlobStore, BlobWriter, Durability,
};

/// The most bytes of one blob.
const BLOB_BYTES: u64 = 64 * 1024 * 1024;
/// The most bytes of all blobs together.
const LIMIT_BYTES: u64 = 256 * 1024 * 1024;

/// A store of blobs in memory.
#[derive(Debug)]
pub struct MemoryBlobs {
    blob_bytes: u64,
    state: Arc<BlobMemory>,
}

#[derive(Debug)]
struct BlobMemory {
    limit_bytes: u64,
    state: Mutex<BlobTable>,
}

#[derive(Debug, Default)]
struct BlobTable {
    /// Bytes of what is kept and of what is being written.
    bytes: u64,
    blobs: BTreeMap<(SessionId, String), Arc<[u8]>>,
}

impl MemoryBlobs {
    /// An empty store that holds up to 64 MiB of one blob and 256 MiB in all.
    #[must_use]
    pub fn new() -> Self {
        Self::with_limits(BLOB_BYTES, LIMIT_BYTES)
    }

    /// An empty store that keeps up to `blob_bytes` bytes of one blob, and holds up to
    /// `limit_bytes` bytes of kept blobs and of those being written.
    #[must_use]
    pub fn with_limits(blob_bytes: u64, limit_bytes: u64) -> Self {
        let state = BlobMemory { limit_bytes, state: Mutex::default() };
        Self { blob_bytes, state: Arc::new(state) }
    }

    fn blob(&self, session: &SessionId, sha256: &str) -> Result<Arc<[u8]>, BlobError> {
        let key = (session.clone(), sha256.to_owned());
        let blob = self.state.state.lock().blobs.get(&key).cloned();
        blob.ok_or_else(|| BlobError::not_found(session, sha256))
    }
}

impl Default for MemoryBlobs {
    fn default() -> Self {
        Self::new()
    }
}

impl BlobMemory {}

#[async_trait]
impl BlobStore for MemoryBlobs {
    fn capabilities(&self) -> BlobCapabilities {
        BlobCapabilities { durability: Durability::Memory, max_bytes: self.blob_bytes }
    }

    async fn begin(&self, session: &SessionId) -> Result<Box<dyn BlobWriter>, BlobError> {
        Ok(Box::new(MemoryBlobWriter {
            state: self.state.clone(),
            session: session.clone(),
            room: self.blob_bytes,
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
        let blob = self.blob(session, sha256)?;
        let rest = usize::try_from(offset).ok().and_then(|at| blob.get(at..)).unwrap_or_default();
        let page = rest.get(..limit.min(rest.len())).unwrap_or_default();
        Ok(page.to_vec())
    }

    async fn verify(&self, session: &SessionId, sha256: &str) -> Result<StoredOutput, BlobError> {
        let blob = self.blob(session, sha256)?;
        let kept = named(&blob);
        if kept.sha256 != sha256 {
            let context = format!("blob {sha256} of {session} is not what was written");
            return Err(BlobError::new(BlobErrorKind::Corrupt, context));
        }
        Ok(kept)
    }

    async fn erase(&self, session: &SessionId) -> Result<(), BlobError> {
        let mut state = self.state.state.lock();
        let mut freed = 0_u64;
        state.blobs.retain(|(of, _), bytes| {
            let stays = of != session;
            if !stays {
                freed = freed.saturating_add(bytes.len() as u64);
            }
            stays
        });
        state.bytes = state.bytes.saturating_sub(freed);
        Ok(())
    }
}

/// The name and the length of bytes.
fn named(bytes: &[u8]) -> StoredOutput {
    let digest = Sha256::digest(bytes);
    StoredOutput {
        sha256: digest.iter().map(|byte| format!("{byte:02x}")).collect(),
        bytes: bytes.len() as u64,
    }
}

struct MemoryBlobWriter {
    state: Arc<BlobMemory>,
    session: SessionId,
    /// Number of bytes of the blob that are still kept.
    room: u64,
    /// Content of the blob; its size is counted in the state.
    bytes: Vec<u8>,
    /// True if a write has failed.
    broken: bool,
}

impl MemoryBlobWriter {
    fn full(&self) -> BlobError {
        BlobError::new(
            BlobErrorKind::Full,
            format!(
                "an output of {} would pass the {} bytes that are kept in memory: use a store on \
                 disk",
                self.session, self.state.limit_bytes
            ),
        )
    }
}

#[async_trait]
impl BlobWriter for MemoryBlobWriter {
    async fn write(&mut self, bytes: &[u8]) -> Result<(), BlobError> {
        let room = usize::try_from(self.room).unwrap_or(usize::MAX);
        let part = bytes.get(..room.min(bytes.len())).unwrap_or_default();
        let more = part.len() as u64;
        let mut state = self.state.state.lock();
        if self.broken || state.bytes.saturating_add(more) > self.state.limit_bytes {
            drop(state);
            self.broken = true;
            return Err(self.full());
        }
        state.bytes = state.bytes.saturating_add(more);
        drop(state);
        self.room = self.room.saturating_sub(more);
        self.bytes.extend_from_slice(part);
        Ok(())
    }

    async fn finish(mut self: Box<Self>) -> Result<StoredOutput, BlobError> {
        if self.broken {
            return Err(self.full());
        }
        let kept = named(&self.bytes);
        let key = (self.session.clone(), kept.sha256.clone());
        let mut state = self.state.state.lock();
        if let Entry::Vacant(place) = state.blobs.entry(key) {
            // The bytes stay counted: they go on as a kept blob.
            place.insert(std::mem::take(&mut self.bytes).into());
        }
        Ok(kept)
    }
}

impl Drop for MemoryBlobWriter {
    fn drop(&mut self) {
        let held = self.bytes.len() as u64;
        let mut state = self.state.state.lock();
        state.bytes = state.bytes.saturating_sub(held);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_full_store_says_so_and_has_room_again_once_a_writer_is_gone() {
        let blobs = MemoryBlobs::with_limits(600, 1_000);
        let session = SessionId::new("s").unwrap();
        let mut first = blobs.begin(&session).await.unwrap();
        // What is beyond the limit of one blob is not counted.
        first.write(&[1; 900]).await.unwrap();
        let mut second = blobs.begin(&session).await.unwrap();
        second.write(&[2; 400]).await.unwrap();
        let error = second.write(&[2]).await.unwrap_err();
        assert_eq!(error.kind, BlobErrorKind::Full);
        // It does not become a blob with a hole in it, also when there is room again.
        drop(first);
        let error = second.write(&[2]).await.unwrap_err();
        assert_eq!(error.kind, BlobErrorKind::Full);
        let error = second.finish().await.unwrap_err();
        assert_eq!(error.kind, BlobErrorKind::Full);
        assert_eq!(blobs.state.state.lock().bytes, 0);

        for _ in 0..3 {
            let mut same = blobs.begin(&session).await.unwrap();
            same.write(&[3; 400]).await.unwrap();
            same.finish().await.unwrap();
        }
        assert_eq!(blobs.state.state.lock().bytes, 400);
    }
}
