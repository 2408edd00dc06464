//! Store in memory.

use windlass_memory::{MemoryBlobs, MemoryStore};

use super::{OpenStore, StoreScheme};

pub(super) fn scheme() -> StoreScheme {
    StoreScheme::in_process("memory", async || {
        Ok(OpenStore::new(MemoryStore::new(), MemoryBlobs::new()))
    })
}
