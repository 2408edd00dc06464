//! Bus: publishes a session's events to any number of subscribers.
//!
//! Bounded: a subscriber who falls behind by more than the bound is told so and catches up from
//! the log. Publishing never waits.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::{broadcast, watch};
use windlass_core::{Recorded, Seq};

use crate::error::Ended;
use crate::event::{Event, Live};

/// Publishes a session's events.
#[derive(Debug, Clone)]
pub(crate) struct Bus {
    events: broadcast::Sender<Event>,
    durable: Arc<AtomicU64>,
    ended: watch::Sender<Option<Arc<Ended>>>,
}

impl Bus {
    pub(crate) fn new(bound: usize, durable: Seq) -> Self {
        Self {
            events: broadcast::Sender::new(bound.max(1)),
            durable: Arc::new(AtomicU64::new(durable.0)),
            ended: watch::Sender::new(None),
        }
    }

    /// Publishes facts that have become durable.
    pub(crate) fn facts(&self, facts: &[Arc<Recorded>]) {
        let Some(last) = facts.last() else { return };
        // Before the events: whoever subscribes and then reads this position misses nothing.
        self.durable.fetch_max(last.seq.0, Ordering::SeqCst);
        if self.events.receiver_count() > 0 {
            for fact in facts {
                let _ = self.events.send(Event::Fact(fact.clone().into()));
            }
        }
    }

    /// Publishes live deltas.
    pub(crate) fn live(&self, live: Vec<Live>) {
        if !live.is_empty() && self.events.receiver_count() > 0 {
            let _ = self.events.send(Event::Live(live.into()));
        }
    }

    /// Whether anybody listens.
    pub(crate) fn heard(&self) -> bool {
        self.events.receiver_count() > 0
    }

    /// Tells everybody that nothing follows. Only the first time counts.
    pub(crate) fn end(&self, ended: Arc<Ended>) {
        // Before the event: whoever subscribes later finds it here.
        let first = self.ended.send_if_modified(|said| {
            let first = said.is_none();
            said.get_or_insert_with(|| ended.clone());
            first
        });
        if first {
            let _ = self.events.send(Event::Ended(ended));
        }
    }

    /// Why nothing follows, once nothing does.
    pub(crate) fn ended(&self) -> Option<Arc<Ended>> {
        self.ended.borrow().clone()
    }

    /// Waits until nothing follows, and says why.
    pub(crate) async fn gone(&self) -> Arc<Ended> {
        let mut ended = self.ended.subscribe();
        let said = ended.wait_for(Option::is_some).await;
        let said = said.ok().and_then(|said| said.clone());
        // This bus keeps its own sender, so there is always something said.
        said.unwrap_or_else(|| Arc::new(Ended::Abandoned))
    }

    /// The last durable position.
    pub(crate) fn durable(&self) -> Seq {
        Seq(self.durable.load(Ordering::SeqCst))
    }

    /// Listens from now on.
    pub(crate) fn listen(&self) -> broadcast::Receiver<Event> {
        self.events.subscribe()
    }
}
