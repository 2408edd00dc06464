//! Opening: the lock, the head index file, and the database under a watchdog, checked against each
//! other.
//!
//! A store is created in this order: a database with the store id in a temporary folder, its sync,
//! its rename, the head index file. So a database without facts and without a head index file is an
//! interrupted creation, which is finished. One with facts and without the file is refused.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use sled::Db;
use windlass_core::{Seq, SessionId};
use windlass_ports::sync::Mutex;
use windlass_ports::{ChainLink, StoreError, StoreErrorKind};

use crate::checkpoint;
use crate::error::{RESTORE, RecordError, corrupt_store, fault, io_error, sled_error};
use crate::folder::{DataFile, StoreFolder};
use crate::head_entry::{HeadEntry, StoreId};
use crate::head_index::HeadIndex;
use crate::head_index_file::{HeadIndexFile, LoadedHeadIndex};
use crate::open_store::OpenStore;
use crate::record::STORE_KEY;
use crate::scan::{self, PageLimits};
use crate::watchdog::{WatchdogError, within};

const SEGMENT_BYTES: usize = 8 * 1024 * 1024;
const CACHE_BYTES: u64 = 64 * 1024 * 1024;

/// Longest time of opening, and the extra time per bytes of the database.
const OPEN_BASE: Duration = Duration::from_secs(30);
const OPEN_BYTES_A_SECOND: u64 = 10 * 1024 * 1024;

/// Bytes of one read of a file that is written again.
const REWRITE_BYTES: usize = 1024 * 1024;

/// Longest wait for a database object of this process that was just dropped.
const LET_GO: Duration = Duration::from_secs(5);

const PAGE: PageLimits = PageLimits { last: Seq(u64::MAX), facts: 1_024, bytes: 16 * 1024 * 1024 };

/// Handling of a missing head index file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OpenMode {
    /// Refuse to open.
    Open,
    /// Check every log and write a new file.
    Rebuild,
    /// Open as usual, and open a database that has gone back, to read what it has.
    Salvage,
}

/// Opens or creates a store. `bound` replaces the usual time limit.
pub(crate) fn open(
    dir: PathBuf,
    mode: OpenMode,
    bound: Option<Duration>,
) -> Result<(OpenStore, HeadIndexFile), StoreError> {
    let folder = StoreFolder { dir };
    if mode == OpenMode::Open {
        folder.create()?;
    }
    let lock = folder.lock()?;
    let data = folder.data()?;
    let usual = match data {
        DataFile::Never | DataFile::Gone => OPEN_BASE,
        DataFile::Present { bytes } => OPEN_BASE + Duration::from_secs(bytes / OPEN_BYTES_A_SECOND),
    };
    let bound = bound.unwrap_or(usual);
    let inside = folder.clone();
    let opened = within(bound, move || assemble(&inside, mode, data, lock));
    opened.unwrap_or_else(|silence| Err(silent(&folder, bound, &silence)))
}

/// Opens a store again that failed in this process, and of which `id` is known if it ever opened.
///
/// After a failed sync the system may take data for written that is not ("fsyncgate"). The file is
/// written again in place first, so that the sync of opening it is reliable.
///
/// # Errors
/// `Ended` when the store is gone, damaged or another one; else those of [`open`].
pub(crate) fn reopen(
    dir: PathBuf,
    id: Option<StoreId>,
) -> Result<(OpenStore, HeadIndexFile), StoreError> {
    let folder = StoreFolder { dir };
    let ended = |what: String| {
        let context = format!("{what}: end this process, and start it again once that is repaired");
        StoreError::new(StoreErrorKind::Ended, context)
    };
    if !matches!(folder.data()?, DataFile::Present { .. }) {
        let file = folder.data_file();
        return Err(ended(format!("the database file {} is gone or empty", file.display())));
    }
    let path = folder.data_file();
    rewrite(&path).map_err(|error| io_error("writing again", &path, error))?;
    let opened = open(folder.dir.clone(), OpenMode::Open, None);
    let (store, heads) = opened.map_err(|error| match error.kind.is_of_store() {
        true => error,
        false if error.kind == StoreErrorKind::Locked => error,
        false => ended(error.context),
    })?;
    if id.is_some_and(|id| id != heads.id()) {
        let dir = folder.dir.display();
        return Err(ended(format!("another store was put in the place of {dir}")));
    }
    Ok((store, heads))
}

/// Writes the content of a file again, in place.
fn rewrite(path: &Path) -> io::Result<()> {
    let file = OpenOptions::new().read(true).write(true).open(path)?;
    let mut piece = vec![0; REWRITE_BYTES];
    let mut at = 0;
    loop {
        let read = file.read_at(&mut piece, at)?;
        if read == 0 {
            return file.sync_all();
        }
        file.write_all_at(piece.get(..read).unwrap_or_default(), at)?;
        at += read as u64;
    }
}

