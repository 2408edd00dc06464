//! The store itself: a file a session, and a line an append.
//!
//! A line is the chain's link after the append, and its envelopes, with a separator between them that
//! no JSON text contains. So an append is whole or torn, a torn one is a last line without its line
//! end, and any other line that was changed, or that is missing, does not fit its link.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use windlass_core::{Epoch, RecordedFact, Seq, SessionId};
use windlass_ports::sync::Mutex;
use windlass_ports::{
    ChainLink, Durability, Fencing, LogStore, LogVerification, MAX_FACT_BYTES, SessionClaim,
    SessionFilter, SessionListing, SessionSummary, StoreCapabilities, StoreError, StoreErrorKind,
    TailRepair, codec,
};

/// Separator between the envelopes of a line: the record separator of ASCII.
const SEPARATOR: u8 = 0x1e;

/// What can be wrong with it on purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bug {
    /// Opening drops the last fact of each log.
    ForgetsTheLastFact,
}

/// A log store that keeps a file of lines for each session.
#[derive(Debug)]
pub(crate) struct LinesStore {
    folder: PathBuf,
    bug: Option<Bug>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    epoch: u64,
    logs: BTreeMap<SessionId, Log>,
}

#[derive(Debug)]
struct Log {
    claim: Option<Epoch>,
    /// Where the last append of this claim stands.
    recent: Option<Seq>,
    facts: Vec<Arc<RecordedFact>>,
    /// Link of the last fact.
    link: ChainLink,
    /// Bytes of the file that hold them.
    bytes: u64,
    /// Bytes after these: a torn line.
    torn: u64,
}

impl LinesStore {
    /// The store in a folder, which must exist. A file that cannot be read shows when its session
    /// is asked for.
    pub(crate) fn open(folder: &Path, bug: Option<Bug>) -> Self {
        Self { folder: folder.to_owned(), bug, state: Mutex::default() }
    }

    fn path(&self, session: &SessionId) -> PathBuf {
        self.folder.join(format!("{session}.lines"))
    }

    /// The log of a session, read from its file the first time.
    fn log<'a>(
        &self,
        state: &'a mut State,
        session: &SessionId,
    ) -> Result<&'a mut Log, StoreError> {
        if !state.logs.contains_key(session) {
            let mut log = self.load(session)?;
            if self.bug == Some(Bug::ForgetsTheLastFact) && log.facts.len() > 1 {
                log.facts.pop();
            }
            state.logs.insert(session.clone(), log);
        }
        let log = state.logs.get_mut(session);
        log.ok_or_else(|| unknown(session))
    }

    fn written<'a>(
        &self,
        state: &'a mut State,
        session: &SessionId,
    ) -> Result<&'a mut Log, StoreError> {
        let log = self.log(state, session)?;
        if log.facts.is_empty() {
            return Err(unknown(session));
        }
        Ok(log)
    }

    fn load(&self, session: &SessionId) -> Result<Log, StoreError> {
        let text = match fs::read(self.path(session)) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(failed(session, "reading", error)),
        };
        let whole = text.iter().rposition(|byte| *byte == b'\n');
        let whole = whole.map_or(0, |end| end + 1);
        let (lines, torn) = text.split_at(whole);
        let mut log = Log { torn: torn.len() as u64, ..Log::empty(session) };
        for line in lines.split_inclusive(|byte| *byte == b'\n') {
            let (batch, link) = log.parse(line).ok_or_else(|| {
                let after = log.last();
                let offset = Some(log.bytes);
                let context = format!(
                    "reading {session}: the line at byte {} is not what was written; restore the \
                     file from a copy",
                    log.bytes
                );
                StoreError::new(StoreErrorKind::Corrupt { after, offset }, context)
            })?;
            log.facts.extend(batch.into_iter().map(Arc::new));
            log.link = link;
            log.bytes += line.len() as u64;
        }
        Ok(log)
    }

    /// Writes a line after what is kept. A torn one goes first.
    fn write(&self, session: &SessionId, log: &Log, line: &[u8]) -> io::Result<()> {
        let path = self.path(session);
        let mut file = OpenOptions::new().append(true).create(true).open(&path)?;
        file.set_len(log.bytes)?;
        let written = file.write_all(line).and_then(|()| file.sync_data());
        if written.is_err() {
            // What stands of it must not be taken for the beginning of the next line.
            file.set_len(log.bytes)?;
        }
        written?;
        File::open(&self.folder)?.sync_all()
    }
}

