//! Follower: finds what other writers append to a session that is watched here.

use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use tokio::task::AbortHandle;
use tokio::time::{sleep, timeout};
use windlass_core::{Recorded, Seq};
use windlass_ports::{LogStore, StoreError};

use crate::hub::Followed;
use crate::slot::Slot;

/// How often a log is looked at where its store cannot follow it.
const POLL: Duration = Duration::from_secs(1);
/// How long one call of [`LogStore::tail`] lasts.
const PATIENCE: Duration = Duration::from_secs(300);
/// How often it is looked whether a driver here has been superseded and does not know it yet.
const CHECK: Duration = Duration::from_secs(10);
/// How long nobody asks again after an error, at first and at most.
const RETRY: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));

/// Follows a session's log until it is told to end.
struct Follower {
    slot: Arc<Slot>,
    store: Arc<dyn LogStore>,
    page: usize,
    name: Followed,
    /// The position up to which all is published.
    seen: Seq,
}

/// Begins to follow a session's log after position `seen`.
pub(crate) fn begin(
    slot: &Arc<Slot>,
    store: &Arc<dyn LogStore>,
    page: usize,
    name: Followed,
    seen: Seq,
) -> AbortHandle {
    let follower = Follower {
        slot: slot.clone(),
        store: store.clone(),
        page: page.max(1),
        name,
        seen,
    };
    tokio::spawn(follower.run()).abort_handle()
}

impl Follower {
    async fn run(mut self) {
        let (first, most) = RETRY;
        let mut wait = first;
        loop {
            let found = AssertUnwindSafe(self.found()).catch_unwind().await;
            match found {
                Ok(Ok(facts)) => {
                    wait = first;
                    self.publish(facts);
                    continue;
                }
                Ok(Err(error)) => {
                    tracing::debug!(session = %self.slot.id, %error, "a log is not followed");
                }
                Err(_) => tracing::error!(
                    session = %self.slot.id,
                    "the store adapter panicked while a log was followed"
                ),
            }
            // Each of them gets the error itself, if there still is one.
            self.slot.hub.trouble();
            sleep(wait).await;
            wait = wait.saturating_mul(2).min(most);
        }
    }

    fn publish(&mut self, facts: Vec<Recorded>) {
        let facts: Vec<_> = facts.into_iter().map(Arc::new).collect();
        if let Some(last) = facts.last() {
            self.seen = last.seq;
            self.slot.hub.publish(&self.name, &facts);
        }
    }

    /// Waits until there may be more in the log, and reads it.
    async fn found(&mut self) -> Result<Vec<Recorded>, StoreError> {
        let (hub, id) = (&self.slot.hub, &self.slot.id);
        let mut entered = pin!(hub.entered());
        entered.as_mut().enable();
        if let Some(bus) = hub.driver() {
            // What it appends it publishes itself.
            let _ = timeout(CHECK, bus.gone()).await;
            self.seen = self.seen.max(bus.durable());
            if self.seen == Seq::ZERO {
                return Ok(Vec::new());
            }
        } else {
            let more = async {
                if self.store.capabilities().tail.is_none() {
                    sleep(POLL).await;
                    return Ok(());
                }
                self.store.tail(id, self.seen, PATIENCE).await.map(|_| ())
            };
            tokio::select! {
                more = more => more?,
                () = entered => return Ok(Vec::new()),
            }
        }
        self.store.read(id, self.seen, self.page).await
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        self.slot.hub.unfollowed(&self.name);
    }
}
