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
use windlass_ports::StoreError;

use crate::error::{Fault, corrupt, fault};
use crate::record::{GENESIS, Link};
use crate::scan;
use crate::statement::Statement;

/// Where a log ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) seq: Seq,
    pub(crate) link: Link,
    pub(crate) seen: Seen,
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
        let witnessed = self.0.get(session).copied();
        if let Some(head) = witnessed.filter(|head| head.seen != Seen::Not) {
            return Ok(head);
        }
        let (seq, link) = witnessed.map_or((Seq::ZERO, GENESIS), |head| (head.seq, head.link));
        let tail =
            scan::tail(db, session).map_err(|found| fault(dir, session, Seq::ZERO, found))?;
        let Some(tail) = tail else {
            if seq == Seq::ZERO {
                return Ok(Head {
                    seq,
                    link,
                    seen: Seen::Whole,
                });
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
        let head = Head {
            seq: tail.seq,
            link: tail.link,
            seen,
        };
        // A session of which only a torn first append is there does not exist for readers.
        if head.seq > Seq::ZERO || seen != Seen::Whole {
            self.0.insert(session.clone(), head);
        }
        Ok(head)
    }

    /// Notes where a log ends now.
    pub(crate) fn set(&mut self, session: &SessionId, seq: Seq, link: Link) {
        let head = Head {
            seq,
            link,
            seen: Seen::Whole,
        };
        self.0.insert(session.clone(), head);
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
