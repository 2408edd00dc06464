//! The vigil: which open sessions may be held by nobody, so that asking for them again and again does
//! not list all sessions each time.
//!
//! A list is made only where one may have become free unheard: at first, when the lease of another node
//! is over or was given back, and once in a while beneath. What a node gives back it tells besides. All
//! of it is a hint: before a session is told as free, its last message is looked at.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Weak};
use std::time::Duration;

use async_nats::{Message, Subscriber};
use futures_util::StreamExt as _;
use tokio::sync::OnceCell;
use tokio::time::Instant;
use windlass_core::SessionId;
use windlass_ports::sync::{Mutex, MutexGuard};
use windlass_ports::{SessionFilter, SessionListing, SessionSummary, StoreError};

use crate::leases::parse_lease_ttl;
use crate::list::{FEWEST, LiveNodes};
use crate::lookup::MOST as TOGETHER;
use crate::names::{decode, session_of};
use crate::node::node_of;
use crate::server::Server;
use crate::store::NatsStore;

/// Interval at which all sessions are listed in addition to notices.
const FALLBACK_POLL: Duration = Duration::from_secs(60);
/// Delay after the expected end of a lease before it is checked.
const SLACK: Duration = Duration::from_millis(100);
/// The most sessions that are remembered; beyond them the next list finds the rest.
const MOST: usize = 100_000;
/// Delay before failed subscriptions are tried again.
const AGAIN: Duration = Duration::from_secs(1);

/// Sessions that may be free.
#[derive(Debug, Default)]
pub(crate) struct UnclaimedSessionTracker {
    state: Mutex<TrackerState>,
    /// The task that hears, which begins when it is first asked for.
    begun: OnceCell<()>,
    /// Held while all sessions are listed.
    listing: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct TrackerState {
    /// Sessions that may be free.
    free: BTreeSet<SessionId>,
    /// When the leases of other nodes are over, unless they are renewed.
    nodes: HashMap<String, Instant>,
    /// When all sessions were listed last.
    listed: Option<Instant>,
    /// True once a node left.
    gone: bool,
}

impl UnclaimedSessionTracker {
    /// No panic can leave it half changed, so a poisoned lock is as good as any.
    fn state(&self) -> MutexGuard<'_, TrackerState> {
        self.state.lock()
    }

    async fn begin(self: &Arc<Self>, server: &Server) {
        let begin = || async {
            tokio::spawn(receive_notices(server.clone(), Arc::downgrade(self)));
        };
        self.begun.get_or_init(begin).await;
    }
}

impl TrackerState {
    /// Returns true if all sessions must be listed, and marks them as listed.
    fn is_due(&mut self) -> bool {
        let now = Instant::now();
        let before = self.nodes.len();
        self.nodes.retain(|_, over| *over > now);
        let gone = std::mem::take(&mut self.gone) || self.nodes.len() < before;
        let due = gone || self.listed.is_none_or(|listed| now >= listed + FALLBACK_POLL);
        if due {
            self.listed = Some(now);
        }
        due
    }

    fn lives(&mut self, node: String, left_ms: u64) {
        let over = Instant::now() + Duration::from_millis(left_ms) + SLACK;
        self.nodes.insert(node, over);
    }

    fn forget(&mut self, sessions: &[SessionId]) {
        for session in sessions {
            self.free.remove(session);
        }
    }

    fn add(&mut self, session: SessionId) {
        if self.free.len() < MOST {
            self.free.insert(session);
        }
    }
}

impl NatsStore {
    /// Up to `limit` of the open sessions that a filter takes and nobody holds, after a session.
    pub(crate) async fn list_free(
        &self,
        filter: &SessionFilter,
        after: Option<&SessionId>,
        limit: usize,
    ) -> Result<Vec<SessionListing>, StoreError> {
        self.unclaimed.begin(&self.server).await;
        self.retry_releases().await;
        // Whoever asks while a list is made has what is known so far.
        if let Ok(_listing) = self.unclaimed.listing.try_lock()
            && self.unclaimed.state().is_due()
            && let Err(error) = self.list_all().await
        {
            self.unclaimed.state().listed = None;
            return Err(error);
        }
        let free = self.unclaimed.state().free.clone();
        let after = |id: &SessionId| after.is_none_or(|after| id > after);
        let ids: Vec<_> = free.into_iter().filter(after).collect();
        let heads = self.still_free(filter, ids, limit).await;
        if heads.is_err() {
            // Some may have been forgotten.
            self.unclaimed.state().gone = true;
        }
        heads
    }

