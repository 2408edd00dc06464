//! Shutdown: asks all sessions to stop, and releases them.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::future::join_all;
use tokio::time::timeout;
use windlass_core::{SessionId, StopTiming};

use super::Engine;
use crate::slot::Slot;

impl Engine {
    /// Opens nothing more, asks every running turn to stop, and waits until each session is at rest
    /// and released: all of them at once, for at most [`Config::shutdown_ms`].
    ///
    /// Returns the sessions that did not come to rest, for example because their store does not
    /// respond. Their drivers are dropped while they run. Acknowledged inputs are in the log, and
    /// the sessions continue from there when they are opened again.
    pub async fn shutdown(&self, reason: &str) -> Vec<SessionId> {
        let limit = Duration::from_millis(self.inner.config.shutdown_ms);
        let shutting = self.all().into_iter().map(|slot| async move {
            if timeout(limit, slot.shut_down(StopTiming::Now, reason)).await.is_ok() {
                return None;
            }
            tracing::error!(session = %slot.id, "not at rest in time: its driver is dropped");
            slot.kill();
            Some(slot.id.clone())
        });
        join_all(shutting).await.into_iter().flatten().collect()
    }

    /// Opens nothing more, asks every running turn to stop before its next sample, and waits up to
    /// `within_ms` for that. Running effects may end, and open approvals may still be answered.
    /// Then shuts down and returns as [`Engine::shutdown`].
    pub async fn drain(&self, within_ms: u64, reason: &str) -> Vec<SessionId> {
        let limit = Duration::from_millis(within_ms);
        let draining = self.all().into_iter().map(|slot| async move {
            let _ = timeout(limit, slot.shut_down(StopTiming::AfterStep, reason)).await;
        });
        join_all(draining).await;
        self.shutdown(reason).await
    }

    /// Returns every session that is open here. No session can be opened afterwards.
    pub(super) fn all(&self) -> Vec<Arc<Slot>> {
        // Set before listing, so that an opening that is missing from the list sees the flag.
        self.inner.is_shut_down.store(true, Ordering::SeqCst);
        self.inner.slots().values().cloned().collect()
    }
}
