//! The keeper: an engine among peers takes up what nobody drives.
//!
//! It hears of letters, and looks for sessions that have something left to do and that no node holds
//! now. Whatever it finds it claims after a pause that grows with the load of its node, so the emptiest
//! is first. That is a hint and nothing more: the claim decides who has a session.

use std::collections::{HashSet, VecDeque};
use std::hash::{BuildHasher as _, RandomState};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::task::{JoinError, JoinSet};
use tokio::time::{Instant, MissedTickBehavior, interval_at, sleep};
use windlass_core::{Retry, Scope, SessionId};
use windlass_ports::{Inbox, News, SessionFilter, SessionHead, StoreError};

use super::clocks::Clocks;
use super::rests::{Rests, Telling};
use super::{Engine, Inner};
use crate::error::StartError;
use crate::peers::Peers;

/// Sessions that one look finds at most.
const PAGE: usize = 1_000;
/// Sessions that wait to be taken up at most: those that find no room are found again.
const WAITING: usize = 4_096;
/// Letters that are looked through at most for those of one session.
const LETTERS: usize = 1_000;
/// The longest time that one is passed over for the sake of others that are emptier.
const PASSED_OVER: Duration = Duration::from_millis(500);
/// Longest delay between sessions of one poll, and between its first and last: so that the first
/// node to poll does not adopt all of them.
const STEP: Duration = Duration::from_millis(5);
const STEPS: Duration = Duration::from_millis(200);
/// Least duration of a poll that suggests that the node was cut off from the store.
const CUT_OFF: Duration = Duration::from_secs(3);
/// When claims are looked at once the process goes on: at once, and again, as other nodes may be about
/// to take what they found free meanwhile.
const TOUCHES: [Duration; 3] = [
    Duration::ZERO,
    Duration::from_secs(1),
    Duration::from_secs(4),
];
/// The least pause before a letter's session is claimed: its driver takes the letter meanwhile.
const LETTER_PAUSE: Duration = Duration::from_millis(50);

/// Policy for adopting unclaimed sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Takeover {
    /// Interval of polls for unclaimed sessions, in milliseconds; at least 1.
    pub look_ms: u64,
    /// Most sessions that are adopted at a time; at least 1.
    pub at_once: usize,
    /// Longest delay in favour of emptier nodes, in milliseconds, when this node is full; shorter
    /// in proportion to its free room. At most half a second.
    pub pause_ms: u64,
}

impl Default for Takeover {
    fn default() -> Self {
        Self {
            look_ms: 250,
            at_once: 64,
            pause_ms: 200,
        }
    }
}

impl Engine {
    /// Takes up, from now on, what is left to do in sessions that nobody drives: those whose node has
    /// died, has let them go or has never been, and those for which letters wait. Of one tenant,
    /// where [`Peers::tenant`] names one. A task does it, which ends when the engine is shut down,
    /// parts or is dropped; from then on nothing is taken up. For an engine that is alone on its store
    /// it does nothing: see [`Engine::recover`].
    ///
    /// Sessions whose tools, hooks or redaction are not here are left alone, as by
    /// [`Engine::recover`]. One that does not open, or does not stay, is tried again after a second,
    /// and each time after twice as long, up to a minute; one that the store is not there for, or takes no
    /// writes, each second. What is wrong with a session is told once,
    /// and at most 20 of these a minute; that the store cannot be asked, once a minute.
    ///
    /// A node that drives as many sessions as it may takes up none. A process that stood still notices
    /// when it goes on, and a node whose lease was over when it looks: the sessions that are driven
    /// here then ask whether their claims stand, and those that have gone elsewhere end, with what
    /// runs in them, before they append anything.
    ///
    /// Is called within a tokio runtime, once.
    pub fn adopt(&self, takeover: Takeover) {
        let Some(peers) = &self.inner.peers else {
            return;
        };
        let arrivals = peers.inbox.arrivals();
        let keeper = Keeper::new(Arc::downgrade(&self.inner), takeover);
        tokio::spawn(keeper.run(arrivals));
    }
}

