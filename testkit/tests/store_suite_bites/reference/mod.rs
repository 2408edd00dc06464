//! A small store that keeps every promise of the port, or all but one.

#![expect(clippy::unwrap_used, reason = "it is part of a test")]

mod below;
mod beyond;
mod fault;
mod place;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use async_trait::async_trait;
pub(crate) use fault::Fault;
pub(crate) use place::Place;
use tokio::sync::Notify;
use windlass_core::{Epoch, FactFormat, RecordedFact, Seq, SessionId};
use windlass_ports::{
    ChainLink, Durability, Fencing, LogStore, LogVerification, MAX_FACT_BYTES, SessionClaim,
    SessionFilter, SessionListing, StoreCapabilities, StoreError, StoreErrorKind, StoredCheckpoint,
    VerifiedLog, codec,
};
use windlass_testkit::store::FactDamageKind;

use crate::meeting::Meeting;

const MAX_SNAPSHOT_BYTES: usize = 64 * 1024;

#[derive(Default)]
struct Kept {
    epoch: u64,
    logs: BTreeMap<SessionId, Log>,
    /// What was erased and is not gone.
    erased: BTreeMap<SessionId, Log>,
    openings: u64,
    /// Appends that are under way.
    writing: usize,
}

#[derive(Default)]
struct Log {
    given: Vec<Epoch>,
    claim: Option<Epoch>,
    released: bool,
    facts: Vec<Arc<RecordedFact>>,
    last_batch: usize,
    first_batch: usize,
    /// The append that is recognised: its claim, its place, and how many facts it has.
    recent: Option<(Epoch, Seq, usize)>,
    /// With the link of its position when it was kept.
    snapshot: Option<(StoredCheckpoint, ChainLink)>,
    /// How many of the facts are outside of the process.
    outside: usize,
    damage: Option<(Seq, FactDamageKind)>,
}

struct Reference {
    fault: Option<Fault>,
    kept: Arc<Mutex<Kept>>,
    racers: Meeting,
    appending: Mutex<()>,
    /// Reads so far, counted while the log is locked.
    reads: AtomicUsize,
    /// Claims of this object.
    claims: AtomicU64,
    /// What this object has seen of logs, and claimed.
    looks: Mutex<BTreeMap<SessionId, usize>>,
    ours: Mutex<BTreeSet<SessionId>>,
    /// Tells those who follow a log that one has grown.
    wake: Arc<Notify>,
}

/// How long a faulty append waits for a reader.
const PATIENCE: Duration = Duration::from_millis(200);

impl Drop for Reference {
    fn drop(&mut self) {
        for log in self.kept().logs.values_mut() {
            log.outside = log.facts.len();
        }
    }
}

impl Reference {
    fn new(fault: Option<Fault>, kept: Arc<Mutex<Kept>>, wake: Arc<Notify>) -> Self {
        Self {
            fault,
            kept,
            racers: Meeting::default(),
            appending: Mutex::default(),
            reads: AtomicUsize::new(0),
            claims: AtomicU64::new(0),
            looks: Mutex::default(),
            ours: Mutex::default(),
            wake,
        }
    }

    fn is(&self, fault: Fault) -> bool {
        self.fault == Some(fault)
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap()
    }

    fn shown(&self, log: &Log) -> bool {
        !log.facts.is_empty() || (self.is(Fault::ShowsClaimedSessions) && log.claim.is_some())
    }

    /// Checks an append as far as it can be before it is written.
    fn check(
        &self,
        session: &SessionId,
        epoch: Epoch,
        after: Seq,
        facts: &[Arc<RecordedFact>],
    ) -> Result<(), StoreError> {
        let mut kept = self.kept();
        let log = kept.logs.entry(session.clone()).or_default();
        let claimed = log.claim == Some(epoch)
            || (self.is(Fault::NeedsNoClaim) && log.claim.is_none())
            || self.is(Fault::FencesNoOtherObject)
            || (self.is(Fault::KeepsEarlierClaims) && log.given.contains(&epoch));
        if !claimed {
            return Err(error(StoreErrorKind::NotClaimed));
        }
        let refusal = self.refusal(session, after, facts, log);
        if refusal.is_err() && self.is(Fault::DropsTheClaimOnRefusal) {
            log.claim = None;
        }
        refusal
    }

