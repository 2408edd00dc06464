//! A writer in a process of its own, for the suites that kill it or record it: the test program
//! itself, run again with one test and the place to write to in its environment.

use std::env;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use tokio::task::JoinSet;
use windlass_core::{RecordedFact, Seq, SessionId};
use windlass_ports::{LogStore, StoreError, StoreErrorKind, StoredCheckpoint};

use super::facts::{fact_of_size, numbered_facts};
use super::violation::{Checked, Violation, done, ensure, run_in_parallel};
use super::writer::check_facts;

/// Opens a store in a folder, which need not exist.
pub type OpenFolder = fn(&Path) -> Result<Arc<dyn LogStore>, StoreError>;

const PLACE: &str = "WINDLASS_TESTKIT_WRITER_PLACE";
const APPENDS: &str = "WINDLASS_TESTKIT_WRITER_APPENDS";

/// Sessions that are written at once.
pub(crate) const SESSIONS: usize = 3;

/// Folder of the store in a place. Its parent is made by the store.
pub(crate) fn store_in(place: &Path) -> PathBuf {
    place.join("root").join("made").join("store")
}

/// File in a place to which the writer adds a line for each append that was acknowledged.
pub(crate) fn journal_in(place: &Path) -> PathBuf {
    place.join("journal")
}

pub(crate) fn session(number: usize) -> Result<SessionId, Violation> {
    super::writer::session(&format!("s{number}"))
}

/// This test program as a writer: it runs only the test `writer`, at a place.
pub(crate) fn command(
    writer: &str,
    place: &Path,
    appends: Option<usize>,
) -> Result<Command, Violation> {
    let program = env::current_exe();
    let program = program.map_err(|error| Violation::new(format!("no program: {error}")))?;
    // The path of a module begins with the crate's name, which is not part of a test's name.
    let test = writer.split_once("::").map_or(writer, |(_, test)| test);
    let mut command = Command::new(program);
    command.args(["--exact", test, "--nocapture", "--test-threads=1"]).env(PLACE, place);
    if let Some(appends) = appends {
        command.env(APPENDS, appends.to_string());
    }
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    Ok(command)
}

/// The writer: as a child it appends to several sessions at once, for ever or as often as it was told,
/// and opens the store a second time in between. In the test program itself it does nothing.
///
/// # Errors
/// A violation when the store fails.
pub fn writer(open: OpenFolder) -> Checked {
    let Some(place) = env::var_os(PLACE).map(PathBuf::from) else {
        return Ok(());
    };
    let appends = env::var(APPENDS).ok().and_then(|appends| appends.parse().ok());
    for _ in 0..2 {
        let place = place.clone();
        run_in_parallel(async move {
            let store = done(open(&store_in(&place)), "opening the store")?;
            let mut writers = JoinSet::new();
            for number in 0..SESSIONS {
                let (store, journal) = (store.clone(), journal_in(&place));
                writers.spawn(write(store, session(number)?, journal, appends));
            }
            while let Some(ended) = writers.join_next().await {
                ended.map_err(|error| Violation::new(format!("a writer died: {error}")))??;
            }
            Ok(())
        })?;
    }
    Ok(())
}

async fn write(
    store: Arc<dyn LogStore>,
    id: SessionId,
    journal: PathBuf,
    appends: Option<usize>,
) -> Checked {
    let opened = OpenOptions::new().create(true).append(true).open(journal);
    let failed = |error| Violation::new(format!("the journal: {error}"));
    let mut journal = opened.map_err(failed)?;
    let claimed = done(store.claim(&id).await, "claiming")?;
    let mut last = claimed.last;
    for _ in 0..appends.unwrap_or(usize::MAX) {
        let facts = batch(&id, last);
        let appended = store.append(&id, claimed.epoch, last, &facts).await;
        done(appended, "appending")?;
        last = last.plus(facts.len() as u64);
        checkpoint(&*store, &id, last).await?;
        // One call, so that a line is whole or not there.
        journal.write_all(format!("{id} {last}\n").as_bytes()).map_err(failed)?;
    }
    done(store.release(&id, claimed.epoch).await, "releasing")
}