/// State of adopting sessions.
struct Keeper {
    engine: Weak<Inner>,
    takeover: Takeover,
    /// Found sessions that are not being adopted yet, in an order that no other node has.
    found: VecDeque<Found>,
    /// All of that, and what is being taken up.
    known: HashSet<SessionId>,
    taking: JoinSet<Taken>,
    looking: JoinSet<Result<Vec<SessionHead>, StoreError>>,
    /// When the store last answered a look, or was first to.
    answered: Instant,
    /// When claims are to be looked at.
    touches: VecDeque<Instant>,
    /// Start of the next poll, if the last one did not reach the end.
    after: Option<SessionId>,
    rests: Rests,
    order: RandomState,
    unseen: Telling,
    untaken: Telling,
    clocks: Clocks,
}

/// Reason for adopting a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cause {
    /// It is open, and nobody holds it.
    Free,
    /// A letter waits in it.
    Letter,
}

#[derive(Debug)]
struct Found {
    session: SessionId,
    cause: Cause,
    at: Instant,
    /// Delay after the first session of the poll.
    later: Duration,
}

/// Result of adopting a session.
struct Taken {
    session: SessionId,
    taken: Result<Take, StartError>,
}

enum Take {
    /// It goes on here.
    Up,
    /// It is of another tenant.
    Anothers,
    /// Its letter has been taken, or the engine is gone.
    Nothing,
}

impl Keeper {
    fn new(engine: Weak<Inner>, takeover: Takeover) -> Self {
        Self {
            engine,
            takeover,
            found: VecDeque::new(),
            known: HashSet::new(),
            taking: JoinSet::new(),
            looking: JoinSet::new(),
            answered: Instant::now(),
            touches: VecDeque::new(),
            after: None,
            rests: Rests::default(),
            order: RandomState::new(),
            unseen: Telling::of_one(),
            untaken: Telling::of_many(),
            clocks: Clocks::default(),
        }
    }

    async fn run(mut self, mut arrivals: News) {
        let every = Duration::from_millis(self.takeover.look_ms.max(1));
        let mut looks = interval_at(self.first_look(every), every);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut heard = true;
        loop {
            tokio::select! {
                _ = looks.tick() => {}
                session = arrivals.next(), if heard => match session {
                    Some(session) => {
                        let Some(engine) = self.engine() else { return };
                        self.hear(&engine, session);
                        self.begin(&engine);
                        continue;
                    }
                    // The inbox is gone, and soon the rest.
                    None => heard = false,
                },
                Some(taken) = self.taking.join_next() => {
                    let Some(engine) = self.engine() else { return };
                    self.took(taken);
                    self.begin(&engine);
                    continue;
                }
                Some(heads) = self.looking.join_next() => {
                    let Some(engine) = self.engine() else { return };
                    self.looked(&engine, heads);
                    self.begin(&engine);
                    continue;
                }
            }
            let Some(engine) = self.engine() else { return };
            if self.clocks.stood_still(&engine, every) {
                self.doubt("this process stood still");
            }
            self.touch(&engine);
            self.look(&engine);
        }
    }

    /// The next multiple of the interval on the clock: nodes look at the same moments, as near as their
    /// clocks are to each other, so that none is always first.
    fn first_look(&self, every: Duration) -> Instant {
        let now = Instant::now();
        let Some(engine) = self.engine() else {
            return now;
        };
        let every_ms = u64::try_from(every.as_millis()).unwrap_or(u64::MAX).max(1);
        let past_ms = engine.inner.ports.clock.now().0 % every_ms;
        let left = Duration::from_millis((every_ms - past_ms) % every_ms);
        now.checked_add(left).unwrap_or(now)
    }

    /// The engine, unless it takes up nothing any more.
    fn engine(&self) -> Option<Engine> {
        let inner = self.engine.upgrade()?;
        (!inner.shut.load(Ordering::SeqCst)).then_some(Engine { inner })
    }

    /// Its claims may be another node's by now.
    fn doubt(&mut self, why: &str) {
        tracing::warn!(
            "{why}: the sessions that are driven here see whether they are still its own"
        );
        let now = Instant::now();
        self.touches.clear();
        self.touches
            .extend(TOUCHES.map(|after| now.checked_add(after).unwrap_or(now)));
    }

