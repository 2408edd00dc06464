//! The live relay: nodes of one process, which hand each other what they tell.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use windlass_core::SessionId;
use windlass_ports::sync::Mutex;
use windlass_ports::{
    LiveBus, LiveBusCapabilities, LiveReceiver, LiveSender, LogSignal, LogSignalSource,
};

/// The most bytes of a message.
const MESSAGE_BYTES: usize = 64 * 1024;
/// The most messages, and bytes, that wait for one who hears.
const HELD: usize = 1_024;
const HELD_BYTES: usize = 1024 * 1024;
/// The most sessions of which there is news at a time, for each who asks.
const NEWS: usize = 4_096;

/// A node's live relay, between all that were taken of the same store.
#[derive(Debug)]
pub struct MemoryLiveBus {
    node: u64,
    nodes: Arc<BusNodes>,
    dropped: Arc<AtomicU64>,
}

/// All nodes of a store.
#[derive(Debug, Default)]
pub(crate) struct BusNodes {
    count: AtomicU64,
    subscribers: Mutex<Subscribers>,
}

#[derive(Debug, Default)]
struct Subscribers {
    sessions: HashMap<SessionId, Vec<Subscriber>>,
    /// Nodes that ask on behalf of their hearers.
    watchers: Vec<(u64, LogSignalSource)>,
}

#[derive(Debug)]
struct Subscriber {
    node: u64,
    source: LiveSender,
    dropped: Arc<AtomicU64>,
}

impl BusNodes {}

impl Subscribers {
    /// Those who hear a session on other nodes than this one.
    fn on_other_nodes(
        &mut self,
        node: u64,
        session: &SessionId,
    ) -> impl Iterator<Item = &Subscriber> {
        if let Some(ears) = self.sessions.get_mut(session) {
            ears.retain(|ear| !ear.source.is_closed());
            if ears.is_empty() {
                self.sessions.remove(session);
            }
        }
        let ears = self.sessions.get(session).into_iter().flatten();
        ears.filter(move |ear| ear.node != node)
    }
}

impl MemoryLiveBus {
    pub(crate) fn new(nodes: Arc<BusNodes>) -> Self {
        Self { node: nodes.count.fetch_add(1, Ordering::Relaxed), nodes, dropped: Arc::default() }
    }
}

impl LiveBus for MemoryLiveBus {
    fn capabilities(&self) -> LiveBusCapabilities {
        LiveBusCapabilities {
            message_bytes: MESSAGE_BYTES,
            max_queued_messages: HELD,
            backlog_bytes: 0,
            linger_ms: 0,
        }
    }

    fn publish(&self, session: &SessionId, message: &[u8]) {
        let mut ears = self.nodes.subscribers.lock();
        let mut others = ears.on_other_nodes(self.node, session).peekable();
        if others.peek().is_none() {
            return;
        }
        if message.len() > MESSAGE_BYTES {
            self.dropped.fetch_add(1, Ordering::Relaxed);
            others.for_each(|ear| ear.source.mark_missed());
            return;
        }
        let message = Bytes::copy_from_slice(message);
        for ear in others {
            let gone = ear.source.send(message.clone());
            ear.dropped.fetch_add(gone, Ordering::Relaxed);
        }
    }

    fn has_subscribers(&self, session: &SessionId) -> bool {
        let mut ears = self.nodes.subscribers.lock();
        ears.on_other_nodes(self.node, session).next().is_some()
    }

    fn subscribe(&self, session: &SessionId) -> LiveReceiver {
        let (source, hearing) = LiveReceiver::new(HELD, HELD_BYTES);
        let mut ears = self.nodes.subscribers.lock();
        // Whoever went is forgotten here too, also where nobody tells of the session.
        let _ = ears.on_other_nodes(self.node, session).count();
        let ear = Subscriber { node: self.node, source, dropped: Arc::clone(&self.dropped) };
        ears.sessions.entry(session.clone()).or_default().push(ear);
        ears.watchers.retain(|(_, source)| !source.is_closed());
        for (node, source) in &ears.watchers {
            if *node != self.node {
                source.publish(session);
            }
        }
        hearing
    }

    fn new_subscribers(&self) -> LogSignal {
        let (source, news) = LogSignal::new(NEWS);
        self.nodes.subscribers.lock().watchers.push((self.node, source));
        news
    }

    fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }
}

impl Drop for MemoryLiveBus {
    fn drop(&mut self) {
        let mut ears = self.nodes.subscribers.lock();
        ears.watchers.retain(|(node, _)| *node != self.node);
        ears.sessions.retain(|_, ears| {
            ears.retain(|ear| ear.node != self.node);
            !ears.is_empty()
        });
    }
}