#[async_trait]
impl LogStore for LinesStore {
    fn capabilities(&self) -> StoreCapabilities {
        StoreCapabilities {
            durability: Durability::Process,
            max_fact_bytes: MAX_FACT_BYTES,
            fencing: Fencing::Object,
            tail_delay_ms: None,
            erase: false,
            retention_ms: None,
            max_checkpoint_bytes: None,
        }
    }

    async fn claim(&self, session: &SessionId) -> Result<SessionClaim, StoreError> {
        let mut state = self.state.lock();
        state.epoch += 1;
        let epoch = Epoch(state.epoch);
        let log = self.log(&mut state, session)?;
        log.claim = Some(epoch);
        log.recent = None;
        let cut_bytes = std::mem::take(&mut log.torn);
        Ok(SessionClaim {
            epoch,
            last: log.last(),
            repaired: (cut_bytes > 0).then_some(TailRepair { last: log.last(), cut_bytes }),
        })
    }

    async fn release(&self, session: &SessionId, epoch: Epoch) -> Result<(), StoreError> {
        if let Some(log) = self.state.lock().logs.get_mut(session)
            && log.claim == Some(epoch)
        {
            log.claim = None;
        }
        Ok(())
    }

    async fn append(
        &self,
        session: &SessionId,
        epoch: Epoch,
        after: Seq,
        facts: &[Arc<RecordedFact>],
    ) -> Result<(), StoreError> {
        let mut state = self.state.lock();
        let log = self.log(&mut state, session)?;
        if log.claim != Some(epoch) {
            return refused(session, StoreErrorKind::NotClaimed, "claim it first");
        }
        let last = log.last();
        if log.recent == Some(after) && log.after(after) == facts {
            return Ok(()); // asked for again: its answer was lost
        }
        if after != last {
            return refused(session, StoreErrorKind::Conflict { last }, "it has gone on");
        }
        let numbered = |(at, fact): (u64, &Arc<RecordedFact>)| {
            fact.session == *session && fact.seq == after.plus(at)
        };
        if facts.is_empty() || !(1..).zip(facts).all(numbered) {
            return refused(session, StoreErrorKind::Invalid, "number the facts on");
        }
        let (mut link, mut line) = (log.link, Vec::new());
        for fact in facts {
            let text = codec::encode(fact).map_err(|error| failed(session, "encoding", error))?;
            if text.len() > MAX_FACT_BYTES {
                return refused(session, StoreErrorKind::TooLarge, "a fact is too large");
            }
            link = link.next(&text);
            if !line.is_empty() {
                line.push(SEPARATOR);
            }
            line.extend(text);
        }
        line.splice(..0, format!("{link} ").into_bytes());
        line.push(b'\n');
        self.write(session, log, &line).map_err(|error| {
            use io::ErrorKind::{QuotaExceeded, ReadOnlyFilesystem, StorageFull};
            let kind = if matches!(error.kind(), StorageFull | QuotaExceeded) {
                StoreErrorKind::Full
            } else if error.kind() == ReadOnlyFilesystem {
                StoreErrorKind::ReadOnly
            } else {
                StoreErrorKind::Io
            };
            StoreError::new(kind, format!("appending to {session} failed")).caused_by(error)
        })?;
        log.recent = Some(after);
        log.facts.extend_from_slice(facts);
        log.link = link;
        log.bytes += line.len() as u64;
        Ok(())
    }

