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
use windlass_ports::{StoreError, StoreErrorKind, TailRepair};

use crate::error::{corrupt_store, io_error, sled_error};
use crate::folder::StoreFolder;
use crate::head_entry::{HeadEntry, StoreId};
use crate::head_index::{HeadCheck, LogHead};
use crate::head_index_file::HeadIndexFile;
use crate::open;
use crate::open_store::{OpenStore, StoreCell};
use crate::read::fold;
use crate::record::{self, PROBE_KEY, RecordDraft};

/// Database of a store, and its only writer.
#[derive(Debug)]
pub(crate) struct Database {
    shared: Arc<StoreCell>,
    /// `None` while the store is closed.
    open: Option<OpenParts>,
    /// Id of the store, once it had to be opened again.
    id: Option<StoreId>,
    /// Number of probes.
    count: u64,
    over: bool,
    /// Dropped last: the store object waits for it.
    _alive: Sender<()>,
}

/// Parts of a database that is open.
#[derive(Debug)]
struct OpenParts {
    shared: Arc<OpenStore>,
    head_index_file: HeadIndexFile,
}

impl Database {
    pub(crate) fn new(
        shared: Arc<StoreCell>,
        witness: HeadIndexFile,
        alive: Sender<()>,
    ) -> Result<Self, StoreError> {
        let open = Some(OpenParts { shared: shared.get()?, head_index_file: witness });
        Ok(Self { shared, open, id: None, count: 0, over: false, _alive: alive })
    }

    fn parts(&mut self) -> Result<&mut OpenParts, StoreError> {
        let dir = self.shared.dir();
        self.open.as_mut().ok_or_else(|| {
            let context = format!("the sled store {} is not open again yet", dir.display());
            StoreError::new(StoreErrorKind::Unavailable, context)
        })
    }

    /// Marks the store as failed if a call failed that may leave the database in an unknown state.
    fn ending<T>(&mut self, done: Result<T, StoreError>) -> Result<T, StoreError> {
        self.over |= done.is_err();
        done
    }

    /// Checks that all files are still at their paths. The store has failed if they are not.
    fn check_there(&mut self) -> Result<(), StoreError> {
        let parts = self.parts()?;
        let there = parts.shared.check_there();
        let there = there.and_then(|()| parts.head_index_file.check_there());
        self.ending(there)
    }

    fn record_heads(&mut self, statements: &[HeadEntry]) -> Result<(), StoreError> {
        let OpenParts { shared, head_index_file } = self.parts()?;
        let heads = shared.heads();
        if !head_index_file.overgrown(heads.len()) {
            drop(heads);
            return head_index_file.state(statements);
        }
        let all: Vec<_> = heads.statements().collect();
        drop(heads);
        let folder = StoreFolder { dir: shared.dir.clone() };
        *head_index_file = HeadIndexFile::create(&folder, head_index_file.id(), all.into_iter())?;
        Ok(())
    }
}

impl CommitBackend for Database {
    fn claim(&mut self, session: &SessionId) -> Result<(LogEnd, Option<TailRepair>), StoreError> {
        self.check_there()?;
        let shared = self.parts()?.shared.clone();
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
        if let Some(parts) = &self.open {
            parts.shared.heads().forget_empty(session);
        }
    }

    fn commit(&mut self, requests: &[AppendRequest]) -> Result<(), StoreError> {
        let mut batch = sled::Batch::default();
        let mut ends = BTreeMap::new();
        for request in requests {
            put(request, &mut batch);
            ends.insert(&request.batch.session, &request.end);
        }
        let shared = self.parts()?.shared.clone();
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

    fn reopen(&mut self) -> Result<(), StoreError> {
        let id = self.open.as_ref().map(|parts| parts.head_index_file.id());
        self.id = self.id.or(id);
        // While the disk takes nothing, what is open can still be read.
        StoreFolder { dir: self.shared.dir().clone() }.try_write()?;
        self.open = None;
        self.shared.close()?;
        let (store, head_index_file) = open::reopen(self.shared.dir().clone(), self.id)?;
        self.shared.put(store);
        self.open = Some(OpenParts { shared: self.shared.get()?, head_index_file });
        self.over = false;
        Ok(())
    }

    fn probe(&mut self) -> Result<(), StoreError> {
        self.check_there()?;
        let shared = self.parts()?.shared.clone();
        self.count = self.count.wrapping_add(1);
        let mut batch = sled::Batch::default();
        batch.insert(PROBE_KEY, &self.count.to_le_bytes());
        self.ending(write(&shared, batch))?;
        let read = shared.db.get(PROBE_KEY);
        let read = read.map_err(|error| sled_error("probing", &shared.dir, error));
        match self.ending(read)? {
            Some(read) if read == self.count.to_le_bytes() => Ok(()),
            Some(_) | None => {
                self.over = true;
                Err(corrupt_store(&shared.dir, "its probe is not read back as it was written"))
            }
        }
    }

    fn maintain(&mut self) -> Result<Option<Duration>, StoreError> {
        let file = &mut self.parts()?.head_index_file;
        let synced = match file.due().is_some_and(|wait| wait.is_zero()) {
            true => file.sync(),
            false => Ok(()),
        };
        let due = file.due();
        self.ending(synced)?;
        Ok(due)
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        if let Some(parts) = &mut self.open
            && parts.head_index_file.due().is_some()
            && let Err(error) = parts.head_index_file.sync()
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
