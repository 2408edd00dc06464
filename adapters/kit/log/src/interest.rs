//! Interest in live messages: the subscribers of this node, and the sessions that other nodes
//! subscribe to. Live buses over a server share it and transport its messages and announcements
//! themselves.

use std::collections::{BTreeSet, HashMap};
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio::sync::Notify;
use windlass_core::SessionId;
use windlass_ports::sync::{Mutex, MutexGuard};
use windlass_ports::{LiveReceiver, LiveSender, LogSignal, LogSignalSource};

/// Most messages in the queue of a subscriber.
pub const QUEUE_MESSAGES: usize = 1_024;
/// Most bytes in the queue of a subscriber.
const QUEUE_BYTES: usize = 1024 * 1024;
/// Most sessions with remote subscribers that a node tracks.
const MOST_REMOTE: usize = 65_536;
/// Most sessions in the queue of a watcher of new subscriptions.
const NEWS: usize = 4_096;

/// Tracks the subscriptions to live messages that one node knows.
#[derive(Debug)]
pub struct Interest {
    /// Name of this node, to skip its own messages.
    node: String,
    linger: Duration,
    state: Mutex<InterestState>,
    dropped: AtomicU64,
    /// Notified when a subscription is to be announced at once.
    pub to_announce: Notify,
}

#[derive(Debug, Default)]
struct InterestState {
    subscribers: HashMap<SessionId, Vec<Subscriber>>,
    /// New subscriptions to announce.
    begun: BTreeSet<SessionId>,
    remote: HashMap<SessionId, RemoteInterest>,
    /// Number of remote subscriptions so far.
    spells: u64,
    watchers: Vec<LogSignalSource>,
    closed: bool,
}

/// A subscriber of this node.
#[derive(Debug)]
struct Subscriber {
    source: LiveSender,
    /// Publisher and number of the last message.
    last: Option<(String, u64)>,
}

/// A session that another node subscribes to.
#[derive(Debug)]
struct RemoteInterest {
    until: Instant,
    /// Number of the next message.
    next: u64,
}

/// A message between nodes. The numbers of one publisher and session are consecutive, so that a
/// subscriber detects a missing message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveMessage {
    /// Session of the message.
    pub session: SessionId,
    /// Number of the message, by publisher and session.
    pub number: u64,
    /// Content of the message, opaque here.
    pub message: Bytes,
}

impl Interest {
    /// Creates the state of a node. Its name is unique and has no space.
    #[must_use]
    pub fn new(node: String, linger: Duration) -> Self {
        Self {
            node,
            linger,
            state: Mutex::default(),
            dropped: AtomicU64::new(0),
            to_announce: Notify::new(),
        }
    }

    /// Name of this node, unique among all.
    #[must_use]
    pub fn node(&self) -> &str {
        &self.node
    }

    /// Numbers a message to send, if another node subscribes to its session. Drops and counts a
    /// message of more than `most` bytes, whose number subscribers then miss.
    pub fn publish(&self, session: &SessionId, message: &[u8], most: usize) -> Option<LiveMessage> {
        let mut state = self.state();
        let remote = state.remote.get_mut(session)?;
        if remote.until <= Instant::now() {
            return None;
        }
        let number = remote.next;
        remote.next += 1;
        drop(state);
        if message.len() > most {
            self.count_dropped(1);
            return None;
        }
        Some(LiveMessage {
            session: session.clone(),
            number,
            message: Bytes::copy_from_slice(message),
        })
    }

    /// Returns true if another node subscribes to a session.
    pub fn is_remote(&self, session: &SessionId) -> bool {
        let state = self.state();
        let remote = state.remote.get(session);
        remote.is_some_and(|remote| remote.until > Instant::now())
    }

    /// Subscribes to a session. Returns true beside the subscription if it is the first of this
    /// node, so that the caller begins to receive the session's messages. Either way the caller
    /// then calls [`announce`](Self::announce).
    pub fn subscribe(&self, session: &SessionId) -> (LiveReceiver, bool) {
        let (source, hearing) = LiveReceiver::new(QUEUE_MESSAGES, QUEUE_BYTES);
        let mut state = self.state();
        if state.closed {
            return (hearing, false);
        }
        let first = !state.subscribers.contains_key(session);
        let subscribers = state.subscribers.entry(session.clone()).or_default();
        subscribers.retain(|subscriber| !subscriber.source.is_closed());
        subscribers.push(Subscriber { source, last: None });
        (hearing, first)
    }

    /// Queues the announcement of a new subscription.
    pub fn announce(&self, session: &SessionId) {
        self.state().begun.insert(session.clone());
        self.to_announce.notify_one();
    }

    /// Returns true if this node has a subscriber.
    pub fn has_subscribers(&self) -> bool {
        !self.state().subscribers.is_empty()
    }

