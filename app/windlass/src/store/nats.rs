//! Store on NATS JetStream.

use std::sync::Arc;

use async_trait::async_trait;
use windlass_engine::ports::{LiveBus, Mailbox, StoreError};
use windlass_nats::{NatsConfig, NatsStore};

use super::{OpenStore, SharedStore, StoreScheme, StoreUrlError};

pub(super) fn scheme() -> StoreScheme {
    let check = |url: &str| match NatsConfig::parse(url) {
        Ok(_) => Ok(()),
        Err(error) => Err(StoreUrlError::Invalid(error.to_string())),
    };
    StoreScheme::servers("nats", check, open).with_name("tls").with_form("nats://HOST/PLACE")
}

async fn open(url: String) -> Result<OpenStore, StoreUrlError> {
    let store = Arc::new(NatsStore::open(&NatsConfig::parse(&url)?).await?);
    Ok(OpenStore {
        blobs: Arc::new(store.blobs()),
        store: store.clone(),
        shared: Some(Arc::new(NatsNode(store))),
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
