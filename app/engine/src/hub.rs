//! Hub: whoever watches a session in this engine, whatever drives it.
//!
//! It outlives drivers, for as long as there is a watcher. When a driver enters, every watcher has
//! an ear at its bus before the driver does anything. What others append comes from the follower:
//! one task a watched session, however many watch it. Where other nodes share the store, it hears too
//! what the driver's node tells of what streams there, and a [`Join`] puts that between the facts.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tokio::sync::{Notify, broadcast};
use tokio::task::AbortHandle;
use windlass_core::{Recorded, Seq, SessionId};
use windlass_ports::sync::Mutex;

use crate::bus::{Bus, Listening};
use crate::error::Ended;
use crate::event::Event;
use crate::live::{Join, Told};
use crate::published::LiveBatch;

/// Events of other writers that a watcher may lag behind before it is told so.
const RING: usize = 32;
/// The same where what streams on other nodes is heard too.
const LIVE_RING: usize = 256;

/// Whoever watches a session in this engine.
#[derive(Default)]
pub(crate) struct Hub {
    state: Mutex<State>,
    /// A driver has entered.
    entered: Notify,
}

struct State {
    /// Where events come from now: the driver that is here, or the follower.
    bus: Option<Bus>,
    /// Whether that is the driver's.
    driven: bool,
    ears: BTreeMap<u64, Arc<Ear>>,
    /// The name of the next ear, and of the next follower.
    next: u64,
    follower: Option<Following>,
    /// The position up to which all was published to whoever watched then, or read by them.
    seen: Seq,
    /// What another node tells of what streams there, where one is listened to.
    join: Option<Join>,
    /// Ears that joined while it was not known what is shown: they are told once it is.
    bare: BTreeSet<u64>,
}

struct Following {
    name: u64,
    /// The position up to which whoever began it has read the log: nobody publishes that.
    base: Seq,
    task: AbortHandle,
}

/// The way from a session's hub to one watcher.
#[derive(Default)]
pub(crate) struct Ear {
    news: Mutex<News>,
    told: Notify,
}

/// What a watcher has not taken yet.
#[derive(Default)]
pub(crate) struct News {
    /// What to listen to next.
    pub(crate) heard: Option<Heard>,
    /// Another ear at the same bus, in place of a bare one.
    pub(crate) again: Option<Heard>,
    /// Events of drivers that came and went while it did not look.
    pub(crate) missed: u64,
    /// It is to look at the log itself: nobody follows it, or whoever does met an error.
    pub(crate) look: bool,
}

/// An ear at a bus.
pub(crate) struct Heard {
    pub(crate) bus: Bus,
    pub(crate) events: broadcast::Receiver<Event>,
    /// The position up to which the log comes before what is heard.
    pub(crate) from: Seq,
    /// What was shown by then and is in no log: it comes between the two.
    pub(crate) shown: Option<LiveBatch>,
    /// It is not known what was shown: nothing that streams is for this ear until it gets another.
    pub(crate) bare: bool,
}

/// What a watcher gets who joins.
pub(crate) struct Joined {
    /// The name of its ear.
    pub(crate) name: u64,
    pub(crate) ear: Arc<Ear>,
    /// The position up to which the log comes before anything that is heard.
    pub(crate) from: Seq,
}

impl Ear {
    pub(crate) fn take(&self) -> News {
        std::mem::take(&mut self.news.lock())
    }

    /// Takes the word that it is to look for itself.
    pub(crate) fn take_look(&self) -> bool {
        std::mem::take(&mut self.news.lock().look)
    }

    /// Waits until there is news.
    pub(crate) async fn told(&self) {
        self.told.notified().await;
    }

    fn hear(&self, heard: Heard) {
        let mut news = self.news.lock();
        news.again = None;
        if let Some(old) = news.heard.replace(heard) {
            news.missed = news.missed.saturating_add(old.events.len() as u64);
        }
        drop(news);
        self.told.notify_one();
    }

    fn hear_again(&self, heard: Heard) {
        let mut news = self.news.lock();
        // What was not taken yet is replaced: nothing of it was for this ear but facts.
        match &mut news.heard {
            Some(waiting) => *waiting = heard,
            None => news.again = Some(heard),
        }
        drop(news);
        self.told.notify_one();
    }

