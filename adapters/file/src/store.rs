//! The log store port over the segments of one folder.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::time::Instant;
use windlass_core::{Epoch, RecordedFact, Seq, SessionId};
use windlass_kit_log::{Batch, Pipeline, PipelineLimits};
use windlass_ports::{
    Durability, Fencing, LogStore, LogVerification, MAX_FACT_BYTES, SessionClaim, SessionFilter,
    SessionListing, StoreCapabilities, StoreError, StoreErrorKind, StoredCheckpoint, VerifiedLog,
};

use crate::backend::FileBackend;
use crate::catalog::SegmentCatalog;
use crate::disk::{Disk, RealDisk};
use crate::locks::{PATIENCE, PAUSE};
use crate::maintenance::MaintenancePolicy;
use crate::paths::StorePaths;
use crate::reader::StoreReader;
use crate::tail_poller::TailPoller;
use crate::writer::SEGMENT;
use crate::{checkpoints, error};

/// Interval in milliseconds to check for appends of other processes.
const POLL_MS: u64 = 100;

/// A log store in a folder of the local file system.
///
/// Call its methods within a Tokio runtime. Dropping it waits for all pending appends and releases
/// its claims.
pub struct FileStore {
    pipeline: Pipeline,
    reader: Arc<StoreReader>,
    tail_poller: Arc<TailPoller>,
    location: String,
    /// Longest wait of a claim for a session of another process.
    patience: Duration,
    /// Age after which maintenance erases settled sessions, in milliseconds.
    retention_ms: Option<u64>,
}

impl std::fmt::Debug for FileStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FileStore").field("place", &self.location).finish_non_exhaustive()
    }
}

impl FileStore {
    /// Opens the store in the folder `dir`, which the first claim creates if it is missing. Opening
    /// changes nothing and reads no log.
    ///
    /// # Errors
    /// `Io` when `dir` is no folder, or no thread can be started.
    pub fn open(dir: PathBuf) -> Result<Self, StoreError> {
        Self::open_with(dir, MaintenancePolicy::default())
    }

    /// Opens the store with another maintenance policy.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_with(dir: PathBuf, maintenance: MaintenancePolicy) -> Result<Self, StoreError> {
        Self::with(Arc::new(RealDisk), dir, SEGMENT, maintenance)
    }

    /// Opens a store on a test's disk, with segments of another size.
    #[cfg(test)]
    pub(crate) fn on(
        disk: Arc<dyn Disk>,
        dir: PathBuf,
        segment_bytes: u64,
    ) -> Result<Self, StoreError> {
        Self::with(disk, dir, segment_bytes, MaintenancePolicy::default())
    }

    fn with(
        disk: Arc<dyn Disk>,
        dir: PathBuf,
        segment_bytes: u64,
        maintenance: MaintenancePolicy,
    ) -> Result<Self, StoreError> {
        if dir.exists() && !dir.is_dir() {
            let context = format!(
                "{} is no folder, so it cannot hold a file store: name a folder",
                dir.display()
            );
            return Err(StoreError::new(StoreErrorKind::Io, context));
        }
        let place = format!("the file store {}", dir.display());
        let paths = Arc::new(StorePaths::new(dir));
        let catalog = Arc::new(SegmentCatalog::new(paths));
        let retention = maintenance.erase_after.map(|age| age.as_millis());
        let retention_ms = retention.map(|ms| u64::try_from(ms).unwrap_or(u64::MAX));
        let medium = FileBackend::new(catalog.clone(), disk, segment_bytes, maintenance);
        let pipeline = Pipeline::start(place.clone(), medium, PipelineLimits::default())?;
        let reader = Arc::new(StoreReader::new(catalog));
        Ok(Self {
            tail_poller: TailPoller::new(
                reader.clone(),
                pipeline.wake(),
                Duration::from_millis(POLL_MS),
            ),
            pipeline,
            reader,
            location: place,
            patience: PATIENCE,
            retention_ms,
        })
    }

    /// Changes the longest wait of claims.
    #[cfg(test)]
    pub(crate) fn with_patience(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    #[cfg(test)]
    pub(crate) fn reader(&self) -> &StoreReader {
        &self.reader
    }

    #[cfg(test)]
    pub(crate) fn tail_poller(&self) -> &TailPoller {
        &self.tail_poller
    }

    /// Runs a read on a thread that may block.
    async fn reading<T: Send + 'static>(
        &self,
        session: &SessionId,
        read: impl FnOnce(&StoreReader, &SessionId) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (reader, id) = (self.reader.clone(), session.clone());
        let reading = tokio::task::spawn_blocking(move || read(&reader, &id));
        reading.await.unwrap_or_else(|_| Err(error::gone(session)))
    }

    /// Runs a read of several logs on a thread that may block.
    async fn reading_all<T: Send + 'static>(
        &self,
        sessions: &[SessionId],
        read: impl FnOnce(&StoreReader, &[SessionId]) -> Vec<Result<T, StoreError>> + Send + 'static,
    ) -> Vec<Result<T, StoreError>> {
        let (reader, ids) = (self.reader.clone(), sessions.to_vec());
        let reading = tokio::task::spawn_blocking(move || read(&reader, &ids));
        let gone = |_| sessions.iter().map(|session| Err(error::gone(session))).collect();
        reading.await.unwrap_or_else(gone)
    }
}

