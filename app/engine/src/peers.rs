//! Peers: what a node shares with the others on one store, and how much it takes on.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use windlass_ports::{Inbox, LiveRelay};

/// Ports that an engine shares with those of other nodes on the same store.
#[derive(Clone)]
pub struct Peers {
    /// Letters for sessions that another node drives.
    pub inbox: Arc<dyn Inbox>,
    /// Channel for live events between nodes.
    pub relay: Arc<dyn LiveRelay>,
    /// The tenant whose sessions this engine takes up; `None` for all.
    pub tenant: Option<String>,
    /// Number of sessions that this node drives. Engines of one process share it.
    pub load: Arc<Load>,
}

/// Number of sessions that a node drives, and its limit.
#[derive(Debug)]
pub struct Load {
    most: usize,
    driven: AtomicUsize,
}

/// A session that a node drives, until it is dropped.
#[derive(Debug)]
pub(crate) struct Driven(Arc<Load>);

impl Load {
    /// Nothing yet, of at most so many sessions at a time; 1 at least.
    #[must_use]
    pub fn new(most: usize) -> Arc<Self> {
        Arc::new(Self {
            most: most.max(1),
            driven: AtomicUsize::new(0),
        })
    }

    /// Returns the most sessions driven at a time.
    #[must_use]
    pub fn most(&self) -> usize {
        self.most
    }

    /// Returns the number of sessions driven now.
    #[must_use]
    pub fn driven(&self) -> usize {
        self.driven.load(Ordering::Relaxed)
    }

    /// Takes one more on, if there is room.
    pub(crate) fn take(self: &Arc<Self>) -> Option<Driven> {
        let room = |driven: usize| (driven < self.most).then(|| driven.saturating_add(1));
        let taken = self
            .driven
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, room);
        taken.is_ok().then(|| Driven(self.clone()))
    }
}

impl Drop for Driven {
    fn drop(&mut self) {
        self.0.driven.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_takes_on_as_much_as_it_may() {
        let load = Load::new(2);
        let first = load.take().unwrap();
        let _second = load.take().unwrap();
        assert!(load.take().is_none());
        assert_eq!((load.driven(), load.most()), (2, 2));
        drop(first);
        assert!(load.take().is_some());
    }
}
