//! The node: the lease that all claims of one store object live by.

use std::time::Duration;

use tokio::sync::{Mutex, oneshot};
use tokio::task::JoinHandle;
use windlass_ports::{Lease, LeaseError, LeaseErrorKind, LeaseStatus, Leases as _};

use crate::leases::NatsLeases;

/// Prefix of the names of nodes' leases.
const NODE: &str = "node.";

/// A node and its lease, which is taken with the first claim and renewed until the node is dropped.
#[derive(Debug)]
pub(crate) struct Node {
    /// Name of the node.
    pub(crate) name: String,
    leases: NatsLeases,
    lease_ms: u64,
    renewing: Mutex<Option<RenewalTask>>,
}

/// The task that renews a node's lease.
#[derive(Debug)]
struct RenewalTask {
    /// Dropped, it tells the task to give the lease back.
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl Node {
    pub(crate) fn new(name: String, leases: NatsLeases, lease_ms: u64) -> Self {
        Self { name, leases, lease_ms, renewing: Mutex::new(None) }
    }

    /// Takes the node's lease, unless it is being renewed already.
    ///
    /// # Errors
    /// As [`acquire`](windlass_ports::Leases::acquire).
    pub(crate) async fn ensure_lease(&self) -> Result<(), LeaseError> {
        let mut renewing = self.renewing.lock().await;
        if renewing.as_ref().is_some_and(|renewing| !renewing.stop.is_closed()) {
            return Ok(());
        }
        let name = lease_name(&self.name);
        let lease = self.leases.acquire(&name, &self.name, self.lease_ms).await?;
        let (stop, stopped) = oneshot::channel();
        let task = tokio::spawn(renew(self.leases.clone(), lease, stopped));
        *renewing = Some(RenewalTask { stop, task });
        Ok(())
    }

    /// Gives the lease back, if there is one, and the claims with it.
    pub(crate) async fn release_lease(&self) {
        if let Some(RenewalTask { stop, task }) = self.renewing.lock().await.take() {
            drop(stop);
            let _ = task.await;
        }
    }

    /// The lease of another node, while it lasts.
    ///
    /// # Errors
    /// As [`holder`](windlass_ports::Leases::holder).
    pub(crate) async fn other(&self, name: &str) -> Result<Option<LeaseStatus>, LeaseError> {
        self.leases.holder(&lease_name(name)).await
    }
}

fn lease_name(node: &str) -> String {
    format!("{NODE}{node}")
}

/// The node that a lease of this name is of.
pub(crate) fn node_of(lease: &str) -> Option<&str> {
    lease.strip_prefix(NODE)
}

/// Renews a lease until it is told to stop, and gives it back then.
async fn renew(leases: NatsLeases, mut lease: Lease, mut stopped: oneshot::Receiver<()>) {
    let often = Duration::from_millis((lease.ttl_ms / 3).max(1));
    let soon = Duration::from_millis((lease.ttl_ms / 10).max(1));
    let mut pause = often;
    loop {
        tokio::select! {
            _ = &mut stopped => break,
            () = tokio::time::sleep(pause) => {}
        }
        let renewed = match leases.renew(&lease).await {
            Err(error) if error.kind == LeaseErrorKind::Lost => {
                tracing::warn!(
                    lease = lease.name,
                    "the node's lease was taken by another of its name: give each node a name of \
                     its own"
                );
                let taken = leases.acquire(&lease.name, &lease.holder, lease.ttl_ms);
                taken.await.map(|taken| lease = taken)
            }
            renewed => renewed,
        };
        pause = match renewed {
            Ok(()) => often,
            Err(error) => {
                tracing::warn!(%error, "the node's lease was not renewed");
                soon
            }
        };
    }
    if let Err(error) = leases.release(&lease).await {
        tracing::debug!(%error, "the node's lease was not given back");
    }
}