    async fn read(
        &self,
        session: &SessionId,
        after: Seq,
        limit: usize,
    ) -> Result<Vec<RecordedFact>, StoreError> {
        let mut state = self.state.lock();
        let log = self.written(&mut state, session)?;
        let page = log.after(after).iter().take(limit);
        Ok(page.map(|fact| (**fact).clone()).collect())
    }

    async fn sessions(
        &self,
        filter: &SessionFilter,
        after: Option<&SessionId>,
        limit: usize,
    ) -> Result<Vec<SessionListing>, StoreError> {
        let listing = |error| failed("the folder", "listing", error);
        let mut ids = std::collections::BTreeSet::new();
        for entry in fs::read_dir(&self.folder).map_err(listing)? {
            let entry = entry.map_err(listing)?;
            let name = entry.file_name();
            let id = name.to_str().and_then(|name| name.strip_suffix(".lines"));
            let size = entry.metadata().map_err(listing)?.len();
            if let Some(id) = id.and_then(|id| SessionId::new(id).ok())
                && size > 0
            {
                ids.insert(id);
            }
        }
        let start = after.map_or(Bound::Unbounded, Bound::Excluded);
        let heads = ids.range((start, Bound::Unbounded)).map(|id| {
            // One that does not read is listed, and reading it says what is wrong.
            let log = self.load(id).ok();
            let facts = log.iter().flat_map(|log| &log.facts).map(AsRef::as_ref);
            let summary = SessionSummary::after(None, facts);
            SessionListing { id: id.clone(), summary }
        });
        let state = self.state.lock();
        let held = |id: &SessionId| state.logs.get(id).is_some_and(|log| log.claim.is_some());
        let taken = heads.filter(|head| filter.matches(head.summary.as_ref(), || held(&head.id)));
        Ok(taken.take(limit).collect())
    }

    async fn verify(&self, session: &SessionId) -> Result<LogVerification, StoreError> {
        let log = self.load(session)?;
        if log.facts.is_empty() {
            return Err(unknown(session));
        }
        Ok(LogVerification {
            last: log.last(),
            bytes: log.bytes,
            torn_bytes: log.torn,
            chain: log.link,
        })
    }
}

impl Log {
    fn empty(session: &SessionId) -> Self {
        let link = ChainLink::genesis(session);
        Self { claim: None, recent: None, facts: Vec::new(), link, bytes: 0, torn: 0 }
    }

    /// Reads a line that follows the log, with the link after it; `None` if it does not follow.
    fn parse(&self, line: &[u8]) -> Option<(Vec<RecordedFact>, ChainLink)> {
        let (link, batch) = std::str::from_utf8(line).ok()?.split_once(' ')?;
        let texts = batch.trim_end().as_bytes().split(|byte| *byte == SEPARATOR);
        let batch: Vec<RecordedFact> = texts.map(codec::decode).collect::<Result<_, _>>().ok()?;
        let mut chain = self.link;
        for fact in &batch {
            chain = chain.next(&codec::encode(fact).ok()?);
        }
        (ChainLink::parse(link)? == chain).then_some((batch, chain))
    }

    fn last(&self) -> Seq {
        Seq(self.facts.len() as u64)
    }

    /// The facts after a position.
    fn after(&self, after: Seq) -> &[Arc<RecordedFact>] {
        let from = usize::try_from(after.0).unwrap_or(usize::MAX);
        self.facts.get(from..).unwrap_or_default()
    }
}

fn unknown(session: &SessionId) -> StoreError {
    let context = format!("there is no session {session} here");
    StoreError::new(StoreErrorKind::Unknown, context)
}

fn refused(session: &SessionId, kind: StoreErrorKind, why: &str) -> Result<(), StoreError> {
    let context = format!("appending to {session}: {why}");
    Err(StoreError::new(kind, context))
}

fn failed(
    what: impl std::fmt::Display,
    doing: &str,
    error: impl std::error::Error + Send + Sync + 'static,
) -> StoreError {
    StoreError::new(StoreErrorKind::Io, format!("{doing} {what} failed")).caused_by(error)
}
