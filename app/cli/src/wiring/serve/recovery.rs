//! Recovery: continues sessions that were unfinished when the last process ended.

use std::time::Duration;

use tokio::time::sleep;
use windlass_engine::ports::Tenants;
use windlass_engine::{AdoptionPolicy, Engine};
use windlass_server::{ServedSessions, Tenant};

/// Sessions that are opened at a time.
const AT_ONCE: usize = 16;
/// Shortest and longest pause after the sessions could not be listed.
const PAUSE: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(30));

/// Sessions of one tenant.
pub(crate) struct Recovery {
    tenant: String,
    /// Workspace whose sessions are served, if not all are.
    workspace: Option<String>,
    engine: Engine,
    /// True if there may be other nodes.
    clustered: bool,
}

impl Recovery {
    pub(super) fn of(tenant: &Tenant, among: bool) -> Self {
        let workspace = match tenant.served {
            ServedSessions::All => None,
            ServedSessions::OfWorkspace => tenant.workspace.clone(),
        };
        let (tenant, engine) = (tenant.name.clone(), tenant.engine.clone());
        Self { clustered: among, tenant, workspace, engine }
    }

    /// Opens every unfinished session, so that it continues. Sessions that cannot be opened are
    /// reported and unchanged. A node in a cluster does so as long as it runs.
    pub(crate) async fn run(self) {
        if self.clustered {
            self.engine.adopt(AdoptionPolicy::default());
            return;
        }
        let tenant = self.tenant.as_str();
        let tenants = Tenants::One(tenant.to_owned());
        let (mut pause, longest) = PAUSE;
        let recovered = loop {
            let recovered = match &self.workspace {
                None => self.engine.recover(&tenants, AT_ONCE).await,
                Some(here) => self.engine.recover_workspace(&tenants, here, AT_ONCE).await,
            };
            match recovered {
                Ok(recovered) => break recovered,
                Err(error) => tracing::error!(
                    tenant, %error,
                    "cannot list unfinished sessions: they are listed again in {} ms",
                    pause.as_millis()
                ),
            }
            sleep(pause).await;
            pause = pause.saturating_mul(2).min(longest);
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
            tracing::warn!(tenant, more = recovered.unnamed, "not resumed, and not named");
        }
        if recovered.of_other_workspace > 0 {
            tracing::warn!(
                tenant,
                sessions = recovered.of_other_workspace,
                "not resumed: unfinished sessions of other workspaces"
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
