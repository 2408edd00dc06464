//! Hub: the subscribers of a session in this engine, across its drivers.
//!
//! It outlives drivers, for as long as it has a subscriber. When a driver enters, every subscriber
//! gets a feed of its bus before the driver acts. Appends of other writers come from the follower:
//! one task a session, for all subscribers. In a cluster, it also receives live messages of the
//! driver's node, and a [`LiveJoin`] puts them between the facts.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tokio::sync::Notify;
use tokio::task::AbortHandle;
use windlass_core::{RecordedFact, Seq, SessionId};
use windlass_ports::sync::{Mutex, MutexGuard};

use crate::bus::{EventBus, EventFeed};
use crate::error::DriverEnd;
use crate::live::{LiveJoin, LiveNotice};
use crate::store_watch::StoreStatus;

/// Bound on pending events of other writers; a subscriber that exceeds it lags.
const RING: usize = 32;
/// The same bound where live messages of other nodes are received too.
const LIVE_RING: usize = 256;

/// Subscribers of a session in this engine.
#[derive(Default)]
pub(crate) struct Hub {
    state: Mutex<HubState>,
    /// Notified when a driver has entered.
    entered: Notify,
}

struct HubState {
    /// Source of events now: the driver that is here, or the follower.
    bus: Option<EventBus>,
    /// True if the bus is a driver's.
    driven: bool,
    subscribers: BTreeMap<u64, Subscriber>,
    /// Last name given to a subscriber or a follower.
    last: u64,
    follower: Option<FollowerTask>,
    /// Position up to which subscribers have received, or have read, everything.
    seen: Seq,
    /// Live messages of another node, while the follower receives them.
    join: Option<LiveJoin>,
    /// Subscribers that joined while the live state was unknown. They get another feed once it is
    /// known.
    bare: BTreeSet<u64>,
}

struct FollowerTask {
    name: u64,
    /// Position up to which the subscriber that started it has read the log. The follower publishes
    /// nothing before it.
    base: Seq,
    task: AbortHandle,
}

/// Subscriber with its pending notices.
#[derive(Default)]
struct Subscriber {
    notify: Arc<Notify>,
    pending: PendingNotices,
}

/// Notices to a subscriber.
#[derive(Default)]
pub(crate) struct PendingNotices {
    /// Next feed.
    pub(crate) feed: Option<EventFeed>,
    /// Events of drivers that entered and left in between.
    pub(crate) missed: u64,
    pub(crate) notices: FeedNotices,
}

/// Notices that apply at once, to the current feed.
#[derive(Default)]
pub(crate) struct FeedNotices {
    /// True if the subscriber must read the log itself, since no follower runs or the follower
    /// failed.
    pub(crate) read: bool,
    /// True if the live state is known now, so that another feed must replace a bare one.
    pub(crate) again: bool,
    /// State of the store, if it has changed.
    pub(crate) store: Option<StoreStatus>,
}

/// Subscription that has just begun.
pub(crate) struct HubSubscription {
    pub(crate) name: u64,
    /// Notified of each notice, see [`Hub::take_pending`].
    pub(crate) notify: Arc<Notify>,
    /// Position up to which the log precedes every event.
    pub(crate) from: Seq,
}

impl Subscriber {
    fn feed(&mut self, feed: EventFeed) {
        self.pending.notices.again = false;
        if let Some(old) = self.pending.feed.replace(feed) {
            let missed = old.events.len() as u64;
            self.pending.missed = self.pending.missed.saturating_add(missed);
        }
        self.notify.notify_one();
    }

    fn notify(&mut self, notice: impl FnOnce(&mut FeedNotices)) {
        notice(&mut self.pending.notices);
        self.notify.notify_one();
    }
}

impl Default for HubState {
    fn default() -> Self {
        Self {
            bus: None,
            driven: false,
            subscribers: BTreeMap::new(),
            last: 0,
            follower: None,
            seen: Seq::ZERO,
            join: None,
            bare: BTreeSet::new(),
        }
    }
}

impl HubState {
    /// Begins a feed of the bus for a subscriber.
    fn feed(&mut self, name: u64) -> Option<EventFeed> {
        let mut feed = self.bus.as_ref()?.subscribe();
        feed.from = feed.from.max(self.seen);
        if self.join.as_ref().is_some_and(LiveJoin::is_uncertain) {
            (feed.bare, feed.live) = (true, None);
            self.bare.insert(name);
        } else {
            self.bare.remove(&name);
        }
        Some(feed)
    }

    /// Replaces bare feeds once the live state is known.
    fn replace_bare_feeds(&mut self) {
        if self.bare.is_empty() || self.join.as_ref().is_some_and(LiveJoin::is_uncertain) {
            return;
        }
        for name in std::mem::take(&mut self.bare) {
            if let Some(subscriber) = self.subscribers.get_mut(&name) {
                subscriber.notify(|notices| notices.again = true);
            }
        }
    }

