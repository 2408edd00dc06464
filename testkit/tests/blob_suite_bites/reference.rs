//! A store of blobs that keeps every promise, or breaks one.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use sha2::{Digest as _, Sha256};
use tokio::task::yield_now;
use windlass_core::{SessionId, StoredOutput};
use windlass_ports::sync::{Mutex, MutexGuard};
use windlass_ports::{
    BlobCapabilities, BlobError, BlobErrorKind, BlobStore, BlobWriter, Durability,
};
use windlass_testkit::blobs::BlobFixture;

/// The promise that a store breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    None,
    ReadsFromTheStart,
    NamesByLength,
    NumbersItsBlobs,
    MixesWriters,
    SharesSessions,
    TakesAnyName,
    VerifiesBlindly,
    SaysTheWholeLength,
    KeepsWhatIsDropped,
    LosesAbandonedWrites,
    FinishesByHalves,
    ForgetsOnReopening,
    ErasesNothing,
    ErasesOneBlob,
    ErasesForAll,
    ErasesUntilReopening,
}

/// A place whose store has a fault.
pub(crate) struct Place(Reference);

impl Place {
    pub(crate) fn new(fault: Fault) -> Self {
        Self(Reference { fault, max_bytes: 1 << 30, shared: Arc::default() })
    }
}

#[async_trait]
impl BlobFixture for Place {
    async fn open(&self) -> Arc<dyn BlobStore> {
        if self.0.fault == Fault::ForgetsOnReopening {
            self.0.shared().kept.clear();
        }
        let mut shared = self.0.shared();
        let mut erased = std::mem::take(&mut shared.erased);
        shared.kept.append(&mut erased);
        drop(shared);
        Arc::new(self.0.clone())
    }

    async fn open_small(&self, max_bytes: u64) -> Arc<dyn BlobStore> {
        Arc::new(Reference { max_bytes, ..self.0.clone() })
    }

    fn damage(&self, session: &SessionId, sha256: &str) -> bool {
        let key = (session.clone(), sha256.to_owned());
        let mut shared = self.0.shared();
        let last = shared.kept.get_mut(&key).and_then(|bytes| bytes.last_mut());
        last.map(|byte| *byte ^= 1).is_some()
    }
}

#[derive(Clone)]
struct Reference {
    fault: Fault,
    max_bytes: u64,
    shared: Arc<Mutex<Shared>>,
}

#[derive(Default)]
struct Shared {
    kept: BTreeMap<(SessionId, String), Vec<u8>>,
    /// What comes back when the store is opened again.
    erased: BTreeMap<(SessionId, String), Vec<u8>>,
    /// What all writers write into that are mixed up.
    mixed: Vec<u8>,
    finished: u64,
}

impl Reference {
    fn shared(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock()
    }

    fn key(&self, session: &SessionId, name: &str) -> (SessionId, String) {
        let shared = self.fault == Fault::SharesSessions;
        let all = SessionId::new("all").ok().filter(|_| shared);
        (all.unwrap_or_else(|| session.clone()), name.to_owned())
    }

    fn blob(&self, session: &SessionId, name: &str) -> Result<Vec<u8>, BlobError> {
        let blob = self.shared().kept.get(&self.key(session, name)).cloned();
        match blob {
            Some(blob) => Ok(blob),
            None if self.fault == Fault::TakesAnyName => Ok(Vec::new()),
            None => Err(BlobError::not_found(session, name)),
        }
    }
}

#[async_trait]
impl BlobStore for Reference {
    fn capabilities(&self) -> BlobCapabilities {
        BlobCapabilities { durability: Durability::Process, max_bytes: self.max_bytes }
    }

