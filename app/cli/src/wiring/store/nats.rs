//! Store on NATS JetStream, and live events over NATS.

use std::sync::Arc;

use async_trait::async_trait;
use windlass_engine::ports::{LiveBus, Mailbox, StoreError};
use windlass_nats::{NatsConfig, NatsLiveBus, NatsStore};

use super::{Backend, OpenBackend};
use crate::exit::Failure;
use crate::wiring::node::{Node, SharedStore};
use crate::wiring::workspace::StoreHandle;

pub(super) const BACKEND: Backend = Backend {
    schemes: &["nats", "tls"],
    open: OpenBackend::Servers {
        check: |url| match NatsConfig::parse(url) {
            Ok(_) => Ok(()),
            Err(error) => Err(Failure::usage(error.to_string())),
        },
        open: |url| Box::pin(open(url)),
    },
    open_damaged: None,
};

async fn open(url: String) -> Result<StoreHandle, Failure> {
    let store = Arc::new(NatsStore::open(&NatsConfig::parse(&url)?).await?);
    Ok(StoreHandle {
        blobs: Arc::new(store.blobs()),
        store: store.clone(),
        node: Some(Node::of(NatsNode(store))),
    })
}

/// Rejects a URL that is unusable for live events.
#[cfg(feature = "server")]
pub(in crate::wiring) fn check_live(url: &str) -> Result<(), Failure> {
    live(url).map(|_| ())
}

/// Connects to the servers for live events.
pub(in crate::wiring) async fn connect_live_bus(url: &str) -> Result<Arc<dyn LiveBus>, Failure> {
    Ok(Arc::new(NatsLiveBus::connect(&live(url)?).await?))
}

fn live(url: &str) -> Result<NatsConfig, Failure> {
    NatsConfig::parse(url).map_err(|error| {
        Failure::usage(format!(
            "cannot use the servers of live events (live): \
                                                 {error}"
        ))
    })
}

struct NatsNode(Arc<NatsStore>);

#[async_trait]
impl SharedStore for NatsNode {
    fn mailbox(&self) -> Arc<dyn Mailbox> {
        Arc::new(self.0.mailbox())
    }

    fn live_bus(&self) -> Option<Arc<dyn LiveBus>> {
        Some(Arc::new(self.0.live_bus()))
    }

    async fn release(&self) -> Result<(), StoreError> {
        self.0.close().await;
        Ok(())
    }
}
