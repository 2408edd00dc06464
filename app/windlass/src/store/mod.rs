//! Stores by URL: the one place that knows the schemes, and which cargo feature builds each store.
//!
//! [`Builder::store`](crate::Builder::store) and the command `windlass` open their stores here.

mod backend;
mod error;
#[cfg(feature = "nats")]
mod nats;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "sled")]
mod sled;
mod url;

#[cfg(feature = "file")]
use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use windlass_engine::ports::{BlobStore, LiveBus, LogStore, Mailbox, StoreError};

pub use error::StoreUrlError;
pub use url::{OptionalStoreUrl, StoreUrl};

/// Open store.
#[derive(Clone)]
#[non_exhaustive]
pub struct OpenStore {
    /// Logs of the sessions.
    pub store: Arc<dyn LogStore>,
    /// Long outputs, beside the logs.
    pub blobs: Arc<dyn BlobStore>,
    /// The store as a node uses it, if several processes may share it.
    pub shared: Option<Arc<dyn SharedStore>>,
}

/// Store that several processes share, as one of them uses it.
#[async_trait]
pub trait SharedStore: Send + Sync {
    /// Returns the mailbox of the store's sessions.
    fn mailbox(&self) -> Arc<dyn Mailbox>;

    /// Returns the store's own channel for live events, if its configuration has one.
    fn live_bus(&self) -> Option<Arc<dyn LiveBus>>;

    /// Releases the claims that this process still holds.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot be reached. The claims then expire.
    async fn release(&self) -> Result<(), StoreError>;
}

#[cfg(feature = "memory")]
impl OpenStore {
    pub(crate) fn in_memory() -> Self {
        Self {
            store: Arc::new(windlass_memory::MemoryStore::new()),
            blobs: Arc::new(windlass_memory::MemoryBlobs::new()),
            shared: None,
        }
    }
}

/// Opens a store in a folder, with its blob store.
#[cfg(feature = "file")]
pub(crate) async fn open_folder(
    path: PathBuf,
    open: fn(PathBuf) -> Result<Arc<dyn LogStore>, StoreError>,
) -> Result<OpenStore, StoreUrlError> {
    let blobs = Arc::new(windlass_file::FileBlobs::new(path.clone()));
    // Opening reads files and may wait for a lock, so it runs on a blocking thread.
    let opened = tokio::task::spawn_blocking(move || open(path)).await;
    let opened = opened.map_err(|error| {
        let words = format!("cannot open the store: {error}");
        StoreError::new(windlass_engine::ports::StoreErrorKind::Io, words)
    })?;
    Ok(OpenStore { store: opened?, blobs, shared: None })
}
