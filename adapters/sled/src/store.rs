//! The store object. It calls the pipeline and the readers, and limits the wait for the readers.

use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Weak};
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::{Semaphore, oneshot};
use tokio::time::timeout;
use windlass_core::{Epoch, RecordedFact, Seq, SessionId};
use windlass_kit_log::{Batch, Pipeline, PipelineLimits};
use windlass_ports::sync::Mutex;
use windlass_ports::{
    Durability, Fencing, LogStore, LogVerification, MAX_FACT_BYTES, SessionClaim, SessionFilter,
    SessionListing, StoreCapabilities, StoreError, StoreErrorKind, StoredCheckpoint,
};

use crate::backend::Database;
use crate::checkpoint;
use crate::error::{corrupt_store, io_error};
use crate::head_index_file::HeadIndexFile;
use crate::open::{self, OpenMode};
use crate::open_store::{OpenStore, StoreCell};
use crate::pool::{self, ReadJob};
use crate::read::{FactSpan, ReadCursor, decode, fact_span, head_of, sessions};
use crate::watchdog::message;

/// Most reads that wait for a reader.
const WAITING: usize = 4_096;

/// Longest time of a read, after which the database is given up.
const PATIENCE: Duration = Duration::from_secs(60);

/// Longest wait for the database to close.
const CLOSING: Duration = Duration::from_secs(30);

const PAGE_SESSIONS: usize = 1_024;

/// A log store in a sled database.
#[derive(Debug)]
pub struct SledStore {
    dir: PathBuf,
    /// Name of the store in errors.
    location: String,
    /// Dropped first: it waits for the end of the pipeline.
    pipeline: Option<Pipeline>,
    /// True if the store takes no claims and no appends.
    is_salvaged: bool,
    shared: Weak<StoreCell>,
    jobs: Option<Sender<ReadJob>>,
    room: Arc<Semaphore>,
    /// Closes when the last thread has dropped the database. Nothing is sent.
    alive: Mutex<Receiver<()>>,
}

impl SledStore {
    /// Opens the store in a folder, or creates one there. Blocks for a few tens of milliseconds,
    /// longer for a large database, and at most 30 s and 1 s per 10 MiB of it.
    ///
    /// # Errors
    /// `Locked` when another process, or another object in this one, has it open; `Corrupt` when
    /// the database and its witness disagree, either is damaged, or the database does not open in
    /// time; `Full`, `ReadOnly`, `Io`.
    pub fn open(dir: PathBuf) -> Result<Self, StoreError> {
        Self::start(open::open(dir, OpenMode::Open, None)?)
    }

