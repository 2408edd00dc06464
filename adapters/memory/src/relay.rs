//! The live relay: nodes of one process, which hand each other what they tell.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use windlass_core::SessionId;
use windlass_ports::sync::Mutex;
use windlass_ports::{Hearing, HearingSource, LiveCapabilities, LiveRelay, News, NewsSource};

/// The most bytes of a message.
const MESSAGE_BYTES: usize = 64 * 1024;
/// The most messages, and bytes, that wait for one who hears.
const HELD: usize = 1_024;
const HELD_BYTES: usize = 1024 * 1024;
/// The most sessions of which there is news at a time, for each who asks.
const NEWS: usize = 4_096;

/// A node's live relay, between all that were taken of the same store.
#[derive(Debug)]
pub struct MemoryRelay {
    node: u64,
    nodes: Arc<Nodes>,
    dropped: Arc<AtomicU64>,
}

/// All nodes of a store.
#[derive(Debug, Default)]
pub(crate) struct Nodes {
    count: AtomicU64,
    ears: Mutex<Ears>,
}

#[derive(Debug, Default)]
struct Ears {
    sessions: HashMap<SessionId, Vec<Ear>>,
    /// Nodes that ask on behalf of their hearers.
    hearers: Vec<(u64, NewsSource)>,
}

#[derive(Debug)]
struct Ear {
    node: u64,
    source: HearingSource,
    dropped: Arc<AtomicU64>,
}

impl Nodes {}

impl Ears {
    /// Those who hear a session on other nodes than this one.
    fn beside(&mut self, node: u64, session: &SessionId) -> impl Iterator<Item = &Ear> {
        if let Some(ears) = self.sessions.get_mut(session) {
            ears.retain(|ear| !ear.source.is_gone());
            if ears.is_empty() {
                self.sessions.remove(session);
            }
        }
        let ears = self.sessions.get(session).into_iter().flatten();
        ears.filter(move |ear| ear.node != node)
    }
}

impl MemoryRelay {
    pub(crate) fn new(nodes: Arc<Nodes>) -> Self {
        Self {
            node: nodes.count.fetch_add(1, Ordering::Relaxed),
            nodes,
            dropped: Arc::default(),
        }
    }
}

impl LiveRelay for MemoryRelay {
    fn capabilities(&self) -> LiveCapabilities {
        LiveCapabilities {
            message_bytes: MESSAGE_BYTES,
            held: HELD,
            backlog_bytes: 0,
            linger_ms: 0,
        }
    }

    fn tell(&self, session: &SessionId, message: &[u8]) {
        let mut ears = self.nodes.ears.lock();
        let mut others = ears.beside(self.node, session).peekable();
        if others.peek().is_none() {
            return;
        }
        if message.len() > MESSAGE_BYTES {
            self.dropped.fetch_add(1, Ordering::Relaxed);
            others.for_each(|ear| ear.source.miss());
            return;
        }
        let message = Bytes::copy_from_slice(message);
        for ear in others {
            let gone = ear.source.put(message.clone());
            ear.dropped.fetch_add(gone, Ordering::Relaxed);
        }
    }

    fn is_heard(&self, session: &SessionId) -> bool {
        let mut ears = self.nodes.ears.lock();
        ears.beside(self.node, session).next().is_some()
    }

    fn hear(&self, session: &SessionId) -> Hearing {
        let (source, hearing) = Hearing::new(HELD, HELD_BYTES);
        let mut ears = self.nodes.ears.lock();
        // Whoever went is forgotten here too, also where nobody tells of the session.
        let _ = ears.beside(self.node, session).count();
        let ear = Ear {
            node: self.node,
            source,
            dropped: Arc::clone(&self.dropped),
        };
        ears.sessions.entry(session.clone()).or_default().push(ear);
        ears.hearers.retain(|(_, source)| !source.is_gone());
        for (node, source) in &ears.hearers {
            if *node != self.node {
                source.tell(session);
            }
        }
        hearing
    }

    fn hearers(&self) -> News {
        let (source, news) = News::new(NEWS);
        self.nodes.ears.lock().hearers.push((self.node, source));
        news
    }

    fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }
}

impl Drop for MemoryRelay {
    fn drop(&mut self) {
        let mut ears = self.nodes.ears.lock();
        ears.hearers.retain(|(node, _)| *node != self.node);
        ears.sessions.retain(|_, ears| {
            ears.retain(|ear| ear.node != self.node);
            !ears.is_empty()
        });
    }
}
