//! What the store does beyond keeping facts: recognises, summarises, wakes, erases, keeps snapshots.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::time::{Instant, timeout_at};
use windlass_core::{Epoch, RecordedFact, Seq, SessionId};
use windlass_ports::{
    ChainLink, LogStore, SessionFilter, SessionListing, SessionSummary, StoreError, StoreErrorKind,
    StoredCheckpoint, VerifiedLog,
};

use super::{Fault, Kept, Log, MAX_SNAPSHOT_BYTES, Reference, error};

impl Reference {
    /// Whether an append is the last one of its claim, asked for again.
    pub(super) fn recognises(
        &self,
        session: &SessionId,
        epoch: Epoch,
        after: Seq,
        facts: &[Arc<RecordedFact>],
    ) -> bool {
        let kept = self.kept();
        let Some(log) = kept.logs.get(session) else {
            return false;
        };
        let claimed = log.claim == Some(epoch) || self.is(Fault::RecognisesUnderAnyClaim);
        let recent = log.recent == Some((epoch, after, facts.len()))
            || self.is(Fault::RecognisesOlderAppends)
            || (self.is(Fault::RecognisesUnderLaterClaims)
                && log.recent.is_some_and(|(_, at, count)| (at, count) == (after, facts.len())));
        if !claimed || !recent {
            return false;
        }
        let start = usize::try_from(after.0).unwrap_or(usize::MAX);
        let mut stands = log.facts.iter().skip(start).zip(facts);
        match self.fault {
            Some(Fault::RecognisesNothing) => false,
            Some(Fault::RecognisesOnlyOneFact) if facts.len() > 1 => false,
            Some(Fault::RecognisesByPosition) => true,
            Some(Fault::RecognisesByTheFirstFact) => stands.next().is_some_and(|(a, b)| a == b),
            _ => stands.len() == facts.len() && stands.all(|(a, b)| a == b),
        }
    }