    /// Gives every subscriber a feed of another bus, and ends its earlier feed.
    fn switch_bus(&mut self, bus: EventBus) {
        let before = self.bus.replace(bus);
        let names: Vec<u64> = self.subscribers.keys().copied().collect();
        for name in names {
            if let Some(feed) = self.feed(name)
                && let Some(subscriber) = self.subscribers.get_mut(&name)
            {
                subscriber.feed(feed);
            }
        }
        if let Some(before) = before {
            before.end(Arc::new(DriverEnd::Closed));
        }
    }

    /// Makes every subscriber read the log itself.
    fn request_reads(&mut self) {
        for subscriber in self.subscribers.values_mut() {
            subscriber.notify(|notices| notices.read = true);
        }
    }

    fn follows(&self, follower: &FollowerId) -> bool {
        let same = |one: &FollowerTask| one.name == follower.0;
        self.follower.as_ref().is_some_and(same)
    }

    fn name(&mut self) -> u64 {
        self.last = self.last.saturating_add(1);
        self.last
    }
}

impl Hub {
    fn state(&self) -> MutexGuard<'_, HubState> {
        self.state.lock()
    }

    /// Adds a subscriber. It receives all events that are published from here on.
    pub(crate) fn subscribe(&self) -> HubSubscription {
        let mut state = self.state();
        let mut subscriber = Subscriber::default();
        let name = state.name();
        if let Some(feed) = state.feed(name) {
            subscriber.feed(feed);
        }
        let notify = subscriber.notify.clone();
        state.subscribers.insert(name, subscriber);
        HubSubscription { name, notify, from: state.seen }
    }

    /// Takes all that is pending for a subscriber.
    pub(crate) fn take_pending(&self, name: u64) -> PendingNotices {
        let mut state = self.state();
        let subscriber = state.subscribers.get_mut(&name);
        subscriber.map_or_else(PendingNotices::default, |one| std::mem::take(&mut one.pending))
    }

    /// Takes the notices that apply at once.
    pub(crate) fn take_notices(&self, name: u64) -> FeedNotices {
        let mut state = self.state();
        let subscriber = state.subscribers.get_mut(&name);
        subscriber.map_or_else(FeedNotices::default, |one| std::mem::take(&mut one.pending.notices))
    }

    /// Removes a subscriber. The last one ends the follower.
    pub(crate) fn unsubscribe(&self, name: u64) {
        let mut state = self.state();
        state.subscribers.remove(&name);
        state.bare.remove(&name);
        if state.subscribers.is_empty() {
            state.join = None;
            if let Some(follower) = state.follower.take() {
                follower.task.abort();
            }
            if !state.driven {
                state.bus = None;
            }
            state.seen = Seq::ZERO;
        }
    }

    /// Notifies all subscribers that the state of the store has changed.
    pub(crate) fn notify_store(&self, status: &StoreStatus) {
        for subscriber in self.state().subscribers.values_mut() {
            subscriber.notify(|notices| notices.store = Some(status.clone()));
        }
    }

    /// Notifies one subscriber of the state of the store.
    pub(crate) fn notify_store_of(&self, name: u64, status: &StoreStatus) {
        if let Some(subscriber) = self.state().subscribers.get_mut(&name) {
            subscriber.notify(|notices| notices.store = Some(status.clone()));
        }
    }

    pub(crate) fn has_subscribers(&self) -> bool {
        !self.state().subscribers.is_empty()
    }

    /// Adds the driver: subscribers receive its events from the first one on.
    pub(crate) fn enter(&self, bus: EventBus) {
        let mut state = self.state.lock();
        state.driven = true;
        state.join = None;
        state.switch_bus(bus);
        drop(state);
        self.entered.notify_waiters();
    }

    /// Removes the driver. The follower publishes nothing that the driver has published, so whoever
    /// subscribes from here on reads that in the log.
    pub(crate) fn vacate(&self) {
        let mut state = self.state.lock();
        state.driven = false;
        if let Some(bus) = state.bus.take() {
            state.seen = state.seen.max(bus.durable());
        }
    }

    /// Begins another feed for a subscriber, at the present moment. It replaces a pending one.
    pub(crate) fn new_feed(&self, name: u64) -> Option<EventFeed> {
        let mut state = self.state();
        let feed = state.feed(name)?;
        if let Some(subscriber) = state.subscribers.get_mut(&name) {
            subscriber.pending.feed = None;
            subscriber.pending.notices.again = false;
        }
        Some(feed)
    }

    /// Begins to merge live messages of other nodes with the facts; those up to `seen` were
    /// published. Returns true when the follower must subscribe to these messages.
    pub(crate) fn join_live(
        &self,
        follower: &FollowerId,
        session: &SessionId,
        seen: Seq,
        listens: bool,
    ) -> bool {
        let mut state = self.state.lock();
        if !state.follows(follower) || state.driven {
            return false;
        }
        match &mut state.join {
            Some(_) if listens => return false,
            // Messages since then are lost.
            Some(join) => join.on_missed(),
            None => {
                state.seen = state.seen.max(seen);
                let seen = state.seen;
                state.join = Some(LiveJoin::new(session.clone(), seen));
                state.switch_bus(EventBus::new(LIVE_RING, seen));
            }
        }
        true
    }

    /// Takes a live message of another node, and returns the status of the join then.
    pub(crate) fn receive(&self, follower: &FollowerId, notice: LiveNotice) -> JoinStatus {
        let mut state = self.state();
        let follows = state.follows(follower) && !state.driven;
        let HubState { join, bus, .. } = &mut *state;
        let (Some(join), Some(bus), true) = (join, bus, follows) else {
            return JoinStatus::default();
        };
        match notice {
            LiveNotice::Message(message) => join.receive(message, bus),
            LiveNotice::Missed => join.on_missed(),
        }
        let status = JoinStatus {
            due: join.due(),
            lost: join.is_lost(),
            catching_up: join.is_catching_up(),
        };
        state.replace_bare_feeds();
        status
    }

    /// Bus of the driver that is here.
    pub(crate) fn driver(&self) -> Option<EventBus> {
        let state = self.state.lock();
        state.bus.clone().filter(|_| state.driven)
    }

    /// Waits for the next driver to enter, counted from the call.
    pub(crate) fn entered(&self) -> tokio::sync::futures::Notified<'_> {
        self.entered.notified()
    }

    /// Returns true while a follower runs.
    pub(crate) fn is_followed(&self) -> bool {
        self.state.lock().follower.is_some()
    }

    /// Starts a follower after `cursor`, unless one runs. Returns the position up to which the log
    /// precedes every event.
    pub(crate) fn follow(
        &self,
        cursor: Seq,
        spawn: impl FnOnce(FollowerId, Seq) -> AbortHandle,
    ) -> Seq {
        let mut state = self.state.lock();
        if let Some(follower) = &state.follower {
            return follower.base;
        }
        // Subscribers have received all that a driver here has published.
        let durable = state.bus.as_ref().map_or(Seq::ZERO, EventBus::durable);
        state.seen = state.seen.max(cursor).max(durable);
        let (name, base) = (state.name(), cursor);
        let task = spawn(FollowerId(name), state.seen);
        state.follower = Some(FollowerTask { name, base, task });
        base
    }

    /// Publishes facts that the follower has read.
    pub(crate) fn publish(&self, follower: &FollowerId, facts: &[Arc<RecordedFact>]) {
        let mut state = self.state();
        let Some(last) = facts.last() else { return };
        if !state.follows(follower) {
            return;
        }
        if state.bus.is_none() {
            let bus = EventBus::new(RING, state.seen);
            state.switch_bus(bus);
        }
        // Before the events, so that a new subscriber who reads this position misses nothing.
        state.seen = state.seen.max(last.seq);
        let HubState { join, bus, driven, .. } = &mut *state;
        match (join, bus) {
            (_, Some(bus)) if *driven => bus.publish_read(facts),
            // One by one: live events that precede a fact are published before it.
            (Some(join), Some(bus)) => facts.iter().for_each(|fact| {
                bus.publish_facts(std::slice::from_ref(fact));
                join.on_fact(fact, bus);
            }),
            (None, Some(bus)) => bus.publish_facts(facts),
            (_, None) => {}
        }
        state.replace_bare_feeds();
    }

    /// Makes every subscriber read the log itself.
    pub(crate) fn request_reads(&self) {
        self.state().request_reads();
    }

    /// Removes a follower that has ended. Unless the hub ended it, subscribers need another.
    pub(crate) fn remove_follower(&self, follower: &FollowerId) {
        let mut state = self.state();
        let is = |one: &mut FollowerTask| one.name == follower.0;
        if state.follower.take_if(is).is_some() {
            state.request_reads();
        }
    }
}

/// Status of the live messages of another node.
#[derive(Debug, Default)]
pub(crate) struct JoinStatus {
    /// Position up to which the log must be read at once.
    pub(crate) due: Option<Seq>,
    /// True if messages are missing.
    pub(crate) lost: bool,
    /// True if the missing messages are being sent.
    pub(crate) catching_up: bool,
}

/// Name of a follower within its hub.
pub(crate) struct FollowerId(u64);