    /// Opens the store within a time limit.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_within(dir: PathBuf, bound: Duration) -> Result<Self, StoreError> {
        Self::start(open::open(dir, OpenMode::Open, Some(bound))?)
    }

    /// Opens a store to read what it has, even if its database is behind its head index. Takes no
    /// claims. A read of a log that lost positions reports `Corrupt`, and succeeds if it ends
    /// before them.
    ///
    /// # Errors
    /// As [`open`](Self::open), except for a database that is behind its head index.
    pub fn open_damaged(dir: PathBuf) -> Result<Self, StoreError> {
        let mut store = Self::start(open::open(dir, OpenMode::Salvage, None)?)?;
        store.is_salvaged = true;
        Ok(store)
    }

    /// Checks every log of a store and writes a new head index file from its database. Use it only
    /// if the file is lost and the database is known to be whole: it can no longer be detected that
    /// a log was longer.
    ///
    /// # Errors
    /// `Corrupt` when any log does not verify, or there is no database; otherwise as
    /// [`open`](Self::open).
    pub fn rebuild_head_index(dir: PathBuf) -> Result<Self, StoreError> {
        Self::start(open::open(dir, OpenMode::Rebuild, None)?)
    }

    fn start((shared, witness): (OpenStore, HeadIndexFile)) -> Result<Self, StoreError> {
        let dir = shared.dir.clone();
        let no_thread = |error| io_error("starting the threads of", &dir, error);
        let place = format!("the sled store {}", dir.display());
        let shared = Arc::new(StoreCell::new(shared));
        let (alive, closed) = channel();
        let jobs = pool::start(&shared, &alive).map_err(no_thread)?;
        let seen = Arc::downgrade(&shared);
        let medium = Database::new(shared, witness, alive)?;
        let bounds = PipelineLimits { timeout: PATIENCE, ..PipelineLimits::default() };
        Ok(Self {
            dir,
            pipeline: Some(Pipeline::start(&place, medium, bounds)?),
            is_salvaged: false,
            location: place,
            shared: seen,
            jobs: Some(jobs),
            room: Arc::new(Semaphore::new(WAITING)),
            alive: Mutex::new(closed),
        })
    }

    /// Returns the database, to change it behind the store.
    #[cfg(test)]
    pub(crate) fn database(&self) -> Option<sled::Db> {
        self.shared.upgrade()?.get().ok().map(|shared| shared.db.clone())
    }

    fn pipeline(&self) -> Result<&Pipeline, StoreError> {
        if self.is_salvaged {
            let context = format!("{} was opened to read what is left of it", self.location);
            return Err(StoreError::new(StoreErrorKind::ReadOnly, context));
        }
        let closed = || self.silent("writing", "closed");
        self.pipeline.as_ref().ok_or_else(closed)
    }

    /// Runs a read on a reader's thread.
    async fn read_with<T: Send + 'static>(
        &self,
        doing: &str,
        read: impl FnOnce(&OpenStore) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (answer, answered) = oneshot::channel();
        let asked = async {
            let room = self.room.clone().acquire_owned().await;
            let room = room.map_err(|_| self.silent(doing, "closed"))?;
            let job = move |shared: Result<&OpenStore, StoreError>| {
                let done = shared.and_then(|shared| {
                    let done = catch_unwind(AssertUnwindSafe(|| read(shared)));
                    done.unwrap_or_else(|panic| {
                        let what = format!("the database panicked: {}", message(&*panic));
                        Err(corrupt_store(&shared.dir, &what))
                    })
                });
                let _ = answer.send(done);
                drop(room);
            };
            let sent = self.jobs.as_ref().map(|to| to.send(Box::new(job)));
            if !matches!(sent, Some(Ok(()))) {
                return Err(self.silent(doing, "no reader"));
            }
            answered.await.unwrap_or_else(|_| Err(self.silent(doing, "no answer")))
        };
        let late =
            |_| Err(self.silent(doing, &format!("no answer within {} s", PATIENCE.as_secs())));
        timeout(PATIENCE, asked).await.unwrap_or_else(late)
    }

    fn silent(&self, doing: &str, what: &str) -> StoreError {
        let context = format!(
            "{doing} in the sled store {}: {what}; end this process, and start it again",
            self.dir.display()
        );
        StoreError::new(StoreErrorKind::Ended, context)
    }

    async fn page(&self, session: &SessionId, cursor: ReadCursor) -> Result<FactSpan, StoreError> {
        let id = session.clone();
        let doing = format!("reading session {session}");
        self.read_with(&doing, move |shared| fact_span(shared, &id, cursor)).await
    }

    /// Returns the last position of a log.
    async fn last(&self, session: &SessionId) -> Result<Seq, StoreError> {
        if let Some(cell) = self.shared.upgrade()
            && let Ok(shared) = cell.get()
            && let Some(head) = shared.heads().checked_head(session)
            && head.seq > Seq::ZERO
        {
            return Ok(head.seq);
        }
        let id = session.clone();
        let doing = format!("following session {session}");
        let head = self.read_with(&doing, move |shared| head_of(shared, &id));
        Ok(head.await?.seq)
    }
}

#[async_trait]
impl LogStore for SledStore {
    fn capabilities(&self) -> StoreCapabilities {
        StoreCapabilities {
            durability: Durability::Power,
            max_fact_bytes: MAX_FACT_BYTES,
            fencing: Fencing::AllWriters,
            // There are no other writers.
            tail_delay_ms: Some(0),
            // What sled removes stays readable in its file.
            erase: false,
            retention_ms: None,
            max_checkpoint_bytes: Some(checkpoint::MOST),
        }
    }

    async fn claim(&self, session: &SessionId) -> Result<SessionClaim, StoreError> {
        self.pipeline()?.claim(session).await
    }

    async fn release(&self, session: &SessionId, epoch: Epoch) -> Result<(), StoreError> {
        self.pipeline()?.release(session, epoch).await
    }

    async fn append(
        &self,
        session: &SessionId,
        epoch: Epoch,
        after: Seq,
        facts: &[Arc<RecordedFact>],
    ) -> Result<(), StoreError> {
        let batch = Batch::new(&self.location, session, after, facts)?;
        self.pipeline()?.append(batch, epoch).await
    }

