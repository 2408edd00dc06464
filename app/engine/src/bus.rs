//! Bus: publishes a session's events to any number of subscribers.
//!
//! Bounded: a subscriber who falls behind by more than the bound is told so and catches up from
//! the log. Publishing never waits.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::{broadcast, watch};
use windlass_core::{Delta, Recorded, Seq};
use windlass_ports::sync::Mutex;

use crate::error::Ended;
use crate::event::{Event, Live};
use crate::live::{LivePublisher, Passing};
use crate::published::LiveBatch;
use crate::shown::{Said, Shown, Speaker};

/// Publishes a session's events.
#[derive(Debug, Clone)]
pub(crate) struct Bus {
    events: broadcast::Sender<Event>,
    durable: Arc<AtomicU64>,
    /// Held while anything is published and while somebody begins to listen: so each hears what was
    /// shown before, and then all that follows.
    shown: Arc<Mutex<Shown>>,
    /// Publishes to other nodes; `None` without a cluster, and while another node drives the session.
    publisher: Option<Arc<LivePublisher>>,
    ended: watch::Sender<Option<Arc<Ended>>>,
}

/// Events of one bus from a moment on.
pub(crate) struct Feed {
    pub(crate) bus: Bus,
    pub(crate) events: broadcast::Receiver<Event>,
    /// Position up to which the log precedes the events.
    pub(crate) from: Seq,
    /// Live state of that moment, which is in no log: it comes between the two.
    pub(crate) shown: Option<LiveBatch>,
    /// The live state is unknown: live events are dropped until another feed replaces this one.
    pub(crate) bare: bool,
}

impl Bus {
    pub(crate) fn new(bound: usize, durable: Seq) -> Self {
        Self {
            events: broadcast::Sender::new(bound.max(1)),
            durable: Arc::new(AtomicU64::new(durable.0)),
            shown: Arc::new(Mutex::new(Shown::new(durable))),
            publisher: None,
            ended: watch::Sender::new(None),
        }
    }

    /// Returns the same bus, which also publishes to other nodes. Their subscribers learn that nothing is
    /// shown yet.
    pub(crate) fn publishing_to(self, publisher: Option<LivePublisher>) -> Self {
        let publisher = publisher.map(Arc::new);
        let bus = Self { publisher, ..self };
        bus.pass(&mut Passing::default(), 0);
        bus
    }

    /// Publishes facts that have become durable, by the word of whoever speaks here.
    pub(crate) fn facts(&self, facts: &[Arc<Recorded>]) {
        self.publish(facts, |shown, seq| shown.record(seq));
    }

    /// Publishes facts that were read in the log of a session that is driven here: of its driver, which
    /// will say so itself, or of another writer. What is shown here they put on record in neither case:
    /// another writer may have begun another run at the same position.
    pub(crate) fn found(&self, facts: &[Arc<Recorded>]) {
        self.publish(facts, |_, _| false);
    }

    /// Publishes facts, but for those that were published before. `records` notes a position, and tells
    /// whether the run that speaks is on record by that.
    fn publish(&self, facts: &[Arc<Recorded>], records: impl Fn(&mut Shown, Seq) -> bool) {
        let Some(last) = facts.last() else { return };
        let mut shown = self.shown.lock();
        self.durable.fetch_max(last.seq.0, Ordering::SeqCst);
        let heard = self.events.receiver_count() > 0;
        let (mut new, mut began) = (false, None);
        for fact in facts {
            if shown.durable(fact) {
                new = true;
                if heard {
                    let _ = self.events.send(Event::Fact(fact.clone().into()));
                }
            }
            // What was said before that was on record.
            if records(&mut shown, fact.seq) {
                began = Some(fact.seq);
                if let Some(said) = shown.said().filter(|_| heard) {
                    let _ = self.events.send(Event::Live(said));
                }
            }
        }
        if let Some(publisher) = self.live_publisher() {
            match began.is_some_and(|began| shown.speaks(began)) {
                true => publisher.say(last.seq, &shown, shown.begin()),
                false if new => publisher.durable(last.seq, &shown),
                false => {}
            }
        }
    }

    /// Publishes what a sample says. `whole` are its parts that are whole by now, each with whether
    /// there is an item of it.
    pub(crate) fn say(&self, speaker: &Speaker, deltas: Vec<Delta>, whole: &[(u32, bool)]) {
        if deltas.is_empty() && whole.is_empty() {
            return;
        }
        let mut shown = self.shown.lock();
        let publisher = self.live_publisher();
        let mut said = publisher.map(|_| Said::default());
        let speaks = shown.say(speaker, &deltas, whole, said.as_mut());
        if let (Some(publisher), Some(said), true) = (publisher, said, speaks) {
            publisher.say(self.durable(), &shown, said);
        }
        if speaks && !deltas.is_empty() && self.events.receiver_count() > 0 {
            let deltas = deltas.into_iter();
            let live: Vec<_> = deltas.map(|delta| speaker.live(delta)).collect();
            let _ = self.events.send(Event::Live(live.into()));
        }
    }

    /// Publishes what a call reports.
    pub(crate) fn report(&self, report: Live) {
        let mut shown = self.shown.lock();
        let live = vec![report];
        shown.report(&live);
        if let (Some(publisher), [report]) = (self.live_publisher(), live.as_slice()) {
            publisher.report(self.durable(), &shown, report);
        }
        if self.events.receiver_count() > 0 {
            let _ = self.events.send(Event::Live(live.into()));
        }
    }

    /// Tells other nodes what is shown so far, about so many bytes of it. Answers whether that is all,
    /// or nobody hears it.
    pub(crate) fn pass(&self, passing: &mut Passing, bytes: usize) -> bool {
        let shown = self.shown.lock();
        let pass =
            |publisher: &Arc<LivePublisher>| publisher.pass(self.durable(), &shown, passing, bytes);
        self.live_publisher().is_none_or(pass)
    }

    /// Returns the publisher to other nodes while one of them subscribes.
    fn live_publisher(&self) -> Option<&Arc<LivePublisher>> {
        self.publisher
            .as_ref()
            .filter(|publisher| publisher.has_subscribers())
    }

    /// Returns true if this is what a call reported last.
    pub(crate) fn has_reported(&self, report: &Live) -> bool {
        self.shown.lock().has_reported(report)
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

    /// Returns the reason for the end, once nothing follows.
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

    /// Begins to receive events.
    pub(crate) fn subscribe(&self) -> Feed {
        let mut shown = self.shown.lock();
        Feed {
            bus: self.clone(),
            events: self.events.subscribe(),
            from: self.durable(),
            shown: shown.told(),
            bare: false,
        }
    }
}