    /// Takes the ear that is in place of a bare one.
    pub(crate) fn take_again(&self) -> Option<Heard> {
        self.news.lock().again.take()
    }

    fn look(&self) {
        self.news.lock().look = true;
        self.told.notify_one();
    }
}

impl Default for State {
    fn default() -> Self {
        Self {
            bus: None,
            driven: false,
            ears: BTreeMap::new(),
            next: 0,
            follower: None,
            seen: Seq::ZERO,
            join: None,
            bare: BTreeSet::new(),
        }
    }
}

impl State {
    /// An ear at the bus, for who has this name.
    fn heard(&mut self, name: u64) -> Option<Heard> {
        let bus = self.bus.clone()?;
        let Listening {
            events,
            durable,
            shown,
        } = bus.listen();
        let from = durable.max(self.seen);
        let bare = self.join.as_ref().is_some_and(Join::is_unsure);
        if bare {
            self.bare.insert(name);
        } else {
            self.bare.remove(&name);
        }
        Some(Heard {
            bus,
            events,
            from,
            shown: shown.filter(|_| !bare),
            bare,
        })
    }

    /// Once it is known what is shown, those who joined before are told of it.
    fn show(&mut self) {
        if self.bare.is_empty() || self.join.as_ref().is_some_and(Join::is_unsure) {
            return;
        }
        for name in std::mem::take(&mut self.bare) {
            if let Some(ear) = self.ears.get(&name).cloned()
                && let Some(heard) = self.heard(name)
            {
                ear.hear_again(heard);
            }
        }
    }

    /// Lets everybody listen to another bus, and ends the one before it.
    fn turn_to(&mut self, bus: Bus) {
        let before = self.bus.replace(bus);
        for (name, ear) in self.ears.clone() {
            if let Some(heard) = self.heard(name) {
                ear.hear(heard);
            }
        }
        if let Some(before) = before {
            before.end(Arc::new(Ended::Closed));
        }
    }

    fn follows(&self, follower: &Followed) -> bool {
        let same = |one: &Following| one.name == follower.0;
        self.follower.as_ref().is_some_and(same)
    }

    fn name(&mut self) -> u64 {
        self.next = self.next.saturating_add(1);
        self.next
    }
}

impl Hub {
    /// Begins to watch. Whatever is published from here on is heard.
    pub(crate) fn join(&self) -> Joined {
        let mut state = self.state.lock();
        let ear = Arc::new(Ear::default());
        let name = state.name();
        if let Some(heard) = state.heard(name) {
            ear.hear(heard);
        }
        state.ears.insert(name, ear.clone());
        Joined {
            name,
            ear,
            from: state.seen,
        }
    }

    /// Ends a watch. The last one to leave ends the follower.
    pub(crate) fn leave(&self, name: u64) {
        let mut state = self.state.lock();
        state.ears.remove(&name);
        state.bare.remove(&name);
        if state.ears.is_empty() {
            state.join = None;
            if let Some(follower) = state.follower.take() {
                follower.task.abort();
            }
            if !state.driven {
                state.bus = None;
            }
            state.seen = Seq::ZERO;
        }
    }

    pub(crate) fn is_watched(&self) -> bool {
        !self.state.lock().ears.is_empty()
    }

    /// A driver takes its place: everybody who watches hears it from its first word on.
    pub(crate) fn enter(&self, bus: Bus) {
        let mut state = self.state.lock();
        state.driven = true;
        state.join = None;
        state.turn_to(bus);
        drop(state);
        self.entered.notify_waiters();
    }

    /// The driver is gone.
    pub(crate) fn vacate(&self) {
        let mut state = self.state.lock();
        state.driven = false;
        state.bus = None;
    }

    /// Listens from now on for one who watches: to what comes, after what is shown.
    pub(crate) fn listen_again(&self, name: u64) -> Option<Heard> {
        self.state.lock().heard(name)
    }

