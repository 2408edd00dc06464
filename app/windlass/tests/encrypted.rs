//! Encrypted stores over memory and files: all promises of the ports hold, nothing of the content is
//! stored in plain text, and what was moved, changed or encrypted with another key is not read.

#![cfg(all(feature = "encrypted", feature = "file", feature = "memory"))]
#![expect(clippy::unwrap_used, reason = "it is all test code")]

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, Weak};

use tempfile::TempDir;
use windlass::core::{Seq, SessionId};
use windlass::encrypted::{
    EncryptedBlobs, EncryptedStore, FolderKeys, KeyStorage, MasterKeys, MemoryKeys, SessionKeys,
};
use windlass::file::{BlobLimits, FileBlobs, FileStore};
use windlass::memory::{MemoryBlobs, MemoryStore};
use windlass::ports::{BlobStore, LogStore, StoreError};
use windlass_testkit::blobs::BlobFixture;
use windlass_testkit::store::{
    FactDamage, FactDamageKind, Inspection, Loss, StoreFixture, copy_of, damage_files,
};

#[path = "encrypted/attacks.rs"]
mod attacks;

const MASTER: &str = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";

fn masters() -> MasterKeys {
    MasterKeys::parse(MASTER).unwrap()
}

async fn over(inner: Arc<dyn LogStore>, storage: Arc<dyn KeyStorage>) -> Arc<dyn LogStore> {
    Arc::new(EncryptedStore::open(inner, SessionKeys::new(storage, masters())).await.unwrap())
}

fn keys_in(folder: &Path) -> Arc<dyn KeyStorage> {
    Arc::new(FolderKeys::open(folder).unwrap())
}

mod log_in_memory {
    use super::*;

    #[derive(Default)]
    struct Memory {
        first: Mutex<Weak<MemoryStore>>,
        keys: Arc<MemoryKeys>,
    }

    #[async_trait::async_trait]
    impl StoreFixture for Memory {
        async fn open(&self) -> Arc<dyn LogStore> {
            let store = Arc::new(MemoryStore::new());
            *self.first.lock().unwrap() = Arc::downgrade(&store);
            // Its keys are lost with it.
            for session in self.keys.sessions().await.unwrap() {
                self.keys.hide_key(&session).await.unwrap();
                self.keys.destroy_hidden_key(&session).await.unwrap();
            }
            over(store, self.keys.clone()).await
        }

        async fn open_beside(&self) -> Result<Arc<dyn LogStore>, StoreError> {
            let first = self.first.lock().unwrap().upgrade();
            let beside = Arc::new(first.unwrap().another_node());
            Ok(over(beside, self.keys.clone()).await)
        }
    }

    windlass_testkit::log_store_suite!(Memory::default());
}

mod log_in_files {
    use super::*;

    struct Folder(TempDir);

    impl Folder {
        fn keys(&self) -> Arc<dyn KeyStorage> {
            keys_in(&self.0.path().join("keys"))
        }
    }

    #[async_trait::async_trait]
    impl StoreFixture for Folder {
        async fn open(&self) -> Arc<dyn LogStore> {
            let store = FileStore::open(self.0.path().join("store")).unwrap();
            over(Arc::new(store), self.keys()).await
        }

        async fn image(&self) -> Option<Arc<dyn LogStore>> {
            let copy = copy_of(&self.0.path().join("store"), self.0.path()).unwrap();
            let store = FileStore::open(copy).unwrap();
            Some(over(Arc::new(store), self.keys()).await)
        }

        async fn damaged(&self, loss: Loss) -> Option<Result<Arc<dyn LogStore>, StoreError>> {
            let copy = copy_of(&self.0.path().join("store"), self.0.path()).unwrap();
            loss.happen_to(&copy.join("lanes/0000/00000001.seg")).unwrap();
            match FileStore::open(copy) {
                Ok(store) => Some(Ok(over(Arc::new(store), self.keys()).await)),
                Err(error) => Some(Err(error)),
            }
        }

