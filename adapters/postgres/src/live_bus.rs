//! The live relay over the database's notifications. What is told goes out in groups, each a
//! transaction that keeps nothing and is not synced; a backlog is dropped.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::sync::Notify;
use windlass_core::SessionId;
use windlass_kit_log::{Backlog, Interest, QUEUE_MESSAGES};
use windlass_ports::sync::Mutex as Lock;
use windlass_ports::{LiveBus, LiveBusCapabilities, LiveReceiver, LogSignal};

use crate::background::StoreLeaseGuard;
use crate::bundle;
use crate::mailbox_waiters;
use crate::store::StoreContext;

/// The most bytes of a message.
const MESSAGE_BYTES: usize = 64 * 1024;
/// The most bytes that wait to go out, and that go out in one transaction.
const BACKLOG_BYTES: usize = 512 * 1024;
const GROUP_BYTES: usize = 96 * 1024;
/// The most bytes of an announcement.
const ANNOUNCEMENT: usize = 7_800;
/// Longest time for sending a group; after it the group is dropped.
const SENDING: Duration = Duration::from_secs(2);

/// A live relay over the notifications of a [`PostgresStore`](crate::PostgresStore)'s database.
#[derive(Clone)]
pub struct PostgresLiveBus {
    presence: Arc<StoreLeaseGuard>,
    linger_ms: u64,
}

/// State that a relay shares with its tasks.
#[derive(Debug)]
pub(crate) struct LiveBusState {
    pub(crate) interest: Interest,
    backlog: Backlog,
    /// Sessions that began to be heard, to be announced once the connection listens.
    begun: Lock<BTreeSet<SessionId>>,
    /// There are such, or nobody hears any more.
    pub(crate) to_listen: Notify,
    bundles: AtomicU64,
}

impl LiveBusState {
    pub(crate) fn new(node: &str, linger_ms: u64) -> Self {
        Self {
            interest: Interest::new(node.to_owned(), Duration::from_millis(linger_ms)),
            backlog: Backlog::new(BACKLOG_BYTES),
            begun: Lock::default(),
            to_listen: Notify::new(),
            bundles: AtomicU64::new(0),
        }
    }

    /// The connection listens to live messages now: what is heard is announced.
    pub(crate) fn listens(&self) {
        let begun = {
            let mut begun = self.begun.lock();
            std::mem::take(&mut *begun)
        };
        for session in begun {
            self.interest.announce(&session);
        }
    }

    /// Ends all that is heard here, and the tasks.
    pub(crate) fn close(&self) {
        self.interest.close();
        self.interest.to_announce.notify_one();
        self.backlog.to_send.notify_one();
        self.to_listen.notify_one();
    }
}

impl PostgresLiveBus {
    pub(crate) fn new(presence: &Arc<StoreLeaseGuard>, linger_ms: u64) -> Self {
        Self { presence: Arc::clone(presence), linger_ms }
    }

    fn live(&self) -> &LiveBusState {
        &self.presence.shared.live
    }
}

impl LiveBus for PostgresLiveBus {
    fn capabilities(&self) -> LiveBusCapabilities {
        LiveBusCapabilities {
            message_bytes: MESSAGE_BYTES,
            max_queued_messages: QUEUE_MESSAGES,
            backlog_bytes: BACKLOG_BYTES,
            linger_ms: self.linger_ms,
        }
    }

    fn publish(&self, session: &SessionId, message: &[u8]) {
        let live = self.live();
        if let Some(told) = live.interest.publish(session, message, MESSAGE_BYTES) {
            live.interest.count_dropped(live.backlog.push(told));
        }
    }

    fn has_subscribers(&self, session: &SessionId) -> bool {
        self.live().interest.is_remote(session)
    }

    fn subscribe(&self, session: &SessionId) -> LiveReceiver {
        let live = self.live();
        let (hearing, _) = live.interest.subscribe(session);
        let mut begun = live.begun.lock();
        begun.insert(session.clone());
        drop(begun);
        live.to_listen.notify_one();
        hearing
    }

    fn new_subscribers(&self) -> LogSignal {
        self.live().interest.watch()
    }

    fn dropped(&self) -> u64 {
        self.live().interest.dropped()
    }
}

/// Sends what is told: one transaction at a time, for all that was told meanwhile.
pub(crate) async fn send(shared: Weak<StoreContext>, live: Arc<LiveBusState>, channel: String) {
    while !live.interest.is_closed() {
        let group = live.backlog.pop_batch(GROUP_BYTES);
        if group.is_empty() {
            live.backlog.to_send.notified().await;
            continue;
        }
        let Some(shared) = shared.upgrade() else {
            return;
        };
        let number = live.bundles.fetch_add(1, Ordering::Relaxed);
        let pieces = bundle::pieces(live.interest.node(), number, &group);
        let doing = "telling what streams";
        let sent = mailbox_waiters::notify(&shared.database, doing, &channel, &pieces);
        let why = match tokio::time::timeout(SENDING, sent).await {
            Ok(Ok(())) => continue,
            Ok(Err(error)) => error.to_string(),
            Err(_) => format!("it took longer than {SENDING:?}"),
        };
        tracing::debug!(why, "live messages were dropped");
        live.interest.count_dropped(group.len() as u64);
    }
}

/// Announces what is heard here: what began at once, all of it now and again.
pub(crate) async fn announce(
    shared: Weak<StoreContext>,
    live: Arc<LiveBusState>,
    channel: String,
    linger_ms: u64,
) {
    let mut ticks = tokio::time::interval(Duration::from_millis(linger_ms / 3));
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    while !live.interest.is_closed() {
        let all = tokio::select! {
            () = live.interest.to_announce.notified() => false,
            _ = ticks.tick() => true,
        };
        if all {
            live.interest.prune_all();
            live.to_listen.notify_one();
        }
        let announcements = live.interest.announcements(all, ANNOUNCEMENT);
        let Some(shared) = shared.upgrade() else {
            return;
        };
        if announcements.is_empty() {
            continue;
        }
        let doing = "announcing what is heard";
        if let Err(error) =
            mailbox_waiters::notify(&shared.database, doing, &channel, &announcements).await
        {
            tracing::debug!(%error, "what is heard here was not announced: it is again");
        }
    }
}