    /// Has what other nodes tell put between the facts from here on; those up to `seen` were
    /// published. Answers whether they are to be listened to anew, as somebody does or not.
    pub(crate) fn listen(
        &self,
        follower: &Followed,
        session: &SessionId,
        seen: Seq,
        listens: bool,
    ) -> bool {
        let mut state = self.state.lock();
        if !state.follows(follower) || state.driven {
            return false;
        }
        match &mut state.join {
            Some(_) if listens => return false,
            // What was told meanwhile is gone.
            Some(join) => join.missed(),
            None => {
                state.seen = state.seen.max(seen);
                let seen = state.seen;
                state.join = Some(Join::new(session.clone(), seen));
                state.turn_to(Bus::new(LIVE_RING, seen));
            }
        }
        true
    }

    /// Takes in what another node tells. Answers how it stands then.
    pub(crate) fn hear(&self, follower: &Followed, told: Told) -> Stands {
        let mut state = self.state.lock();
        let follows = state.follows(follower) && !state.driven;
        let State { join, bus, .. } = &mut *state;
        let (Some(join), Some(bus), true) = (join, bus, follows) else {
            return Stands::default();
        };
        match told {
            Told::Message(message) => join.hear(message, bus),
            Told::Missed => join.missed(),
        }
        let stands = Stands {
            due: join.due(),
            lost: join.is_lost(),
            passing: join.is_passing(),
        };
        state.show();
        stands
    }

    /// The bus of the driver that is here.
    pub(crate) fn driver(&self) -> Option<Bus> {
        let state = self.state.lock();
        state.bus.clone().filter(|_| state.driven)
    }

    /// Waits for the next driver to enter. Counted from the moment that it is made.
    pub(crate) fn entered(&self) -> tokio::sync::futures::Notified<'_> {
        self.entered.notified()
    }

    /// Whether somebody follows the log.
    pub(crate) fn is_followed(&self) -> bool {
        self.state.lock().follower.is_some()
    }

    /// Has somebody follow the log from `cursor` on, unless somebody does. Answers the position up
    /// to which the log comes before anything that is heard.
    pub(crate) fn follow(
        &self,
        cursor: Seq,
        spawn: impl FnOnce(Followed, Seq) -> AbortHandle,
    ) -> Seq {
        let mut state = self.state.lock();
        if let Some(follower) = &state.follower {
            return follower.base;
        }
        // What a driver here has published is heard already.
        let durable = state.bus.as_ref().map_or(Seq::ZERO, Bus::durable);
        state.seen = state.seen.max(cursor).max(durable);
        let (name, base) = (state.name(), cursor);
        let task = spawn(Followed(name), state.seen);
        state.follower = Some(Following { name, base, task });
        base
    }

    /// Publishes what the follower has found.
    pub(crate) fn publish(&self, follower: &Followed, facts: &[Arc<Recorded>]) {
        let mut state = self.state.lock();
        let Some(last) = facts.last() else { return };
        if !state.follows(follower) {
            return;
        }
        if state.bus.is_none() {
            let bus = Bus::new(RING, state.seen);
            state.turn_to(bus);
        }
        // Before the events: whoever joins and then reads this position misses nothing.
        state.seen = state.seen.max(last.seq);
        let State {
            join, bus, driven, ..
        } = &mut *state;
        match (join, bus) {
            (_, Some(bus)) if *driven => bus.found(facts),
            // One by one: what streamed before a fact is told before it.
            (Some(join), Some(bus)) => facts.iter().for_each(|fact| {
                bus.facts(std::slice::from_ref(fact));
                join.fact(fact, bus);
            }),
            (None, Some(bus)) => bus.facts(facts),
            (_, None) => {}
        }
        state.show();
    }

    /// Has everybody who watches look at the log for themselves.
    pub(crate) fn trouble(&self) {
        for ear in self.state.lock().ears.values() {
            ear.look();
        }
    }

    /// A follower has ended. Unless it was told to, whoever watches needs another.
    pub(crate) fn unfollowed(&self, follower: &Followed) {
        let mut state = self.state.lock();
        let is = |one: &mut Following| one.name == follower.0;
        if state.follower.take_if(is).is_some() {
            for ear in state.ears.values() {
                ear.look();
            }
        }
    }
}

/// How it stands with what another node tells.
#[derive(Debug, Default)]
pub(crate) struct Stands {
    /// The position up to which the log is to be read at once.
    pub(crate) due: Option<Seq>,
    /// Something is missing.
    pub(crate) lost: bool,
    /// That is on its way.
    pub(crate) passing: bool,
}

/// The name of a follower.
pub(crate) struct Followed(u64);
