//! Several nodes over one store, in one process: each has a store object and an inbox of its own, a
//! session that one drives is locked for the others, and a node may be cut off.

mod inbox;
mod relay;
mod returned;
mod store;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;
use windlass_core::{Epoch, SessionId};
use windlass_ports::sync::Mutex;
use windlass_ports::{LogStore, Mailbox, MailboxErrorKind, StoreError, StoreErrorKind};

use crate::gate::Gate;
pub use relay::NoRelay;
pub use returned::{Disturbance, what_could_not_be_given_back_is_free_later};

use inbox::{Letters, NodeInbox};
use store::NodeStore;

/// A place that several nodes share: the logs of a store, and letters beside them. Clones are the
/// same place.
///
/// A claim is its node's for as long as that is there: another node is refused as `Locked`. Claims of
/// a node that was cut off are over after the lease, on the clock of the runtime.
#[derive(Clone)]
pub struct Nodes {
    logs: Arc<dyn LogStore>,
    shared: Arc<Shared>,
    script: Arc<InboxScript>,
    /// For how long its inboxes keep replies.
    replies_ms: u64,
}

/// One node of a place.
#[derive(Clone)]
pub struct Node {
    name: u64,
    place: Nodes,
    /// True if it is cut off.
    cut: Arc<watch::Sender<bool>>,
}

type InboxScript = dyn Fn(InboxOperation, usize) -> Vec<InboxFault> + Send + Sync;

/// What an inbox is asked to do that may fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum InboxOperation {
    /// To keep a letter.
    Leave,
    /// To hand letters out.
    Letters,
    /// To keep a reply.
    Reply,
    /// To tell one.
    Replied,
}

/// What happens to it.
#[derive(Debug, Clone)]
pub enum InboxFault {
    /// It waits at this gate and has done nothing yet.
    Wait(Gate),
    /// It fails and has done nothing.
    Fail(MailboxErrorKind),
    /// It is done, and waits at this gate before it says so.
    WaitAfter(Gate),
    /// It is done, and says that it failed.
    FailAfter(MailboxErrorKind),
}

/// What all nodes of a place have in common.
#[derive(Default)]
struct Shared {
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    nodes: u64,
    held: BTreeMap<SessionId, Held>,
    /// Claims that are over for their node, and of which the place has not been told.
    over: BTreeSet<Epoch>,
    /// When what a node holds is over; none while it is there.
    lapsing: BTreeMap<u64, Instant>,
    /// How the logs fail all nodes.
    outage: Option<StoreErrorKind>,
    letters: Letters,
    counts: BTreeMap<InboxOperation, usize>,
}

/// Who holds a session.
#[derive(Clone, Copy)]
struct Held {
    node: u64,
    epoch: Epoch,
}

impl Nodes {
    /// For how long what a node holds is its own after it was cut off.
    pub const LEASE: Duration = Duration::from_secs(10);

    /// A place over these logs, without letters yet.
    #[must_use]
    pub fn over(logs: Arc<dyn LogStore>) -> Self {
        Self {
            logs,
            shared: Arc::default(),
            script: Arc::new(|_, _| Vec::new()),
            replies_ms: inbox::REPLIES_MS,
        }
    }

    /// The same place, whose inboxes keep replies for so many milliseconds instead of a minute.
    #[must_use]
    pub fn with_replies_kept(self, replies_ms: u64) -> Self {
        Self { replies_ms, ..self }
    }

    /// The same place, whose inboxes ask a function for the faults of each operation, which it
    /// numbers from 1, each kind by itself and over all nodes.
    #[must_use]
    pub fn responding(
        self,
        script: impl Fn(InboxOperation, usize) -> Vec<InboxFault> + Send + Sync + 'static,
    ) -> Self {
        Self { script: Arc::new(script), ..self }
    }

    /// Another node.
    #[must_use]
    pub fn node(&self) -> Node {
        let mut kept = self.shared.kept.lock();
        kept.nodes += 1;
        Node { name: kept.nodes, place: self.clone(), cut: Arc::new(watch::Sender::new(false)) }
    }