    fn refusal(
        &self,
        session: &SessionId,
        after: Seq,
        facts: &[Arc<RecordedFact>],
        log: &mut Log,
    ) -> Result<(), StoreError> {
        let last = log.last();
        if after != last && !self.is(Fault::TakesAnyPosition) {
            return Err(error(StoreErrorKind::Conflict { last }));
        }
        if facts.is_empty() && !self.is(Fault::TakesEmptyBatches) {
            return Err(error(StoreErrorKind::Invalid));
        }
        for (index, fact) in facts.iter().enumerate() {
            let foreign = fact.session != *session && !self.is(Fault::TakesForeignFacts);
            let misnumbered =
                fact.seq != after.plus(index as u64 + 1) && !self.is(Fault::TakesAnyNumbers);
            if foreign || misnumbered {
                if self.is(Fault::KeepsFactsBeforeABadOne) {
                    log.facts.extend_from_slice(&facts[..index]);
                }
                return Err(error(StoreErrorKind::Invalid));
            }
            let size = codec::encode(fact).unwrap().len();
            if size > MAX_FACT_BYTES && !self.is(Fault::TakesTooLargeFacts) {
                return Err(error(StoreErrorKind::TooLarge));
            }
        }
        Ok(())
    }

    fn write(&self, session: &SessionId, facts: &[Arc<RecordedFact>]) {
        let mut kept = self.kept();
        let log = kept.logs.entry(session.clone()).or_default();
        log.last_batch = facts.len();
        if log.facts.is_empty() {
            log.first_batch = facts.len();
        }
        log.recent = log.claim.map(|claim| (claim, log.last(), facts.len()));
        let before = log.facts.len();
        log.facts.extend_from_slice(facts);
        self.appended(session, log.facts.len());
        log.outside = match self.fault {
            Some(Fault::WritesWhenDropped) => log.outside,
            Some(Fault::WritesOneAppendLate) => before,
            _ => log.facts.len(),
        };
        drop(kept);
        if !self.is(Fault::WakesNobody) {
            self.wake.notify_waiters();
        }
    }

    /// Checks and writes with no other append between.
    fn append_at_once(
        &self,
        session: &SessionId,
        epoch: Epoch,
        after: Seq,
        facts: &[Arc<RecordedFact>],
    ) -> Result<(), StoreError> {
        let _alone = self.appending.lock().unwrap();
        if self.recognises(session, epoch, after, facts) {
            return Ok(());
        }
        self.check(session, epoch, after, facts)?;
        let kept = match self.fault {
            Some(Fault::CutsBigBatches) => facts.len().min(1_000),
            _ => facts.len(),
        };
        self.write(session, &facts[..kept]);
        Ok(())
    }

    async fn write_fact_by_fact(&self, session: &SessionId, facts: &[Arc<RecordedFact>]) {
        for fact in facts {
            self.write(session, std::slice::from_ref(fact));
            self.until_read().await;
        }
    }

    /// Waits until somebody has read what stands now; not for ever, as not every case reads.
    async fn until_read(&self) {
        let reads = self.reads.load(Ordering::SeqCst);
        let begun = Instant::now();
        while self.reads.load(Ordering::SeqCst) == reads && begun.elapsed() < PATIENCE {
            tokio::task::yield_now().await;
        }
    }
}

#[async_trait]
impl LogStore for Reference {
    fn capabilities(&self) -> StoreCapabilities {
        StoreCapabilities {
            durability: Durability::Process,
            max_fact_bytes: MAX_FACT_BYTES,
            fencing: match self.fault {
                Some(Fault::DeclaresNoFencing) => Fencing::Object,
                _ => Fencing::AllWriters,
            },
            tail_delay_ms: (!self.is(Fault::DeclaresNoTail)).then_some(0),
            erase: !self.is(Fault::DeclaresNoErasing),
            retention_ms: None,
            max_checkpoint_bytes: (!self.is(Fault::DeclaresNoSnapshots))
                .then_some(MAX_SNAPSHOT_BYTES),
        }
    }