        async fn damage(
            &self,
            damage: FactDamage<'_>,
        ) -> Inspection<Result<Arc<dyn LogStore>, StoreError>> {
            if damage.kind == FactDamageKind::Removed {
                return Inspection::Skipped(
                    "the file store's own suite says why it has no records",
                );
            }
            let copy = copy_of(&self.0.path().join("store"), self.0.path()).unwrap();
            let inner = FileStore::open(copy.clone()).unwrap();
            let before = Seq(damage.seq.0 - 1);
            let stored = inner.read(damage.session, before, 1).await.unwrap();
            drop(inner);
            // The text of the fact is nowhere in the files: its ciphertext is, in pieces where it
            // happens to repeat something.
            let sealed = stored[0].format.sealed.as_ref().unwrap();
            let pieces =
                sealed.text.as_bytes().chunks(40).map(|piece| str::from_utf8(piece).unwrap());
            assert!(pieces.map(|piece| damage_files(&copy, piece)).any(|hurt| hurt.is_ok()));
            Inspection::Found(match FileStore::open(copy) {
                Ok(store) => Ok(over(Arc::new(store), self.keys()).await),
                Err(error) => Err(error),
            })
        }

        async fn bytes(&self) -> Inspection<Vec<u8>> {
            Inspection::Skipped(
                "no text is in the files, before it is erased or after: see attacks.rs",
            )
        }
    }

    windlass_testkit::log_store_suite!(Folder(TempDir::new().unwrap()));
}

fn blobs_over(inner: Arc<dyn BlobStore>, storage: Arc<dyn KeyStorage>) -> Arc<dyn BlobStore> {
    Arc::new(EncryptedBlobs::new(inner, SessionKeys::new(storage, masters())))
}

/// Bytes that an inner store may keep of a blob, so that the encrypted one keeps so many: one chunk
/// with its nonce and tag, and the id.
fn stored(bytes: u64) -> u64 {
    bytes + 40 + 16
}

mod blobs_in_memory {
    use super::*;

    struct Memory(Arc<MemoryKeys>);

    #[async_trait::async_trait]
    impl BlobFixture for Memory {
        async fn open(&self) -> Arc<dyn BlobStore> {
            blobs_over(Arc::new(MemoryBlobs::new()), self.0.clone())
        }

        async fn open_small(&self, max_bytes: u64) -> Arc<dyn BlobStore> {
            let inner = MemoryBlobs::with_limits(stored(max_bytes), 1 << 30);
            blobs_over(Arc::new(inner), self.0.clone())
        }

        fn damage(&self, _session: &SessionId, _sha256: &str) -> bool {
            false
        }
    }

    windlass_testkit::blob_suite!(Memory(Arc::default()));
}

mod blobs_in_files {
    use super::*;

    struct Folder(TempDir);

    impl Folder {
        fn dir(&self) -> PathBuf {
            self.0.path().join("store")
        }

        fn keys(&self) -> Arc<dyn KeyStorage> {
            keys_in(&self.0.path().join("keys"))
        }
    }

    #[async_trait::async_trait]
    impl BlobFixture for Folder {
        async fn open(&self) -> Arc<dyn BlobStore> {
            blobs_over(Arc::new(FileBlobs::new(self.dir())), self.keys())
        }

        async fn open_small(&self, max_bytes: u64) -> Arc<dyn BlobStore> {
            let limits = BlobLimits { blob_bytes: stored(max_bytes), ..BlobLimits::default() };
            blobs_over(Arc::new(FileBlobs::with_limits(self.dir(), limits)), self.keys())
        }

        fn damage(&self, session: &SessionId, _sha256: &str) -> bool {
            // The name of the encrypted bytes is another one: all are changed.
            for entry in std::fs::read_dir(self.dir().join("blobs").join(session.as_str())).unwrap()
            {
                let path = entry.unwrap().path();
                let mut bytes = std::fs::read(&path).unwrap();
                *bytes.last_mut().unwrap() ^= 1;
                std::fs::write(&path, bytes).unwrap();
            }
            true
        }
    }

    windlass_testkit::blob_suite!(Folder(TempDir::new().unwrap()));
}
