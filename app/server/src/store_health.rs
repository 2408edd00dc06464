//! Store health: writes and reads a probe in each store, for the health of the server.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::{Instant, timeout};
use windlass_engine::ports::LogStore;

/// Time-out of the health check over all stores together.
const CHECK_TIMEOUT: Duration = Duration::from_secs(2);

/// Time for which a result is reused, since the health route needs no token.
const LIFETIME: Duration = Duration::from_secs(1);

/// Stores of the tenants, each once, with the last result.
pub(crate) struct StoreHealth {
    stores: Vec<Arc<dyn LogStore>>,
    latest: Mutex<Option<(Instant, bool)>>,
}

impl StoreHealth {
    pub(crate) fn new<'s>(stores: impl Iterator<Item = &'s Arc<dyn LogStore>>) -> Self {
        let mut each: Vec<Arc<dyn LogStore>> = Vec::new();
        for store in stores {
            if !each.iter().any(|other| Arc::ptr_eq(other, store)) {
                each.push(store.clone());
            }
        }
        Self { stores: each, latest: Mutex::new(None) }
    }

    /// Returns true if a probe of all stores succeeds, or did within the last second. One caller at
    /// a time runs the check.
    pub(crate) async fn is_healthy(&self) -> bool {
        let mut latest = self.latest.lock().await;
        if let Some((at, answered)) = *latest
            && at.elapsed() < LIFETIME
        {
            return answered;
        }
        let answered = matches!(timeout(CHECK_TIMEOUT, self.check()).await, Ok(true));
        *latest = Some((Instant::now(), answered));
        answered
    }

    async fn check(&self) -> bool {
        for store in &self.stores {
            if let Err(error) = store.probe().await {
                tracing::warn!(%error, "a probe of the store failed: this server accepts no work");
                return false;
            }
        }
        true
    }
}