    /// Removes subscribers of a session that are gone. Returns true if none is left.
    pub fn prune(&self, session: &SessionId) -> bool {
        let mut state = self.state();
        let Some(subscribers) = state.subscribers.get_mut(session) else {
            return true;
        };
        subscribers.retain(|subscriber| !subscriber.source.is_closed());
        let none = subscribers.is_empty();
        if none {
            state.subscribers.remove(session);
        }
        none
    }

    /// Removes all subscribers that are gone.
    pub fn prune_all(&self) {
        self.state().subscribers.retain(|_, subscribers| {
            subscribers.retain(|subscriber| !subscriber.source.is_closed());
            !subscribers.is_empty()
        });
    }

    /// Watches for sessions that other nodes begin to subscribe to.
    pub fn watch(&self) -> LogSignal {
        let (source, news) = LogSignal::new(NEWS);
        let mut state = self.state();
        if !state.closed {
            state.watchers.retain(|source| !source.is_closed());
            state.watchers.push(source);
        }
        news
    }

    /// Passes a message of another node to the subscribers.
    pub fn receive(&self, node: &str, message: &LiveMessage) {
        if node == self.node {
            return;
        }
        let mut state = self.state();
        let mut dropped = 0;
        let subscribers = state.subscribers.get_mut(&message.session);
        for subscriber in subscribers.into_iter().flatten() {
            dropped += subscriber.receive(node, message);
        }
        drop(state);
        self.count_dropped(dropped);
    }

    /// Tells all subscribers that messages may be missing.
    pub fn mark_missed(&self) {
        let state = self.state();
        for subscriber in state.subscribers.values().flatten() {
            subscriber.source.mark_missed();
        }
    }

    /// Formats announcements of up to `most` bytes each, of the new subscriptions or, with `all`,
    /// of all subscriptions of this node.
    pub fn announcements(&self, all: bool, most: usize) -> Vec<String> {
        let mut state = self.state();
        let begun = std::mem::take(&mut state.begun);
        let mut words: Vec<String> = begun.iter().map(|session| format!("+{session}")).collect();
        if all {
            let live = |(_, all): &(&SessionId, &Vec<Subscriber>)| {
                all.iter().any(|subscriber| !subscriber.source.is_closed())
            };
            let others = state.subscribers.iter().filter(live);
            let others = others.filter(|(session, _)| !begun.contains(*session));
            words.extend(others.map(|(session, _)| session.to_string()));
        }
        drop(state);
        let mut announcements: Vec<String> = Vec::new();
        for word in words {
            match announcements.last_mut() {
                Some(last) if last.len() + 1 + word.len() <= most => {
                    // Writing to a string cannot fail.
                    let _ = write!(last, " {word}");
                }
                _ => announcements.push(format!("{} {word}", self.node)),
            }
        }
        announcements
    }

    /// Records the subscriptions that another node announced.
    pub fn receive_announcement(&self, announcement: &str) {
        let mut words = announcement.split(' ');
        if words.next().is_none_or(|node| node == self.node) {
            return;
        }
        let now = Instant::now();
        let mut state = self.state();
        for word in words {
            let (begun, name) = match word.strip_prefix('+') {
                Some(name) => (true, name),
                None => (false, word),
            };
            let Ok(session) = SessionId::new(name) else {
                continue;
            };
            let known = state.remote.get_mut(&session);
            let known = known.filter(|remote| remote.until > now);
            let is_known = known.is_some();
            if let Some(remote) = known {
                remote.until = now + self.linger;
            } else if !state.add_remote(&session, now, self.linger) {
                continue;
            }
            if begun || !is_known {
                state.watchers.retain(|source| !source.is_closed());
                state.watchers.iter().for_each(|source| {
                    source.publish(&session);
                });
            }
        }
    }

    /// Adds to the number of dropped messages.
    pub fn count_dropped(&self, count: u64) {
        self.dropped.fetch_add(count, Ordering::Relaxed);
    }

    /// Number of dropped messages.
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// Returns true once closed.
    pub fn is_closed(&self) -> bool {
        self.state().closed
    }

    /// Ends all subscriptions and watchers of this node.
    pub fn close(&self) {
        let mut state = self.state();
        *state = InterestState { closed: true, ..InterestState::default() };
    }

    fn state(&self) -> MutexGuard<'_, InterestState> {
        self.state.lock()
    }
}

