//! Holds the blobs in memory to the promises of the blobs port.

use std::sync::Arc;

use windlass_core::SessionId;
use windlass_memory::MemoryBlobs;
use windlass_ports::BlobStore;
use windlass_testkit::blobs::BlobFixture;

struct Memory;

#[async_trait::async_trait]
impl BlobFixture for Memory {
    async fn open(&self) -> Arc<dyn BlobStore> {
        Arc::new(MemoryBlobs::new())
    }

    async fn open_small(&self, max_bytes: u64) -> Arc<dyn BlobStore> {
        Arc::new(MemoryBlobs::with_limits(max_bytes, 1 << 30))
    }

    fn damage(&self, _session: &SessionId, _sha256: &str) -> bool {
        false
    }
}

windlass_testkit::blob_suite!(Memory);
