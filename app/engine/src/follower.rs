//! Follower: finds facts that other writers append to a session with subscribers here.

use std::future::pending;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use tokio::task::AbortHandle;
use tokio::time::{sleep, timeout};
use windlass_core::{RecordedFact, Seq};
use windlass_ports::{LogStore, StoreError};

use crate::hub::{FollowerId, JoinStatus};
use crate::live::LiveSubscription;
use crate::slot::Slot;

/// Polling interval for a store that cannot follow a log.
const POLL: Duration = Duration::from_secs(1);
/// Duration of one call of [`LogStore::tail`].
const PATIENCE: Duration = Duration::from_secs(300);
/// Interval of checks for a driver here that was superseded without knowing.
const CHECK: Duration = Duration::from_secs(10);
/// Pauses after an error, initial and maximum.
const RETRY: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));

/// Follows a session's log until it is told to end.
struct Follower {
    slot: Arc<Slot>,
    store: Arc<dyn LogStore>,
    page: usize,
    name: FollowerId,
    /// Position up to which all facts are published.
    seen: Seq,
    /// Receives live messages of other nodes while no driver is here.
    subscription: Option<LiveSubscription>,
    /// Position that another node announced. The log is read up to it without waiting.
    due: Seq,
    /// Announced position that the log did not have.
    missing_due: Seq,
}

/// Starts to follow a session's log after position `seen`.
pub(crate) fn begin(
    slot: &Arc<Slot>,
    store: &Arc<dyn LogStore>,
    page: usize,
    name: FollowerId,
    seen: Seq,
) -> AbortHandle {
    let follower = Follower {
        slot: slot.clone(),
        store: store.clone(),
        page: page.max(1),
        name,
        seen,
        subscription: None,
        due: Seq::ZERO,
        missing_due: Seq::ZERO,
    };
    tokio::spawn(follower.run()).abort_handle()
}

impl Follower {
    async fn run(mut self) {
        let (first, most) = RETRY;
        let mut wait = first;
        loop {
            let found = AssertUnwindSafe(self.read_new()).catch_unwind().await;
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
            // Each subscriber gets the error itself, if it persists.
            self.slot.hub.request_reads();
            sleep(wait).await;
            wait = wait.saturating_mul(2).min(most);
        }
    }

    fn publish(&mut self, facts: Vec<RecordedFact>) {
        let facts: Vec<_> = facts.into_iter().map(Arc::new).collect();
        match facts.last() {
            Some(last) => {
                self.seen = last.seq;
                self.slot.hub.publish(&self.name, &facts);
            }
            None => self.missing_due = std::mem::replace(&mut self.due, Seq::ZERO),
        }
    }

    /// Waits until another node announces facts that were not read here. Never returns without a
    /// cluster.
    async fn wait_due(&mut self) -> Seq {
        let Some(listening) = &mut self.subscription else {
            return pending().await;
        };
        loop {
            let told = listening.next().await;
            let JoinStatus { due, lost, catching_up: passing } =
                self.slot.hub.receive(&self.name, told);
            listening.set_status(lost, passing);
            if let Some(due) = due.filter(|due| *due > self.missing_due) {
                return due;
            }
        }
    }

    /// Waits until the log may have grown, and reads it.
    async fn read_new(&mut self) -> Result<Vec<RecordedFact>, StoreError> {
        let (slot, store) = (self.slot.clone(), self.store.clone());
        let (hub, id) = (&slot.hub, &slot.id);
        let mut entered = pin!(hub.entered());
        entered.as_mut().enable();
        if let Some(bus) = hub.driver() {
            self.subscription = None;
            // The driver publishes its own appends.
            let _ = timeout(CHECK, bus.wait_ended()).await;
            self.seen = self.seen.max(bus.durable());
            if self.seen == Seq::ZERO {
                return Ok(Vec::new());
            }
        } else {
            self.subscribe_live();
            let seen = self.seen;
            let more = async {
                if store.capabilities().tail_delay_ms.is_none() {
                    sleep(POLL).await;
                    return Ok(());
                }
                store.tail(id, seen, PATIENCE).await.map(|_| ())
            };
            // Live messages that precede a fact are received before the fact is read.
            tokio::select! {
                biased;
                () = entered, if self.due <= seen => return Ok(Vec::new()),
                due = self.wait_due(), if self.due <= seen => self.due = due,
                more = more, if self.due <= seen => more?,
                else => {}
            }
        }
        store.read(id, self.seen, self.page).await
    }

    /// Subscribes to other nodes, if there are any and there is no subscription yet.
    fn subscribe_live(&mut self) {
        let Some(relay) = self.slot.live_bus() else {
            return;
        };
        let listening = self.subscription.is_some();
        if self.slot.hub.join_live(&self.name, &self.slot.id, self.seen, listening) {
            self.subscription = Some(LiveSubscription::begin(relay, &self.slot.id));
        }
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        self.slot.hub.remove_follower(&self.name);
    }
}
