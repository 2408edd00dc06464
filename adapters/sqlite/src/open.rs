//! Opening: the checks of the folder and the database, and the connections that readers share.

use std::path::{Path, PathBuf};

use rusqlite::Connection;
use windlass_ports::sync::Mutex;
use windlass_ports::{StoreError, StoreErrorKind};

use crate::connection::connect;
use crate::error::{corrupt_store, sqlite_error, twice_if_malformed};
use crate::folder::{FileId, StoreFolder};
use crate::schema;
use crate::witness::{Witness, stated};

/// Most connections of readers that stay open.
pub(crate) const READERS: usize = 4;

/// Way in which a store is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OpenMode {
    /// To read and to write.
    Open,
    /// To read what a damaged store has.
    Salvage,
}

/// An open store, as its readers use it.
#[derive(Debug)]
pub(crate) struct OpenStore {
    pub(crate) folder: StoreFolder,
    file: Option<FileId>,
    idle: Mutex<Vec<Connection>>,
}

impl OpenStore {
    /// Runs a read, or a write that belongs to no claim, with a connection of its own. Runs it again if
    /// SQLite finds the database malformed.
    pub(crate) fn with<T>(
        &self,
        act: impl Fn(&StoreFolder, &mut Connection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        twice_if_malformed(|| self.with_connection(&act))
    }

    fn with_connection<T>(
        &self,
        act: impl Fn(&StoreFolder, &mut Connection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let idle = self.idle.lock().pop();
        let mut db = match idle {
            Some(db) => db,
            None => connect(&self.folder)?,
        };
        let done = act(&self.folder, &mut db);
        let mut idle = self.idle.lock();
        if idle.len() < READERS {
            idle.push(db);
        }
        done
    }

    /// Checks that the database is still at its path: what is written to one that was moved away is
    /// lost.
    pub(crate) fn check_there(&self) -> Result<(), StoreError> {
        let found = self.folder.database_file()?.map(|(file, _)| file);
        if found == self.file {
            return Ok(());
        }
        let context = format!(
            "the database of the SQLite store {} was removed, moved or replaced while it was open: \
             end this process, and put the database back",
            self.folder.dir.display()
        );
        Err(StoreError::new(StoreErrorKind::Io, context))
    }
}

/// Opens a store, or creates one. Returns the connection of its writer and its witness.
pub(crate) fn open(
    dir: &Path,
    mode: OpenMode,
) -> Result<(OpenStore, Connection, Witness), StoreError> {
    twice_if_malformed(|| open_once(dir.to_owned(), mode))
}

fn open_once(dir: PathBuf, mode: OpenMode) -> Result<(OpenStore, Connection, Witness), StoreError> {
    let folder = StoreFolder { dir };
    folder.create()?;
    let _opening = folder.lock_opening()?;
    let stated = stated(&folder)?;
    match (folder.database_file()?, stated) {
        (None, Some(_)) => {
            return Err(corrupt_store(&folder.dir, "its database is gone"));
        }
        (Some((_, 0)), Some(_)) => {
            return Err(corrupt_store(&folder.dir, "its database is an empty file"));
        }
        // Without a witness it may be half made.
        (None | Some(_), None) => folder.create_database()?,
        (Some(_), Some(_)) => {}
    }
    let mut db = connect(&folder)?;
    schema::migrate(&folder.dir, &mut db)?;
    let commits = db.query_row("select commits from store", [], |row| row.get::<_, i64>(0));
    let commits = commits.map_err(|error| sqlite_error("opening", &folder.dir, error))?;
    let stated = stated.unwrap_or(0);
    if stated > commits && mode == OpenMode::Open {
        let what = format!("its database has {commits} commits, and had {stated}");
        return Err(corrupt_store(&folder.dir, &what));
    }
    let witness = Witness::open(&folder)?;
    if mode == OpenMode::Open {
        witness.state(commits)?;
    }
    let file = folder.database_file()?.map(|(file, _)| file);
    Ok((OpenStore { folder, file, idle: Mutex::default() }, db, witness))
}
