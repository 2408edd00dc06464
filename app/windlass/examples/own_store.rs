//! Own store: one journal file for all sessions, a line for each append, read into memory on opening.
//!
//! It has no checksums, so a line that was changed behind its back is read as it is: a store for more
//! than an example adds them. The suite `windlass_testkit::log_store_suite` holds it to the other
//! promises of the port, in `tests/own_store.rs`.

#![allow(clippy::print_stdout, reason = "an example prints")]

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::{Mutex, MutexGuard};
use windlass::core::{Epoch, RecordedFact, Seq, SessionId};
use windlass::file::FileBlobs;
use windlass::memory::MemoryStore;
use windlass::ports::{
    Durability, LogStore, LogVerification, SessionClaim, SessionFilter, SessionListing,
    StoreCapabilities, StoreError, StoreErrorKind,
};

/// Store of one process over a journal.
pub(crate) struct JournalStore {
    /// Facts of the journal. It checks claims, positions and repeated appends.
    memory: MemoryStore,
    journal: Mutex<Journal>,
}

struct Journal {
    file: File,
    /// True after a failed write: memory then has more than the file, until it is opened again.
    is_broken: bool,
}

impl JournalStore {
    /// Opens a journal, which one process has open at a time.
    pub(crate) async fn open(path: &Path) -> Result<Self, StoreError> {
        let io = |error| failed("opening the journal", error);
        let options = OpenOptions::new().read(true).append(true).create(true).open(path);
        let mut file = options.map_err(io)?;
        file.try_lock().map_err(|error| {
            StoreError::new(StoreErrorKind::Locked, "another process has the journal open")
                .caused_by(error)
        })?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(io)?;
        // A line without its end is an append that nobody was told of.
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        file.set_len(whole as u64).map_err(io)?;
        let memory = MemoryStore::new();
        for line in bytes[..whole].split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            let facts: Vec<RecordedFact> = serde_json::from_slice(line).map_err(|error| {
                let kind = StoreErrorKind::Corrupt { after: Seq::ZERO, offset: None };
                StoreError::new(kind, "a line of the journal cannot be read").caused_by(error)
            })?;
            let facts: Vec<Arc<RecordedFact>> = facts.into_iter().map(Arc::new).collect();
            let Some(session) = facts.first().map(|fact| fact.session.clone()) else { continue };
            let claim = memory.claim(&session).await?;
            // A repeated append was written a second time.
            if facts[0].seq > claim.last {
                memory.append(&session, claim.epoch, claim.last, &facts).await?;
            }
            memory.release(&session, claim.epoch).await?;
        }
        let journal = Mutex::new(Journal { file, is_broken: false });
        Ok(Self { memory, journal })
    }

    /// Waits until memory and journal are the same.
    async fn settled(&self) -> Result<MutexGuard<'_, Journal>, StoreError> {
        let journal = self.journal.lock().await;
        match journal.is_broken {
            false => Ok(journal),
            true => Err(StoreError::new(StoreErrorKind::Ended, "a write to the journal failed")),
        }
    }
}

#[async_trait]
impl LogStore for JournalStore {
    fn capabilities(&self) -> StoreCapabilities {
        StoreCapabilities {
            // What is written outlives the process; with `sync_data` it would outlive the power.
            durability: Durability::Process,
            tail_delay_ms: None,
            erase: false,
            retention_ms: None,
            max_checkpoint_bytes: None,
            ..self.memory.capabilities()
        }
    }

    async fn claim(&self, session: &SessionId) -> Result<SessionClaim, StoreError> {
        let _settled = self.settled().await?;
        self.memory.claim(session).await
    }

    async fn release(&self, session: &SessionId, epoch: Epoch) -> Result<(), StoreError> {
        self.memory.release(session, epoch).await
    }

    async fn append(
        &self,
        session: &SessionId,
        epoch: Epoch,
        after: Seq,
        facts: &[Arc<RecordedFact>],
    ) -> Result<(), StoreError> {
        let mut journal = self.settled().await?;
        self.memory.append(session, epoch, after, facts).await?;
        let facts: Vec<&RecordedFact> = facts.iter().map(AsRef::as_ref).collect();
        journal.write(serde_json::to_vec(&facts).map_err(std::io::Error::other))
    }

    async fn read(
        &self,
        session: &SessionId,
        after: Seq,
        limit: usize,
    ) -> Result<Vec<RecordedFact>, StoreError> {
        let _settled = self.settled().await?;
        self.memory.read(session, after, limit).await
    }

    async fn probe(&self) -> Result<(), StoreError> {
        self.settled().await?.write(Ok(Vec::new()))
    }

    async fn sessions(
        &self,
        filter: &SessionFilter,
        after: Option<&SessionId>,
        limit: usize,
    ) -> Result<Vec<SessionListing>, StoreError> {
        let _settled = self.settled().await?;
        self.memory.sessions(filter, after, limit).await
    }

    async fn verify(&self, session: &SessionId) -> Result<LogVerification, StoreError> {
        let _settled = self.settled().await?;
        self.memory.verify(session).await
    }
}

impl Journal {
    /// Writes a line. It is whole or, without its end, absent.
    fn write(&mut self, line: std::io::Result<Vec<u8>>) -> Result<(), StoreError> {
        let written = line.and_then(|mut line| {
            line.push(b'\n');
            self.file.write_all(&line)
        });
        self.is_broken = written.is_err();
        written.map_err(|error| failed("writing the journal", error))
    }
}

fn failed(what: &str, error: std::io::Error) -> StoreError {
    StoreError::new(StoreErrorKind::Io, what).caused_by(error)
}

/// Runs a turn over the journal. It is closed when the runtime ends.
#[tokio::main]
async fn turn(folder: &Path, prompt: &str) -> windlass::Result {
    let store = JournalStore::open(&folder.join("journal")).await?;
    let blobs = FileBlobs::new(folder.to_owned());
    let windlass = windlass::builder("demo").stores(store, blobs).open().await?;
    println!("{}", windlass.conversation("notes")?.run(prompt).await?);
    windlass.shutdown().await;
    Ok(())
}

pub(crate) fn main() -> windlass::Result {
    let folder = tempfile::tempdir()?;
    turn(folder.path(), "slowly: the first")?;
    turn(folder.path(), "slowly: the second")?;
    let journal = std::fs::read_to_string(folder.path().join("journal"))?;
    println!("the journal has {} appends of both turns", journal.lines().count());
    Ok(())
}
