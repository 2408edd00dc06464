//! Node: this process in a cluster on one store.

use std::sync::Arc;

use windlass::store::SharedStore;
use windlass_engine::ports::{LiveBus, Mailbox};

use super::store;
use crate::exit::Failure;

/// This process as a node of a shared store.
#[derive(Clone)]
pub(crate) struct Node(Arc<dyn SharedStore>);

/// Ports that the nodes of one store share beside its logs.
#[derive(Clone)]
pub(crate) struct SharedPorts {
    pub(crate) mailbox: Arc<dyn Mailbox>,
    pub(crate) live_bus: Arc<dyn LiveBus>,
}

impl Node {
    /// Wraps a store that several processes share.
    pub(crate) fn new(store: Arc<dyn SharedStore>) -> Self {
        Self(store)
    }

    /// Returns the shared ports. Live events go over the NATS servers of `live` if it is given,
    /// else over the store's own channel.
    pub(crate) async fn share(&self, live: Option<&str>) -> Result<SharedPorts, Failure> {
        let relay = match live {
            Some(url) => store::connect_live_bus(url).await?,
            None => self.0.live_bus().ok_or_else(|| {
                Failure::usage(
                    "the store has listen=never, so other nodes could not follow live events: \
                     name the server itself with listen=URL, or NATS servers with --live \
                     nats://HOST/PLACE",
                )
            })?,
        };
        Ok(SharedPorts { mailbox: self.0.mailbox(), live_bus: relay })
    }

    /// Releases every claim that is still held, so that other nodes can take over at once.
    pub(crate) async fn leave(&self) {
        if let Err(error) = self.0.release().await {
            tracing::warn!(%error, "this node's lease was not released: it expires by itself");
        }
    }
}