    async fn claim(&self, session: &SessionId) -> Result<SessionClaim, StoreError> {
        let before = self.kept().epoch;
        if self.is(Fault::GivesAnEpochTwice) {
            self.racers.meet().await;
        }
        let _alone = self.appending.lock().unwrap();
        let mut kept = self.kept();
        kept.epoch = match self.fault {
            Some(Fault::GivesAnEpochTwice) => before + 1,
            _ => kept.epoch + 1,
        };
        let mut epoch = Epoch(kept.epoch);
        if self.is(Fault::CountsEpochsByObject) {
            epoch = Epoch(self.claims.fetch_add(1, Ordering::SeqCst) + 1);
        }
        let log = kept.logs.entry(session.clone()).or_default();
        if log.released && self.is(Fault::ClaimsOnlyOnce) {
            return Err(error(StoreErrorKind::Locked));
        }
        if self.is(Fault::CountsEpochsBySession) {
            epoch = Epoch(log.given.len() as u64 + 1);
        }
        log.claim = Some(epoch);
        log.given.push(epoch);
        let last = self.claimed_end(session, log);
        self.ours.lock().unwrap().insert(session.clone());
        Ok(SessionClaim { epoch, last, repaired: None })
    }

    async fn release(&self, session: &SessionId, epoch: Epoch) -> Result<(), StoreError> {
        let mut kept = self.kept();
        let Some(log) = kept.logs.get_mut(session) else {
            return Ok(());
        };
        let latest = log.claim == Some(epoch) || self.is(Fault::ReleasesAnyClaim);
        if latest && !self.is(Fault::KeepsReleasedClaims) {
            log.claim = None;
            log.released = true;
        }
        Ok(())
    }

    async fn append(
        &self,
        session: &SessionId,
        epoch: Epoch,
        after: Seq,
        facts: &[Arc<RecordedFact>],
    ) -> Result<(), StoreError> {
        self.fail_while_busy().await?;
        match self.fault {
            Some(Fault::AppendsFactByFact) => {
                self.check(session, epoch, after, facts)?;
                self.write_fact_by_fact(session, facts).await;
            }
            Some(Fault::ChecksThenActs) => {
                self.check(session, epoch, after, facts)?;
                self.racers.meet().await;
                self.write(session, facts);
            }
            Some(Fault::RecognisesAfterwards) => {
                let recognised = self.recognises(session, epoch, after, facts);
                self.racers.meet().await;
                let _alone = self.appending.lock().unwrap();
                if !recognised {
                    self.check(session, epoch, after, facts)?;
                    self.write(session, facts);
                }
            }
            Some(Fault::LosesWhatComesAtOnce) => {
                self.check(session, epoch, after, facts)?;
                if !self.racers.meet().await {
                    self.write(session, facts);
                }
            }
            _ => self.append_at_once(session, epoch, after, facts)?,
        }
        Ok(())
    }

    async fn read(
        &self,
        session: &SessionId,
        after: Seq,
        limit: usize,
    ) -> Result<Vec<RecordedFact>, StoreError> {
        let mut kept = self.kept();
        self.reads.fetch_add(1, Ordering::SeqCst);
        if self.is(Fault::RecognisesUntilItIsRead) {
            kept.logs.values_mut().for_each(|log| log.recent = None);
        }
        let log = match kept.logs.get(session).filter(|log| self.shown(log)) {
            Some(log) => log,
            None if self.is(Fault::ReadsUnknownAsEmpty) => return Ok(Vec::new()),
            None => return Err(error(StoreErrorKind::Unknown)),
        };
        if log.claim.is_none() && self.is(Fault::ReadsOnlyWhenClaimed) {
            return Err(error(StoreErrorKind::NotClaimed));
        }
        let skip = match self.fault {
            Some(Fault::CountsTheCursorIn) => after.0.saturating_sub(1),
            _ => after.0,
        };
        let limit = if self.is(Fault::IgnoresTheLimit) { usize::MAX } else { limit };
        let skip = usize::try_from(skip).unwrap();
        let page = log.facts.iter().skip(skip).take(limit);
        let mut page: Vec<_> = page.map(|fact| RecordedFact::clone(fact)).collect();
        if self.is(Fault::ReadsBackwards) {
            page.reverse();
        }
        if self.is(Fault::DropsNulCharacters) {
            page = page.iter().map(without_nul).collect();
        }
        if self.is(Fault::WritesOnlyKnownFields) {
            page.iter_mut().for_each(|fact| fact.format = FactFormat::CURRENT);
        }
        if self.is(Fault::ReadsFromAnOldLook) {
            let seen = self.looked(session, log) as u64;
            page.retain(|fact| fact.seq <= Seq(seen));
        }
        self.damaged_page(log, after, page)
    }

