//! Peers: ports that a node shares with other nodes on one store, and the node's load.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use windlass_ports::{LiveBus, Mailbox, Tenants};

/// Ports that an engine shares with engines of other nodes on the same store.
#[derive(Clone)]
pub struct Peers {
    /// Remote commands for sessions that another node drives.
    pub mailbox: Arc<dyn Mailbox>,
    /// Channel for live events between nodes.
    pub live_bus: Arc<dyn LiveBus>,
    /// Tenants whose sessions this engine adopts.
    pub tenants: Tenants,
    /// Number of sessions that this node drives. Engines of one process share it.
    pub load: Arc<NodeLoad>,
}

/// Number of sessions that a node drives, and its limit.
#[derive(Debug)]
pub struct NodeLoad {
    max_sessions: usize,
    driven: AtomicUsize,
}

/// Permit to drive one session, released when dropped.
#[derive(Debug)]
pub(crate) struct DriverPermit(Arc<NodeLoad>);

impl NodeLoad {
    /// Creates a load of zero with a limit of this many sessions, at least 1.
    #[must_use]
    pub fn new(most: usize) -> Arc<Self> {
        Arc::new(Self { max_sessions: most.max(1), driven: AtomicUsize::new(0) })
    }

    /// Returns the most sessions driven at a time.
    #[must_use]
    pub fn max_sessions(&self) -> usize {
        self.max_sessions
    }

    /// Returns the number of sessions driven now.
    #[must_use]
    pub fn driven(&self) -> usize {
        self.driven.load(Ordering::Relaxed)
    }

    /// Reserves room for one more session, if there is any.
    pub(crate) fn acquire(self: &Arc<Self>) -> Option<DriverPermit> {
        let room = |driven: usize| (driven < self.max_sessions).then(|| driven.saturating_add(1));
        let taken = self.driven.fetch_update(Ordering::Relaxed, Ordering::Relaxed, room);
        taken.is_ok().then(|| DriverPermit(self.clone()))
    }
}

impl Drop for DriverPermit {
    fn drop(&mut self) {
        self.0.driven.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_takes_on_as_much_as_it_may() {
        let load = NodeLoad::new(2);
        let first = load.acquire().unwrap();
        let _second = load.acquire().unwrap();
        assert!(load.acquire().is_none());
        assert_eq!((load.driven(), load.max_sessions()), (2, 2));
        drop(first);
        assert!(load.acquire().is_some());
    }
}
