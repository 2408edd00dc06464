//! Where each session's log ends: what the witness says, held against the database once a
//! session, and from then on what was acknowledged.
//!
//! Readers go by this and not by the database, which already shows appends that are not yet
//! synced.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::path::Path;

use sled::Db;
use windlass_core::{Seq, SessionId};
use windlass_ports::{Link, StoreError, Summary};

use crate::error::{Fault, corrupt, fault};
use crate::record::{Format, OLD_GENESIS};
use crate::scan;
use crate::statement::Statement;

/// Where a log ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) seq: Seq,
    /// The link in the record there.
    pub(crate) link: Link,
    /// The version of that record, once it was seen.
    pub(crate) format: Format,
    /// The log in short, where it is known.
    pub(crate) summary: Option<Summary>,
    pub(crate) seen: Seen,
}

impl Head {
    /// The head of a session that does not exist.
    fn none() -> Self {
        Self {
            seq: Seq::ZERO,
            link: OLD_GENESIS,
            format: Format::Old,
            summary: None,
            seen: Seen::Whole,
        }
    }
}

/// What was seen of a log's end in the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Seen {
    /// Nothing yet: the head is what the witness says.
    Not,
    /// It ends with a whole append.
    Whole,
    /// A half append lies behind it.
    Torn { bytes: u64 },
}

/// The heads of all sessions.
#[derive(Debug, Default)]
pub(crate) struct Heads(BTreeMap<SessionId, Head>);

impl Heads {
    /// The heads as the witness has them.
    pub(crate) fn witnessed(heads: BTreeMap<SessionId, (Seq, Link)>) -> Self {
        let unseen = |(session, (seq, link))| {
            (
                session,
                Head {
                    seq,
                    link,
                    seen: Seen::Not,
                    ..Head::none()
                },
            )
        };
        Self(heads.into_iter().map(unseen).collect())
    }

    /// Where a session's log ends; at 0 when there is no such session.
    ///
    /// The first time, the database is held against the witness: it may be ahead, by appends that
    /// were synced and not yet witnessed when the process ended, but not behind, and it must have
    /// the same link at the witnessed position.
    pub(crate) fn admit(
        &mut self,
        db: &Db,
        dir: &Path,
        session: &SessionId,
    ) -> Result<Head, StoreError> {
        let witnessed = self.0.get(session);
        if let Some(head) = witnessed.filter(|head| head.seen != Seen::Not) {
            return Ok(head.clone());
        }
        let (seq, link) = witnessed.map_or((Seq::ZERO, OLD_GENESIS), |head| (head.seq, head.link));
        let tail =
            scan::tail(db, session).map_err(|found| fault(dir, session, Seq::ZERO, found))?;
        let Some(tail) = tail else {
            if seq == Seq::ZERO {
                return Ok(Head::none());
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
            0 => Seen::Whole,
            bytes => Seen::Torn { bytes },
        };
        let header = tail.header;
        let head = Head {
            seq: tail.seq,
            link: header.map_or(OLD_GENESIS, |header| header.link),
            format: header.map_or(Format::Old, |header| header.format),
            summary: tail.summary,
            seen,
        };
        // A session of which only a torn first append is there does not exist for readers.
        if head.seq > Seq::ZERO || seen != Seen::Whole {
            self.0.insert(session.clone(), head.clone());
        }
        Ok(head)
    }

    /// Where a session's log ends, if that was seen.
    pub(crate) fn seen(&self, session: &SessionId) -> Option<&Head> {
        let head = self.0.get(session);
        head.filter(|head| head.seen != Seen::Not)
    }

    /// Notes where a log ends now.
    pub(crate) fn set(&mut self, session: &SessionId, head: Head) {
        match self.0.get_mut(session) {
            Some(known) => *known = head,
            None => {
                self.0.insert(session.clone(), head);
            }
        }
    }

    /// Notes that a session is to be written to: from here on its rows in the database may be ahead
    /// of what is synced.
    pub(crate) fn expect(&mut self, session: &SessionId, head: &Head) {
        let whole = Head {
            seen: Seen::Whole,
            ..head.clone()
        };
        self.set(session, whole);
    }

    /// Notes what a log says in short, unless it has grown since.
    pub(crate) fn know(&mut self, session: &SessionId, summary: &Summary) {
        let head = self.0.get_mut(session);
        if let Some(head) = head.filter(|head| head.seq == summary.last) {
            head.summary = Some(summary.clone());
        }
    }

    /// Forgets a session that was claimed and never written.
    pub(crate) fn forget_empty(&mut self, session: &SessionId) {
        if self
            .0
            .get(session)
            .is_some_and(|head| head.seq == Seq::ZERO)
        {
            self.0.remove(session);
        }
    }

    /// What is to be said of all sessions in a witness.
    pub(crate) fn statements(&self) -> impl Iterator<Item = Statement> {
        let written = self.0.iter().filter(|(_, head)| head.seq > Seq::ZERO);
        written.map(|(session, head)| Statement {
            session: session.clone(),
            seq: head.seq,
            link: head.link,
        })
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// The first session after `after` that has a fact here or in the database.
    pub(crate) fn session_after(
        &mut self,
        db: &Db,
        dir: &Path,
        after: Option<&SessionId>,
    ) -> Result<Option<SessionId>, Fault> {
        let mut after = after.cloned();
        loop {
            let from = after.as_ref().map_or(Bound::Unbounded, Bound::Excluded);
            let mut known = self.0.range((from, Bound::Unbounded));
            let known = known
                .find(|(_, head)| head.seq > Seq::ZERO)
                .map(|(id, _)| id.clone());
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
