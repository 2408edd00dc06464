//! Holds the blobs in a folder to the promises of the blobs port.

#![expect(clippy::unwrap_used, reason = "it is part of a test")]

use std::path::PathBuf;
use std::sync::Arc;

use tempfile::TempDir;
use windlass_core::SessionId;
use windlass_file::{BlobLimits, FileBlobs};
use windlass_ports::BlobStore;
use windlass_testkit::blobs::BlobFixture;

struct Folder(TempDir);

impl Folder {
    fn dir(&self) -> PathBuf {
        self.0.path().join("store")
    }
}

#[async_trait::async_trait]
impl BlobFixture for Folder {
    async fn open(&self) -> Arc<dyn BlobStore> {
        Arc::new(FileBlobs::new(self.dir()))
    }

    async fn open_small(&self, max_bytes: u64) -> Arc<dyn BlobStore> {
        let limits = BlobLimits { blob_bytes: max_bytes, ..BlobLimits::default() };
        Arc::new(FileBlobs::with_limits(self.dir(), limits))
    }

    fn damage(&self, session: &SessionId, sha256: &str) -> bool {
        let path = self.dir().join("blobs").join(session.as_str()).join(sha256);
        let mut bytes = std::fs::read(&path).unwrap();
        *bytes.last_mut().unwrap() ^= 1;
        std::fs::write(&path, bytes).unwrap();
        true
    }
}

windlass_testkit::blob_suite!(Folder(TempDir::new().unwrap()));
