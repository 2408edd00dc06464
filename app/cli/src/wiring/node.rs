//! The node: this process among others on one store.

use std::sync::Arc;

use async_trait::async_trait;
use windlass_engine::ports::{Inbox, LiveRelay, StoreError};

use super::store;
use crate::exit::Failure;

/// A store that several processes share, as one of them sees it.
#[async_trait]
pub(crate) trait SharedStore: Send + Sync {
    /// Returns the mailbox of the store's sessions.
    fn inbox(&self) -> Arc<dyn Inbox>;

    /// Returns the store's own channel for live events, if its configuration has one.
    fn relay(&self) -> Option<Arc<dyn LiveRelay>>;

    /// Releases the claims that this process still holds.
    async fn release(&self) -> Result<(), StoreError>;
}

/// This process among the nodes of a store that a server keeps.
#[derive(Clone)]
pub(crate) struct Node(Arc<dyn SharedStore>);

/// Ports that the nodes of one store share beside its logs.
#[derive(Clone)]
pub(crate) struct Shared {
    pub(crate) inbox: Arc<dyn Inbox>,
    pub(crate) relay: Arc<dyn LiveRelay>,
}

impl Node {
    /// Wraps a store that several processes share.
    #[cfg(any(feature = "nats", feature = "postgres"))]
    pub(crate) fn of(store: impl SharedStore + 'static) -> Self {
        Self(Arc::new(store))
    }

    /// Returns the shared ports. Live events go over the NATS servers of `live` if it is given, else
    /// over the store's own channel.
    pub(crate) async fn share(&self, live: Option<&str>) -> Result<Shared, Failure> {
        let relay = match live {
            Some(url) => store::relay(url).await?,
            None => self.0.relay().ok_or_else(|| {
                Failure::usage(
                    "the store is told listen=never, so nothing that streams here could be \
                     watched at another node: name the server itself with listen=URL, or NATS \
                     servers with --live nats://HOST/PLACE",
                )
            })?,
        };
        Ok(Shared {
            inbox: self.0.inbox(),
            relay,
        })
    }

    /// Releases every claim that is still held, so that other nodes can take over at once.
    pub(crate) async fn leave(&self) {
        if let Err(error) = self.0.release().await {
            tracing::warn!(%error, "this node's lease was not given back: it ends by itself");
        }
    }
}