/// Writes a checkpoint that names its position, after some appends.
async fn checkpoint(store: &dyn LogStore, id: &SessionId, last: Seq) -> Checked {
    let most = store.capabilities().max_checkpoint_bytes;
    if most.is_none() || !last.0.is_multiple_of(5) {
        return Ok(());
    }
    let (version, bytes) = (String::from("1"), last.to_string().into_bytes());
    let made = StoredCheckpoint { seq: last, version, bytes };
    done(store.write_checkpoint(id, &made).await, "writing a checkpoint")
}

/// The append that follows a position, the same in each process: one to four facts, now and then a
/// large one.
fn batch(id: &SessionId, after: Seq) -> Vec<Arc<RecordedFact>> {
    let large = fact_of_size(id, after, 70_000).filter(|_| after.0 % 23 == 7);
    match large {
        Some(large) => vec![large],
        None => numbered_facts(id, after, 1 + after.0 % 4),
    }
}

/// Holds a store to what the writer's journal says: each session has all that was acknowledged, ends
/// with an append, and has no other facts than those.
pub(crate) async fn judge(store: &dyn LogStore, journal: &[u8]) -> Checked {
    for number in 0..SESSIONS {
        let id = session(number)?;
        let acknowledged = acknowledged(journal, &id);
        let read = match store.read(&id, Seq::ZERO, usize::MAX).await {
            Err(error) if error.kind == StoreErrorKind::Unknown => Vec::new(),
            read => done(read, &format!("reading {id}"))?,
        };
        let count = read.len() as u64;
        ensure!(
            Seq(count) >= acknowledged,
            "{id} was acknowledged up to {acknowledged} and ends at {count}: what was \
             acknowledged is lost"
        );
        let mut expected = Vec::new();
        while expected.len() < read.len() {
            expected.extend(batch(&id, Seq(expected.len() as u64)));
        }
        ensure!(
            expected.len() == read.len(),
            "{id} ends at {count}, within an append: an append is whole or absent"
        );
        check_facts(&read, &expected)?;
        if count > 0 {
            let verified = done(store.verify(&id).await, &format!("verifying {id}"))?;
            ensure!(verified.last == Seq(count), "{id} verifies up to {}", verified.last);
            sound_checkpoint(store, &id).await?;
        }
        let claimed = done(store.claim(&id).await, &format!("claiming {id}"))?;
        ensure!(claimed.last == Seq(count), "{id} is claimed at {}", claimed.last);
        let next = batch(&id, claimed.last);
        let appended = store.append(&id, claimed.epoch, claimed.last, &next).await;
        done(appended, &format!("going on with {id}"))?;
    }
    Ok(())
}

/// Holds a checkpoint, if there is one, to being one that was written.
async fn sound_checkpoint(store: &dyn LogStore, id: &SessionId) -> Checked {
    if store.capabilities().max_checkpoint_bytes.is_none() {
        return Ok(());
    }
    let found = done(store.read_checkpoint(id, "1").await, "reading a checkpoint")?;
    let sound = |it: &StoredCheckpoint| it.bytes == it.seq.to_string().into_bytes();
    ensure!(
        found.as_ref().is_none_or(sound),
        "{id} has a checkpoint at {:?} that was never written",
        found.map(|it| it.seq)
    );
    Ok(())
}

/// The last position of a session in whole lines of a journal.
fn acknowledged(journal: &[u8], id: &SessionId) -> Seq {
    let whole = journal.iter().rposition(|byte| *byte == b'\n').unwrap_or(0);
    let text = String::from_utf8_lossy(journal.get(..whole).unwrap_or_default());
    let lines = text.lines().filter_map(|line| line.split_once(' '));
    let last = lines.filter(|(of, _)| *of == id.as_str()).filter_map(|(_, last)| last.parse().ok());
    last.max().map_or(Seq::ZERO, Seq)
}

/// A folder that is removed with this, with an empty folder `root` in it.
#[derive(Debug)]
pub(crate) struct Place(PathBuf);

impl Place {
    pub(crate) fn new(inside: &Path) -> Result<Self, Violation> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let (process, number) = (std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        let path = inside.join(format!("windlass-writer-{process}-{number}"));
        let made = fs::create_dir_all(path.join("root"));
        made.map_err(|error| Violation::new(format!("no folder {}: {error}", path.display())))?;
        Ok(Self(path))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
