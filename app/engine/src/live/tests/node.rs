//! A node that follows a session, the node that drives it, and the bus between them.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

use tokio::task::unconstrained;
use windlass_core::{Delta, Epoch, Fact, RecordedFact, Seq, SessionId, SessionResumed};
use windlass_ports::LogStore;
use windlass_testkit::faulty::FaultyStore;

use super::TestRng;
use super::bus::TestBus;
use super::driver::Run;
use super::screen::{Screen, Truth};
use crate::bus::EventBus;
use crate::event::LiveKind;
use crate::hub::FollowerId;
use crate::live::message::NodeMessage;
use crate::live::{CatchUpProgress, LiveNotice, LivePublisher};
use crate::slot::Slot;
use crate::stream::EventStream;

/// Probabilities of random events.
#[derive(Clone, Copy)]
pub(super) struct Odds {
    /// One message in this many is lost.
    pub(super) loss: Option<u64>,
    /// True if messages arrive before the facts that follow them.
    pub(super) in_time: bool,
    pub(super) takeovers: bool,
}

pub(super) struct Node {
    pub(super) odds: Odds,
    pub(super) dice: TestRng,
    pub(super) store: FaultyStore,
    pub(super) slot: Arc<Slot>,
    pub(super) follower: FollowerId,
    /// Position published here.
    pub(super) seen: Seq,
    pub(super) screens: Vec<Screen>,
    pub(super) truth: Truth,
    pub(super) air: Arc<TestBus>,
    /// True if a message was lost since the last one received.
    pub(super) missed: bool,
    /// True if a catch-up was requested.
    pub(super) wanted: bool,
    pub(super) passing: Option<CatchUpProgress>,
    // State of the driver.
    pub(super) epoch: Epoch,
    pub(super) bus: EventBus,
    pub(super) run: Option<Run>,
    /// Items that are decided.
    pub(super) unsent: Vec<(Seq, u32)>,
    /// Facts in the log that the driver does not know to be durable yet.
    pub(super) appended: Vec<Arc<RecordedFact>>,
    pub(super) reports: u64,
    pub(super) clock: u64,
}

pub(super) fn session() -> SessionId {
    SessionId::new("s").unwrap()
}

impl Node {
    pub(super) async fn new(seed: u64, odds: Odds) -> Self {
        let mut dice = TestRng(seed);
        let store = FaultyStore::new();
        let epoch = store.claim(&session()).await.unwrap().epoch;
        let air = Arc::new(TestBus::default());
        air.most.store(if dice.one_in(2) { 300 } else { 4_096 }, Ordering::SeqCst);
        let slot = Arc::new(Slot::new(session(), Weak::new()));
        let mut follower = None;
        slot.hub.follow(Seq::ZERO, |name, _| {
            follower = Some(name);
            tokio::spawn(std::future::pending::<()>()).abort_handle()
        });
        let mut node = Self {
            odds,
            dice,
            store,
            slot,
            follower: follower.unwrap(),
            seen: Seq::ZERO,
            screens: Vec::new(),
            truth: Truth::default(),
            bus: EventBus::new(1_024, Seq::ZERO).publishing_to(Some(LivePublisher::new(
                air.clone(),
                session(),
                epoch,
            ))),
            air,
            missed: false,
            wanted: true,
            passing: None,
            epoch,
            run: None,
            unsent: Vec::new(),
            appended: Vec::new(),
            reports: 0,
            clock: 0,
        };
        node.append(vec![Fact::SessionResumed(SessionResumed {})]).await;
        node.acknowledge();
        node.join(Some(Seq::ZERO));
        node.slot.hub.join_live(&node.follower, &session(), Seq::ZERO, false);
        node.pass();
        node
    }

    pub(super) fn streamed(&self) -> u64 {
        self.screens.iter().map(|screen| screen.streamed).sum()
    }

    /// Returns the end of the log.
    pub(super) fn end(&self) -> Seq {
        Seq(self.store.log(&session()).len() as u64)
    }

    /// Adds a subscriber here.
    pub(super) fn join(&mut self, after: Option<Seq>) {
        let subscribed = self.slot.hub.subscribe();
        let store = Arc::new(self.store.clone());
        let seen = self.seen;
        let after = after.unwrap_or(seen);
        // A subscriber with a later position than this node has read the log up to it.
        let whole = (self.odds.in_time && after <= seen).then_some(seen);
        let system = windlass_core::Scope::system("a test");
        let watch =
            EventStream::of_session(self.slot.clone(), &system, store, subscribed, Some(after), 4);
        self.screens.push(Screen::new(watch, after, whole));
    }