fn assemble(
    folder: &StoreFolder,
    mode: OpenMode,
    data: DataFile,
    lock: File,
) -> Result<(OpenStore, HeadIndexFile), StoreError> {
    let witness = match mode {
        OpenMode::Open | OpenMode::Salvage => LoadedHeadIndex::read(folder)?,
        OpenMode::Rebuild => None,
    };
    match (&witness, data, mode) {
        (_, DataFile::Present { .. }, _) => {}
        (None, DataFile::Never, OpenMode::Open) => make(folder)?,
        (Some(_), DataFile::Never | DataFile::Gone, _)
        | (None, DataFile::Gone, _)
        | (None, DataFile::Never, OpenMode::Rebuild | OpenMode::Salvage) => {
            let file = folder.data_file();
            let what = format!("its database file {} is gone or empty; {RESTORE}", file.display());
            return Err(corrupt_store(&folder.dir, &what));
        }
    }
    folder.clear_half_checkpoints()?;
    checkpoint::clear_unfinished(&folder.dir)?;
    let db = open_database(folder, folder.database())?;
    let (witness, heads) = match (witness, mode) {
        (Some(loaded), mode) => check_against(folder, &db, loaded, mode)?,
        (None, OpenMode::Open | OpenMode::Salvage) => create_head_index(folder, &db)?,
        (None, OpenMode::Rebuild) => rebuild(folder, &db)?,
    };
    // What the database shows from here on is on the disk, including what sled did to open it.
    folder.sync(&folder.database())?;
    let path = folder.data_file();
    let data = OpenOptions::new().read(true).write(true).open(&path);
    let data = data.map_err(|error| io_error("opening the database file", &path, error))?;
    let shared = OpenStore { dir: folder.dir.clone(), db, data, heads: Mutex::new(heads), lock };
    Ok((shared, witness))
}

/// Creates a database that holds only its id.
fn make(folder: &StoreFolder) -> Result<(), StoreError> {
    let db = open_database(folder, folder.begin_database()?)?;
    ensure_id(folder, &db)?;
    drop(db);
    folder.finish_database()
}

fn open_database(folder: &StoreFolder, path: PathBuf) -> Result<Db, StoreError> {
    database(&path).map_err(|error| {
        if let sled::Error::Io(held) = &error
            && is_held(held)
        {
            let what = format!(
                "the database in {} is held by a process that does not use this store's lock: \
                 {held}; end it",
                folder.dir.display()
            );
            return StoreError::new(StoreErrorKind::Locked, what);
        }
        sled_error("opening", &folder.dir, error)
    })
}

/// Opens the database in a folder.
///
/// Waits for one that is held: the caller holds the folder's lock, so the holder is an object of
/// this process that is being dropped. Sled releases its file a moment after its last handle.
pub(crate) fn database(path: &Path) -> sled::Result<Db> {
    let config =
        sled::Config::new().path(path).segment_size(SEGMENT_BYTES).cache_capacity(CACHE_BYTES);
    let begun = Instant::now();
    loop {
        match config.open() {
            Err(sled::Error::Io(error)) if is_held(&error) && begun.elapsed() <= LET_GO => {
                std::thread::sleep(Duration::from_millis(2));
            }
            opened => return opened,
        }
    }
}

/// Returns true for the error of a held file, which has no kind in sled.
fn is_held(error: &io::Error) -> bool {
    error.to_string().contains("could not acquire lock")
}

fn check_against(
    folder: &StoreFolder,
    db: &Db,
    loaded: LoadedHeadIndex,
    mode: OpenMode,
) -> Result<(HeadIndexFile, HeadIndex), StoreError> {
    match stored_id(folder, db)? {
        Some(id) if id == loaded.id => {}
        Some(_) => {
            let what = "its database belongs to another store than its witness; put back what \
                        belongs together";
            return Err(corrupt_store(&folder.dir, what));
        }
        None => {
            let what = format!("its witness knows it and its database is empty; {RESTORE}");
            return Err(corrupt_store(&folder.dir, &what));
        }
    }
    let witness = HeadIndexFile::resume(folder, &loaded)?;
    let mut heads = HeadIndex::from_file(loaded.heads);
    for session in &loaded.latest {
        match heads.admit(db, &folder.dir, session) {
            Ok(_) => {}
            Err(_) if mode == OpenMode::Salvage => {}
            // One session's damage does not keep the others from being read; but a database that
            // ends before the witness has gone back as a whole, and must not be gone on with.
            Err(error) => {
                let what = format!(
                    "it has gone back behind its witness ({}), so appends to any session may be \
                     lost",
                    error.context
                );
                return Err(corrupt_store(&folder.dir, &what));
            }
        }
    }
    Ok((witness, heads))
}

