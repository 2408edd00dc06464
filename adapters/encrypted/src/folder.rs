//! Keys in a folder: a file per key, in folders that only the user may read.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use async_trait::async_trait;
use windlass_core::SessionId;

use crate::storage::KeyStorage;

/// Keys of sessions in a folder.
///
/// `keys/` has a file for each session, `erasing/` those of sessions whose erasing was interrupted,
/// `blobs/` a folder for each session with a file for each blob. Files have the mode 0600.
#[derive(Debug, Clone)]
pub struct FolderKeys {
    root: PathBuf,
}

/// Name of a file that is being written. No session and no blob has it.
const UNFINISHED: &str = ".new";

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
