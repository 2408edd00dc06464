//! Adoption: an engine in a cluster adopts sessions that no node drives.
//!
//! It receives notices of remote commands, and polls for sessions that have unfinished work and no
//! claim. It claims each session after a delay that grows with its node's load, so the least loaded
//! node is first. The delay is only a hint: the claim decides which node drives a session.

use std::collections::{HashSet, VecDeque};
use std::hash::{BuildHasher as _, RandomState};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::task::{JoinError, JoinSet};
use tokio::time::{Instant, MissedTickBehavior, interval_at, sleep};
use windlass_core::{Retry, Scope, SessionId};
use windlass_ports::{LogSignal, Mailbox, SessionFilter, SessionListing, StoreError};

use super::backoff::{AdoptionBackoffs, ReportLimiter};
use super::suspend::SuspendDetector;
use super::{Engine, Inner};
use crate::error::StartError;
use crate::peers::Peers;

/// Most sessions that one poll finds.
const PAGE: usize = 1_000;
/// Most sessions that wait for adoption. Sessions beyond it are found again by a later poll.
const MAX_CANDIDATES: usize = 4_096;
/// Most remote commands that are read to find those of one session.
const MAX_COMMANDS_READ: usize = 1_000;
/// Longest delay of an adoption in favour of less loaded nodes.
const MAX_DELAY: Duration = Duration::from_millis(500);
/// Longest delay between sessions of one poll, and between its first and last. With it the first
/// node to poll does not adopt all of them.
const STEP: Duration = Duration::from_millis(5);
const STEPS: Duration = Duration::from_millis(200);
/// Least duration of a poll that suggests that the node was cut off from the store.
const CUT_OFF_POLL: Duration = Duration::from_secs(3);
/// Times of claim checks after the process was suspended: at once, and again later, since other
/// nodes may be about to claim sessions that they found unclaimed.
const CLAIM_CHECKS: [Duration; 3] =
    [Duration::ZERO, Duration::from_secs(1), Duration::from_secs(4)];
/// Least delay before a remote command's session is claimed, in which its driver may take the
/// command.
const COMMAND_DELAY: Duration = Duration::from_millis(50);

/// Policy for adopting unclaimed sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AdoptionPolicy {
    /// Interval of polls for unclaimed sessions, in milliseconds; at least 1.
    pub poll_ms: u64,
    /// Most sessions that are adopted at a time; at least 1.
    pub at_once: usize,
    /// Longest delay in favour of emptier nodes, in milliseconds, when this node is full; shorter
    /// in proportion to its free room. At most half a second.
    pub max_delay_ms: u64,
}

impl Default for AdoptionPolicy {
    fn default() -> Self {
        Self { poll_ms: 250, at_once: 64, max_delay_ms: 200 }
    }
}

impl Engine {
    /// Adopts, from now on, sessions that no node drives and that have unfinished work. Such a
    /// session's node has died or has released it, no node has driven it yet, or remote commands
    /// are pending for it. If [`Peers::tenant`] names a tenant, only its sessions are adopted.
    ///
    /// A task does the work. It ends when the engine is shut down, hands off its sessions or is
    /// dropped; nothing is adopted afterwards. For an engine without a cluster this does nothing:
    /// see [`Engine::recover`].
    ///
    /// Sessions whose tools, hooks or redaction this process lacks are skipped, as by
    /// [`Engine::recover`]. A session that does not open, or ends at once, is tried again after a
    /// second, then after a delay that doubles up to a minute. While the store is unavailable or
    /// accepts no writes, the session is tried again each second. The fault of a session is logged
    /// once, with at most 20 such reports a minute. A store that cannot be polled is logged once a
    /// minute.
    ///
    /// A node at its session limit adopts none. The task detects that the process was suspended,
    /// and at each poll that the node's lease has expired. The sessions that are driven here then
    /// check their claims. Those that another node has claimed end, with their effects, before they
    /// append anything.
    ///
    /// Must be called within a tokio runtime, once.
    pub fn adopt(&self, takeover: AdoptionPolicy) {
        let Some(peers) = &self.inner.peers else {
            return;
        };
        let arrivals = peers.mailbox.arrivals();
        let keeper = Adopter::new(Arc::downgrade(&self.inner), takeover);
        tokio::spawn(keeper.run(arrivals));
    }
}

