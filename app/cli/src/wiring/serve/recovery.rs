//! Recovery: what was left open when the last process ended is taken up.

use windlass_engine::{AdoptionPolicy, Engine};
use windlass_server::Tenant;

/// Sessions that are taken up at a time.
const AT_ONCE: usize = 16;

/// The sessions of one tenant.
pub(crate) struct Recovery {
    tenant: String,
    engine: Engine,
    /// True if there may be other nodes.
    clustered: bool,
}

impl Recovery {
    pub(super) fn of(tenant: &Tenant, among: bool) -> Self {
        Self {
            clustered: among,
            tenant: tenant.name.clone(),
            engine: tenant.engine.clone(),
        }
    }

    /// Opens every session that has something left to do, so that it goes on. What cannot be opened
    /// is told of and left as it is. A node among others does so for as long as it runs.
    pub(crate) async fn run(self) {
        if self.clustered {
            self.engine.adopt(AdoptionPolicy::default());
            return;
        }
        let tenant = self.tenant.as_str();
        let recovered = match self.engine.recover(Some(tenant), AT_ONCE).await {
            Ok(recovered) => recovered,
            Err(error) => {
                tracing::error!(
                    tenant, %error,
                    "cannot list unfinished sessions: they continue on request"
                );
                return;
            }
        };
        for (session, missing) in &recovered.missing {
            let missing = missing.join(", ");
            tracing::warn!(
                tenant, %session, missing,
                "not resumed: configure what it had, and restart"
            );
        }
        for (session, error) in &recovered.failed {
            tracing::warn!(tenant, %session, %error, "not resumed");
        }
        if recovered.unnamed > 0 {
            tracing::warn!(
                tenant,
                more = recovered.unnamed,
                "not resumed, and not named"
            );
        }
        tracing::info!(
            tenant,
            opened = recovered.opened,
            elsewhere = recovered.locked,
            "unfinished sessions were resumed"
        );
    }
}