    async fn read(
        &self,
        session: &SessionId,
        after: Seq,
        limit: usize,
    ) -> Result<Vec<RecordedFact>, StoreError> {
        let mut facts = Vec::new();
        let mut cursor = ReadCursor { after, limit, ..ReadCursor::ALL };
        loop {
            let stretch = self.page(session, cursor).await?;
            for (text, seq) in stretch.texts.iter().zip(cursor.after.0..) {
                facts.push(decode(&self.dir, session, Seq(seq), text)?);
            }
            cursor.advance(&stretch);
            if cursor.after >= stretch.last || cursor.limit == 0 {
                return Ok(facts);
            }
        }
    }

    async fn probe(&self) -> Result<(), StoreError> {
        self.pipeline()?.probe().await
    }

    async fn sessions(
        &self,
        filter: &SessionFilter,
        after: Option<&SessionId>,
        limit: usize,
    ) -> Result<Vec<SessionListing>, StoreError> {
        let mut listed: Vec<SessionListing> = Vec::new();
        let mut after = after.cloned();
        let held = match filter.unclaimed {
            true => self.pipeline()?.claimed(),
            false => HashSet::new(),
        };
        while listed.len() < limit {
            let from = after.clone();
            let count = match *filter == *SessionFilter::ALL_TENANTS {
                true => PAGE_SESSIONS.min(limit - listed.len()),
                false => PAGE_SESSIONS,
            };
            let listing = move |shared: &OpenStore| sessions(shared, from, count);
            let page = self.read_with("listing the sessions", listing).await?;
            let ended = page.len() < count;
            after = page.last().map(|head| head.id.clone());
            let taken = page
                .into_iter()
                .filter(|it| filter.matches(it.summary.as_ref(), || held.contains(&it.id)));
            listed.extend(taken.take(limit - listed.len()));
            if ended {
                break;
            }
        }
        Ok(listed)
    }

    async fn verify(&self, session: &SessionId) -> Result<LogVerification, StoreError> {
        let mut bytes = 0;
        let mut cursor = ReadCursor::ALL;
        loop {
            let stretch = self.page(session, cursor).await?;
            for (text, seq) in stretch.texts.iter().zip(cursor.after.0..) {
                decode(&self.dir, session, Seq(seq), text)?;
                bytes += text.len() as u64;
            }
            cursor.advance(&stretch);
            if cursor.after < stretch.last {
                continue;
            }
            return Ok(LogVerification {
                last: cursor.after,
                bytes,
                torn_bytes: stretch.torn_bytes,
                chain: stretch.link,
            });
        }
    }

    async fn tail(
        &self,
        session: &SessionId,
        after: Seq,
        patience: Duration,
    ) -> Result<Seq, StoreError> {
        let look = || self.last(session);
        let pipeline = self.pipeline()?;
        pipeline.tail(session, after, patience, None, look).await
    }

    async fn write_checkpoint(
        &self,
        session: &SessionId,
        snapshot: &StoredCheckpoint,
    ) -> Result<(), StoreError> {
        self.pipeline()?.check()?;
        let (id, snapshot) = (session.clone(), snapshot.clone());
        let doing = format!("keeping a snapshot of session {session}");
        self.read_with(&doing, move |shared| checkpoint::put(shared, &id, &snapshot)).await
    }

    async fn read_checkpoint(
        &self,
        session: &SessionId,
        version: &str,
    ) -> Result<Option<StoredCheckpoint>, StoreError> {
        let (id, version) = (session.clone(), version.to_owned());
        let doing = format!("reading the snapshot of session {session}");
        self.read_with(&doing, move |shared| checkpoint::get(shared, &id, &version)).await
    }
}

impl Drop for SledStore {
    /// Waits until the database is closed, so that it can be opened again at once.
    fn drop(&mut self) {
        self.jobs = None;
        self.pipeline = None;
        let alive = self.alive.lock();
        match alive.recv_timeout(CLOSING) {
            Err(RecvTimeoutError::Disconnected) | Ok(()) => {}
            Err(RecvTimeoutError::Timeout) => tracing::error!(
                store = %self.dir.display(),
                "the sled store did not close in time; it stays locked until this process ends"
            ),
        }
    }
}
