//! Keys in a folder: a file per key, in folders that only the user may read.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use async_trait::async_trait;
use windlass_core::SessionId;

use crate::error::KeyError;
use crate::master::MasterKeys;
use crate::record::KeyRecord;
use crate::rotate::{Rotation, rotate};
use crate::storage::KeyStorage;

/// Keys of sessions in a folder.
///
/// `keys/` has a file for each session, `erasing/` those of sessions whose erasing was interrupted,
/// `blobs/` a folder for each session with a file for each blob. `master` has the id of the master key.
/// Files have the mode 0600.
#[derive(Debug, Clone)]
pub struct FolderKeys {
    root: PathBuf,
}

/// Name of a file that is being written. No session and no blob has it.
const UNFINISHED: &str = ".new";
/// Name of the file with the id of the master key.
const MASTER: &str = "master";

impl FolderKeys {
    /// Opens a folder, which is created if it does not exist.
    ///
    /// # Errors
    /// Those of the operating system.
    pub fn open(root: impl Into<PathBuf>) -> io::Result<Self> {
        let keys = Self { root: root.into() };
        for folder in [keys.keys(), keys.erasing(), keys.blobs()] {
            create_folder(&folder)?;
        }
        Ok(keys)
    }

    /// Returns true if a path has the folder of an earlier process.
    #[must_use]
    pub fn exists(root: &Path) -> bool {
        root.join("keys").is_dir()
    }

    /// Checks that a process has the master key of this folder, before it changes anything. A folder
    /// without keys is theirs.
    ///
    /// # Errors
    /// [`KeyError::OtherMaster`] if the process has another one; [`KeyError::Io`] and
    /// [`KeyError::Damaged`] when the folder cannot be read or written.
    pub async fn check(&self, masters: &MasterKeys) -> Result<(), KeyError> {
        let master = match self.master().await? {
            Some(master) => master,
            None => {
                let id = masters.current.id().to_owned();
                let created = self.run(move |keys| create(&keys.root, MASTER, id.as_bytes())).await;
                created.map_err(|source| self.failed(source))?;
                // Another process may have been faster.
                self.master().await?.unwrap_or_else(|| masters.current.id().to_owned())
            }
        };
        match masters.get(&master) {
            Some(_) => Ok(()),
            None => Err(KeyError::OtherMaster { master }),
        }
    }

    /// Encrypts the keys of all sessions with the current master key, as [`rotate`]. The folder then
    /// belongs to that master key, unless a session's key failed.
    ///
    /// # Errors
    /// As [`check`](Self::check).
    pub async fn rotate(&self, masters: &MasterKeys) -> Result<Rotation, KeyError> {
        self.check(masters).await?;
        let rotation = rotate(self, masters).await?;
        if rotation.failed.is_empty() {
            let id = masters.current.id().to_owned();
            let replaced = self.run(move |keys| replace(&keys.root, MASTER, id.as_bytes())).await;
            replaced.map_err(|source| self.failed(source))?;
        }
        Ok(rotation)
    }

    /// Reads the id of the master key. A folder of an earlier version has it in its keys alone.
    async fn master(&self) -> Result<Option<String>, KeyError> {
        let path = self.root.join(MASTER);
        let stored = self.run(move |_| read(&path)).await.map_err(|source| self.failed(source))?;
        if let Some(stored) = stored {
            let damaged = |_| KeyError::Damaged { place: self.place() };
            return Ok(Some(String::from_utf8(stored).map_err(damaged)?));
        }
        let sessions = self.sessions().await.map_err(|source| self.failed(source))?;
        let Some(first) = sessions.first() else {
            return Ok(None);
        };
        let key = self.key(first).await.map_err(|source| self.failed(source))?;
        let record = key.map(|key| KeyRecord::decode(&key, &self.place())).transpose()?;
        Ok(record.map(|record| record.master))
    }

    fn failed(&self, source: io::Error) -> KeyError {
        KeyError::Io { place: self.place(), source }
    }

    fn keys(&self) -> PathBuf {
        self.root.join("keys")
    }

    fn erasing(&self) -> PathBuf {
        self.root.join("erasing")
    }

    fn blobs(&self) -> PathBuf {
        self.root.join("blobs")
    }

    /// Runs file operations on a thread for them.
    async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Self) -> io::Result<T> + Send + 'static,
    ) -> io::Result<T> {
        let keys = self.clone();
        let done = tokio::task::spawn_blocking(move || work(&keys)).await;
        done.unwrap_or_else(|error| Err(io::Error::other(error)))
    }
}

#[async_trait]
impl KeyStorage for FolderKeys {
    fn place(&self) -> String {
        self.root.display().to_string()
    }

    async fn key(&self, session: &SessionId) -> io::Result<Option<Vec<u8>>> {
        let path = self.keys().join(session.as_str());
        self.run(move |_| read(&path)).await
    }

    async fn create_key(&self, session: &SessionId, record: &[u8]) -> io::Result<bool> {
        let (name, record) = (session.to_string(), record.to_owned());
        self.run(move |keys| create(&keys.keys(), &name, &record)).await
    }

    async fn replace_key(&self, session: &SessionId, record: &[u8]) -> io::Result<()> {
        let (name, record) = (session.to_string(), record.to_owned());
        self.run(move |keys| replace(&keys.keys(), &name, &record)).await
    }

    async fn hide_key(&self, session: &SessionId) -> io::Result<()> {
        let name = session.to_string();
        self.run(move |keys| {
            let (from, to) = (keys.keys(), keys.erasing());
            if is_done(fs::rename(from.join(&name), to.join(&name)))? {
                sync_folder(&to)?;
                sync_folder(&from)?;
            }
            Ok(())
        })
        .await
    }