impl InterestState {
    /// Adds a remote subscription; returns `false` if there are too many.
    fn add_remote(&mut self, session: &SessionId, now: Instant, linger: Duration) -> bool {
        if self.remote.len() >= MOST_REMOTE && !self.remote.contains_key(session) {
            self.remote.retain(|_, remote| remote.until > now);
            if self.remote.len() >= MOST_REMOTE {
                tracing::warn!(
                    %session,
                    "other nodes subscribe to too many sessions: this one is not published live"
                );
                return false;
            }
        }
        self.spells += 1;
        // No number is used twice, so an earlier subscriber detects the gap.
        let remote = RemoteInterest { until: now + linger, next: self.spells << 32 };
        self.remote.insert(session.clone(), remote);
        true
    }
}

impl Subscriber {
    /// Queues a message if it is new, behind a notice if one is missing. Returns the number of
    /// messages dropped for it.
    fn receive(&mut self, node: &str, message: &LiveMessage) -> u64 {
        let missing = match &mut self.last {
            Some((publisher, last)) if publisher == node => {
                if message.number <= *last {
                    return 0;
                }
                let missing = message.number != *last + 1;
                *last = message.number;
                missing
            }
            other => {
                let another = other.is_some();
                *other = Some((node.to_owned(), message.number));
                another
            }
        };
        if missing {
            self.source.mark_missed();
        }
        self.source.send(message.message.clone())
    }
}

#[cfg(test)]
mod tests {
    use windlass_ports::LiveItem;

    use super::*;

    const LINGER: Duration = Duration::from_secs(3_600);

    fn id(text: &str) -> SessionId {
        SessionId::new(text).unwrap()
    }

    fn two() -> (Interest, Interest) {
        let interest = |name: &str| Interest::new(name.to_owned(), LINGER);
        (interest("publisher"), interest("subscriber"))
    }

    /// Carries the announcements of one node to both.
    fn announce(subscriber: &Interest, publisher: &Interest, all: bool) {
        for announcement in subscriber.announcements(all, 100) {
            publisher.receive_announcement(&announcement);
            subscriber.receive_announcement(&announcement);
        }
    }

    async fn heard(hearing: &mut LiveReceiver) -> String {
        match tokio::time::timeout(Duration::from_secs(60), hearing.next()).await {
            Ok(Some(LiveItem::Message(message))) => String::from_utf8(message.to_vec()).unwrap(),
            other => format!("{other:?}"),
        }
    }

    #[tokio::test]
    async fn what_is_missing_is_seen_by_the_numbers() {
        let (publisher, subscriber) = two();
        assert_eq!(publisher.publish(&id("s"), b"nobody hears", 9), None);
        let (mut hearing, first) = subscriber.subscribe(&id("s"));
        assert!(first);
        subscriber.announce(&id("s"));
        announce(&subscriber, &publisher, false);
        assert!(publisher.is_remote(&id("s")) && !subscriber.is_remote(&id("s")));
        let told = |text: &str| publisher.publish(&id("s"), text.as_bytes(), 9);
        let all: Vec<LiveMessage> = ["a", "b", "c", "d"].into_iter().filter_map(told).collect();
        assert_eq!(told("ten bytes!"), None);
        assert_eq!(publisher.dropped(), 1);
        let last = told("e").unwrap();
        for told in [&all[1], &all[0], &all[1], &all[2], &last] {
            subscriber.receive("publisher", told);
            subscriber.receive("subscriber", told);
        }
        for expected in ["b", "c", "Ok(Some(Missed))", "e"] {
            assert_eq!(heard(&mut hearing).await, expected);
        }
        let another = LiveMessage { number: 1, ..last };
        subscriber.receive("another", &another);
        assert_eq!(heard(&mut hearing).await, "Ok(Some(Missed))");
        assert_eq!(heard(&mut hearing).await, "e");
        subscriber.mark_missed();
        assert_eq!(heard(&mut hearing).await, "Ok(Some(Missed))");
        subscriber.close();
        assert_eq!(heard(&mut hearing).await, "Ok(None)");
    }

    #[tokio::test]
    async fn a_beginning_is_news_and_staying_is_not() {
        let (publisher, subscriber) = two();
        let mut news = publisher.watch();
        let hearings: Vec<_> =
            (0..30).map(|n| subscriber.subscribe(&id(&format!("session-{n}")))).collect();
        announce(&subscriber, &publisher, true);
        let mut told = BTreeSet::new();
        for _ in 0..30 {
            told.insert(news.next().await);
        }
        assert_eq!(told.len(), 30, "announcements that were lost are made up for");
        announce(&subscriber, &publisher, true);
        subscriber.announce(&id("session-7"));
        announce(&subscriber, &publisher, true);
        assert_eq!(news.next().await, Some(id("session-7")));
        drop(hearings);
        assert!(subscriber.has_subscribers() && subscriber.announcements(true, 100).is_empty());
        assert!(subscriber.prune(&id("session-7")));
        subscriber.prune_all();
        assert!(!subscriber.has_subscribers());
    }
}
