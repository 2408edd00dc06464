//! Reading: pages of a log, a check of all of it, which sessions there are. Takes no lock.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use windlass_core::{Recorded, Seq, SessionId};
use windlass_ports::{
    SessionFilter, SessionHead, Snapshot, StoreError, StoreErrorKind, Summary, Verified,
};

use crate::format::Key;
use crate::log::Log;
use crate::places::Places;
use crate::shelf::{Listing, Shelf, Standing};
use crate::{erasing, error, snapshots};

/// Reads the logs of a store.
pub(crate) struct Reader {
    shelf: Arc<Shelf>,
    /// The number of erasures that all that is known comes after.
    erasures: AtomicU64,
}

impl Reader {
    pub(crate) fn new(shelf: Arc<Shelf>) -> Self {
        Self {
            erasures: AtomicU64::new(erasing::count(shelf.places())),
            shelf,
        }
    }

    pub(crate) fn read(
        &self,
        session: &SessionId,
        after: Seq,
        limit: usize,
    ) -> Result<Vec<Recorded>, StoreError> {
        self.check_exists(session)?;
        self.log(session).read(after, limit)
    }

    pub(crate) fn verify(&self, session: &SessionId) -> Result<Verified, StoreError> {
        self.check_exists(session)?;
        self.log(session).verify()
    }

    /// The last position of a session's log.
    pub(crate) fn last(&self, session: &SessionId) -> Result<Seq, StoreError> {
        self.check_exists(session)?;
        let standing = self.shelf.standing(session)?;
        let (last, ..) = self.log(session).follow(&standing)?;
        match last {
            Seq::ZERO => Err(error::unknown(session, self.places().root())),
            last => Ok(last),
        }
    }

    /// What others have written: another pair once one of them has written anything more, or erased a
    /// session.
    pub(crate) fn signs(&self) -> Result<(u64, u64), StoreError> {
        self.notice_erasures()?;
        Ok((self.erasures.load(Ordering::SeqCst), self.shelf.signs()?))
    }

    pub(crate) fn keep_snapshot(
        &self,
        session: &SessionId,
        snapshot: &Snapshot,
    ) -> Result<(), StoreError> {
        if snapshot.bytes.len() > snapshots::MOST {
            let most = snapshots::MOST as u64;
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
        let path = self.places().snapshot(session);
        snapshots::keep(self.places(), session, snapshot, link)
            .map_err(|error| error::from_io(error, "keeping", &path))
    }

    pub(crate) fn snapshot(
        &self,
        session: &SessionId,
        version: &str,
    ) -> Result<Option<Snapshot>, StoreError> {
        self.last(session)?;
        let path = self.places().snapshot(session);
        let kept = snapshots::read(self.places(), session, version)
            .map_err(|error| error::reading(error, &path))?;
        let Some((snapshot, link)) = kept else {
            return Ok(None);
        };
        let borne_out = self.link_at(session, snapshot.seq)? == Some(link);
        Ok(borne_out.then_some(snapshot))
    }

    fn link_at(
        &self,
        session: &SessionId,
        seq: Seq,
    ) -> Result<Option<windlass_ports::Link>, StoreError> {
        self.check_exists(session)?;
        self.log(session).link_at(seq)
    }

    /// Up to `limit` of the sessions that a filter takes, after `after`, where those are held.
    pub(crate) fn sessions(
        &self,
        filter: &SessionFilter,
        held: &HashSet<SessionId>,
        after: Option<&SessionId>,
        limit: usize,
    ) -> Result<Vec<SessionHead>, StoreError> {
        self.notice_erasures()?;
        let mut standings: BTreeMap<SessionId, Standing> = BTreeMap::new();
        let wanted = |id: &SessionId| after.is_none_or(|after| id > after);
        let Listing { parts, damages } = self.shelf.all()?;
        for (id, part) in parts.into_iter().filter(|(id, _)| wanted(id)) {
            standings.entry(id).or_default().parts.push(part);
        }
        for (_, damage) in &damages {
            if let Some(id) = damage.id.clone().filter(wanted) {
                standings.entry(id).or_default();
            }
        }
        let mut heads = Vec::new();
        for (id, mut standing) in standings {
            if heads.len() >= limit {
                break;
            }
            let key = Key::of(&id);
            let of = damages.iter().filter(|(_, damage)| damage.may_be_of(key));
            standing.damages = of.cloned().collect();
            if let Some(summary) = self.listed(&id, &standing)
                && filter.takes(summary.as_ref(), || held.contains(&id))
            {
                heads.push(SessionHead { id, summary });
            }
        }
        Ok(heads)
    }

    /// A session's log in short, which is none where it is damaged; nothing where there is no log.
    ///
    /// One log that cannot be read must not hide the others: it is listed, and reading it says what
    /// is wrong.
    fn listed(&self, id: &SessionId, standing: &Standing) -> Option<Option<Summary>> {
        if erasing::is_begun(self.places(), id) {
            return None;
        }
        match self.log(id).end(standing) {
            Ok(Some(end)) => Some(end.summary),
            Ok(None) => None,
            Err(_) => Some(None),
        }
    }

    /// Refuses a session that is being erased. Forgets cached segments if any session was erased.
    fn check_exists(&self, session: &SessionId) -> Result<(), StoreError> {
        self.notice_erasures()?;
        if erasing::is_begun(self.places(), session) {
            return Err(error::unknown(session, self.places().root()));
        }
        Ok(())
    }

    fn notice_erasures(&self) -> Result<(), StoreError> {
        let count = erasing::count(self.places());
        if self.erasures.load(Ordering::SeqCst) != count {
            self.shelf.forget_all()?;
            self.erasures.store(count, Ordering::SeqCst);
        }
        Ok(())
    }

    fn log<'a>(&'a self, session: &'a SessionId) -> Log<'a> {
        Log {
            shelf: &self.shelf,
            session,
        }
    }

    fn places(&self) -> &Places {
        self.shelf.places()
    }
}
