//! The inboxes of nodes over one store keep the promises of the port, and nodes are cut off as told.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use windlass_core::SessionId;
use windlass_ports::{MailboxErrorKind, StoreErrorKind};
use windlass_testkit::faulty::{Fault, FaultyStore, Operation};
use windlass_testkit::inbox::{InboxFixture, Opened};
use windlass_testkit::nodes::{self, Disturbance, InboxFault, InboxOperation, Nodes};

struct Place {
    nodes: Nodes,
    brief: Nodes,
}

impl Place {
    fn new() -> Self {
        let place = || Nodes::over(Arc::new(FaultyStore::new()));
        Self { nodes: place(), brief: place().with_replies_kept(400) }
    }
}

fn opened(nodes: &Nodes) -> Opened {
    let node = nodes.node();
    Opened { store: node.store(), inbox: node.inbox() }
}

#[async_trait::async_trait]
impl InboxFixture for Place {
    async fn open(&self) -> Opened {
        opened(&self.nodes)
    }

    async fn open_brief(&self) -> Option<Opened> {
        Some(opened(&self.brief))
    }
}

windlass_testkit::inbox_suite!(Place::new());

fn id(name: &str) -> SessionId {
    SessionId::new(name).unwrap()
}

#[tokio::test(start_paused = true)]
async fn what_a_node_that_is_cut_off_holds_is_over_after_the_lease() {
    let nodes = Nodes::over(Arc::new(FaultyStore::new()));
    let (one, other) = (nodes.node(), nodes.node());
    let held = one.store().claim(&id("s")).await.unwrap();
    let locked = async || other.store().claim(&id("s")).await.map_err(|e| e.kind);
    assert_eq!(locked().await.unwrap_err(), StoreErrorKind::Locked);
    one.cut();
    tokio::time::sleep(Nodes::LEASE - Duration::from_millis(1)).await;
    assert_eq!(locked().await.unwrap_err(), StoreErrorKind::Locked);
    let (store, epoch) = (one.store(), held.epoch);
    let releasing = tokio::spawn(async move { store.release(&id("s"), epoch).await });
    tokio::time::sleep(Duration::from_millis(2)).await;
    let taken = locked().await.unwrap();
    assert!(taken.epoch > held.epoch && !releasing.is_finished());
    one.mend();
    releasing.await.unwrap().unwrap();
    assert!(nodes.is_held(&id("s")), "it is the other's");
    let late = one.inbox().pending(&id("s"), held.epoch, 9).await;
    assert_eq!(late.unwrap_err().kind, MailboxErrorKind::NotClaimed);
}

#[tokio::test(start_paused = true)]
async fn an_inbox_fails_where_the_script_says_so() {
    let nodes = Nodes::over(Arc::new(FaultyStore::new()));
    let nodes = nodes.responding(|operation, number| match (operation, number) {
        (InboxOperation::Letters, 2) => vec![InboxFault::Fail(MailboxErrorKind::Unavailable)],
        _ => Vec::new(),
    });
    let node = nodes.node();
    let epoch = node.store().claim(&id("s")).await.unwrap().epoch;
    let look = async || node.inbox().pending(&id("s"), epoch, 9).await;
    assert!(look().await.is_ok());
    assert_eq!(look().await.unwrap_err().kind, MailboxErrorKind::Unavailable);
    assert!(look().await.is_ok());
    assert_eq!(nodes.asked(InboxOperation::Letters), 3);
}

/// Releases fail for as long as it says so.
#[derive(Clone, Default)]
struct Releases(Arc<AtomicBool>);

#[async_trait::async_trait]
impl Disturbance for Releases {
    async fn begin(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    async fn end(&self) {
        self.0.store(false, Ordering::SeqCst);
    }
}

#[tokio::test(start_paused = true)]
async fn what_could_not_be_given_back_is_free_later() {
    let fails = Releases::default();
    let failing = fails.clone();
    let logs = FaultyStore::responding(move |operation, _| match operation {
        Operation::Release if failing.0.load(Ordering::SeqCst) => {
            vec![Fault::Fail(StoreErrorKind::Unavailable)]
        }
        Operation::Claim
        | Operation::Release
        | Operation::Append
        | Operation::Read
        | Operation::Probe => Vec::new(),
    });
    let nodes = Nodes::over(Arc::new(logs));
    let (one, other) = (nodes.node().store(), nodes.node().store());
    nodes::what_could_not_be_given_back_is_free_later(&*one, &*other, &fails).await.unwrap();
}
