//! Bus: publishes a session's events to any number of subscribers.
//!
//! Bounded: a subscriber who falls behind by more than the bound is told so and catches up from
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
    /// Held while anything is published and while somebody begins to listen: so each hears what was
    /// shown before, and then all that follows.
    live_state: Arc<Mutex<LiveState>>,
    /// Publishes to other nodes; `None` without a cluster, and while another node drives the session.
    publisher: Option<Arc<LivePublisher>>,
    ended: watch::Sender<Option<Arc<DriverEnd>>>,
}

/// Events of one bus from a moment on.
pub(crate) struct EventFeed {
    pub(crate) bus: EventBus,
    pub(crate) events: broadcast::Receiver<Event>,
    /// Position up to which the log precedes the events.
    pub(crate) from: Seq,
    /// Live state of that moment, which is in no log: it comes between the two.
    pub(crate) live: Option<LiveBatch>,
    /// The live state is unknown: live events are dropped until another feed replaces this one.
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

    /// Returns the same bus, which also publishes to other nodes. Their subscribers learn that nothing is
    /// shown yet.
    pub(crate) fn publishing_to(self, publisher: Option<LivePublisher>) -> Self {
        let publisher = publisher.map(Arc::new);
        let bus = Self { publisher, ..self };
        bus.catch_up(&mut CatchUpProgress::default(), 0);
        bus
    }

    /// Publishes facts that have become durable, by the word of whoever speaks here.
    pub(crate) fn publish_facts(&self, facts: &[Arc<RecordedFact>]) {
        self.publish_new(facts, |shown, seq| shown.record(seq));
    }

    /// Publishes facts that were read in the log of a session that is driven here: of its driver, which
    /// will say so itself, or of another writer. What is shown here they put on record in neither case:
    /// another writer may have begun another run at the same position.
    pub(crate) fn publish_read(&self, facts: &[Arc<RecordedFact>]) {
        self.publish_new(facts, |_, _| false);
    }

    /// Publishes facts, but for those that were published before. `records` notes a position, and tells
    /// whether the run that speaks is on record by that.
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
            // What was said before that was on record.
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

    /// Publishes what a sample says. `whole` are its parts that are whole by now, each with whether
    /// there is an item of it.
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

    /// Publishes what a call reports.
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

    /// Tells other nodes what is shown so far, about so many bytes of it. Answers whether that is all,
    /// or nobody hears it.
    pub(crate) fn catch_up(&self, passing: &mut CatchUpProgress, bytes: usize) -> bool {
        let shown = self.live_state.lock();
        let pass = |publisher: &Arc<LivePublisher>| {
            publisher.catch_up(self.durable(), &shown, passing, bytes)
        };
        self.live_publisher().is_none_or(pass)
    }

    /// Returns the publisher to other nodes while one of them subscribes.
    fn live_publisher(&self) -> Option<&Arc<LivePublisher>> {
        self.publisher
            .as_ref()
            .filter(|publisher| publisher.has_subscribers())
    }

    /// Returns true if this is what a call reported last.
    pub(crate) fn has_reported(&self, report: &LiveEvent) -> bool {
        self.live_state.lock().has_reported(report)
    }

    /// Tells everybody that nothing follows. Only the first time counts.
    pub(crate) fn end(&self, ended: Arc<DriverEnd>) {
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

    /// Returns the reason for the end, once nothing follows.
    pub(crate) fn ended(&self) -> Option<Arc<DriverEnd>> {
        self.ended.borrow().clone()
    }

    /// Waits until nothing follows, and says why.
    pub(crate) async fn wait_ended(&self) -> Arc<DriverEnd> {
        let mut ended = self.ended.subscribe();
        let said = ended.wait_for(Option::is_some).await;
        let said = said.ok().and_then(|said| said.clone());
        // This bus keeps its own sender, so there is always something said.
        said.unwrap_or_else(|| Arc::new(DriverEnd::Abandoned))
    }

    /// The last durable position.
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