fn create_head_index(
    folder: &StoreFolder,
    db: &Db,
) -> Result<(HeadIndexFile, HeadIndex), StoreError> {
    let any = scan::session_after(db, None);
    let any = any.map_err(|found| sled_fault(folder, found))?;
    if any.is_some() {
        let what = format!(
            "its witness {} is gone, so nobody can say whether the database is whole; restore \
             the witness from a backup, or, if you know the database to be whole, rebuild it \
             with the library's `SledStore::rebuild_head_index`, which checks every log first and \
             which no command does",
            folder.head_index_path().display()
        );
        return Err(corrupt_store(&folder.dir, &what));
    }
    let id = ensure_id(folder, db)?;
    folder.sync(&folder.database())?;
    let witness = HeadIndexFile::create(folder, id, std::iter::empty())?;
    Ok((witness, HeadIndex::default()))
}

fn rebuild(folder: &StoreFolder, db: &Db) -> Result<(HeadIndexFile, HeadIndex), StoreError> {
    let mut heads = BTreeMap::new();
    let mut after = None;
    loop {
        let next = scan::session_after(db, after.as_ref());
        let Some(session) = next.map_err(|found| sled_fault(folder, found))? else {
            break;
        };
        let whole = |found| fault(&folder.dir, &session, Seq::ZERO, found);
        if let Some(tail) = scan::tail(db, &session).map_err(whole)?
            && let Some(header) = tail.header
        {
            check_whole(folder, db, &session, tail.seq)?;
            heads.insert(session.clone(), (tail.seq, header.link));
        }
        after = Some(session);
    }
    let id = ensure_id(folder, db)?;
    folder.sync(&folder.database())?;
    let statements = heads.iter().map(|(session, (seq, link))| HeadEntry {
        session: session.clone(),
        seq: *seq,
        link: *link,
    });
    let witness = HeadIndexFile::create(folder, id, statements)?;
    Ok((witness, HeadIndex::from_file(heads)))
}

fn check_whole(
    folder: &StoreFolder,
    db: &Db,
    session: &SessionId,
    last: Seq,
) -> Result<(), StoreError> {
    let (mut at, mut link) = (Seq::ZERO, ChainLink::genesis(session));
    while at < last {
        let page = scan::page(db, session, (at, link), PageLimits { last, ..PAGE });
        let page = page.map_err(|(after, found)| fault(&folder.dir, session, after, found))?;
        at = at.plus(page.texts.len() as u64);
        link = page.link;
    }
    Ok(())
}

fn stored_id(folder: &StoreFolder, db: &Db) -> Result<Option<StoreId>, StoreError> {
    let row = db.get(STORE_KEY);
    let row = row.map_err(|error| sled_error("opening", &folder.dir, error))?;
    match row.map(|id| StoreId::try_from(&*id)) {
        None => Ok(None),
        Some(Ok(id)) => Ok(Some(id)),
        Some(Err(_)) => Err(corrupt_store(&folder.dir, "its number is no number")),
    }
}

/// Returns the id in the database, after creating one if it is missing.
fn ensure_id(folder: &StoreFolder, db: &Db) -> Result<StoreId, StoreError> {
    if let Some(id) = stored_id(folder, db)? {
        return Ok(id);
    }
    let mut id = StoreId::default();
    for half in id.chunks_mut(8) {
        // The standard library's hash keys are the one source of chance it has.
        let drawn = RandomState::new().hash_one(std::process::id());
        half.copy_from_slice(&drawn.to_le_bytes());
    }
    let kept = db.insert(STORE_KEY, &id).and_then(|_| db.flush());
    kept.map_err(|error| sled_error("making", &folder.dir, error))?;
    Ok(id)
}

fn sled_fault(folder: &StoreFolder, found: RecordError) -> StoreError {
    match found {
        RecordError::Sled(error) => sled_error("opening", &folder.dir, error),
        RecordError::Bad(what) => corrupt_store(&folder.dir, &what),
    }
}

fn silent(folder: &StoreFolder, bound: Duration, silence: &WatchdogError) -> StoreError {
    let dir = folder.dir.display();
    match silence {
        WatchdogError::Late => corrupt_store(
            &folder.dir,
            &format!(
                "its database did not open within {} s, as happens when its file is damaged; the \
                 attempt goes on in this process and keeps the store locked, so end the process; \
                 {RESTORE}",
                bound.as_secs_f32()
            ),
        ),
        WatchdogError::Panicked(said) => corrupt_store(
            &folder.dir,
            &format!("its database panicked while it was opened ({said}); {RESTORE}"),
        ),
        WatchdogError::NoThread(error) => StoreError::new(
            StoreErrorKind::Io,
            format!("opening the sled store {dir}: no thread to do it on: {error}"),
        ),
    }
}
