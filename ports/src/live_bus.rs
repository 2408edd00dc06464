//! The live bus port: publishes a node's streamed data to subscribers on other nodes. Stores
//! nothing.

use bytes::Bytes;
use windlass_core::SessionId;

use crate::live_channel::LiveReceiver;
use crate::log_signal::LogSignal;

/// Carries live messages between nodes: deltas of answers, progress of tools.
///
/// Messages may be lost at any time and are no facts: the log is authoritative.
///
/// Laws:
/// - *never waits*: publishing neither waits nor fails. Messages that cannot be sent now are
///   dropped and counted. A fixed number of bytes may wait to be sent, however slow the other nodes
///   are;
/// - *elsewhere*: a message reaches the subscribers of its session on all other bus objects of the
///   same bus, and not those of its own object;
/// - *in order*: subscribers receive one publisher's messages of a session in order, unchanged, and
///   each at most once;
/// - *loss is reported*: after a lost message, the subscriber receives [`LiveItem::Missed`] before
///   the next message of that publisher;
/// - *bounded*: at most [`LiveBusCapabilities::max_queued_messages`] messages wait for a slow
///   subscriber; the oldest are dropped first;
/// - *on demand*: messages of a session without a known subscriber elsewhere are discarded at
///   almost no cost, and never delivered later;
/// - *announced*: a new subscription is announced to all other nodes. Then
///   [`has_subscribers`](Self::has_subscribers) holds there and
///   [`new_subscribers`](Self::new_subscribers) reports it: at once, or within
///   [`LiveBusCapabilities::linger_ms`] if the announcement was lost;
/// - *lapses*: other nodes forget a session's subscribers within `linger_ms` after the last one
///   ended, also if its node died.
///
/// [`LiveItem::Missed`]: crate::LiveItem::Missed
pub trait LiveBus: Send + Sync + 'static {
    /// Returns the promises of this bus.
    fn capabilities(&self) -> LiveBusCapabilities;

    /// Publishes a message of a session to all other nodes. Drops a message of more than
    /// [`LiveBusCapabilities::message_bytes`].
    fn publish(&self, session: &SessionId, message: &[u8]);

    /// Returns true if another node is known to subscribe to a session. It is cheap: call it before
    /// building a message.
    fn has_subscribers(&self, session: &SessionId) -> bool;

    /// Subscribes to a session's messages of other nodes, until the receiver is dropped. A
    /// subscriber that missed a message may subscribe again to request the current state: each
    /// subscription is announced.
    ///
    /// Must be called within a tokio runtime with I/O and time. The caller limits the number of
    /// subscriptions.
    fn subscribe(&self, session: &SessionId) -> LiveReceiver;

    /// Returns the sessions that gain subscribers on other nodes, from now on. Their driver can
    /// then publish the current state. A session may be reported more than once.
    fn new_subscribers(&self) -> LogSignal;

    /// Returns the number of messages that this bus object dropped, as publisher and as subscriber.
    fn dropped(&self) -> u64;
}

/// Promises of a live bus.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LiveBusCapabilities {
    /// Most bytes of a message. At least 4,096.
    pub message_bytes: usize,
    /// Most messages that wait for a subscriber.
    pub max_queued_messages: usize,
    /// Most bytes that wait to be sent, plus one message.
    pub backlog_bytes: usize,
    /// Longest time in milliseconds for which a session still counts as subscribed after its last
    /// subscriber ended.
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
