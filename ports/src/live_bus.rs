//! The live relay port: what streams on one node, for whoever watches on another. Nothing of it is kept.

use bytes::Bytes;
use windlass_core::SessionId;

use crate::live_channel::LiveReceiver;
use crate::log_signal::LogSignal;

/// Carries live messages between nodes: deltas of answers, progress of tools.
///
/// What it carries may be lost at any time, and is no fact: the log is where the truth is.
///
/// Laws:
/// - *never waits*: telling neither waits nor fails. What cannot go out now is dropped and counted;
///   at most a set number of bytes waits to go out, however slow or far away the others are;
/// - *elsewhere*: a message that is told is heard through all other relay objects of the place that
///   hear its session, and not through its own;
/// - *in order*: of one teller, messages of one session are heard in the order in which they were
///   told, each at most once, and as they were told;
/// - *missing is told*: where a message was lost, whoever hears is told so ([`LiveItem::Missed`]) before
///   hears the next one of that teller;
/// - *bounded*: at most [`LiveBusCapabilities::max_queued_messages`] messages wait for one who hears and does not
///   listen; the oldest go first;
/// - *only for ears*: what is told of a session that nobody elsewhere is known to hear goes nowhere,
///   costs next to nothing, and is not heard later;
/// - *announced*: who begins to hear is announced to all others, so that
///   [`is_heard`](Self::has_subscribers) holds there and [`hearers`](Self::new_subscribers) tells it: at once, or,
///   where the announcement was lost, within [`LiveBusCapabilities::linger_ms`];
/// - *lapses*: a session that is heard no more stops being so elsewhere within `linger_ms` after the
///   last one went, also when its node died.
///
/// [`LiveItem::Missed`]: crate::LiveItem::Missed
pub trait LiveBus: Send + Sync + 'static {
    /// Returns the promises of this relay.
    fn capabilities(&self) -> LiveBusCapabilities;

    /// Tells all others of a session. A message of more than [`LiveBusCapabilities::message_bytes`] is
    /// dropped.
    fn publish(&self, session: &SessionId, message: &[u8]);

    /// Returns true if another node is known to subscribe to a session. It is cheap: call it before building a
    /// message.
    fn has_subscribers(&self, session: &SessionId) -> bool;

    /// Hears what others tell of a session, from now on, until it is dropped. Who missed something
    /// and needs it may begin to hear anew: that is announced, as each beginning is.
    ///
    /// Is called within a tokio runtime that has I/O and time. How many hear at a time is the
    /// caller's to bound.
    fn subscribe(&self, session: &SessionId) -> LiveReceiver;

    /// Sessions that somebody elsewhere began to hear, from now on, so that whoever drives one can
    /// tell what is there so far. One may be told more than once.
    fn new_subscribers(&self) -> LogSignal;

    /// Number of messages that this relay object has dropped, as publisher and as subscriber.
    fn dropped(&self) -> u64;
}

/// Promises of a live relay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LiveBusCapabilities {
    /// The most bytes of a message. At least 4,096.
    pub message_bytes: usize,
    /// The most messages that wait for one who hears.
    pub max_queued_messages: usize,
    /// The most bytes that wait to go out; one message more than that at most.
    pub backlog_bytes: usize,
    /// For how many milliseconds a session counts as heard after the last one who heard it went, at
    /// most.
    pub linger_ms: u64,
}

/// Item of a live subscription.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LiveItem {
    /// Message of the session.
    Message(Bytes),
    /// Messages were lost before the next one.
    Missed,
}