    pub(super) async fn step(&mut self) {
        match self.dice.below(20) {
            0..=5 => self.say(),
            6 => self.finish(),
            7 | 8 => self.write().await,
            9 => self.acknowledge(),
            10 | 11 => self.hear(),
            12 => {
                while self.is_told() {
                    self.hear();
                }
            }
            13 | 14 => self.follow().await,
            15 => self.look(),
            16 => {
                let below = self.end().0 + 1;
                let after = Seq(self.dice.below(below));
                let after = if self.dice.one_in(2) { None } else { Some(after) };
                self.join(after);
            }
            17 => self.pass(),
            18 => self.report(),
            _ if self.odds.takeovers && self.dice.one_in(3) => self.take_over().await,
            _ if self.dice.one_in(4) => self.rest().await,
            _ => {}
        }
    }

    /// Delivers all messages. Each screen must then show the live state of the driver's node.
    pub(super) async fn rest(&mut self) {
        let loss = self.odds.loss.take();
        // A later message reveals a loss.
        self.append(vec![Fact::SessionResumed(SessionResumed {})]).await;
        self.acknowledge();
        while self.passing.is_some() || self.wanted || self.is_told() || self.seen < self.end() {
            while self.is_told() {
                self.hear();
            }
            self.follow().await;
            self.pass();
        }
        self.odds.loss = loss;
        self.look();
        let mut shown = BTreeMap::new();
        for live in self.bus.subscribe().live.iter().flat_map(|all| all.iter()) {
            if let LiveKind::Delta { started, delta } = &live.kind {
                let (slot, text) = match delta {
                    Delta::Text { slot, text }
                    | Delta::Refusal { slot, text }
                    | Delta::Reasoning { slot, text }
                    | Delta::Arguments { slot, text } => (*slot, text),
                    Delta::Call { slot, name } => (*slot, name),
                };
                let so_far: &mut String = shown.entry((*started, slot)).or_default();
                so_far.push_str(text);
            }
        }
        for screen in &self.screens {
            assert_eq!(screen.seen(), self.end());
            let live = screen.live.iter();
            // Subscribers learn that a part has no item only at the end of its run.
            let live = live.filter(|(key, _)| !self.truth.void.contains(key));
            let live: Vec<_> = live.map(|(key, text)| (key, text.len())).collect();
            let shown: Vec<_> = shown.iter().map(|(key, text)| (key, text.len())).collect();
            assert_eq!(live, shown, "at rest each shows what is shown");
        }
    }

    fn look(&mut self) {
        let log = self.store.log(&session());
        for screen in &mut self.screens {
            screen.look(&self.truth, &log);
        }
    }

    fn is_told(&self) -> bool {
        !self.air.told.lock().unwrap().is_empty()
    }

    /// Delivers or loses the next message.
    fn hear(&mut self) {
        let Some(text) = self.air.told.lock().unwrap().pop_front() else {
            return;
        };
        if self.odds.loss.is_some_and(|most| self.dice.one_in(most)) {
            self.missed = true;
            return;
        }
        let hub = &self.slot.hub;
        if std::mem::take(&mut self.missed) {
            self.wanted |= hub.receive(&self.follower, LiveNotice::Missed).lost;
        }
        let message = NodeMessage::read(&text).unwrap();
        let stands = hub.receive(&self.follower, LiveNotice::Message(message));
        self.wanted |= stands.lost && !stands.catching_up;
        self.wanted &= stands.lost;
        assert!(stands.due.is_none_or(|due| due <= self.end()));
    }

    /// Reads a page of facts from the log.
    pub(super) async fn follow(&mut self) {
        while self.odds.in_time && self.is_told() {
            self.hear();
        }
        let limit = usize::try_from(self.dice.below(5) + 1).unwrap();
        let session = session();
        let read = unconstrained(self.store.read(&session, self.seen, limit));
        let facts: Vec<_> = read.await.unwrap().into_iter().map(Arc::new).collect();
        if let Some(last) = facts.last() {
            self.seen = last.seq;
            self.slot.hub.publish(&self.follower, &facts);
        }
    }

    /// Sends a chunk of a catch-up.
    fn pass(&mut self) {
        if self.passing.is_none() && std::mem::take(&mut self.wanted) {
            self.passing = Some(CatchUpProgress::default());
        }
        let bytes = usize::try_from(self.dice.below(40)).unwrap();
        if let Some(passing) = &mut self.passing
            && self.bus.catch_up(passing, bytes)
        {
            self.passing = None;
        }
    }
}