/// State of adopting sessions.
struct Adopter {
    engine: Weak<Inner>,
    takeover: AdoptionPolicy,
    /// Found sessions that are not being adopted yet, in an order that no other node has.
    candidates: VecDeque<AdoptionCandidate>,
    /// Candidates, and sessions that are being adopted.
    known: HashSet<SessionId>,
    adopting: JoinSet<AdoptionResult>,
    polling: JoinSet<Result<Vec<SessionListing>, StoreError>>,
    /// Time at which the store last answered a poll, or of the first poll.
    answered: Instant,
    /// Times of the next claim checks.
    claim_checks: VecDeque<Instant>,
    /// Start of the next poll, if the last one did not reach the end.
    after: Option<SessionId>,
    backoffs: AdoptionBackoffs,
    order: RandomState,
    poll_reports: ReportLimiter,
    adoption_reports: ReportLimiter,
    suspend: SuspendDetector,
}

/// Reason for adopting a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AdoptionCause {
    /// The session is unfinished, and no node holds its claim.
    Unclaimed,
    /// A remote command is pending for the session.
    RemoteCommand,
}

#[derive(Debug)]
struct AdoptionCandidate {
    session: SessionId,
    cause: AdoptionCause,
    at: Instant,
    /// Delay after the first session of the poll.
    later: Duration,
}

/// Result of adopting a session.
struct AdoptionResult {
    session: SessionId,
    outcome: Result<AdoptionOutcome, StartError>,
}

enum AdoptionOutcome {
    /// The session continues here.
    Adopted,
    /// The session belongs to another tenant.
    OtherTenant,
    /// The remote command has been taken, or the engine is gone.
    NotNeeded,
}

impl Adopter {
    fn new(engine: Weak<Inner>, takeover: AdoptionPolicy) -> Self {
        Self {
            engine,
            takeover,
            candidates: VecDeque::new(),
            known: HashSet::new(),
            adopting: JoinSet::new(),
            polling: JoinSet::new(),
            answered: Instant::now(),
            claim_checks: VecDeque::new(),
            after: None,
            backoffs: AdoptionBackoffs::default(),
            order: RandomState::new(),
            poll_reports: ReportLimiter::once_a_minute(),
            adoption_reports: ReportLimiter::per_session(),
            suspend: SuspendDetector::default(),
        }
    }

    async fn run(mut self, mut arrivals: LogSignal) {
        let every = Duration::from_millis(self.takeover.poll_ms.max(1));
        let mut looks = interval_at(self.first_poll(every), every);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut heard = true;
        loop {
            tokio::select! {
                _ = looks.tick() => {}
                session = arrivals.next(), if heard => match session {
                    Some(session) => {
                        let Some(engine) = self.engine() else { return };
                        self.on_remote_command(&engine, session);
                        self.start_adoptions(&engine);
                        continue;
                    }
                    // The mailbox is gone, and the engine will be soon.
                    None => heard = false,
                },
                Some(taken) = self.adopting.join_next() => {
                    let Some(engine) = self.engine() else { return };
                    self.on_adopted(taken);
                    self.start_adoptions(&engine);
                    continue;
                }
                Some(heads) = self.polling.join_next() => {
                    let Some(engine) = self.engine() else { return };
                    self.on_polled(&engine, heads);
                    self.start_adoptions(&engine);
                    continue;
                }
            }
            let Some(engine) = self.engine() else { return };
            if self.suspend.was_suspended(&engine, every) {
                self.suspect_claims("this process stood still");
            }
            self.check_claims(&engine);
            self.poll(&engine);
        }
    }

    /// Returns the next multiple of the interval on the clock. All nodes poll at the same moments,
    /// as far as their clocks agree, so that none is always first.
    fn first_poll(&self, every: Duration) -> Instant {
        let now = Instant::now();
        let Some(engine) = self.engine() else {
            return now;
        };
        let every_ms = u64::try_from(every.as_millis()).unwrap_or(u64::MAX).max(1);
        let past_ms = engine.inner.ports.clock.now().0 % every_ms;
        let left = Duration::from_millis((every_ms - past_ms) % every_ms);
        now.checked_add(left).unwrap_or(now)
    }

    /// Returns the engine, unless it adopts nothing any more.
    fn engine(&self) -> Option<Engine> {
        let inner = self.engine.upgrade()?;
        (!inner.is_shut_down.load(Ordering::SeqCst)).then_some(Engine { inner })
    }

    /// Schedules claim checks, since another node may have taken the claims.
    fn suspect_claims(&mut self, why: &str) {
        tracing::warn!(
            "{why}: the sessions that are driven here see whether they are still its own"
        );
        let now = Instant::now();
        self.claim_checks.clear();
        self.claim_checks.extend(CLAIM_CHECKS.map(|after| now.checked_add(after).unwrap_or(now)));
    }

