//! The head index: the end of each session's log. It starts from the head index file, is checked
//! against the database once per session, and then follows acknowledged appends.
//!
//! Readers use it instead of the database, which already shows appends that are not durable.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::path::Path;

use sled::Db;
use windlass_core::{Seq, SessionId};
use windlass_ports::{ChainLink, SessionSummary, StoreError};

use crate::error::{RecordError, corrupt, fault};
use crate::head_entry::HeadEntry;
use crate::scan;

/// End of a session's log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LogHead {
    pub(crate) seq: Seq,
    /// Link in the record of that position.
    pub(crate) link: ChainLink,
    /// Summary of the log, if it is known.
    pub(crate) summary: Option<SessionSummary>,
    pub(crate) seen: HeadCheck,
}

impl LogHead {
    /// Creates the head of a session without a log.
    fn none(session: &SessionId) -> Self {
        Self {
            seq: Seq::ZERO,
            link: ChainLink::genesis(session),
            summary: None,
            seen: HeadCheck::Whole,
        }
    }
}

/// Result of the check against the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HeadCheck {
    /// Not checked: the head is from the head index file.
    Not,
    /// The log ends with a whole append.
    Whole,
    /// Half an append follows.
    Torn { bytes: u64 },
}

/// Heads of all sessions.
#[derive(Debug, Default)]
pub(crate) struct HeadIndex(BTreeMap<SessionId, LogHead>);

impl HeadIndex {
    /// Creates the index from the head index file.
    pub(crate) fn from_file(heads: BTreeMap<SessionId, (Seq, ChainLink)>) -> Self {
        let unseen = |(session, (seq, link))| {
            (session, LogHead { seq, link, summary: None, seen: HeadCheck::Not })
        };
        Self(heads.into_iter().map(unseen).collect())
    }

    /// Returns the head of a session, at position 0 if it has no log.
    ///
    /// The first call checks the head index file against the database. The database may be ahead by
    /// appends that were synced but not recorded, never behind, and it must have the same link at
    /// the recorded position.
    pub(crate) fn admit(
        &mut self,
        db: &Db,
        dir: &Path,
        session: &SessionId,
    ) -> Result<LogHead, StoreError> {
        let witnessed = self.0.get(session);
        if let Some(head) = witnessed.filter(|head| head.seen != HeadCheck::Not) {
            return Ok(head.clone());
        }
        let genesis = ChainLink::genesis(session);
        let (seq, link) = witnessed.map_or((Seq::ZERO, genesis), |head| (head.seq, head.link));
        let tail =
            scan::tail(db, session).map_err(|found| fault(dir, session, Seq::ZERO, found))?;
        let Some(tail) = tail else {
            if seq == Seq::ZERO {
                return Ok(LogHead::none(session));
            }
            let what = format!("the witness knows {seq} positions and the database has none");
            return Err(corrupt(dir, session, Seq::ZERO, &what));
        };
        if tail.seq < seq {
            let what = format!("the witness knows {seq} positions and the database ends here");
            return Err(corrupt(dir, session, tail.seq, &what));
        }
        if seq > Seq::ZERO {
            let record = scan::record(db, session, seq);
            let record = record.map_err(|found| fault(dir, session, Seq::ZERO, found))?;
            if record.is_none_or(|record| record.header.link != link) {
                let what = format!("position {seq} is not the one that the witness knows");
                return Err(corrupt(dir, session, Seq::ZERO, &what));
            }
        }
        let seen = match tail.torn_bytes {
            0 => HeadCheck::Whole,
            bytes => HeadCheck::Torn { bytes },
        };
        let head = LogHead {
            seq: tail.seq,
            link: tail.header.map_or(genesis, |header| header.link),
            summary: tail.summary,
            seen,
        };
        // A session of which only a torn first append is there does not exist for readers.
        if head.seq > Seq::ZERO || seen != HeadCheck::Whole {
            self.0.insert(session.clone(), head.clone());
        }
        Ok(head)
    }

    /// Returns the head of a session if it was checked.
    pub(crate) fn checked_head(&self, session: &SessionId) -> Option<&LogHead> {
        let head = self.0.get(session);
        head.filter(|head| head.seen != HeadCheck::Not)
    }

    /// Sets the head of a session.
    pub(crate) fn set(&mut self, session: &SessionId, head: LogHead) {
        match self.0.get_mut(session) {
            Some(known) => *known = head,
            None => {
                self.0.insert(session.clone(), head);
            }
        }
    }

    /// Records that a session will be written, so that its rows in the database may be ahead of its
    /// durable log.
    pub(crate) fn expect(&mut self, session: &SessionId, head: &LogHead) {
        let whole = LogHead { seen: HeadCheck::Whole, ..head.clone() };
        self.set(session, whole);
    }

    /// Records the summary of a log, unless it has grown since.
    pub(crate) fn set_summary(&mut self, session: &SessionId, summary: &SessionSummary) {
        let head = self.0.get_mut(session);
        if let Some(head) = head.filter(|head| head.seq == summary.last) {
            head.summary = Some(summary.clone());
        }
    }

    /// Removes a session that was claimed and never written.
    pub(crate) fn forget_empty(&mut self, session: &SessionId) {
        if self.0.get(session).is_some_and(|head| head.seq == Seq::ZERO) {
            self.0.remove(session);
        }
    }

    /// Entries for a new head index file.
    pub(crate) fn statements(&self) -> impl Iterator<Item = HeadEntry> {
        let written = self.0.iter().filter(|(_, head)| head.seq > Seq::ZERO);
        written.map(|(session, head)| HeadEntry {
            session: session.clone(),
            seq: head.seq,
            link: head.link,
        })
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Finds the next session that has a fact in the index or in the database.
    pub(crate) fn session_after(
        &mut self,
        db: &Db,
        dir: &Path,
        after: Option<&SessionId>,
    ) -> Result<Option<SessionId>, RecordError> {
        let mut after = after.cloned();
        loop {
            let from = after.as_ref().map_or(Bound::Unbounded, Bound::Excluded);
            let mut known = self.0.range((from, Bound::Unbounded));
            let known = known.find(|(_, head)| head.seq > Seq::ZERO).map(|(id, _)| id.clone());
            let found = scan::session_after(db, after.as_ref())?;
            let next = match (known, found) {
                (Some(known), Some(found)) => known.min(found),
                (Some(only), None) | (None, Some(only)) => only,
                (None, None) => return Ok(None),
            };
            // Passed by is a session whose first append is not yet acknowledged, or was cut off.
            // A damaged one is listed.
            let known = self.0.get(&next).map(|head| head.seq);
            let last = known.map_or_else(|| self.admit(db, dir, &next).map(|head| head.seq), Ok);
            match last {
                Ok(Seq::ZERO) => after = Some(next),
                Ok(_) | Err(_) => return Ok(Some(next)),
            }
        }
    }
}
