//! The store in a PostgreSQL database.

use std::sync::Arc;

use async_trait::async_trait;
use windlass_engine::ports::{Inbox, LiveRelay, StoreError};
use windlass_postgres::{PostgresConfig, PostgresStore};

use super::{Backend, Open};
use crate::exit::Failure;
use crate::wiring::node::{Node, SharedStore};
use crate::wiring::place::Opened;

pub(super) const BACKEND: Backend = Backend {
    schemes: &["postgres", "postgresql"],
    open: Open::Servers {
        check: |url| match PostgresConfig::parse(url) {
            Ok(_) => Ok(()),
            Err(error) => Err(Failure::usage(error.to_string())),
        },
        open: |url| Box::pin(open(url)),
    },
};

async fn open(url: String) -> Result<Opened, Failure> {
    let store = PostgresStore::connect(PostgresConfig::parse(&url)?).await?;
    let store = Arc::new(store);
    Ok(Opened {
        blobs: Arc::new(store.blobs()),
        store: store.clone(),
        node: Some(Node::of(OnPostgres(store))),
    })
}

struct OnPostgres(Arc<PostgresStore>);

#[async_trait]
impl SharedStore for OnPostgres {
    fn inbox(&self) -> Arc<dyn Inbox> {
        Arc::new(self.0.inbox())
    }

    fn relay(&self) -> Option<Arc<dyn LiveRelay>> {
        let relay = self.0.relay()?;
        Some(Arc::new(relay))
    }

    async fn release(&self) -> Result<(), StoreError> {
        self.0.close().await
    }
}
