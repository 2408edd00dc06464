//! Bus: publishes a session's events to any number of subscribers.
//!
//! Bounded: a subscriber that falls behind by more than the bound is notified and catches up from
//! the log. Publishing never waits.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::{broadcast, watch};
use windlass_core::{Delta, RecordedFact, Seq};
use windlass_ports::sync::Mutex;

use crate::error::DriverEnd;
use crate::event::{Event, LiveEvent};
use crate::live::{CatchUpProgress, LivePublisher};
use crate::live_state::{LiveState, LiveUpdate, StreamingRun};
use crate::published::LiveBatch;

/// Publishes a session's events.
#[derive(Debug, Clone)]
pub(crate) struct EventBus {
    events: broadcast::Sender<Event>,
    durable: Arc<AtomicU64>,
    /// Locked during each publication and each subscription. So a subscriber receives the live
    /// state of that moment, and then every later event.
    live_state: Arc<Mutex<LiveState>>,
    /// Publishes to other nodes; `None` without a cluster, and while another node drives the
    /// session.
    publisher: Option<Arc<LivePublisher>>,
    ended: watch::Sender<Option<Arc<DriverEnd>>>,
}

/// Events of one bus from a moment on.
pub(crate) struct EventFeed {
    pub(crate) bus: EventBus,
    pub(crate) events: broadcast::Receiver<Event>,
    /// Position up to which the log precedes the events.
    pub(crate) from: Seq,
    /// Live state at that moment. It is in no log, and is delivered between the log and the events.
    pub(crate) live: Option<LiveBatch>,
    /// True if the live state is unknown: live events are dropped until another feed replaces this
    /// one.
    pub(crate) bare: bool,
}

impl EventBus {
    pub(crate) fn new(bound: usize, durable: Seq) -> Self {
        Self {
            events: broadcast::Sender::new(bound.max(1)),
            durable: Arc::new(AtomicU64::new(durable.0)),
            live_state: Arc::new(Mutex::new(LiveState::new(durable))),
            publisher: None,
            ended: watch::Sender::new(None),
        }
    }

    /// Returns the same bus, which also publishes to other nodes. Their subscribers learn that the
    /// live state is empty.
    pub(crate) fn publishing_to(self, publisher: Option<LivePublisher>) -> Self {
        let publisher = publisher.map(Arc::new);
        let bus = Self { publisher, ..self };
        bus.catch_up(&mut CatchUpProgress::default(), 0);
        bus
    }

    /// Publishes facts that have become durable, as reported by the writer that streams here.
    pub(crate) fn publish_facts(&self, facts: &[Arc<RecordedFact>]) {
        self.publish_new(facts, |shown, seq| shown.record(seq));
    }

    /// Publishes facts read from the log of a session that is driven here. They are its driver's,
    /// which will report them itself, or another writer's. In neither case do they confirm the live
    /// run here: another writer may have started another run at the same position.
    pub(crate) fn publish_read(&self, facts: &[Arc<RecordedFact>]) {
        self.publish_new(facts, |_, _| false);
    }

    /// Publishes facts that were not published before. `records` records a position, and returns
    /// true if that confirms the start of the streaming run.
    fn publish_new(
        &self,
        facts: &[Arc<RecordedFact>],
        records: impl Fn(&mut LiveState, Seq) -> bool,
    ) {
        let Some(last) = facts.last() else { return };
        let mut shown = self.live_state.lock();
        self.durable.fetch_max(last.seq.0, Ordering::SeqCst);
        let heard = self.events.receiver_count() > 0;
        let (mut new, mut began) = (false, None);
        for fact in facts {
            if shown.on_durable(fact) {
                new = true;
                if heard {
                    let _ = self.events.send(Event::Fact(fact.clone().into()));
                }
            }
            // Text that was streamed before its run was confirmed.
            if records(&mut shown, fact.seq) {
                began = Some(fact.seq);
                if let Some(said) = shown.sample_events().filter(|_| heard) {
                    let _ = self.events.send(Event::Live(said));
                }
            }
        }
        if let Some(publisher) = self.live_publisher() {
            match began.is_some_and(|began| shown.is_streaming(began)) {
                true => publisher.publish_sample(last.seq, &shown, shown.whole_run()),
                false if new => publisher.publish_durable(last.seq, &shown),
                false => {}
            }
        }
    }

