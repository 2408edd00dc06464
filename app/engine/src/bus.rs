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
use crate::live::{Passing, Teller};
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
    /// Tells other nodes too; `None` for an engine that is alone, and for what another node drives.
    teller: Option<Arc<Teller>>,
    ended: watch::Sender<Option<Arc<Ended>>>,
}

/// What somebody gets who begins to listen.
pub(crate) struct Listening {
    pub(crate) events: broadcast::Receiver<Event>,
    /// The position up to which the log comes first.
    pub(crate) durable: Seq,
    /// What was shown since and is in no log: it comes after that, and before the events.
    pub(crate) shown: Option<LiveBatch>,
}

impl Bus {
    pub(crate) fn new(bound: usize, durable: Seq) -> Self {
        Self {
            events: broadcast::Sender::new(bound.max(1)),
            durable: Arc::new(AtomicU64::new(durable.0)),
            shown: Arc::new(Mutex::new(Shown::new(durable))),
            teller: None,
            ended: watch::Sender::new(None),
        }
    }

    /// The same bus, which tells other nodes too. Whoever of them hears already is told that nothing
    /// is shown yet.
    pub(crate) fn telling(self, teller: Option<Teller>) -> Self {
        let teller = teller.map(Arc::new);
        let bus = Self { teller, ..self };
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
        if let Some(teller) = self.heard_by() {
            match began.is_some_and(|began| shown.speaks(began)) {
                true => teller.say(last.seq, &shown, shown.begin()),
                false if new => teller.durable(last.seq, &shown),
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
        let teller = self.heard_by();
        let mut said = teller.map(|_| Said::default());
        let speaks = shown.say(speaker, &deltas, whole, said.as_mut());
        if let (Some(teller), Some(said), true) = (teller, said, speaks) {
            teller.say(self.durable(), &shown, said);
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
        if let (Some(teller), [report]) = (self.heard_by(), live.as_slice()) {
            teller.report(self.durable(), &shown, report);
        }
        if self.events.receiver_count() > 0 {
            let _ = self.events.send(Event::Live(live.into()));
        }
    }

    /// Tells other nodes what is shown so far, about so many bytes of it. Answers whether that is all,
    /// or nobody hears it.
    pub(crate) fn pass(&self, passing: &mut Passing, bytes: usize) -> bool {
        let shown = self.shown.lock();
        let pass = |teller: &Arc<Teller>| teller.pass(self.durable(), &shown, passing, bytes);
        self.heard_by().is_none_or(pass)
    }

    /// Who tells other nodes, where one of them hears.
    fn heard_by(&self) -> Option<&Arc<Teller>> {
        self.teller.as_ref().filter(|teller| teller.is_heard())
    }

    /// Whether this is what a call reported last.
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
    pub(crate) fn listen(&self) -> Listening {
        let mut shown = self.shown.lock();
        Listening {
            events: self.events.subscribe(),
            durable: self.durable(),
            shown: shown.told(),
        }
    }
}