    /// Reads the beginnings of several logs.
    pub(super) async fn read_together(
        &self,
        sessions: &[SessionId],
        limit: usize,
        kinds: Option<&'static [&'static str]>,
    ) -> Vec<Result<Vec<RecordedFact>, StoreError>> {
        let mut logs = Vec::new();
        for id in sessions {
            let mut log = self.read(id, Seq::ZERO, limit).await;
            if let (Ok(facts), Some(kinds)) = (&mut log, kinds) {
                facts.retain(|fact| {
                    kinds.contains(&fact.fact.kind()) || self.is(Fault::ReadsAllKinds)
                });
            }
            logs.push(log);
        }
        if self.is(Fault::MixesUpLogs) {
            logs.reverse();
        }
        logs
    }

    /// Verifies several logs and returns their facts and checkpoints.
    pub(super) async fn verify_together(
        &self,
        sessions: &[SessionId],
        limit: usize,
        version: &str,
    ) -> Vec<Result<VerifiedLog, StoreError>> {
        let mut logs = Vec::new();
        for id in sessions {
            let id = match self.is(Fault::VerifiesEachLogAsTheLast) {
                true => sessions.last().unwrap(),
                false => id,
            };
            logs.push(self.verify(id).await.map(|verification| VerifiedLog {
                verification,
                facts: Vec::new(),
                checkpoint: self.cached(id, version).unwrap_or_default(),
            }));
        }
        for (id, log) in sessions.iter().zip(&mut logs) {
            if let (Ok(log), Ok(facts)) = (log, self.read(id, Seq::ZERO, usize::MAX).await)
                && facts.len() <= limit
            {
                log.facts = facts;
            }
        }
        logs
    }

    /// Up to so many of these sessions that a filter takes.
    pub(super) fn listed(
        &self,
        kept: &Kept,
        filter: &SessionFilter,
        ids: Vec<SessionId>,
        limit: usize,
    ) -> Vec<SessionListing> {
        let again = kept.openings > 1;
        let heads = ids.into_iter().filter_map(|id| {
            let log = kept.logs.get(&id)?;
            let facts = match self.fault {
                Some(Fault::SummarisesTheFirstAppend) => log.first_batch,
                Some(Fault::ForgetsSummariesOnOpening) if again => 1,
                _ => log.facts.len(),
            };
            let facts = log.facts.iter().take(facts).map(AsRef::as_ref);
            let summary = SessionSummary::after(None, facts);
            Some(SessionListing { id, summary })
        });
        if self.is(Fault::IgnoresTheFilter) {
            return heads.take(limit).collect();
        }
        let takes = |head: &SessionListing| {
            let summary = head.summary.as_ref();
            if let Some(tenant) = filter.tenants.name()
                && self.is(Fault::MatchesTenantsLoosely)
            {
                let of = summary.and_then(|summary| summary.tenant.as_ref());
                return of.is_some_and(|of| of.eq_ignore_ascii_case(tenant));
            }
            let is_held = || {
                let log = kept.logs.get(&head.id);
                match self.fault {
                    Some(Fault::TakesClaimedForFree) => false,
                    Some(Fault::TakesClaimsElsewhereForFree) => {
                        self.ours.lock().unwrap().contains(&head.id)
                            && log.is_some_and(|log| log.claim.is_some())
                    }
                    Some(Fault::TakesReleasedForHeld) => {
                        log.is_some_and(|log| !log.given.is_empty())
                    }
                    Some(Fault::TakesReleasedElsewhereForHeld) => {
                        self.claims.load(Ordering::Relaxed) == 0
                    }
                    _ => log.is_some_and(|log| log.claim.is_some()),
                }
            };
            filter.matches(summary, is_held)
        };
        if self.is(Fault::FiltersAfterTheLimit) {
            return heads.take(limit).filter(takes).collect();
        }
        heads.filter(takes).take(limit).collect()
    }

    /// Waits until a log goes on.
    pub(super) async fn follow(
        &self,
        session: &SessionId,
        after: Seq,
        patience: Duration,
    ) -> Result<Seq, StoreError> {
        let patience = match self.fault {
            Some(Fault::TailsImpatiently) => patience / 2,
            _ => patience,
        };
        let until = Instant::now() + patience;
        let mut looks = !self.is(Fault::TailsOnlyWhatIsNew);
        loop {
            let news = self.wake.notified();
            let last = self.end(session)?;
            if (looks && last > after) || self.is(Fault::TailsWithoutWaiting) {
                return Ok(last);
            }
            looks = true;
            if timeout_at(until, news).await.is_err() || self.is(Fault::WakesAtAnyAppend) {
                return self.end(session);
            }
        }
    }

    /// The last position of a session's log.
    fn end(&self, session: &SessionId) -> Result<Seq, StoreError> {
        let kept = self.kept();
        match kept.logs.get(session).filter(|log| self.shown(log)) {
            Some(log) => Ok(log.last()),
            None if self.is(Fault::TailsNothing) => Ok(Seq::ZERO),
            None => Err(error(StoreErrorKind::Unknown)),
        }
    }

    /// Erases a session.
    pub(super) fn forget(&self, session: &SessionId, epoch: Epoch) -> Result<(), StoreError> {
        let mut kept = self.kept();
        let claim = kept.logs.get(session).and_then(|log| log.claim);
        if claim != Some(epoch) && !self.is(Fault::ErasesForAnyClaim) {
            return Err(error(StoreErrorKind::NotClaimed));
        }
        match self.fault {
            Some(Fault::ErasesNothing) => return Ok(()),
            Some(Fault::ErasesNeighbours) => {
                kept.logs.retain(|id, _| !id.as_str().starts_with(session.as_str()));
            }
            Some(Fault::ErasesTheCountOfEpochs) => kept.epoch = 0,
            _ => {}
        }
        let erased = kept.logs.remove(session).unwrap_or_default();
        let (claim, snapshot) = match self.fault {
            Some(Fault::ErasesNoClaim) => (erased.claim, None),
            Some(Fault::AnswersOfAnotherLog | Fault::LeavesErasedCheckpoints) => {
                (None, erased.snapshot.clone())
            }
            _ => (None, None),
        };
        let rest = Log { claim, snapshot, ..Log::default() };
        kept.logs.insert(session.clone(), rest);
        let stays = [Fault::ErasesUntilOpening, Fault::ErasesWhenDropped, Fault::LeavesErasedBytes];
        if stays.into_iter().any(|fault| self.is(fault)) {
            kept.erased.insert(session.clone(), erased);
        }
        Ok(())
    }

    /// Keeps a snapshot.
    pub(super) fn cache(
        &self,
        session: &SessionId,
        new: &StoredCheckpoint,
    ) -> Result<(), StoreError> {
        let mut kept = self.kept();
        if self.is(Fault::KeepsSnapshotsOfNothing) {
            return Ok(());
        }
        let log = kept.logs.get_mut(session);
        let Some(log) = log.filter(|log| !log.facts.is_empty()) else {
            return Err(error(StoreErrorKind::Unknown));
        };
        if new.seq > log.last() && !self.is(Fault::TakesSnapshotsBeyondTheEnd) {
            return Err(error(StoreErrorKind::Invalid));
        }
        if new.bytes.len() > MAX_SNAPSHOT_BYTES && !self.is(Fault::TakesTooLargeSnapshots) {
            return Err(error(StoreErrorKind::TooLarge));
        }
        let older = |(stands, _): &(StoredCheckpoint, ChainLink)| stands.seq > new.seq;
        if self.is(Fault::KeepsTheLatestSnapshot) && log.snapshot.as_ref().is_some_and(older) {
            return Ok(());
        }
        if !self.is(Fault::LosesSnapshots) {
            log.snapshot = Some((new.clone(), log.link(session, new.seq)));
        }
        Ok(())
    }

    /// The snapshot of a version, if the log still bears it out.
    pub(super) fn cached(
        &self,
        session: &SessionId,
        version: &str,
    ) -> Result<Option<StoredCheckpoint>, StoreError> {
        let kept = self.kept();
        let log = kept.logs.get(session).filter(|log| !log.facts.is_empty());
        let log = log.ok_or_else(|| error(StoreErrorKind::Unknown))?;
        let fits = |(snapshot, link): &&(StoredCheckpoint, ChainLink)| {
            let version = snapshot.version == version || self.is(Fault::AnswersAnyVersion);
            let stands =
                log.link(session, snapshot.seq) == *link || self.is(Fault::AnswersOfAnotherLog);
            version && stands
        };
        let snapshot = log.snapshot.as_ref().filter(fits);
        Ok(snapshot.map(|(snapshot, _)| snapshot.clone()))
    }
}

impl Log {
    /// The link at a position, or at the end where that is beyond it.
    fn link(&self, session: &SessionId, seq: Seq) -> ChainLink {
        let facts = usize::try_from(seq.0).unwrap_or(usize::MAX);
        let facts = self.facts.iter().take(facts).map(AsRef::as_ref);
        ChainLink::of_log(session, facts).unwrap()
    }
}
