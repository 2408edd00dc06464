//! The head index file, named `witness`: a durable record of the end of each session's log.
//!
//! It has a header and entries of one size. An entry records that a log reached a position with a
//! link. It is written after the database was synced, so each entry that a crash leaves is true,
//! and the database is never behind it. The entries counted in the header were synced before the
//! file was renamed and must be whole. Later entries are synced within a second, so damaged ones
//! among them are skipped.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::time::{Duration, Instant};

use windlass_core::{Seq, SessionId};
use windlass_ports::{ChainLink, StoreError};

use crate::error::{corrupt_store, io_error};
use crate::folder::{StoreFolder, check_there};
use crate::head_entry::{ENTRY, HeadEntry, StoreId, decode, encode};

const MAGIC: &[u8; 16] = b"windlass-sled-1\n";
const HEADER: usize = 16 + 16 + 8 + 4;

/// Longest delay between a write and its sync.
const SYNC_AFTER: Duration = Duration::from_secs(1);

/// The file is rewritten if it has twice as many entries as sessions, and this many more.
const SLACK: u64 = 16 * 1024;

/// Sessions to check against the database when the store is opened. Others are checked on first
/// use.
const LATEST: usize = 1_024;

/// Content of a head index file.
#[derive(Debug)]
pub(crate) struct LoadedHeadIndex {
    pub(crate) id: StoreId,
    /// Last entry of each session.
    pub(crate) heads: BTreeMap<SessionId, (Seq, ChainLink)>,
    /// Sessions of the last entries, up to [`LATEST`].
    pub(crate) latest: BTreeSet<SessionId>,
    bytes: u64,
    passed_over: u64,
}

/// Head index file of an open store.
#[derive(Debug)]
pub(crate) struct HeadIndexFile {
    folder: StoreFolder,
    id: StoreId,
    file: File,
    bytes: u64,
    written: Option<Instant>,
}

impl LoadedHeadIndex {
    /// Reads the file of a folder; returns `None` if there is none.
    pub(crate) fn read(folder: &StoreFolder) -> Result<Option<Self>, StoreError> {
        let path = folder.head_index_path();
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(io_error("reading the witness", &path, error)),
        };
        let loaded = Self::parse(&bytes).ok_or_else(|| {
            let what = format!(
                "its witness {} is damaged, so nobody can say whether the database is whole; \
                 restore the witness from a backup, or, if you know the database to be whole, \
                 rebuild it with the library's `SledStore::rebuild_head_index`, which checks every \
                 log first and which no command does",
                path.display()
            );
            corrupt_store(&folder.dir, &what)
        })?;
        Ok(Some(loaded))
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let (header, entries) = bytes.split_at_checked(HEADER)?;
        let (covered, crc) = header.split_last_chunk::<4>()?;
        let rest = covered.strip_prefix(MAGIC)?;
        let (id, base) = rest.split_first_chunk::<16>()?;
        let base = u64::from_le_bytes(base.try_into().ok()?);
        if crc32c::crc32c(covered) != u32::from_le_bytes(*crc) {
            return None;
        }
        let mut loaded = Self {
            id: *id,
            heads: BTreeMap::new(),
            latest: BTreeSet::new(),
            bytes: HEADER as u64,
            passed_over: 0,
        };
        let mut count = 0_u64;
        for entry in entries.chunks(ENTRY) {
            match decode(id, entry) {
                Some(statement) => loaded.add(statement),
                None if count < base => return None,
                None => loaded.passed_over += 1,
            }
            count += 1;
            loaded.bytes += entry.len() as u64;
        }
        if count < base {
            return None;
        }
        for statement in entries.chunks(ENTRY).rev().filter_map(|entry| decode(id, entry)) {
            if loaded.latest.len() == LATEST {
                break;
            }
            loaded.latest.insert(statement.session);
        }
        Some(loaded)
    }

    fn add(&mut self, statement: HeadEntry) {
        let HeadEntry { session, seq, link } = statement;
        // Statements are in no order that a crash must keep; each is true of its position.
        let head = self.heads.entry(session).or_insert((seq, link));
        if head.0 < seq {
            *head = (seq, link);
        }
    }
}

