//! Stores by URL: the one table of their schemes, and which cargo feature builds each store.
//! [`StoreSchemes`] takes those of a program.
//!
//! [`Builder::store`](crate::Builder::store) and the command `windlass` open their stores here.

mod built_in;
mod error;
#[cfg(feature = "file")]
mod file;
#[cfg(feature = "memory")]
mod memory;
#[cfg(feature = "nats")]
mod nats;
#[cfg(feature = "postgres")]
mod postgres;
mod scheme;
#[cfg(feature = "sled")]
mod sled;
#[cfg(feature = "sqlite")]
mod sqlite;
mod url;

use std::sync::Arc;

use async_trait::async_trait;
use windlass_engine::ports::{BlobStore, LiveBus, LogStore, Mailbox, StoreError};

pub use error::StoreUrlError;
pub use scheme::{StoreScheme, StoreSchemes};
pub use url::StoreUrl;

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

impl OpenStore {
    /// Creates an open store of one process.
    pub fn new(store: impl LogStore, blobs: impl BlobStore) -> Self {
        Self { store: Arc::new(store), blobs: Arc::new(blobs), shared: None }
    }

    /// Declares that several processes share the store, and how this one does.
    #[must_use]
    pub fn with_shared(mut self, shared: impl SharedStore + 'static) -> Self {
        self.shared = Some(Arc::new(shared));
        self
    }
}