    /// Asks each driver here to check its claim when a check is due.
    fn check_claims(&mut self, engine: &Engine) {
        let now = Instant::now();
        let mut due = false;
        while self.claim_checks.front().is_some_and(|at| *at <= now) {
            due = self.claim_checks.pop_front().is_some();
        }
        if !due {
            return;
        }
        let sessions: Vec<_> = engine.inner.slots().keys().cloned().collect();
        let driven = sessions.iter().filter(|session| engine.notify_driver(session));
        let driven = driven.count();
        tracing::debug!(driven, "sessions see whether they are still its own");
    }

    /// Handles the arrival of a remote command for a session.
    fn on_remote_command(&mut self, engine: &Engine, session: SessionId) {
        if !engine.notify_driver(&session) {
            self.add_candidate(session, AdoptionCause::RemoteCommand, Duration::ZERO);
        }
    }

    /// Starts a poll for unclaimed sessions, unless one is under way.
    fn poll(&mut self, engine: &Engine) {
        let Some(peers) = &engine.inner.peers else {
            return;
        };
        // A node at its limit polls too: the result may show a session that it has lost itself.
        if !self.polling.is_empty() {
            return;
        }
        let all = SessionFilter::of(peers.tenants.clone()).open();
        let filter = SessionFilter { unclaimed: true, ..all };
        let (store, after) = (engine.inner.ports.store.clone(), self.after.clone());
        let looking = async move { store.sessions(&filter, after.as_ref(), PAGE).await };
        self.polling.spawn(looking);
    }

    fn on_polled(
        &mut self,
        engine: &Engine,
        heads: Result<Result<Vec<SessionListing>, StoreError>, JoinError>,
    ) {
        let error = match heads {
            Ok(Ok(heads)) => {
                let every = Duration::from_millis(self.takeover.poll_ms.max(1));
                let late = every.saturating_mul(2).saturating_add(CUT_OFF_POLL);
                // A store that is always slow is not loaded further by claim checks.
                if self.answered.elapsed() > late && self.claim_checks.is_empty() {
                    self.suspect_claims("the store did not answer for a while");
                }
                self.answered = Instant::now();
                let full = heads.len() >= PAGE;
                self.after = heads.last().filter(|_| full).map(|head| head.id.clone());
                let mut found: Vec<_> = heads.into_iter().map(|head| head.id).collect();
                // Each node has an order of its own, so that nodes do not all try the same
                // sessions.
                found.sort_by_cached_key(|session| self.order.hash_one(session));
                let count = u32::try_from(found.len()).unwrap_or(u32::MAX).max(1);
                let step = STEP.min(STEPS / count);
                let mut later = Duration::ZERO;
                for session in found {
                    // A session that is driven here has lost its claim: its driver notices that.
                    if !engine.notify_driver(&session) {
                        self.add_candidate(session, AdoptionCause::Unclaimed, later);
                        later = later.saturating_add(step);
                    }
                }
                return;
            }
            Ok(Err(error)) => error.to_string(),
            Err(error) => error.to_string(),
        };
        if let Some(untold) = self.poll_reports.allow() {
            tracing::error!(
                error,
                untold,
                "what nobody drives cannot be looked for: it waits until this succeeds"
            );
        }
    }

    fn add_candidate(&mut self, session: SessionId, cause: AdoptionCause, later: Duration) {
        let full = self.candidates.len() >= MAX_CANDIDATES;
        if full || self.backoffs.is_waiting(&session) || !self.known.insert(session.clone()) {
            return;
        }
        let at = Instant::now();
        self.candidates.push_back(AdoptionCandidate { session, cause, at, later });
    }

    /// Starts adoptions of candidates, up to the limit of concurrent ones.
    fn start_adoptions(&mut self, engine: &Engine) {
        let Some(peers) = &engine.inner.peers else {
            return;
        };
        while self.adopting.len() < self.takeover.at_once.max(1) {
            if is_full(peers) {
                // Left to other nodes; a later poll finds the remaining ones again.
                for found in self.candidates.drain(..) {
                    self.known.remove(&found.session);
                }
                return;
            }
            let Some(found) = self.candidates.pop_front() else {
                return;
            };
            let pause = self.delay(peers, &found);
            let engine = Weak::clone(&self.engine);
            self.adopting.spawn(async move {
                let taken = adopt_after(&engine, &found, pause).await;
                let session = found.session;
                AdoptionResult { session, outcome: taken }
            });
        }
    }

    /// Returns the delay that gives other nodes precedence for a session.
    fn delay(&self, peers: &Peers, found: &AdoptionCandidate) -> Duration {
        let AdoptionPolicy { max_delay_ms: pause_ms, .. } = self.takeover;
        let (driven, most) = (peers.load.driven() as u64, peers.load.max_sessions() as u64);
        let share_ms = pause_ms.saturating_mul(driven.min(most)) / most.max(1);
        // Of two equally loaded nodes, one is slightly later.
        let spread_ms = self.order.hash_one(&found.session) % (pause_ms / 8).max(1);
        let waited = found.at.elapsed();
        let pause = Duration::from_millis(share_ms.saturating_add(spread_ms))
            .saturating_add(found.later.saturating_sub(waited));
        let pause = pause.min(MAX_DELAY.saturating_sub(waited));
        match found.cause {
            AdoptionCause::Unclaimed => pause,
            AdoptionCause::RemoteCommand => pause.max(COMMAND_DELAY),
        }
    }