impl HeadIndexFile {
    /// Opens a file that was read, to append to it.
    pub(crate) fn resume(
        folder: &StoreFolder,
        loaded: &LoadedHeadIndex,
    ) -> Result<Self, StoreError> {
        if loaded.passed_over > 0 {
            tracing::warn!(
                store = %folder.dir.display(),
                entries = loaded.passed_over,
                "the witness had unreadable entries at its end, as a power loss leaves them"
            );
            let heads = loaded.heads.iter();
            let statements = heads.map(|(session, (seq, link))| HeadEntry {
                session: session.clone(),
                seq: *seq,
                link: *link,
            });
            return Self::create(folder, loaded.id, statements);
        }
        let path = folder.head_index_path();
        let opened = OpenOptions::new().read(true).write(true).open(&path);
        let file = opened.map_err(|error| io_error("opening the witness", &path, error))?;
        Ok(Self { folder: folder.clone(), id: loaded.id, file, bytes: loaded.bytes, written: None })
    }

    /// Writes a new file and replaces the old one atomically.
    pub(crate) fn create(
        folder: &StoreFolder,
        id: StoreId,
        statements: impl Iterator<Item = HeadEntry>,
    ) -> Result<Self, StoreError> {
        let mut entries = Vec::new();
        let mut count = 0_u64;
        for statement in statements {
            encode(&id, &statement, &mut entries);
            count += 1;
        }
        let mut bytes = MAGIC.to_vec();
        bytes.extend_from_slice(&id);
        bytes.extend_from_slice(&count.to_le_bytes());
        bytes.extend_from_slice(&crc32c::crc32c(&bytes).to_le_bytes());
        bytes.append(&mut entries);

        let path = folder.head_index_path();
        let replaced = replace(folder, &bytes);
        let file = replaced.map_err(|error| io_error("writing the witness", &path, error))?;
        Ok(Self { folder: folder.clone(), id, file, bytes: bytes.len() as u64, written: None })
    }

    /// Appends entries. The next call overwrites a partial write.
    pub(crate) fn state(&mut self, statements: &[HeadEntry]) -> Result<(), StoreError> {
        let mut entries = Vec::with_capacity(statements.len() * ENTRY);
        for statement in statements {
            encode(&self.id, statement, &mut entries);
        }
        let written = self.file.write_all_at(&entries, self.bytes);
        written.map_err(|error| {
            io_error("writing the witness", &self.folder.head_index_path(), error)
        })?;
        self.bytes += entries.len() as u64;
        self.written.get_or_insert_with(Instant::now);
        Ok(())
    }

    /// Checks that the file is still at its path.
    pub(crate) fn check_there(&self) -> Result<(), StoreError> {
        check_there(&self.file, &self.folder.head_index_path())
    }

    /// Returns true if the file should be rewritten.
    pub(crate) fn overgrown(&self, sessions: usize) -> bool {
        let entries = self.bytes / ENTRY as u64;
        let sessions = sessions as u64;
        entries > sessions + SLACK && entries > 2 * sessions
    }

    /// Store id in the file.
    pub(crate) fn id(&self) -> StoreId {
        self.id
    }

    /// Delay until the next sync; `None` if no sync is needed.
    pub(crate) fn due(&self) -> Option<Duration> {
        self.written.map(|since| SYNC_AFTER.saturating_sub(since.elapsed()))
    }

    /// Syncs the entries written so far.
    pub(crate) fn sync(&mut self) -> Result<(), StoreError> {
        let synced = self.file.sync_data();
        synced.map_err(|error| {
            io_error("syncing the witness", &self.folder.head_index_path(), error)
        })?;
        self.written = None;
        Ok(())
    }
}