    /// Has each session that is driven here see whether its claim stands, when it is time to.
    fn touch(&mut self, engine: &Engine) {
        let now = Instant::now();
        let mut due = false;
        while self.touches.front().is_some_and(|at| *at <= now) {
            due = self.touches.pop_front().is_some();
        }
        if !due {
            return;
        }
        let sessions: Vec<_> = engine.inner.slots().keys().cloned().collect();
        let driven = sessions.iter().filter(|session| engine.nudge(session));
        let driven = driven.count();
        tracing::debug!(driven, "sessions see whether they are still its own");
    }

    /// A letter came, for whoever drives a session.
    fn hear(&mut self, engine: &Engine, session: SessionId) {
        if !engine.nudge(&session) {
            self.find(session, Cause::Letter, Duration::ZERO);
        }
    }

    /// Begins to look for what nobody drives, unless a look is under way.
    fn look(&mut self, engine: &Engine) {
        let Some(peers) = &engine.inner.peers else {
            return;
        };
        // One that is full looks too: what it finds may be what it has lost itself.
        if !self.looking.is_empty() {
            return;
        }
        let filter = SessionFilter {
            tenant: peers.tenant.clone(),
            open: Some(true),
            free: true,
        };
        let (store, after) = (engine.inner.ports.store.clone(), self.after.clone());
        let looking = async move { store.sessions(&filter, after.as_ref(), PAGE).await };
        self.looking.spawn(looking);
    }

    fn looked(
        &mut self,
        engine: &Engine,
        heads: Result<Result<Vec<SessionHead>, StoreError>, JoinError>,
    ) {
        let error = match heads {
            Ok(Ok(heads)) => {
                let every = Duration::from_millis(self.takeover.look_ms.max(1));
                let late = every.saturating_mul(2).saturating_add(CUT_OFF);
                // A store that is slow each time is not asked for more each time.
                if self.answered.elapsed() > late && self.touches.is_empty() {
                    self.doubt("the store did not answer for a while");
                }
                self.answered = Instant::now();
                let full = heads.len() >= PAGE;
                self.after = heads.last().filter(|_| full).map(|head| head.id.clone());
                let mut found: Vec<_> = heads.into_iter().map(|head| head.id).collect();
                // Each node has an order of its own, so that they do not all try the same ones.
                found.sort_by_cached_key(|session| self.order.hash_one(session));
                let count = u32::try_from(found.len()).unwrap_or(u32::MAX).max(1);
                let step = STEP.min(STEPS / count);
                let mut later = Duration::ZERO;
                for session in found {
                    // One that is driven here is not held any more: its driver sees that.
                    if !engine.nudge(&session) {
                        self.find(session, Cause::Free, later);
                        later = later.saturating_add(step);
                    }
                }
                return;
            }
            Ok(Err(error)) => error.to_string(),
            Err(error) => error.to_string(),
        };
        if let Some(untold) = self.unseen.now() {
            tracing::error!(
                error,
                untold,
                "what nobody drives cannot be looked for: it waits until this succeeds"
            );
        }
    }

    fn find(&mut self, session: SessionId, cause: Cause, later: Duration) {
        let full = self.found.len() >= WAITING;
        if full || self.rests.rests(&session) || !self.known.insert(session.clone()) {
            return;
        }
        let at = Instant::now();
        self.found.push_back(Found {
            session,
            cause,
            at,
            later,
        });
    }

    /// Begins to take up what was found, as much at a time as may be.
    fn begin(&mut self, engine: &Engine) {
        let Some(peers) = &engine.inner.peers else {
            return;
        };
        while self.taking.len() < self.takeover.at_once.max(1) {
            if is_full(peers) {
                // They are for others; what is left is found again.
                for found in self.found.drain(..) {
                    self.known.remove(&found.session);
                }
                return;
            }
            let Some(found) = self.found.pop_front() else {
                return;
            };
            let pause = self.pause(peers, &found);
            let engine = Weak::clone(&self.engine);
            self.taking.spawn(async move {
                let taken = take(&engine, &found, pause).await;
                let session = found.session;
                Taken { session, taken }
            });
        }
    }

