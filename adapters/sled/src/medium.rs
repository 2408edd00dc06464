//! What the pipeline writes to: the database and its witness.
//!
//! A group is kept in this order: one atomic batch in the database, its flush into the file, a real
//! `fdatasync` of the file, the heads, the witness. A crash between two of these leaves the database
//! ahead of the witness, never behind it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::Duration;

use windlass_core::{Seq, SessionId};
use windlass_kit_log::{End, Medium, Seat, Unit};
use windlass_ports::{Link, Repair, StoreError};

use crate::error::{io_error, sled_error};
use crate::folder::Folder;
use crate::heads::{Head, Seen};
use crate::read::fold;
use crate::record::{self, Format, Writing};
use crate::shared::Shared;
use crate::statement::Statement;
use crate::witness::Witness;

/// The database of an open store. It alone writes to it.
#[derive(Debug)]
pub(crate) struct Database {
    shared: Arc<Shared>,
    witness: Witness,
    over: bool,
    /// Dropped last: the store object waits for it.
    _alive: Sender<()>,
}

impl Database {
    pub(crate) fn new(shared: Arc<Shared>, witness: Witness, alive: Sender<()>) -> Self {
        Self {
            shared,
            witness,
            over: false,
            _alive: alive,
        }
    }

    /// What may have left the database in a state that nobody knows ends the store.
    fn ending<T>(&mut self, done: Result<T, StoreError>) -> Result<T, StoreError> {
        self.over |= done.is_err();
        done
    }

    /// Checks that what is written can be found again. Where it cannot, the store has ended.
    fn check_there(&mut self) -> Result<(), StoreError> {
        let there = self.shared.check_there();
        let there = there.and_then(|()| self.witness.check_there());
        self.ending(there)
    }

    fn witness(&mut self, statements: &[Statement]) -> Result<(), StoreError> {
        let heads = self.shared.heads();
        if !self.witness.overgrown(heads.len()) {
            drop(heads);
            return self.witness.state(statements);
        }
        let all: Vec<_> = heads.statements().collect();
        drop(heads);
        let folder = Folder {
            dir: self.shared.dir.clone(),
        };
        self.witness = Witness::create(&folder, self.witness.id(), all.into_iter())?;
        Ok(())
    }
}

impl Medium for Database {
    fn admit(&mut self, session: &SessionId, _: Seat) -> Result<(End, Option<Repair>), StoreError> {
        self.check_there()?;
        let shared = self.shared.clone();
        let mut heads = shared.heads();
        let mut head = heads.admit(&shared.db, &shared.dir, session)?;
        if head.seen == Seen::Whole {
            heads.expect(session, &head);
        }
        drop(heads);
        let repaired = match head.seen {
            Seen::Not | Seen::Whole => None,
            Seen::Torn { bytes } => {
                self.ending(cut(&shared, session, head.seq))?;
                shared.heads().expect(session, &head);
                Some(Repair {
                    kept: head.seq,
                    cut_bytes: bytes,
                })
            }
        };
        if head.seq == Seq::ZERO {
            return Ok((End::none(session), repaired));
        }
        let mut link = Some(head.link).filter(|_| head.format == Format::Now);
        if link.is_none() || head.summary.is_none() {
            // The first version of this store wrote it, or its tenant has a name too long.
            (head.summary, link) = fold(&shared, session)?;
        }
        let end = End {
            last: head.seq,
            link: link.unwrap_or_else(|| Link::genesis(session)),
            summary: head.summary,
        };
        if let Some(summary) = &end.summary {
            shared.heads().know(session, summary);
        }
        Ok((end, repaired))
    }

    fn let_go(&mut self, session: &SessionId) {
        self.shared.heads().forget_empty(session);
    }

    fn keep(&mut self, units: &[Box<Unit>]) -> Result<(), StoreError> {
        let mut batch = sled::Batch::default();
        let mut ends = BTreeMap::new();
        for unit in units {
            put(unit, &mut batch);
            ends.insert(&unit.batch.session, &unit.end);
        }
        let shared = self.shared.clone();
        self.ending(write(&shared, batch))?;
        let mut statements = Vec::with_capacity(ends.len());
        let mut heads = shared.heads();
        for (session, end) in ends {
            let head = Head {
                seq: end.last,
                link: end.link,
                format: Format::Now,
                summary: end.summary.clone(),
                seen: Seen::Whole,
            };
            heads.set(session, head);
            statements.push(Statement {
                session: session.clone(),
                seq: end.last,
                link: end.link,
            });
        }
        drop(heads);
        self.witness(&statements)?;
        self.check_there()
    }

    fn erase(&mut self, session: &SessionId) -> Result<(), StoreError> {
        Err(StoreError::unsupported(session, "erasing sessions"))
    }

    fn is_over(&self) -> bool {
        self.over
    }

    fn rest(&mut self) -> Result<Option<Duration>, StoreError> {
        if self.witness.due().is_some_and(|wait| wait.is_zero()) {
            let synced = self.witness.sync();
            self.ending(synced)?;
        }
        Ok(self.witness.due())
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        if self.witness.due().is_some()
            && let Err(error) = self.witness.sync()
        {
            tracing::error!(%error, "the witness was not synced when the store was closed");
        }
    }
}

/// Puts the rows of an append into a batch.
fn put(unit: &Unit, batch: &mut sled::Batch) {
    let (facts, end) = (&unit.batch, &unit.end);
    let count = u32::try_from(facts.texts.len()).unwrap_or(u32::MAX);
    let mut seq = facts.after;
    for (index, (text, link)) in (0..count).zip(facts.texts.iter().zip(unit.links())) {
        seq = seq.next();
        let writing = Writing {
            format: Format::Now,
            place: (index, count),
            link: *link,
            summary: end.summary.as_ref().filter(|_| seq == end.last),
            text,
        };
        for (key, value) in record::rows(&facts.session, seq, writing) {
            batch.insert(key, value);
        }
    }
}

/// Writes a batch and returns once it is on the disk.
fn write(shared: &Shared, batch: sled::Batch) -> Result<(), StoreError> {
    let doing = "appending to";
    let applied = shared
        .db
        .apply_batch(batch)
        .and_then(|()| shared.db.flush());
    applied.map_err(|error| sled_error(doing, &shared.dir, error))?;
    let synced = shared.data.sync_data();
    synced.map_err(|error| io_error("syncing the sled store", &shared.dir, error))
}

/// Cuts a half append off the end of a log.
fn cut(shared: &Shared, session: &SessionId, kept: Seq) -> Result<(), StoreError> {
    let mut batch = sled::Batch::default();
    let torn = record::key(session, kept.next(), 0)..record::after_session(session);
    for key in shared.db.range(torn).keys() {
        batch.remove(key.map_err(|error| sled_error("repairing", &shared.dir, error))?);
    }
    write(shared, batch)
}
