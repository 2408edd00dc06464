//! Reads of logs, checks and listings. They take no lock.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use windlass_core::{RecordedFact, Retry, Seq, SessionId};
use windlass_ports::{
    ChainLink, LogVerification, SessionFilter, SessionListing, SessionSummary, StoreError,
    StoreErrorKind, StoredCheckpoint, VerifiedLog,
};

use crate::catalog::{CatalogListing, SegmentCatalog, SessionLayout};
use crate::format::SessionKey;
use crate::locks::LockLookup;
use crate::log::{self, BatchScope, BatchedLog, SessionLogReader, TRIES};
use crate::open_segments::OpenSegments;
use crate::paths::StorePaths;
use crate::{checkpoints, erasing, error, repairs};

/// Reads the logs of a store.
pub(crate) struct StoreReader {
    catalog: Arc<SegmentCatalog>,
    /// Number of erasures that the cached state includes.
    erasures: AtomicU64,
}

impl StoreReader {
    pub(crate) fn new(catalog: Arc<SegmentCatalog>) -> Self {
        Self { erasures: AtomicU64::new(erasing::count(catalog.paths())), catalog }
    }

    pub(crate) fn read(
        &self,
        session: &SessionId,
        after: Seq,
        limit: usize,
    ) -> Result<Vec<RecordedFact>, StoreError> {
        self.check_exists(session)?;
        self.log(session).read(after, limit)
    }

