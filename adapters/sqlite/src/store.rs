//! The store object: it calls the pipeline, and runs reads on threads that may block.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use rusqlite::Connection;
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout};
use windlass_core::{Epoch, RecordedFact, Seq, SessionId};
use windlass_kit_log::{Batch, Pipeline, PipelineLimits};
use windlass_ports::{
    Durability, Fencing, LogStore, LogVerification, MAX_FACT_BYTES, SessionClaim, SessionFilter,
    SessionListing, StoreCapabilities, StoreError, StoreErrorKind, StoredCheckpoint,
};

use crate::backend::Database;
use crate::error::corrupt_store;
use crate::folder::StoreFolder;
use crate::open::{self, OpenMode, OpenStore, READERS};
use crate::{checkpoint, read, sessions};

/// Interval in milliseconds to check for appends of other store objects.
const POLL_MS: u64 = 100;

/// Longest wait of a claim for a session of another process. One that is killed while it starts a
/// child leaves a fork that holds its locks a moment longer.
const CLAIM_PATIENCE: Duration = Duration::from_millis(500);
const PAUSE: Duration = Duration::from_millis(5);

/// Longest wait for a connection to read with.
const READ_PATIENCE: Duration = Duration::from_secs(60);

/// A log store in an SQLite database.
///
/// Call its methods within a Tokio runtime. Dropping it waits for all pending appends and releases
/// its claims.
#[derive(Debug)]
pub struct SqliteStore {
    dir: PathBuf,
    /// Name of the store in errors.
    location: String,
    /// `None` if the store takes no claims and no appends. Dropped first.
    pipeline: Option<Pipeline>,
    store: Arc<OpenStore>,
    room: Arc<Semaphore>,
}

impl SqliteStore {
    /// Opens the store in a folder, or creates one there. Blocks while another process opens it.
    ///
    /// # Errors
    /// `Corrupt` when its database is gone, damaged, or has fewer commits than it had; `Newer`;
    /// `Locked` when another process opens it for too long; `Full`, `ReadOnly`, `Unavailable`, `Io`.
    pub fn open(dir: PathBuf) -> Result<Self, StoreError> {
        let (store, db, witness) = open::open(&dir, OpenMode::Open)?;
        let store = Arc::new(store);
        let location = format!("the SQLite store {}", dir.display());
        let writer = Database::new(store.clone(), db, witness);
        let pipeline = Pipeline::start(location.clone(), writer, PipelineLimits::default())?;
        Ok(Self::new(dir, location, Some(pipeline), store))
    }

    /// Opens a store to read what it has, even if its database lost commits. Takes no claims.
    ///
    /// # Errors
    /// As [`open`](Self::open), except for lost commits.
    pub fn open_damaged(dir: PathBuf) -> Result<Self, StoreError> {
        let (store, ..) = open::open(&dir, OpenMode::Salvage)?;
        let location = format!("the SQLite store {}", dir.display());
        Ok(Self::new(dir, location, None, Arc::new(store)))
    }

    fn new(
        dir: PathBuf,
        location: String,
        pipeline: Option<Pipeline>,
        store: Arc<OpenStore>,
    ) -> Self {
        let room = Arc::new(Semaphore::new(READERS));
        Self { dir, location, pipeline, store, room }
    }

    fn pipeline(&self) -> Result<&Pipeline, StoreError> {
        self.pipeline.as_ref().ok_or_else(|| {
            corrupt_store(&self.dir, "it is open to be read alone, since it lost commits")
        })
    }

    /// Runs a read on a thread that may block, with a connection.
    async fn reading<T: Send + 'static>(
        &self,
        read: impl Fn(&StoreFolder, &mut Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let failed = |kind, what: &str| {
            let context = format!("reading {}: {what}", self.location);
            StoreError::new(kind, context)
        };
        let waited = timeout(READ_PATIENCE, self.room.clone().acquire_owned()).await;
        let Ok(Ok(room)) = waited else {
            let what = "other reads of it do not end: retry";
            return Err(failed(StoreErrorKind::Unavailable, what));
        };
        let store = self.store.clone();
        let ended = tokio::task::spawn_blocking(move || {
            let done = store.with(read);
            drop((store, room));
            done
        });
        let stopped = |_| failed(StoreErrorKind::Io, "it was stopped with the runtime: ask again");
        ended.await.map_err(stopped)?
    }
}

#[async_trait]
impl LogStore for SqliteStore {
    fn capabilities(&self) -> StoreCapabilities {
        StoreCapabilities {
            durability: Durability::Power,
            max_fact_bytes: MAX_FACT_BYTES,
            fencing: Fencing::AllWriters,
            tail_delay_ms: Some(POLL_MS),
            erase: true,
            retention_ms: None,
            max_checkpoint_bytes: Some(checkpoint::MOST),
        }
    }

    async fn claim(&self, session: &SessionId) -> Result<SessionClaim, StoreError> {
        let begun = Instant::now();
        loop {
            match self.pipeline()?.claim(session).await {
                // It is waited for here, since what waits in the pipeline keeps all appends up.
                Err(error)
                    if error.kind == StoreErrorKind::Locked && begun.elapsed() < CLAIM_PATIENCE =>
                {
                    tokio::time::sleep(PAUSE).await;
                }
                claimed => return claimed,
            }
        }
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
        let id = session.clone();
        self.reading(move |folder, db| read::read(folder, db, &id, after, limit)).await
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
        let (filter, after) = (filter.clone(), after.cloned());
        let list = move |folder: &StoreFolder, db: &mut Connection| {
            sessions::list(folder, db, &filter, after.as_ref(), limit)
        };
        self.reading(list).await
    }

    async fn verify(&self, session: &SessionId) -> Result<LogVerification, StoreError> {
        let id = session.clone();
        self.reading(move |folder, db| read::verify(folder, db, &id)).await
    }

    async fn tail(
        &self,
        session: &SessionId,
        after: Seq,
        patience: Duration,
    ) -> Result<Seq, StoreError> {
        let pipeline = self.pipeline()?;
        let look = || async {
            match pipeline.last(session) {
                Some(last) if last > Seq::ZERO => Ok(last),
                Some(_) | None => {
                    let id = session.clone();
                    let end = self.reading(move |folder, db| {
                        read::written(folder, db, &id).map(|row| row.end.last)
                    });
                    end.await
                }
            }
        };
        let poll = Some(Duration::from_millis(POLL_MS));
        pipeline.tail(session, after, patience, poll, look).await
    }

    async fn erase(&self, session: &SessionId, epoch: Epoch) -> Result<(), StoreError> {
        self.pipeline()?.erase(session, epoch).await
    }

    async fn write_checkpoint(
        &self,
        session: &SessionId,
        snapshot: &StoredCheckpoint,
    ) -> Result<(), StoreError> {
        self.pipeline()?.check()?;
        let (id, new) = (session.clone(), snapshot.clone());
        self.reading(move |folder, db| checkpoint::write(folder, db, &id, &new)).await
    }

    async fn read_checkpoint(
        &self,
        session: &SessionId,
        version: &str,
    ) -> Result<Option<StoredCheckpoint>, StoreError> {
        let (id, version) = (session.clone(), version.to_owned());
        self.reading(move |folder, db| checkpoint::read(folder, db, &id, &version)).await
    }
}