    /// Up to `limit` of these sessions that are open and free, and that a filter takes.
    async fn still_free(
        &self,
        filter: &SessionFilter,
        ids: Vec<SessionId>,
        limit: usize,
    ) -> Result<Vec<SessionListing>, StoreError> {
        let (mut heads, mut holders) = (Vec::new(), LiveNodes::default());
        for some in ids.chunks(limit.clamp(FEWEST, TOGETHER)) {
            if heads.len() >= limit {
                break;
            }
            // Before they are looked at: what is heard of one meanwhile counts.
            self.unclaimed.state().forget(some);
            for listed in self.listed(some).await? {
                let summary = listed.head.summary.as_ref();
                if !summary.is_some_and(SessionSummary::is_open)
                    || holders.hold(self, &listed).await?
                {
                    continue;
                }
                self.unclaimed.state().add(listed.head.id.clone());
                if heads.len() < limit && filter.matches(summary, || false) {
                    heads.push(listed.head);
                }
            }
        }
        Ok(heads)
    }

    /// Lists all sessions, for those that are open and free, and for the nodes that hold others.
    async fn list_all(&self) -> Result<(), StoreError> {
        let mut holders = LiveNodes::default();
        for some in self.all_ids().await?.chunks(TOGETHER) {
            for listed in self.listed(some).await? {
                let summary = listed.head.summary.as_ref();
                if summary.is_some_and(SessionSummary::is_open)
                    && !holders.hold(self, &listed).await?
                {
                    self.unclaimed.state().add(listed.head.id);
                }
            }
        }
        let mut heard = self.unclaimed.state();
        for (node, left_ms) in holders.living() {
            // One that was heard to renew meanwhile lives longer than was asked.
            if !heard.nodes.contains_key(&node) {
                heard.lives(node, left_ms);
            }
        }
        Ok(())
    }

    /// Tells others that a session with something left to do is free.
    pub(crate) async fn publish_freed(&self, session: &SessionId) {
        let subject = self.server.names.freed_subject(Some(session));
        let told = self.server.client.publish(subject, bytes::Bytes::new());
        if let Err(error) = told.await {
            tracing::debug!(%error, "others were not told of a session that is free: they find it");
        }
    }
}

/// Hears of leases and of sessions that were given back, for as long as there is a store.
async fn receive_notices(server: Server, vigil: Weak<UnclaimedSessionTracker>) {
    loop {
        let names = &server.names;
        let leases = server.client.subscribe(names.lease_subject_of_all());
        let freed = server.client.subscribe(names.freed_subject(None));
        let subscribed = futures_util::future::try_join(leases, freed).await;
        match subscribed {
            Ok((leases, freed)) => process_notices(leases, freed, &vigil).await,
            Err(error) => tracing::debug!(%error, "hearing of free sessions: tried again"),
        }
        tokio::time::sleep(AGAIN).await;
        let Some(vigil) = vigil.upgrade() else { return };
        // Something may have been missed.
        vigil.state().gone = true;
    }
}

async fn process_notices(
    mut leases: Subscriber,
    mut freed: Subscriber,
    vigil: &Weak<UnclaimedSessionTracker>,
) {
    let mut ticks = tokio::time::interval(AGAIN);
    loop {
        let (lease, session) = tokio::select! {
            lease = leases.next() => match lease {
                Some(lease) => (Some(lease), None),
                None => return,
            },
            freed = freed.next() => match freed {
                Some(freed) => (None, session_of(&freed.subject)),
                None => return,
            },
            _ = ticks.tick() => (None, None),
        };
        let Some(vigil) = vigil.upgrade() else { return };
        let mut heard = vigil.state();
        if let Some(session) = session {
            heard.add(session);
        }
        if let Some((node, left_ms)) = lease.as_ref().and_then(lease_notice) {
            match left_ms {
                Some(left_ms) => heard.lives(node, left_ms),
                None => {
                    heard.nodes.remove(&node);
                    heard.gone = true;
                }
            }
        }
    }
}

/// The node whose lease a message is of, and how long it lasts; `None` where it was given back.
fn lease_notice(message: &Message) -> Option<(String, Option<u64>)> {
    let name = decode(message.subject.rsplit('.').next()?)?;
    let node = node_of(&name)?.to_owned();
    Some((node, parse_lease_ttl(&message.payload)?))
}