    async fn probe(&self) -> Result<(), StoreError> {
        match self.fault {
            Some(Fault::ProbesNothing) => Err(error(StoreErrorKind::Io)),
            Some(Fault::ProbesInASession) => {
                let id = SessionId::new("probe").unwrap();
                let facts = windlass_testkit::store::numbered_facts(&id, Seq::ZERO, 1);
                self.kept().logs.entry(id).or_default().facts = facts;
                Ok(())
            }
            Some(Fault::ProbesOverTheLastAppend) => {
                self.kept().logs.values_mut().for_each(|log| log.recent = None);
                Ok(())
            }
            Some(_) | None => Ok(()),
        }
    }

    async fn sessions(
        &self,
        filter: &SessionFilter,
        after: Option<&SessionId>,
        limit: usize,
    ) -> Result<Vec<SessionListing>, StoreError> {
        let kept = self.kept();
        let shown = kept.logs.iter().filter(|(_, log)| self.shown(log));
        let mut ids: Vec<_> = shown.map(|(id, _)| id.clone()).collect();
        if self.is(Fault::ListsInOrderOfFileNames) {
            ids.sort_by_key(|id| format!("{id}.log"));
        }
        let inclusive = self.is(Fault::ListsTheCursorToo);
        let fits =
            |id: &SessionId| after.is_none_or(|after| id > after || (inclusive && id == after));
        let ids: Vec<_> = ids.into_iter().filter(fits).collect();
        Ok(self.listed(&kept, filter, ids, limit))
    }

    async fn verify(&self, session: &SessionId) -> Result<LogVerification, StoreError> {
        let kept = self.kept();
        let log = kept.logs.get(session).filter(|log| self.shown(log));
        let log = log.ok_or_else(|| error(StoreErrorKind::Unknown))?;
        self.sound(log)?;
        let chained = if self.is(Fault::ChainsNothing) { &[] } else { log.facts.as_slice() };
        let chain = ChainLink::of_log(session, chained.iter().map(AsRef::as_ref)).unwrap();
        Ok(LogVerification {
            last: if self.is(Fault::VerifiesWithoutLooking) { Seq(1) } else { log.last() },
            bytes: log.facts.len() as u64,
            torn_bytes: 0,
            chain,
        })
    }

    async fn read_logs(
        &self,
        sessions: &[SessionId],
        limit: usize,
        kinds: Option<&'static [&'static str]>,
    ) -> Vec<Result<Vec<RecordedFact>, StoreError>> {
        self.read_together(sessions, limit, kinds).await
    }

    async fn verify_logs(
        &self,
        sessions: &[SessionId],
        limit: usize,
        version: &str,
    ) -> Vec<Result<VerifiedLog, StoreError>> {
        self.verify_together(sessions, limit, version).await
    }

    async fn tail(
        &self,
        session: &SessionId,
        after: Seq,
        patience: Duration,
    ) -> Result<Seq, StoreError> {
        self.follow(session, after, patience).await
    }

    async fn erase(&self, session: &SessionId, epoch: Epoch) -> Result<(), StoreError> {
        self.forget(session, epoch)
    }

    async fn write_checkpoint(
        &self,
        session: &SessionId,
        snapshot: &StoredCheckpoint,
    ) -> Result<(), StoreError> {
        self.cache(session, snapshot)
    }

    async fn read_checkpoint(
        &self,
        session: &SessionId,
        version: &str,
    ) -> Result<Option<StoredCheckpoint>, StoreError> {
        self.cached(session, version)
    }
}

impl Log {
    fn last(&self) -> Seq {
        Seq(self.facts.len() as u64)
    }
}

fn without_nul(fact: &RecordedFact) -> RecordedFact {
    let text = String::from_utf8(codec::encode(fact).unwrap()).unwrap();
    codec::decode(text.replace("\\u0000", "").as_bytes()).unwrap()
}

fn error(kind: StoreErrorKind) -> StoreError {
    StoreError::new(kind, "the reference store of the test kit refuses this")
}
