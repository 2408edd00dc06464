//! Format of an encrypted blob: a random id, then chunks of equal size, the last of which may be
//! shorter. Each chunk is bound to its session, blob and place.

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use windlass_core::SessionId;

use crate::cipher::{Bound, Key, OVERHEAD, open, seal};

/// Bytes of a chunk before it is encrypted.
pub(crate) const CHUNK: usize = 64 * 1024;
/// Bytes of an encrypted chunk.
pub(crate) const SEALED_CHUNK: usize = CHUNK + OVERHEAD;
/// Bytes of the random id.
pub(crate) const ID_BYTES: usize = 16;

/// Id of a blob, and its session.
#[derive(Debug, Clone)]
pub(crate) struct BlobId {
    pub(crate) session: SessionId,
    pub(crate) id: [u8; ID_BYTES],
}

impl BlobId {
    pub(crate) fn random(session: &SessionId) -> Result<Self, getrandom::Error> {
        let mut id = [0; ID_BYTES];
        getrandom::fill(&mut id)?;
        Ok(Self { session: session.clone(), id })
    }

    fn bound(&self, chunk: u64, is_last: bool) -> Bound {
        Bound::to("windlass blob 1")
            .and(self.session.as_str().as_bytes())
            .and(&self.id)
            .and(&chunk.to_le_bytes())
            .and(&[u8::from(is_last)])
    }

    pub(crate) fn seal(
        &self,
        key: &Key,
        chunk: u64,
        is_last: bool,
        plain: &[u8],
    ) -> Result<Vec<u8>, getrandom::Error> {
        seal(key, &self.bound(chunk, is_last), plain)
    }

    pub(crate) fn open(
        &self,
        key: &Key,
        chunk: u64,
        is_last: bool,
        sealed: &[u8],
    ) -> Option<Vec<u8>> {
        open(key, &self.bound(chunk, is_last), sealed)
    }
}

/// Record of a blob: its name in the inner store, and its length before it was encrypted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct BlobRecord {
    pub(crate) v: u32,
    pub(crate) stored: String,
    pub(crate) bytes: u64,
}

impl BlobRecord {
    pub(crate) const VERSION: u32 = 1;

    /// Returns the number of the last chunk, from 0.
    pub(crate) fn last_chunk(&self) -> u64 {
        self.bytes.saturating_sub(1) / CHUNK as u64
    }
}

/// Returns the name of a blob's record: a digest with the session's key, so that nobody can test a
/// guess of the content.
pub(crate) fn record_name(key: &Key, sha256: &str) -> String {
    let digest = Sha256::new()
        .chain_update(b"windlass-blob-name 1 ")
        .chain_update(*key.0)
        .chain_update(sha256);
    digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the offset of an encrypted chunk.
pub(crate) fn offset(chunk: u64) -> u64 {
    chunk.saturating_mul(SEALED_CHUNK as u64).saturating_add(ID_BYTES as u64)
}

/// Returns the most bytes of a blob whose encrypted form has at most so many.
pub(crate) fn most_bytes(stored: u64) -> u64 {
    let chunks = stored.saturating_sub(ID_BYTES as u64);
    let whole = chunks / SEALED_CHUNK as u64;
    let rest = (chunks % SEALED_CHUNK as u64).saturating_sub(OVERHEAD as u64);
    whole.saturating_mul(CHUNK as u64).saturating_add(rest)
}

/// Returns the bytes of the encrypted form of a blob.
#[cfg(test)]
pub(crate) fn stored_bytes(bytes: u64) -> u64 {
    let chunks = (bytes.saturating_sub(1) / CHUNK as u64) + 1;
    bytes + chunks * OVERHEAD as u64 + ID_BYTES as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_blob_of_the_most_bytes_fits() {
        let chunk = CHUNK as u64;
        for bytes in [1, 2, chunk - 1, chunk, chunk + 1, 5 * chunk, 5 * chunk + 7] {
            let stored = stored_bytes(bytes);
            assert_eq!(most_bytes(stored), bytes);
            assert!(most_bytes(stored - 1) < bytes);
            let last = BlobRecord { v: 1, stored: String::new(), bytes }.last_chunk();
            assert!(offset(last) < stored && stored <= offset(last + 1));
        }
        assert_eq!(most_bytes(0), 0);
    }

    #[test]
    fn a_chunk_opens_only_in_its_place() {
        let key = Key::random().unwrap();
        let session = SessionId::new("s").unwrap();
        let blob = BlobId::random(&session).unwrap();
        let sealed = blob.seal(&key, 3, false, b"chunk").unwrap();
        assert_eq!(blob.open(&key, 3, false, &sealed).as_deref(), Some(&b"chunk"[..]));
        assert_eq!(blob.open(&key, 2, false, &sealed), None);
        assert_eq!(blob.open(&key, 3, true, &sealed), None);
        let other = BlobId { session: SessionId::new("t").unwrap(), ..blob.clone() };
        assert_eq!(other.open(&key, 3, false, &sealed), None);
        assert_eq!(BlobId::random(&session).unwrap().open(&key, 3, false, &sealed), None);
    }
}
