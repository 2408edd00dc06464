//! Store in a PostgreSQL database.

use std::sync::Arc;

use async_trait::async_trait;
use windlass_engine::ports::{LiveBus, Mailbox, StoreError};
use windlass_postgres::{PostgresConfig, PostgresStore};

use super::{OpenStore, SharedStore, StoreScheme, StoreUrlError};

pub(super) fn scheme() -> StoreScheme {
    let check = |url: &str| match PostgresConfig::parse(url) {
        Ok(_) => Ok(()),
        Err(error) => Err(StoreUrlError::Invalid(error.to_string())),
    };
    StoreScheme::servers("postgres", check, open)
        .with_name("postgresql")
        .with_form("postgres://HOST/DATABASE")
}

async fn open(url: String) -> Result<OpenStore, StoreUrlError> {
    let store = PostgresStore::connect(PostgresConfig::parse(&url)?).await?;
    let store = Arc::new(store);
    Ok(OpenStore {
        blobs: Arc::new(store.blobs()),
        store: store.clone(),
        shared: Some(Arc::new(PostgresNode(store))),
    })
}

struct PostgresNode(Arc<PostgresStore>);

#[async_trait]
impl SharedStore for PostgresNode {
    fn mailbox(&self) -> Arc<dyn Mailbox> {
        Arc::new(self.0.mailbox())
    }

    fn live_bus(&self) -> Option<Arc<dyn LiveBus>> {
        let relay = self.0.live_bus()?;
        Some(Arc::new(relay))
    }

    async fn release(&self) -> Result<(), StoreError> {
        self.0.close().await
    }
}