    async fn begin(&self, session: &SessionId) -> Result<Box<dyn BlobWriter>, BlobError> {
        Ok(Box::new(Writer {
            store: self.clone(),
            session: session.clone(),
            bytes: Vec::new(),
            taken: 0,
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
        let offset = usize::try_from(offset).unwrap_or(usize::MAX);
        let skipped = if self.fault == Fault::ReadsFromTheStart { 0 } else { offset };
        Ok(blob.into_iter().skip(skipped).take(limit).collect())
    }

    async fn verify(&self, session: &SessionId, sha256: &str) -> Result<StoredOutput, BlobError> {
        let blob = self.blob(session, sha256)?;
        if digest(&blob) != sha256 && self.fault != Fault::VerifiesBlindly {
            let context = format!("{sha256} was changed");
            return Err(BlobError::new(BlobErrorKind::Corrupt, context));
        }
        Ok(StoredOutput { sha256: sha256.into(), bytes: blob.len() as u64 })
    }

    async fn erase(&self, session: &SessionId) -> Result<(), BlobError> {
        let mut shared = self.shared();
        let erased = shared.kept.clone();
        let erased = erased.into_iter().filter(|((of, _), _)| of == session);
        let mut erased: BTreeMap<_, _> = erased.collect();
        if self.fault == Fault::ErasesNothing {
            return Ok(());
        }
        if self.fault == Fault::ErasesOneBlob {
            let one = erased.pop_first();
            erased = one.into_iter().collect();
        }
        let names: Vec<_> = erased.keys().map(|(_, name)| name.clone()).collect();
        let for_all = self.fault == Fault::ErasesForAll;
        shared.kept.retain(|key, _| {
            let same_name = for_all && names.contains(&key.1);
            !same_name && !erased.contains_key(key)
        });
        if self.fault == Fault::ErasesUntilReopening {
            shared.erased.append(&mut erased);
        }
        Ok(())
    }
}

fn digest(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

struct Writer {
    store: Reference,
    session: SessionId,
    bytes: Vec<u8>,
    taken: u64,
}

impl Writer {
    fn keep(&self, name: &str, bytes: &[u8]) {
        let key = self.store.key(&self.session, name);
        self.store.shared().kept.insert(key, bytes.to_vec());
    }
}

#[async_trait]
impl BlobWriter for Writer {
    async fn write(&mut self, bytes: &[u8]) -> Result<(), BlobError> {
        let fault = self.store.fault;
        if matches!(fault, Fault::LosesAbandonedWrites | Fault::MixesWriters) {
            yield_now().await;
        }
        if fault == Fault::MixesWriters {
            self.store.shared().mixed.extend(bytes);
        }
        self.taken += bytes.len() as u64;
        let room = self.store.max_bytes.saturating_sub(self.bytes.len() as u64);
        let room = usize::try_from(room).unwrap_or(usize::MAX);
        self.bytes.extend(bytes.iter().take(room));
        Ok(())
    }

    async fn finish(mut self: Box<Self>) -> Result<StoredOutput, BlobError> {
        let fault = self.store.fault;
        let mut bytes = std::mem::take(&mut self.bytes);
        if fault == Fault::MixesWriters {
            bytes = std::mem::take(&mut self.store.shared().mixed);
        }
        let mut name = digest(&bytes);
        let mut said = bytes.len() as u64;
        if fault == Fault::NamesByLength {
            name = format!("{said:064x}");
        }
        if fault == Fault::NumbersItsBlobs {
            let mut shared = self.store.shared();
            shared.finished += 1;
            name = format!("{:064x}", shared.finished);
        }
        if fault == Fault::SaysTheWholeLength {
            said = self.taken;
        }
        if fault == Fault::FinishesByHalves {
            self.keep(&name, bytes.get(..bytes.len() / 2).unwrap_or_default());
            yield_now().await;
        }
        self.keep(&name, &bytes);
        Ok(StoredOutput { sha256: name, bytes: said })
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        if self.store.fault == Fault::KeepsWhatIsDropped {
            self.keep(&digest(&self.bytes), &self.bytes);
        }
    }
}