    /// Publishes deltas of a sample. `whole` lists the parts that are complete by now, each with a
    /// flag that is true if it has an item.
    pub(crate) fn publish_deltas(
        &self,
        speaker: &StreamingRun,
        deltas: Vec<Delta>,
        whole: &[(u32, bool)],
    ) {
        if deltas.is_empty() && whole.is_empty() {
            return;
        }
        let mut shown = self.live_state.lock();
        let publisher = self.live_publisher();
        let mut said = publisher.map(|_| LiveUpdate::default());
        let speaks = shown.add_deltas(speaker, &deltas, whole, said.as_mut());
        if let (Some(publisher), Some(said), true) = (publisher, said, speaks) {
            publisher.publish_sample(self.durable(), &shown, said);
        }
        if speaks && !deltas.is_empty() && self.events.receiver_count() > 0 {
            let deltas = deltas.into_iter();
            let live: Vec<_> = deltas.map(|delta| speaker.live(delta)).collect();
            let _ = self.events.send(Event::Live(live.into()));
        }
    }

    /// Publishes a progress report of a call.
    pub(crate) fn publish_report(&self, report: LiveEvent) {
        let mut shown = self.live_state.lock();
        let live = vec![report];
        shown.add_reports(&live);
        if let (Some(publisher), [report]) = (self.live_publisher(), live.as_slice()) {
            publisher.publish_report(self.durable(), &shown, report);
        }
        if self.events.receiver_count() > 0 {
            let _ = self.events.send(Event::Live(live.into()));
        }
    }

    /// Sends other nodes the next part of the live state, about this many bytes. Returns true if
    /// that was the last part, or if no node subscribes.
    pub(crate) fn catch_up(&self, passing: &mut CatchUpProgress, bytes: usize) -> bool {
        let shown = self.live_state.lock();
        let pass = |publisher: &Arc<LivePublisher>| {
            publisher.catch_up(self.durable(), &shown, passing, bytes)
        };
        self.live_publisher().is_none_or(pass)
    }

    /// Returns the publisher to other nodes while one of them subscribes.
    fn live_publisher(&self) -> Option<&Arc<LivePublisher>> {
        self.publisher.as_ref().filter(|publisher| publisher.has_subscribers())
    }

    /// Returns true if this is the last report of its call.
    pub(crate) fn has_reported(&self, report: &LiveEvent) -> bool {
        self.live_state.lock().has_reported(report)
    }

    /// Publishes the end, after which nothing follows. Only the first call counts.
    pub(crate) fn end(&self, ended: Arc<DriverEnd>) {
        // Set before the event, so that a later subscriber finds the end here.
        let first = self.ended.send_if_modified(|said| {
            let first = said.is_none();
            said.get_or_insert_with(|| ended.clone());
            first
        });
        if first {
            let _ = self.events.send(Event::Ended(ended));
        }
    }

    /// Returns the reason for the end, once the bus has ended.
    pub(crate) fn ended(&self) -> Option<Arc<DriverEnd>> {
        self.ended.borrow().clone()
    }

    /// Waits for the end, and returns its reason.
    pub(crate) async fn wait_ended(&self) -> Arc<DriverEnd> {
        let mut ended = self.ended.subscribe();
        let said = ended.wait_for(Option::is_some).await;
        let said = said.ok().and_then(|said| said.clone());
        // The bus holds its own sender, so the channel always has a value.
        said.unwrap_or_else(|| Arc::new(DriverEnd::Abandoned))
    }

    /// Returns the last durable position.
    pub(crate) fn durable(&self) -> Seq {
        Seq(self.durable.load(Ordering::SeqCst))
    }

    /// Begins to receive events.
    pub(crate) fn subscribe(&self) -> EventFeed {
        let mut shown = self.live_state.lock();
        EventFeed {
            bus: self.clone(),
            events: self.events.subscribe(),
            from: self.durable(),
            live: shown.events(),
            bare: false,
        }
    }
}
