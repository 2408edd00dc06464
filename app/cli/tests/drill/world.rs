//! What clients and faults share: where the nodes are, and when all is over.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::Mutex;
use std::time::{Duration, SystemTime};

use tokio::sync::watch;
use tokio::time::{Instant, sleep};

use crate::effects::Effects;

/// How often it is looked whether something is so: files and logs of others tell nobody.
const LOOK: Duration = Duration::from_millis(20);
/// How long anything may take that must come to be: by then it never will. What is promised of times is
/// not held against the clock of a machine that does other work besides, but printed.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// What is shared.
pub(crate) struct World {
    pub(crate) seed: u64,
    pub(crate) effects: Effects,
    /// Where the nodes are, as a name service or a balancer would know it.
    nodes: Mutex<Vec<SocketAddr>>,
    /// Where clients have seen text as it streams.
    shown: Mutex<BTreeSet<SocketAddr>>,
    /// Where each session's log ends, once nothing more is to come.
    pub(crate) ends: watch::Sender<Option<BTreeMap<String, u64>>>,
}

impl World {
    pub(crate) fn new(seed: u64, effects: Effects) -> Self {
        Self {
            seed,
            effects,
            nodes: Mutex::default(),
            shown: Mutex::default(),
            ends: watch::Sender::new(None),
        }
    }

    /// Tells clients where the nodes are now.
    pub(crate) fn publish(&self, nodes: Vec<SocketAddr>) {
        *self.nodes.lock().unwrap() = nodes;
    }

    pub(crate) fn nodes(&self) -> Vec<SocketAddr> {
        self.nodes.lock().unwrap().clone()
    }

    /// A client of this node has seen text as it streams.
    pub(crate) fn shows_text(&self, node: SocketAddr) {
        self.shown.lock().unwrap().insert(node);
    }

    /// Waits until clients of each node have seen text as it streams.
    pub(crate) async fn all_show_text(&self) {
        let seen = self.until(PATIENCE, async || {
            let shown = self.shown.lock().unwrap();
            let mut nodes = self.nodes();
            nodes.retain(|node| !shown.contains(node));
            match nodes.is_empty() {
                true => Ok(()),
                false => Err(format!("no client has seen text at {nodes:?}")),
            }
        });
        seen.await;
    }

    /// Waits until something is so; fails with what is missing where it does not come to be.
    pub(crate) async fn until<T>(
        &self,
        patience: Duration,
        mut so: impl AsyncFnMut() -> Result<T, String>,
    ) -> T {
        let end = Instant::now() + patience;
        loop {
            match so().await {
                Ok(found) => return found,
                Err(missing) if Instant::now() >= end => {
                    panic!("seed {}: not within {patience:?}: {missing}", self.seed)
                }
                Err(_) => sleep(LOOK).await,
            }
        }
    }
}

/// The wall clock, in milliseconds, as facts are stamped by it.
pub(crate) fn now() -> u64 {
    let now = SystemTime::UNIX_EPOCH.elapsed().unwrap();
    now.as_millis() as u64
}
