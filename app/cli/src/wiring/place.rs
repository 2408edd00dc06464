//! Places: the workspace, and the store that a URL names.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use windlass::ports::{Blobs, LogStore};
use windlass_file::{FileBlobs, FileStore};
use windlass_memory::{MemoryBlobs, MemoryStore};
use windlass_sled::SledStore;

use crate::args::Place;
use crate::exit::{Exit, Failure};

/// The folder of our own state in a workspace.
const STATE: &str = ".windlass";

/// Where a command works.
#[derive(Debug, Clone)]
pub(crate) struct Site {
    /// The folder that the tools work in; absolute.
    pub(crate) workspace: PathBuf,
    /// Where the logs are kept.
    pub(crate) store: StoreUrl,
    /// Whether the user named the store.
    named: bool,
}

/// Where logs are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum StoreUrl {
    /// A folder of plain append-only logs.
    File(PathBuf),
    /// A folder of the embedded database sled.
    Sled(PathBuf),
    /// Nowhere: it goes with the process.
    Memory,
}

impl Site {
    /// Reads where a command is to work.
    pub(crate) fn new(place: &Place) -> Result<Self, Failure> {
        let shown = place.workspace.display();
        let workspace = place.workspace.canonicalize().map_err(|error| {
            Failure::usage(format!("the workspace {shown} cannot be opened: {error}"))
        })?;
        if !workspace.is_dir() {
            return Err(Failure::usage(format!(
                "the workspace {shown} is not a folder"
            )));
        }
        let store = match &place.store {
            None => StoreUrl::File(workspace.join(STATE)),
            Some(url) => StoreUrl::parse(url)?,
        };
        Ok(Self {
            workspace,
            store,
            named: place.store.is_some(),
        })
    }

    /// Opens the store for what needs it to be there: one that was named must exist, so that a
    /// slip of the pen is told and creates nothing, and one in memory is always another one.
    pub(crate) async fn open_to_read(&self) -> Result<Arc<dyn LogStore>, Failure> {
        if self.store == StoreUrl::Memory {
            return Err(Failure::usage(
                "a store in memory goes with its process, so there is nothing in it to go on with \
                 or to read: name the store that the session is in, file:PATH or sled:PATH",
            ));
        }
        if self.named && !self.store.exists() {
            return Err(Failure::usage(format!("there is no store {}", self.store)));
        }
        self.open().await
    }

    /// Opens the store.
    pub(crate) async fn open(&self) -> Result<Arc<dyn LogStore>, Failure> {
        // Opening reads files and may wait for a lock: not on an async thread.
        self.store.is_ours()?;
        let url = self.store.clone();
        let opened = tokio::task::spawn_blocking(move || -> Result<Arc<dyn LogStore>, Failure> {
            match url {
                StoreUrl::File(path) => Ok(Arc::new(FileStore::open(path)?)),
                StoreUrl::Sled(path) => Ok(Arc::new(SledStore::open(path)?)),
                StoreUrl::Memory => Ok(Arc::new(MemoryStore::new())),
            }
        });
        opened
            .await
            .map_err(|error| Failure::new(Exit::Store, format!("opening the store: {error}")))?
    }
}

impl StoreUrl {
    /// Where outputs are kept that are too long for a log: beside the logs.
    pub(crate) fn blobs(&self) -> Arc<dyn Blobs> {
        match self {
            Self::File(path) | Self::Sled(path) => Arc::new(FileBlobs::new(path.clone())),
            Self::Memory => Arc::new(MemoryBlobs::new()),
        }
    }

    /// Where it is, unless it is nowhere.
    pub(crate) fn path(&self) -> Option<&Path> {
        match self {
            Self::File(path) | Self::Sled(path) => Some(path),
            Self::Memory => None,
        }
    }

    /// Whether something is there already.
    pub(crate) fn exists(&self) -> bool {
        self.path().is_none_or(Path::exists)
    }

    /// Refuses a folder that holds a store of another kind: one would not see the other's logs.
    fn is_ours(&self) -> Result<(), Failure> {
        let Some(path) = self.path() else {
            return Ok(());
        };
        let file = ["lanes", "sessions"];
        let file = file.iter().any(|folder| path.join(folder).is_dir());
        let sled = path.join("db").is_dir();
        let other = match self {
            Self::File(path) if sled && !file => Self::Sled(path.clone()),
            Self::Sled(path) if file && !sled => Self::File(path.clone()),
            Self::File(_) | Self::Sled(_) | Self::Memory => return Ok(()),
        };
        Err(Failure::usage(format!(
            "{self} cannot be opened: the folder holds a store of another kind, {other}"
        )))
    }

    fn parse(url: &str) -> Result<Self, Failure> {
        let (scheme, path) = url.split_once(':').unwrap_or((url, ""));
        match (scheme, path) {
            ("memory", "") => Ok(Self::Memory),
            ("file", path) if !path.is_empty() => Ok(Self::File(absolute(path)?)),
            ("sled", path) if !path.is_empty() => Ok(Self::Sled(absolute(path)?)),
            _ => Err(Failure::usage(format!(
                "{url:?} is no store: use file:PATH, sled:PATH or memory:"
            ))),
        }
    }
}

impl std::fmt::Display for StoreUrl {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::File(path) => write!(f, "file:{}", path.display()),
            Self::Sled(path) => write!(f, "sled:{}", path.display()),
            Self::Memory => f.write_str("memory:"),
        }
    }
}

fn absolute(path: &str) -> Result<PathBuf, Failure> {
    std::path::absolute(Path::new(path))
        .map_err(|error| Failure::usage(format!("the store's path {path:?}: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn store_urls() {
        assert_eq!(StoreUrl::parse("memory:").unwrap(), StoreUrl::Memory);
        let file = StoreUrl::parse("file:/a/b").unwrap();
        assert_eq!(file, StoreUrl::File(PathBuf::from("/a/b")));
        for bad in ["", "file:", "sled", "ftp:/x", "memory:x", "/a/b"] {
            assert!(StoreUrl::parse(bad).is_err(), "{bad}");
        }
    }
}