    /// Returns the time for which a session is left to others.
    fn pause(&self, peers: &Peers, found: &Found) -> Duration {
        let Takeover { pause_ms, .. } = self.takeover;
        let (driven, most) = (peers.load.driven() as u64, peers.load.most() as u64);
        let share_ms = pause_ms.saturating_mul(driven.min(most)) / most.max(1);
        // Of two that are as full, one is a little later.
        let spread_ms = self.order.hash_one(&found.session) % (pause_ms / 8).max(1);
        let waited = found.at.elapsed();
        let pause = Duration::from_millis(share_ms.saturating_add(spread_ms))
            .saturating_add(found.later.saturating_sub(waited));
        let pause = pause.min(PASSED_OVER.saturating_sub(waited));
        match found.cause {
            Cause::Free => pause,
            Cause::Letter => pause.max(LETTER_PAUSE),
        }
    }

    fn took(&mut self, taken: Result<Taken, JoinError>) {
        let Ok(Taken { session, taken }) = taken else {
            tracing::error!("taking up a session panicked: this is a defect");
            // Which one is not known any more; those that wait are found again.
            self.found.clear();
            self.known.clear();
            return;
        };
        self.known.remove(&session);
        let error = match taken {
            // One that is free again at once did not stay, and would not the next time.
            Ok(Take::Up) => return self.rests.tried(&session),
            Ok(Take::Anothers) => return self.rests.anothers(&session),
            // It was erased meanwhile, or there is no room here: then others have some.
            Ok(Take::Nothing)
            | Err(StartError::Unknown(_) | StartError::Busy { .. } | StartError::Shut(_)) => return,
            Err(StartError::Locked(_)) => return self.rests.held(&session),
            Err(error) => error,
        };
        match &error {
            StartError::Lacking { .. } => self.rests.anothers(&session),
            // That is no fault of the session: once the store takes it, it is to go on at once.
            StartError::Store(error) if error.retry == Retry::Soon => {
                self.rests.held(&session);
            }
            StartError::Exists(_)
            | StartError::Unfinished { .. }
            | StartError::Corrupt(_)
            | StartError::Misfit { .. }
            | StartError::Settings(_)
            | StartError::Child(_)
            | StartError::Store(_)
            | StartError::Locked(_)
            | StartError::Unknown(_)
            | StartError::Busy { .. }
            | StartError::Shut(_) => self.rests.tried(&session),
        }
        if self.rests.is_news(&session)
            && let Some(untold) = self.untaken.now()
        {
            tracing::warn!(
                %session, %error, untold,
                "not taken up: where it is not mended, and no other node takes it, it stays open"
            );
        }
    }
}

fn is_full(peers: &Peers) -> bool {
    peers.load.driven() >= peers.load.most()
}

/// Takes a session up after a pause.
async fn take(engine: &Weak<Inner>, found: &Found, pause: Duration) -> Result<Take, StartError> {
    let Found { session, cause, .. } = found;
    if *cause == Cause::Letter
        && let Some(engine) = engine.upgrade().map(|inner| Engine { inner })
        && !is_ours(&engine, session).await?
    {
        return Ok(Take::Anothers);
    }
    sleep(pause).await;
    let Some(engine) = engine.upgrade().map(|inner| Engine { inner }) else {
        return Ok(Take::Nothing);
    };
    if *cause == Cause::Letter
        && let Some(peers) = &engine.inner.peers
        && !waits(peers.inbox.as_ref(), session).await
    {
        return Ok(Take::Nothing);
    }
    engine.take_up(session).await.map(|()| Take::Up)
}

/// Returns true if this engine is for the tenant of a session.
async fn is_ours(engine: &Engine, session: &SessionId) -> Result<bool, StartError> {
    let tenant = engine.inner.peers.as_ref();
    let Some(tenant) = tenant.and_then(|peers| peers.tenant.as_deref()) else {
        return Ok(true);
    };
    let scope = Scope::system("whose letters they are");
    let info = engine.lookup(session, &scope).await?;
    Ok(match &*info.owner {
        Scope::Principal { tenant: of, .. } => of == tenant,
        Scope::System { .. } => false,
    })
}

/// Returns true if a letter still waits in a session, as far as it can be seen.
async fn waits(inbox: &dyn Inbox, session: &SessionId) -> bool {
    match inbox.waiting(None, LETTERS).await {
        // Where so many wait, the claim may as well tell.
        Ok(waiting) => waiting.len() >= LETTERS || waiting.contains(session),
        Err(error) => {
            tracing::debug!(%session, %error, "looking for its letters");
            true
        }
    }
}
