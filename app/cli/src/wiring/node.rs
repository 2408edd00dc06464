//! The node: this process among others on one store.

use std::sync::Arc;

use windlass_engine::ports::{Inbox, LiveRelay};
use windlass_nats::{NatsConfig, NatsRelay, NatsStore};
use windlass_postgres::PostgresStore;

use crate::exit::Failure;

/// This process among the nodes of a store that a server keeps.
#[derive(Clone)]
pub(crate) enum Node {
    Nats(Arc<NatsStore>),
    Postgres(Arc<PostgresStore>),
}

/// What nodes on one store share beside its logs.
#[derive(Clone)]
pub(crate) struct Shared {
    pub(crate) inbox: Arc<dyn Inbox>,
    pub(crate) relay: Arc<dyn LiveRelay>,
}

impl Node {
    /// What it shares with the others; what streams goes over the NATS servers of a URL where one is
    /// named, else over the store's own.
    pub(crate) async fn share(&self, live: Option<&str>) -> Result<Shared, Failure> {
        let beside: Option<Arc<dyn LiveRelay>> = match live {
            Some(url) => Some(Arc::new(NatsRelay::connect(&live_config(url)?).await?)),
            None => None,
        };
        match self {
            Self::Nats(store) => Ok(Shared {
                inbox: Arc::new(store.inbox()),
                relay: beside.unwrap_or_else(|| Arc::new(store.relay())),
            }),
            Self::Postgres(store) => {
                let own = || {
                    store
                        .relay()
                        .map(|relay| Arc::new(relay) as Arc<dyn LiveRelay>)
                };
                let relay = beside.or_else(own).ok_or_else(|| {
                    Failure::usage(
                        "the store is told listen=never, so nothing that streams here could be \
                         watched at another node: name the server itself with listen=URL, or NATS \
                         servers with --live nats://HOST/PLACE",
                    )
                })?;
                Ok(Shared {
                    inbox: Arc::new(store.inbox()),
                    relay,
                })
            }
        }
    }

    /// Gives what is still claimed back, so that other nodes may go on with it at once.
    pub(crate) async fn leave(&self) {
        let left = match self {
            Self::Nats(store) => {
                store.close().await;
                Ok(())
            }
            Self::Postgres(store) => store.close().await,
        };
        if let Err(error) = left {
            tracing::warn!(%error, "this node's lease was not given back: it ends by itself");
        }
    }
}

/// Reads where live events go.
pub(crate) fn live_config(url: &str) -> Result<NatsConfig, Failure> {
    NatsConfig::parse(url)
        .map_err(|error| Failure::usage(format!("where live events go (live): {error}")))
}
