//! The backend of the pipeline: the database and the head index file.
//!
//! A commit runs in this order: one atomic batch in the database, its flush to the file, an
//! `fdatasync` of the file, the head index, the head index file. A crash in between leaves the
//! database ahead of the head index file, never behind it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::Duration;

use windlass_core::{Seq, SessionId};
use windlass_kit_log::{AppendRequest, CommitBackend, LogEnd};
use windlass_ports::{StoreError, TailRepair};

use crate::error::{io_error, sled_error};
use crate::folder::StoreFolder;
use crate::head_entry::HeadEntry;
use crate::head_index::{HeadCheck, LogHead};
use crate::head_index_file::HeadIndexFile;
use crate::open_store::OpenStore;
use crate::read::fold;
use crate::record::{self, RecordDraft};

/// Database of an open store, and its only writer.
#[derive(Debug)]
pub(crate) struct Database {
    shared: Arc<OpenStore>,
    head_index_file: HeadIndexFile,
    over: bool,
    /// Dropped last: the store object waits for it.
    _alive: Sender<()>,
}

impl Database {
    pub(crate) fn new(shared: Arc<OpenStore>, witness: HeadIndexFile, alive: Sender<()>) -> Self {
        Self { shared, head_index_file: witness, over: false, _alive: alive }
    }

    /// Marks the store as failed if a call failed that may leave the database in an unknown state.
    fn ending<T>(&mut self, done: Result<T, StoreError>) -> Result<T, StoreError> {
        self.over |= done.is_err();
        done
    }

    /// Checks that all files are still at their paths. The store has failed if they are not.
    fn check_there(&mut self) -> Result<(), StoreError> {
        let there = self.shared.check_there();
        let there = there.and_then(|()| self.head_index_file.check_there());
        self.ending(there)
    }

    fn record_heads(&mut self, statements: &[HeadEntry]) -> Result<(), StoreError> {
        let heads = self.shared.heads();
        if !self.head_index_file.overgrown(heads.len()) {
            drop(heads);
            return self.head_index_file.state(statements);
        }
        let all: Vec<_> = heads.statements().collect();
        drop(heads);
        let folder = StoreFolder { dir: self.shared.dir.clone() };
        self.head_index_file =
            HeadIndexFile::create(&folder, self.head_index_file.id(), all.into_iter())?;
        Ok(())
    }
}

impl CommitBackend for Database {
    fn claim(&mut self, session: &SessionId) -> Result<(LogEnd, Option<TailRepair>), StoreError> {
        self.check_there()?;
        let shared = self.shared.clone();
        let mut heads = shared.heads();
        let mut head = heads.admit(&shared.db, &shared.dir, session)?;
        if head.seen == HeadCheck::Whole {
            heads.expect(session, &head);
        }
        drop(heads);
        let repaired = match head.seen {
            HeadCheck::Not | HeadCheck::Whole => None,
            HeadCheck::Torn { bytes } => {
                self.ending(cut(&shared, session, head.seq))?;
                shared.heads().expect(session, &head);
                Some(TailRepair { last: head.seq, cut_bytes: bytes })
            }
        };
        if head.seq == Seq::ZERO {
            return Ok((LogEnd::empty(session), repaired));
        }
        if head.summary.is_none() {
            // The name of its tenant does not fit into a record.
            head.summary = fold(&shared, session)?;
        }
        let end = LogEnd { last: head.seq, link: head.link, summary: head.summary };
        if let Some(summary) = &end.summary {
            shared.heads().set_summary(session, summary);
        }
        Ok((end, repaired))
    }

    fn release(&mut self, session: &SessionId) {
        self.shared.heads().forget_empty(session);
    }

    fn commit(&mut self, requests: &[AppendRequest]) -> Result<(), StoreError> {
        let mut batch = sled::Batch::default();
        let mut ends = BTreeMap::new();
        for request in requests {
            put(request, &mut batch);
            ends.insert(&request.batch.session, &request.end);
        }
        let shared = self.shared.clone();
        self.ending(write(&shared, batch))?;
        let mut statements = Vec::with_capacity(ends.len());
        let mut heads = shared.heads();
        for (session, end) in ends {
            let head = LogHead {
                seq: end.last,
                link: end.link,
                summary: end.summary.clone(),
                seen: HeadCheck::Whole,
            };
            heads.set(session, head);
            statements.push(HeadEntry { session: session.clone(), seq: end.last, link: end.link });
        }
        drop(heads);
        self.record_heads(&statements)?;
        self.check_there()
    }

    fn erase(&mut self, session: &SessionId) -> Result<(), StoreError> {
        Err(StoreError::unsupported(session, "erasing sessions"))
    }

    fn has_failed(&self) -> bool {
        self.over
    }

    fn maintain(&mut self) -> Result<Option<Duration>, StoreError> {
        if self.head_index_file.due().is_some_and(|wait| wait.is_zero()) {
            let synced = self.head_index_file.sync();
            self.ending(synced)?;
        }
        Ok(self.head_index_file.due())
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        if self.head_index_file.due().is_some()
            && let Err(error) = self.head_index_file.sync()
        {
            tracing::error!(%error, "the witness was not synced when the store was closed");
        }
    }
}

/// Adds the rows of an append to a batch.
fn put(request: &AppendRequest, batch: &mut sled::Batch) {
    let (facts, end) = (&request.batch, &request.end);
    let count = u32::try_from(facts.texts.len()).unwrap_or(u32::MAX);
    let mut seq = facts.after;
    for (index, (text, link)) in (0..count).zip(facts.texts.iter().zip(&request.links)) {
        seq = seq.next();
        let writing = RecordDraft {
            position: (index, count),
            link: *link,
            summary: end.summary.as_ref().filter(|_| seq == end.last),
            text,
        };
        for (key, value) in record::rows(&facts.session, seq, writing) {
            batch.insert(key, value);
        }
    }
}

/// Writes a batch and makes it durable.
fn write(shared: &OpenStore, batch: sled::Batch) -> Result<(), StoreError> {
    let doing = "appending to";
    let applied = shared.db.apply_batch(batch).and_then(|()| shared.db.flush());
    applied.map_err(|error| sled_error(doing, &shared.dir, error))?;
    let synced = shared.data.sync_data();
    synced.map_err(|error| io_error("syncing the sled store", &shared.dir, error))
}

/// Removes a half append from the end of a log.
fn cut(shared: &OpenStore, session: &SessionId, kept: Seq) -> Result<(), StoreError> {
    let mut batch = sled::Batch::default();
    let torn = record::key(session, kept.next(), 0)..record::after_session(session);
    for key in shared.db.range(torn).keys() {
        batch.remove(key.map_err(|error| sled_error("repairing", &shared.dir, error))?);
    }
    write(shared, batch)
}