    /// Reads the first `limit` facts of each log, as [`Self::read`] does, and returns those of these
    /// kinds, or all of them.
    pub(crate) fn read_logs(
        &self,
        sessions: &[SessionId],
        limit: usize,
        kinds: Option<&'static [&'static str]>,
    ) -> Vec<Result<Vec<RecordedFact>, StoreError>> {
        let scope = kinds.map_or(BatchScope::Beginning, BatchScope::Kinds);
        let batch = self.batch(sessions, limit, scope);
        let logs = sessions.iter().zip(batch).map(|(session, log)| match log {
            Some(log) => Ok(log.facts),
            None => {
                let mut facts = self.read(session, Seq::ZERO, limit)?;
                facts.retain(|fact| kinds.is_none_or(|kinds| kinds.contains(&fact.fact.kind())));
                Ok(facts)
            }
        });
        logs.collect()
    }

    /// Verifies each log, as [`Self::verify`] does. Returns with it its facts, if it has at most
    /// `limit`, and its checkpoint.
    pub(crate) fn verify_logs(
        &self,
        sessions: &[SessionId],
        limit: usize,
        version: &str,
    ) -> Vec<Result<VerifiedLog, StoreError>> {
        let batch = self.batch(sessions, limit, BatchScope::Whole);
        let logs = sessions.iter().zip(batch).map(|(session, log)| {
            repairs::check(self.paths(), session)?;
            let (verification, facts, links) = match log {
                Some(BatchedLog { facts, links, whole: Some(whole) }) => (whole, facts, links),
                Some(_) | None => {
                    let verification = self.verify(session)?;
                    let last = usize::try_from(verification.last.0).unwrap_or(usize::MAX);
                    let facts = match last <= limit {
                        true => self.read(session, Seq::ZERO, last)?,
                        false => Vec::new(),
                    };
                    (verification, facts, Vec::new())
                }
            };
            let checkpoint = self.checkpoint(session, version, &links).unwrap_or_default();
            Ok(VerifiedLog { verification, facts, checkpoint })
        });
        logs.collect()
    }

    /// Reads logs together, as [`log::read_logs`] does.
    fn batch(
        &self,
        sessions: &[SessionId],
        limit: usize,
        scope: BatchScope,
    ) -> Vec<Option<BatchedLog>> {
        let erasing = self.notice_erasures().and_then(|()| self.erasing());
        let read = erasing.and_then(|erasing| {
            let mut logs = log::read_logs(&self.catalog, sessions, limit, scope)?;
            for (log, _) in logs.iter_mut().zip(sessions).filter(|(_, id)| erasing.contains(id)) {
                *log = None;
            }
            Ok(logs)
        });
        // A read of one log says what is wrong.
        read.unwrap_or_else(|_| sessions.iter().map(|_| None).collect())
    }

    /// Lists the sessions that are being erased.
    fn erasing(&self) -> Result<Vec<SessionId>, StoreError> {
        let folder = self.paths().root();
        self.paths().list_erasings().map_err(|error| error::reading(error, folder))
    }

    pub(crate) fn verify(&self, session: &SessionId) -> Result<LogVerification, StoreError> {
        self.check_exists(session)?;
        repairs::check(self.paths(), session)?;
        self.log(session).verify()
    }

    /// Returns the last position of a session's log.
    pub(crate) fn last(&self, session: &SessionId) -> Result<Seq, StoreError> {
        self.check_exists(session)?;
        let layout = self.catalog.layout(session)?;
        let (last, ..) = self.log(session).follow(&layout)?;
        match last {
            Seq::ZERO => Err(error::unknown(session, self.paths().root())),
            last => Ok(last),
        }
    }

    /// Hashes the state of other processes. The value changes after each write or erasure of
    /// theirs.
    pub(crate) fn fingerprint(&self) -> Result<(u64, u64), StoreError> {
        self.notice_erasures()?;
        Ok((self.erasures.load(Ordering::SeqCst), self.catalog.fingerprint()?))
    }

    pub(crate) fn write_checkpoint(
        &self,
        session: &SessionId,
        snapshot: &StoredCheckpoint,
    ) -> Result<(), StoreError> {
        if snapshot.bytes.len() > checkpoints::MOST {
            let most = checkpoints::MOST as u64;
            let bytes = snapshot.bytes.len();
            return Err(error::too_large(session, "a snapshot", bytes, most));
        }
        let last = self.last(session)?;
        let link = match snapshot.seq {
            seq if seq > last || seq == Seq::ZERO => None,
            seq => self.link_at(session, seq)?,
        };
        let Some(link) = link else {
            return Err(StoreError::new(
                StoreErrorKind::Invalid,
                format!(
                    "a snapshot of {session} at {}, but its log ends at {last}; this is a bug of \
                     the caller",
                    snapshot.seq
                ),
            ));
        };
        let path = self.paths().checkpoint(session);
        checkpoints::write(self.paths(), session, snapshot, link)
            .map_err(|error| error::from_io(error, "keeping", &path))
    }

    pub(crate) fn read_checkpoint(
        &self,
        session: &SessionId,
        version: &str,
    ) -> Result<Option<StoredCheckpoint>, StoreError> {
        self.last(session)?;
        self.checkpoint(session, version, &[])
    }

    /// Reads a checkpoint that matches the log. `links` are those of the log from its first position
    /// on, as far as they are known.
    fn checkpoint(
        &self,
        session: &SessionId,
        version: &str,
        links: &[ChainLink],
    ) -> Result<Option<StoredCheckpoint>, StoreError> {
        let path = self.paths().checkpoint(session);
        let kept = checkpoints::read(self.paths(), session, version)
            .map_err(|error| error::reading(error, &path))?;
        let Some((snapshot, link)) = kept else {
            return Ok(None);
        };
        let known = usize::try_from(snapshot.seq.0).ok().and_then(|seq| seq.checked_sub(1));
        let there = match known.and_then(|at| links.get(at)) {
            Some(link) => Some(*link),
            None => self.link_at(session, snapshot.seq)?,
        };
        Ok((there == Some(link)).then_some(snapshot))
    }

    fn link_at(&self, session: &SessionId, seq: Seq) -> Result<Option<ChainLink>, StoreError> {
        self.check_exists(session)?;
        self.log(session).link_at(seq)
    }

    /// Lists up to `limit` sessions behind `after` that pass the filter; `held` are those claimed
    /// here.
    pub(crate) fn sessions(
        &self,
        filter: &SessionFilter,
        held: &HashSet<SessionId>,
        after: Option<&SessionId>,
        limit: usize,
    ) -> Result<Vec<SessionListing>, StoreError> {
        self.notice_erasures()?;
        let wanted = |id: &SessionId| after.is_none_or(|after| id > after);
        let CatalogListing { parts: mut standings, damages } = self.catalog.all(after)?;
        for (_, damage) in &damages {
            for id in damage.ids().filter(|id| wanted(id)) {
                standings.entry(id.clone()).or_default();
            }
        }
        let erasing = self.erasing()?;
        let mut heads = Vec::new();
        let mut locks = LockLookup::default();
        let mut segments = OpenSegments::default();
        for (id, parts) in standings {
            let mut layout = SessionLayout { parts, ..SessionLayout::default() };
            if heads.len() >= limit {
                break;
            }
            let key = SessionKey::of(&id);
            let of = damages.iter().filter(|(_, damage)| damage.may_be_of(key));
            layout.damages = of.cloned().collect();
            if erasing.contains(&id) {
                continue;
            }
            let Some(summary) = self.listed(&id, layout, &mut segments)? else {
                continue;
            };
            let is_held = match filter.unclaimed {
                true => held.contains(&id) || self.is_locked(&mut locks, key)?,
                false => false,
            };
            if filter.matches(summary.as_ref(), || is_held) {
                heads.push(SessionListing { id, summary });
            }
        }
        Ok(heads)
    }

    /// Returns true if any store object has claimed a session.
    fn is_locked(&self, locks: &mut LockLookup, key: SessionKey) -> Result<bool, StoreError> {
        let held = locks.is_held(self.catalog.paths(), key);
        held.map_err(|error| {
            let path = self.catalog.paths().root();
            error::from_io(error, "looking for the writer of a session in", path)
        })
    }

    /// Returns the summary of a listed session: `Some(None)` if its log is damaged, `None` if there
    /// is no log.
    ///
    /// A damaged log is listed too, and a read of it reports the damage.
    fn listed(
        &self,
        id: &SessionId,
        mut layout: SessionLayout,
        segments: &mut OpenSegments,
    ) -> Result<Option<Option<SessionSummary>>, StoreError> {
        for _ in 0..TRIES {
            match self.log(id).end_in(&layout, segments) {
                Ok(Some(end)) => return Ok(Some(end.summary)),
                Ok(None) => return Ok(None),
                Err(_) if erasing::is_begun(self.paths(), id) => return Ok(None),
                // Its segments changed since they were listed.
                Err(error) if error.retry == Retry::Now => {
                    self.notice_erasures()?;
                    layout = self.catalog.layout(id)?;
                }
                Err(_) => return Ok(Some(None)),
            }
        }
        Err(error::unstable(id))
    }

    /// Refuses a session that is being erased. Forgets cached segments if any session was erased.
    fn check_exists(&self, session: &SessionId) -> Result<(), StoreError> {
        self.notice_erasures()?;
        if erasing::is_begun(self.paths(), session) {
            return Err(error::unknown(session, self.paths().root()));
        }
        Ok(())
    }

    fn notice_erasures(&self) -> Result<(), StoreError> {
        let count = erasing::count(self.paths());
        if self.erasures.load(Ordering::SeqCst) != count {
            self.catalog.forget_all()?;
            self.erasures.store(count, Ordering::SeqCst);
        }
        Ok(())
    }

    fn log<'a>(&'a self, session: &'a SessionId) -> SessionLogReader<'a> {
        SessionLogReader { catalog: &self.catalog, session }
    }

    fn paths(&self) -> &StorePaths {
        self.catalog.paths()
    }
}