    /// The logs fail all nodes so from now on: those that take no writes are read, and others are not. No
    /// node can renew what it holds, which is over after the lease. Inboxes are none of this.
    pub fn fail(&self, how: StoreErrorKind) {
        let mut kept = self.shared.kept.lock();
        let over = Instant::now() + Self::LEASE;
        for node in 1..=kept.nodes {
            kept.lapsing.entry(node).or_insert(over);
        }
        kept.outage = Some(how);
    }

    /// The logs are there again. What has lapsed meanwhile is nobody's.
    pub fn heal(&self) {
        let mut kept = self.shared.kept.lock();
        for node in 1..=kept.nodes {
            kept.lapse(node);
        }
        kept.outage = None;
    }

    /// How many letters wait in a session.
    #[must_use]
    pub fn waiting(&self, session: &SessionId) -> usize {
        self.shared.kept.lock().letters.count(session)
    }

    /// How often an operation was asked for.
    #[must_use]
    pub fn asked(&self, operation: InboxOperation) -> usize {
        let kept = self.shared.kept.lock();
        kept.counts.get(&operation).copied().unwrap_or_default()
    }

    /// Returns true if somebody holds a session.
    #[must_use]
    pub fn is_held(&self, session: &SessionId) -> bool {
        self.shared.kept.lock().held.contains_key(session)
    }

    fn faults(&self, operation: InboxOperation) -> Vec<InboxFault> {
        let number = {
            let mut kept = self.shared.kept.lock();
            let count = kept.counts.entry(operation).or_default();
            *count += 1;
            *count
        };
        (self.script)(operation, number)
    }
}

impl Node {
    /// Its store object.
    #[must_use]
    pub fn store(&self) -> Arc<dyn LogStore> {
        Arc::new(NodeStore(self.clone()))
    }

    /// Its inbox.
    #[must_use]
    pub fn inbox(&self) -> Arc<dyn Mailbox> {
        Arc::new(NodeInbox(self.clone()))
    }

    /// Cuts it off from the store, as a pause of its process or the loss of its network does: what it
    /// asks from now on is done once it is mended, and what it holds is over after the lease.
    pub fn cut(&self) {
        let mut kept = self.place.shared.kept.lock();
        let over = Instant::now() + Nodes::LEASE;
        kept.lapsing.entry(self.name).or_insert(over);
        drop(kept);
        self.cut.send_replace(true);
    }

    /// It reaches the store again. What has lapsed meanwhile is not its own any more.
    pub fn mend(&self) {
        self.place.shared.kept.lock().lapse(self.name);
        self.cut.send_replace(false);
    }

    /// Waits until it reaches the store.
    async fn whole(&self) {
        let mut cut = self.cut.subscribe();
        // The sender is this node's own.
        let _ = cut.wait_for(|cut| !cut).await;
    }
}

impl Shared {}

impl Kept {
    /// A node is there again: what it holds is its own, unless it is over.
    fn lapse(&mut self, node: u64) {
        let lapsed = self.lapsing.remove(&node);
        if lapsed.is_some_and(|over| over <= Instant::now()) {
            self.held.retain(|_, held| held.node != node);
        }
    }

    /// Returns true if the logs take writes of anybody, or answer at all where `reads`.
    fn answers(&self, doing: &str, reads: bool) -> Result<(), StoreError> {
        match &self.outage {
            None => Ok(()),
            Some(StoreErrorKind::ReadOnly | StoreErrorKind::Full) if reads => Ok(()),
            Some(how) => {
                let context = format!("{doing}: the test has the store fail so");
                Err(StoreError::new(how.clone(), context))
            }
        }
    }

    /// Who holds a session at this moment.
    fn holder(&self, session: &SessionId) -> Option<Held> {
        let held = self.held.get(session)?;
        let over = self.lapsing.get(&held.node);
        let lapsed = over.is_some_and(|over| *over <= Instant::now());
        (!lapsed).then_some(*held)
    }
}