    fn on_adopted(&mut self, taken: Result<AdoptionResult, JoinError>) {
        let Ok(AdoptionResult { session, outcome: taken }) = taken else {
            tracing::error!("taking up a session panicked: this is a defect");
            // The failed session is unknown. A later poll finds the pending ones again.
            self.candidates.clear();
            self.known.clear();
            return;
        };
        self.known.remove(&session);
        let error = match taken {
            // A session that is released at once would be released again.
            Ok(AdoptionOutcome::Adopted) => return self.backoffs.on_tried(&session),
            Ok(AdoptionOutcome::OtherTenant) => return self.backoffs.on_other_tenant(&session),
            // It was erased, or this node has no room and others have.
            Ok(AdoptionOutcome::NotNeeded)
            | Err(StartError::Unknown(_) | StartError::Busy { .. } | StartError::ShutDown(_)) => {
                return;
            }
            Err(StartError::Locked(_)) => return self.backoffs.on_held(&session),
            Err(error) => error,
        };
        match &error {
            StartError::MissingParts { .. } => self.backoffs.on_other_tenant(&session),
            // The fault is the store's. The session continues as soon as the store accepts writes.
            StartError::Store(error) if error.retry == Retry::Soon => {
                self.backoffs.on_held(&session);
            }
            StartError::Exists(_)
            | StartError::Unfinished { .. }
            | StartError::Corrupt(_)
            | StartError::InvalidFact { .. }
            | StartError::Settings(_)
            | StartError::Child(_)
            | StartError::Store(_)
            | StartError::Locked(_)
            | StartError::Unknown(_)
            | StartError::Busy { .. }
            | StartError::ShutDown(_) => self.backoffs.on_tried(&session),
        }
        if self.backoffs.should_report(&session)
            && let Some(untold) = self.adoption_reports.allow()
        {
            tracing::warn!(
                %session, %error, untold,
                "not taken up: where it is not mended, and no other node takes it, it stays open"
            );
        }
    }
}

fn is_full(peers: &Peers) -> bool {
    peers.load.driven() >= peers.load.max_sessions()
}

/// Adopts a session after a delay.
async fn adopt_after(
    engine: &Weak<Inner>,
    found: &AdoptionCandidate,
    pause: Duration,
) -> Result<AdoptionOutcome, StartError> {
    let AdoptionCandidate { session, cause, .. } = found;
    if *cause == AdoptionCause::RemoteCommand
        && let Some(engine) = engine.upgrade().map(|inner| Engine { inner })
        && !is_ours(&engine, session).await?
    {
        return Ok(AdoptionOutcome::OtherTenant);
    }
    sleep(pause).await;
    let Some(engine) = engine.upgrade().map(|inner| Engine { inner }) else {
        return Ok(AdoptionOutcome::NotNeeded);
    };
    if *cause == AdoptionCause::RemoteCommand
        && let Some(peers) = &engine.inner.peers
        && !has_remote_command(peers.mailbox.as_ref(), session).await
    {
        return Ok(AdoptionOutcome::NotNeeded);
    }
    engine.recover_session(session).await.map(|()| AdoptionOutcome::Adopted)
}

/// Returns true if a session belongs to this engine's tenant.
async fn is_ours(engine: &Engine, session: &SessionId) -> Result<bool, StartError> {
    let tenant = engine.inner.peers.as_ref();
    let Some(tenant) = tenant.and_then(|peers| peers.tenants.name()) else {
        return Ok(true);
    };
    let scope = Scope::system("whose letters they are");
    let info = engine.lookup(session, &scope).await?;
    Ok(match &*info.owner {
        Scope::Principal { tenant: of, .. } => of == tenant,
        Scope::System { .. } => false,
    })
}

/// Returns true if a remote command is still pending for a session, as far as this node can see.
async fn has_remote_command(inbox: &dyn Mailbox, session: &SessionId) -> bool {
    match inbox.pending_sessions(None, MAX_COMMANDS_READ).await {
        // With this many pending commands, the claim decides.
        Ok(waiting) => waiting.len() >= MAX_COMMANDS_READ || waiting.contains(session),
        Err(error) => {
            tracing::debug!(%session, %error, "looking for its letters");
            true
        }
    }
}
