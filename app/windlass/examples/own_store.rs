//! Own store: one journal file for all sessions, a line for each append, read into memory on opening.
//!
//! A line begins with the link of its session's chain: a line that was changed, moved or removed behind
//! its back is found when the journal is opened, or verified. The suite
//! `windlass_testkit::log_store_suite` holds it to the promises of the port, in `tests/own_store.rs`.

#![allow(clippy::print_stdout, reason = "an example prints")]

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::{Mutex, MutexGuard};
use windlass::core::{Epoch, RecordedFact, Seq, SessionId};
use windlass::file::FileBlobs;
use windlass::memory::MemoryStore;
use windlass::ports::{
    ChainLink, Durability, LogStore, LogVerification, SessionClaim, SessionFilter, SessionListing,
    StoreCapabilities, StoreError, StoreErrorKind, codec,
};

/// Separator between the texts of a line, which no JSON text contains.
const SEPARATOR: u8 = 0x1e;

/// Store of one process over a journal.
pub(crate) struct JournalStore {
    /// Facts of the journal. It checks claims, positions and repeated appends.
    memory: MemoryStore,
    path: PathBuf,
    journal: Mutex<Journal>,
}

/// Last position of each log, with its link.
type Ends = BTreeMap<SessionId, (Seq, ChainLink)>;

struct Journal {
    file: File,
    ends: Ends,
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
        let (memory, ends) = replayed(&bytes[..whole]).await?;
        let journal = Mutex::new(Journal { file, ends, is_broken: false });
        Ok(Self { memory, path: path.to_owned(), journal })
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
        if facts.last().map(|fact| fact.seq) <= journal.ends.get(session).map(|(last, _)| *last) {
            return Ok(()); // asked for again: its line is there
        }
        let texts = facts.iter().map(|fact| codec::encode(fact)).collect::<Result<Vec<_>, _>>();
        let texts = texts.map_err(|error| failed("encoding", std::io::Error::other(error)))?;
        let end = end_after(&journal.ends, session, &texts);
        let mut line = format!("{} ", end.1).into_bytes();
        line.extend(texts.join(&SEPARATOR));
        journal.write(line)?;
        journal.ends.insert(session.clone(), end);
        Ok(())
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
        self.settled().await?.write(Vec::new())
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
        // What is in the file, not what memory has of it.
        let bytes = std::fs::read(&self.path);
        let bytes = bytes.map_err(|error| failed("reading the journal", error))?;
        replayed(&bytes).await?.0.verify(session).await
    }
}

/// Reads the lines of a journal into memory.
async fn replayed(lines: &[u8]) -> Result<(MemoryStore, Ends), StoreError> {
    let (memory, mut ends) = (MemoryStore::new(), Ends::new());
    for line in lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let (link, session, texts, facts) = parsed(line).ok_or_else(|| corrupt(Seq::ZERO))?;
        let claim = memory.claim(&session).await?;
        let end = end_after(&ends, &session, &texts);
        if end.1 != link {
            return Err(corrupt(claim.last));
        }
        memory.append(&session, claim.epoch, claim.last, &facts).await?;
        memory.release(&session, claim.epoch).await?;
        ends.insert(session, end);
    }
    Ok((memory, ends))
}

/// The end of a log once facts with these texts are appended.
fn end_after(ends: &Ends, session: &SessionId, texts: &[impl AsRef<[u8]>]) -> (Seq, ChainLink) {
    let begin = (Seq::ZERO, ChainLink::genesis(session));
    let end = ends.get(session).copied().unwrap_or(begin);
    texts.iter().fold(end, |(last, link), text| (last.plus(1), link.next(text.as_ref())))
}

/// A line: the link after its last fact, their session, their texts, and the facts.
type Line<'a> = (ChainLink, SessionId, Vec<&'a [u8]>, Vec<Arc<RecordedFact>>);

fn parsed(line: &[u8]) -> Option<Line<'_>> {
    let (link, texts) = line.split_at(line.iter().position(|byte| *byte == b' ')?);
    let link = ChainLink::parse(std::str::from_utf8(link).ok()?)?;
    let texts: Vec<&[u8]> = texts[1..].split(|byte| *byte == SEPARATOR).collect();
    let facts = texts.iter().map(|text| Some(Arc::new(codec::decode(text).ok()?)));
    let facts: Vec<Arc<RecordedFact>> = facts.collect::<Option<_>>()?;
    Some((link, facts.first()?.session.clone(), texts, facts))
}

fn corrupt(after: Seq) -> StoreError {
    let context = "a line of the journal is not what was written; restore it from a copy";
    StoreError::new(StoreErrorKind::Corrupt { after, offset: None }, context)
}

impl Journal {
    /// Writes a line. It is whole or, without its end, absent.
    fn write(&mut self, mut line: Vec<u8>) -> Result<(), StoreError> {
        line.push(b'\n');
        let written = self.file.write_all(&line);
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