#[async_trait]
impl LogStore for FileStore {
    fn capabilities(&self) -> StoreCapabilities {
        StoreCapabilities {
            durability: Durability::Power,
            max_fact_bytes: MAX_FACT_BYTES,
            fencing: Fencing::AllWriters,
            tail_delay_ms: Some(POLL_MS),
            erase: true,
            retention_ms: self.retention_ms,
            max_checkpoint_bytes: Some(checkpoints::MOST),
        }
    }

    async fn claim(&self, session: &SessionId) -> Result<SessionClaim, StoreError> {
        let begun = Instant::now();
        loop {
            match self.pipeline.claim(session).await {
                // It is waited for here, since what waits in the pipeline keeps all appends up.
                Err(error)
                    if error.kind == StoreErrorKind::Locked && begun.elapsed() < self.patience =>
                {
                    tokio::time::sleep(PAUSE).await;
                }
                claimed => return claimed,
            }
        }
    }

    async fn release(&self, session: &SessionId, epoch: Epoch) -> Result<(), StoreError> {
        self.pipeline.release(session, epoch).await
    }

    async fn append(
        &self,
        session: &SessionId,
        epoch: Epoch,
        after: Seq,
        facts: &[Arc<RecordedFact>],
    ) -> Result<(), StoreError> {
        let batch = Batch::new(&self.location, session, after, facts)?;
        self.pipeline.append(batch, epoch).await
    }

    async fn read(
        &self,
        session: &SessionId,
        after: Seq,
        limit: usize,
    ) -> Result<Vec<RecordedFact>, StoreError> {
        self.reading(session, move |reader, id| reader.read(id, after, limit)).await
    }

    async fn read_logs(
        &self,
        sessions: &[SessionId],
        limit: usize,
        kinds: Option<&'static [&'static str]>,
    ) -> Vec<Result<Vec<RecordedFact>, StoreError>> {
        self.reading_all(sessions, move |reader, ids| reader.read_logs(ids, limit, kinds)).await
    }

    async fn probe(&self) -> Result<(), StoreError> {
        self.pipeline.probe().await
    }

    async fn sessions(
        &self,
        filter: &SessionFilter,
        after: Option<&SessionId>,
        limit: usize,
    ) -> Result<Vec<SessionListing>, StoreError> {
        let (reader, filter, after) = (self.reader.clone(), filter.clone(), after.cloned());
        let held = match filter.unclaimed {
            true => self.pipeline.claimed(),
            false => HashSet::new(),
        };
        let listing = tokio::task::spawn_blocking(move || {
            reader.sessions(&filter, &held, after.as_ref(), limit)
        });
        listing.await.unwrap_or_else(|error| {
            let context = "listing the sessions was stopped with the runtime: ask again";
            Err(StoreError::new(StoreErrorKind::Io, context).caused_by(error))
        })
    }

    async fn verify(&self, session: &SessionId) -> Result<LogVerification, StoreError> {
        self.reading(session, |reader, id| reader.verify(id)).await
    }

    async fn verify_logs(
        &self,
        sessions: &[SessionId],
        limit: usize,
        version: &str,
    ) -> Vec<Result<VerifiedLog, StoreError>> {
        let version = version.to_owned();
        let verify =
            move |reader: &StoreReader, ids: &[_]| reader.verify_logs(ids, limit, &version);
        self.reading_all(sessions, verify).await
    }

    async fn tail(
        &self,
        session: &SessionId,
        after: Seq,
        patience: Duration,
    ) -> Result<Seq, StoreError> {
        // Before the first look, so that nothing is missed that comes after it.
        let _following = self.tail_poller.follow();
        let look = || async {
            match self.pipeline.last(session) {
                Some(last) if last > Seq::ZERO => Ok(last),
                Some(_) | None => self.reading(session, |reader, id| reader.last(id)).await,
            }
        };
        self.pipeline.tail(session, after, patience, None, look).await
    }

    async fn erase(&self, session: &SessionId, epoch: Epoch) -> Result<(), StoreError> {
        self.pipeline.erase(session, epoch).await
    }

    async fn write_checkpoint(
        &self,
        session: &SessionId,
        snapshot: &StoredCheckpoint,
    ) -> Result<(), StoreError> {
        let snapshot = snapshot.clone();
        self.reading(session, move |reader, id| reader.write_checkpoint(id, &snapshot)).await
    }

    async fn read_checkpoint(
        &self,
        session: &SessionId,
        version: &str,
    ) -> Result<Option<StoredCheckpoint>, StoreError> {
        let version = version.to_owned();
        self.reading(session, move |reader, id| reader.read_checkpoint(id, &version)).await
    }
}

#[cfg(test)]
mod surroundings_tests;
#[cfg(test)]
mod tests;