    async fn restore_key(&self, session: &SessionId) -> io::Result<()> {
        let name = session.to_string();
        self.run(move |keys| {
            let (from, to) = (keys.erasing(), keys.keys());
            match fs::hard_link(from.join(&name), to.join(&name)) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                linked => linked?,
            }
            sync_folder(&to)?;
            is_done(fs::remove_file(from.join(&name)))?;
            sync_folder(&from)
        })
        .await
    }

    async fn destroy_hidden_key(&self, session: &SessionId) -> io::Result<()> {
        let name = session.to_string();
        self.run(move |keys| {
            let folder = keys.erasing();
            if is_done(fs::remove_file(folder.join(&name)))? {
                sync_folder(&folder)?;
            }
            Ok(())
        })
        .await
    }

    async fn sessions(&self) -> io::Result<Vec<SessionId>> {
        self.run(|keys| names(&keys.keys())).await
    }

    async fn hidden(&self) -> io::Result<Vec<SessionId>> {
        self.run(|keys| names(&keys.erasing())).await
    }

    async fn blob(&self, session: &SessionId, name: &str) -> io::Result<Option<Vec<u8>>> {
        let path = self.blobs().join(session.as_str()).join(name);
        self.run(move |_| read(&path)).await
    }

    async fn create_blob(
        &self,
        session: &SessionId,
        name: &str,
        record: &[u8],
    ) -> io::Result<bool> {
        let folder = self.blobs().join(session.as_str());
        let (name, record) = (name.to_owned(), record.to_owned());
        self.run(move |keys| {
            create_folder(&folder)?;
            sync_folder(&keys.blobs())?;
            create(&folder, &name, &record)
        })
        .await
    }

    async fn remove_blobs(&self, session: &SessionId) -> io::Result<()> {
        let folder = self.blobs().join(session.as_str());
        self.run(move |keys| {
            is_done(fs::remove_dir_all(&folder))?;
            sync_folder(&keys.blobs())
        })
        .await
    }
}

fn create_folder(path: &Path) -> io::Result<()> {
    let mut folder = DirBuilder::new();
    folder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut folder, 0o700);
    folder.create(path)
}

fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    match fs::read(path) {
        Ok(record) => Ok(Some(record)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Writes a file that must not exist. Returns false if it does.
fn create(folder: &Path, name: &str, record: &[u8]) -> io::Result<bool> {
    let unfinished = write_unfinished(folder, record)?;
    let linked = fs::hard_link(&unfinished, folder.join(name));
    let removed = fs::remove_file(&unfinished);
    match linked {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(false),
        Err(error) => return Err(error),
    }
    removed?;
    sync_folder(folder)?;
    Ok(true)
}

fn replace(folder: &Path, name: &str, record: &[u8]) -> io::Result<()> {
    let unfinished = write_unfinished(folder, record)?;
    fs::rename(unfinished, folder.join(name))?;
    sync_folder(folder)
}

/// Writes a file under a name of its own, durably.
fn write_unfinished(folder: &Path, record: &[u8]) -> io::Result<PathBuf> {
    let mut random = [0; 8];
    getrandom::fill(&mut random).map_err(io::Error::other)?;
    let path = folder.join(format!("{UNFINISHED}.{:016x}", u64::from_le_bytes(random)));
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(&path)?;
    let written = file.write_all(record).and_then(|()| file.sync_all());
    if let Err(error) = written {
        // The disk may be full: nothing is left behind.
        let _ = fs::remove_file(&path);
        return Err(error);
    }
    Ok(path)
}

fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

/// Returns false if what was to be moved or removed does not exist.
fn is_done(done: io::Result<()>) -> io::Result<bool> {
    match done {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Returns the sessions that files in a folder are named after.
fn names(folder: &Path) -> io::Result<Vec<SessionId>> {
    let mut sessions = Vec::new();
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name();
        // An unfinished file begins with a dot, and no session does.
        sessions.extend(name.to_str().and_then(|name| SessionId::new(name).ok()));
    }
    sessions.sort();
    Ok(sessions)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::session_keys::SessionKeys;

    fn masters(digits: [&str; 2]) -> MasterKeys {
        let keys = digits.map(|two| format!("{}{}", two, "0123456789abcdef".repeat(4)));
        MasterKeys::parse(&keys.map(|key| key[..64].to_owned()).join(" ")).unwrap()
    }

    fn alone(digits: &str) -> MasterKeys {
        MasterKeys::new(masters([digits, digits]).current, Vec::new())
    }

    #[tokio::test]
    async fn a_folder_belongs_to_one_master_key_at_a_time() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().join("keys-of-store");
        assert!(!FolderKeys::exists(&root));
        let folder = FolderKeys::open(&root).unwrap();
        folder.check(&alone("a1")).await.unwrap();
        assert!(FolderKeys::exists(&root));
        let session = SessionId::new("s").unwrap();
        let keys = SessionKeys::new(Arc::new(folder.clone()), alone("a1"));
        keys.of_new(&session, None).await.unwrap();
        for other in [alone("b2"), masters(["b2", "c3"])] {
            let refused = folder.check(&other).await;
            assert!(matches!(refused, Err(KeyError::OtherMaster { .. })), "{refused:?}");
            assert!(folder.rotate(&other).await.is_err());
        }
        // A folder of an earlier version has the id in its keys alone.
        fs::remove_file(root.join(MASTER)).unwrap();
        assert!(folder.check(&alone("b2")).await.is_err());
        folder.check(&alone("a1")).await.unwrap();

        let rotation = folder.rotate(&masters(["b2", "a1"])).await.unwrap();
        assert_eq!((rotation.rotated, rotation.failed.len()), (1, 0));
        folder.check(&alone("b2")).await.unwrap();
        assert!(folder.check(&alone("a1")).await.is_err());
    }
}