fn replace(folder: &StoreFolder, bytes: &[u8]) -> io::Result<File> {
    let (path, new) = (folder.head_index_path(), folder.dir.join("witness.new"));
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(true).mode(0o600);
    let mut file = options.open(&new)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&new, &path)?;
    File::open(&folder.dir)?.sync_all()?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: StoreId = [7; 16];

    fn statement(session: &str, seq: u64) -> HeadEntry {
        HeadEntry {
            session: SessionId::new(session).unwrap(),
            seq: Seq(seq),
            link: ChainLink([u8::try_from(seq % 251).unwrap(); 32]),
        }
    }

    fn folder() -> (tempfile::TempDir, StoreFolder) {
        let place = tempfile::tempdir().unwrap();
        let folder = StoreFolder { dir: place.path().to_owned() };
        (place, folder)
    }

    fn bytes_of(base: &[HeadEntry], rest: &[HeadEntry]) -> Vec<u8> {
        let (_place, folder) = folder();
        let mut witness = HeadIndexFile::create(&folder, ID, base.iter().cloned()).unwrap();
        witness.state(rest).unwrap();
        witness.sync().unwrap();
        fs::read(folder.head_index_path()).unwrap()
    }

    #[test]
    fn says_what_was_stated_last() {
        let base = [statement("a", 3), statement(&"x".repeat(64), 9)];
        let bytes = bytes_of(&base, &[statement("a", 5), statement("b", 1)]);
        let loaded = LoadedHeadIndex::parse(&bytes).unwrap();
        let ends: Vec<_> = loaded.heads.iter().map(|(id, (seq, _))| (id.as_str(), seq.0)).collect();
        assert_eq!(ends, [("a", 5), ("b", 1), (&*"x".repeat(64), 9)]);
        assert_eq!(loaded.latest.len(), 3);
        assert_eq!(loaded.bytes, bytes.len() as u64);
    }

    #[test]
    fn a_torn_end_is_passed_over_and_a_torn_base_is_not() {
        let bytes = bytes_of(&[statement("a", 3)], &[statement("a", 5), statement("b", 1)]);
        let base_end = HEADER + ENTRY;
        for len in 0..bytes.len() {
            let loaded = LoadedHeadIndex::parse(&bytes[..len]);
            assert_eq!(loaded.is_some(), len >= base_end, "cut to {len}");
        }
        for bit in 0..bytes.len() * 8 {
            let mut bytes = bytes.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            let loaded = LoadedHeadIndex::parse(&bytes);
            assert_eq!(loaded.is_some(), bit / 8 >= base_end, "bit {bit}");
            let heads = loaded.map(|loaded| loaded.heads).unwrap_or_default();
            let known = [("a", 3), ("a", 5), ("b", 1)];
            let says_no_other = |(id, (seq, _)): (&SessionId, &(Seq, ChainLink))| {
                known.contains(&(id.as_str(), seq.0))
            };
            assert!(heads.iter().all(says_no_other), "bit {bit}");
        }
    }

    #[test]
    fn the_sessions_spoken_of_last_are_known() {
        let base: Vec<_> = (0..3_000).map(|n| statement(&format!("s{n:04}"), 1)).collect();
        let rest: Vec<_> = (0..100).map(|n| statement(&format!("s{n:04}"), 2)).collect();
        let loaded = LoadedHeadIndex::parse(&bytes_of(&base, &rest)).unwrap();
        assert_eq!(loaded.heads.len(), 3_000);
        assert_eq!(loaded.latest.len(), LATEST);
        assert!(rest.iter().all(|spoken| loaded.latest.contains(&spoken.session)));
    }

    #[test]
    fn it_is_written_anew_when_it_has_grown_and_says_the_same() {
        let (_place, folder) = folder();
        let mut witness = HeadIndexFile::create(&folder, ID, std::iter::empty()).unwrap();
        let many: Vec<_> = (1..=SLACK + 20).map(|seq| statement("a", seq)).collect();
        witness.state(&many[..20]).unwrap();
        assert!(!witness.overgrown(1));
        witness.state(&many[20..]).unwrap();
        assert!(witness.overgrown(1));
        let before = LoadedHeadIndex::read(&folder).unwrap().unwrap();
        let last = many[many.len() - 1..].iter().cloned();
        assert!(!HeadIndexFile::create(&folder, ID, last).unwrap().overgrown(1));
        assert_eq!(LoadedHeadIndex::read(&folder).unwrap().unwrap().heads, before.heads);
    }

    #[test]
    fn a_failed_statement_leaves_no_trace() {
        let (_place, folder) = folder();
        let mut witness = HeadIndexFile::create(&folder, ID, std::iter::empty()).unwrap();
        witness.file.write_all_at(&[1; ENTRY / 2], witness.bytes).unwrap();
        witness.state(&[statement("a", 1)]).unwrap();
        let loaded = LoadedHeadIndex::read(&folder).unwrap().unwrap();
        assert_eq!(loaded.heads.len(), 1);
        assert_eq!(loaded.passed_over, 0);
    }
}
