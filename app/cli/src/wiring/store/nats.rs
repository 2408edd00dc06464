//! The store on NATS JetStream, and live events over NATS.

use std::sync::Arc;

use async_trait::async_trait;
use windlass_engine::ports::{Inbox, LiveRelay, StoreError};
use windlass_nats::{NatsConfig, NatsRelay, NatsStore};

use super::{Backend, Open};
use crate::exit::Failure;
use crate::wiring::node::{Node, SharedStore};
use crate::wiring::place::Opened;

pub(super) const BACKEND: Backend = Backend {
    schemes: &["nats", "tls"],
    open: Open::Servers {
        check: |url| match NatsConfig::parse(url) {
            Ok(_) => Ok(()),
            Err(error) => Err(Failure::usage(error.to_string())),
        },
        open: |url| Box::pin(open(url)),
    },
};

async fn open(url: String) -> Result<Opened, Failure> {
    let store = Arc::new(NatsStore::open(&NatsConfig::parse(&url)?).await?);
    Ok(Opened {
        blobs: Arc::new(store.blobs()),
        store: store.clone(),
        node: Some(Node::of(OnNats(store))),
    })
}

/// Refuses a URL that live events cannot be sent to.
#[cfg(feature = "server")]
pub(in crate::wiring) fn check_live(url: &str) -> Result<(), Failure> {
    live(url).map(|_| ())
}

/// Connects to the servers that carry live events.
pub(in crate::wiring) async fn relay(url: &str) -> Result<Arc<dyn LiveRelay>, Failure> {
    Ok(Arc::new(NatsRelay::connect(&live(url)?).await?))
}

fn live(url: &str) -> Result<NatsConfig, Failure> {
    NatsConfig::parse(url)
        .map_err(|error| Failure::usage(format!("where live events go (live): {error}")))
}

struct OnNats(Arc<NatsStore>);

#[async_trait]
impl SharedStore for OnNats {
    fn inbox(&self) -> Arc<dyn Inbox> {
        Arc::new(self.0.inbox())
    }

    fn relay(&self) -> Option<Arc<dyn LiveRelay>> {
        Some(Arc::new(self.0.relay()))
    }

    async fn release(&self) -> Result<(), StoreError> {
        self.0.close().await;
        Ok(())
    }
}
