//! Recovery: what was left open when the last process ended is taken up.

use std::sync::Arc;

use futures_util::{StreamExt as _, stream};
use windlass::core::{Scope, SessionId};
use windlass::ports::{LogStore, SessionFilter};
use windlass::{Engine, Start};
use windlass_server::Tenant;

/// Sessions that are taken up at a time.
const AT_ONCE: usize = 16;
/// Sessions that one read of the store brings.
const PAGE: usize = 1_000;

/// The sessions of one tenant.
pub(crate) struct Recovery {
    tenant: String,
    engine: Engine,
    store: Arc<dyn LogStore>,
}

impl Recovery {
    pub(super) fn of(tenant: &Tenant) -> Self {
        Self {
            tenant: tenant.name.clone(),
            engine: tenant.engine.clone(),
            store: tenant.store.clone(),
        }
    }

    /// Opens every session that has something left to do, so that it goes on. One that cannot be
    /// opened is told of and left: another process may run it.
    pub(crate) async fn run(self) {
        let filter = SessionFilter {
            tenant: Some(self.tenant.clone()),
            open: Some(true),
        };
        let mut after: Option<SessionId> = None;
        loop {
            let heads = match self.store.sessions(&filter, after.as_ref(), PAGE).await {
                Ok(heads) => heads,
                Err(error) => {
                    tracing::error!(
                        tenant = self.tenant, %error,
                        "what was left open cannot be listed: it goes on when it is asked for"
                    );
                    return;
                }
            };
            let last = heads.last().map(|head| head.id.clone());
            let full = heads.len() == PAGE;
            stream::iter(heads)
                .for_each_concurrent(AT_ONCE, |head| self.take_up(head.id))
                .await;
            if !full {
                return;
            }
            after = last;
        }
    }

    async fn take_up(&self, id: SessionId) {
        let scope = Scope::system("taking up what was left open");
        if let Err(error) = self.engine.open(&id, &scope, Start::Existing).await {
            tracing::warn!(tenant = self.tenant, session = %id, %error, "not taken up");
        }
    }
}
