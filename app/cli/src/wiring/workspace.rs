//! Workspace and store of a command.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use windlass_engine::CopyTarget;
use windlass_engine::core::Session;
use windlass_engine::ports::{BlobStore, LogStore, StoreError};
use windlass_file::{FileBlobs, FileStore, UnattributedDamage, UnfinishedMaintenance};
use windlass_memory::{MemoryBlobs, MemoryStore};

use super::node::Node;
use super::store::{self, Backend, OpenBackend, OpenFuture};
use super::{left_store, user_state};
use crate::args::LocationArgs;
use crate::exit::{ExitKind, Failure};

/// Workspace and store of a command.
#[derive(Debug, Clone)]
pub(crate) struct Workspace {
    /// Absolute path of the tools' working folder.
    pub(crate) workspace: PathBuf,
    /// URL of the store.
    pub(crate) store: StoreUrl,
    /// True if the user named the store.
    named: bool,
    /// True if the user named the workspace.
    chosen: bool,
}

/// URL of a store.
///
/// `Display` omits its credentials and its options.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum StoreUrl {
    /// Folder of plain append-only logs.
    File(PathBuf),
    /// Store that a cargo feature adds.
    Optional(OptionalStoreUrl),
    /// In-memory store, which ends with the process.
    Memory,
}

/// URL of a store that a cargo feature adds.
#[derive(Clone)]
pub(crate) struct OptionalStoreUrl {
    backend: &'static Backend,
    url: String,
    /// Path of the folder, if the store is one.
    path: PathBuf,
}

impl PartialEq for OptionalStoreUrl {
    fn eq(&self, other: &Self) -> bool {
        self.url == other.url && self.path == other.path
    }
}

impl Eq for OptionalStoreUrl {}

/// Open store.
#[derive(Clone)]
pub(crate) struct StoreHandle {
    pub(crate) store: Arc<dyn LogStore>,
    pub(crate) blobs: Arc<dyn BlobStore>,
    /// This process as a node of the store, if the store supports several.
    pub(crate) node: Option<Node>,
}

impl StoreHandle {
    /// Converts into the source or target of a copy.
    pub(crate) fn copy_target(self) -> CopyTarget {
        let Self { store, blobs, .. } = self;
        CopyTarget { store, blobs }
    }
}

impl Workspace {
    /// Parses the URL of a store without a workspace.
    pub(crate) fn named(url: &str) -> Result<Self, Failure> {
        Ok(Self {
            workspace: PathBuf::new(),
            store: StoreUrl::parse(url)?,
            named: true,
            chosen: false,
        })
    }

    /// Reads the workspace and store from the arguments.
    pub(crate) fn new(place: &LocationArgs) -> Result<Self, Failure> {
        let folder = place.workspace.as_deref().unwrap_or(Path::new("."));
        let shown = folder.display();
        let workspace = folder.canonicalize().map_err(|error| {
            Failure::usage(format!("cannot open the workspace {shown}: {error}"))
        })?;
        if !workspace.is_dir() {
            return Err(Failure::usage(format!("the workspace {shown} is not a folder")));
        }
        let store = match &place.store {
            None => {
                let store = user_state::default_store()?;
                left_store::report(&workspace, &store);
                StoreUrl::File(store)
            }
            Some(url) => StoreUrl::parse(url)?,
        };
        let (named, chosen) = (place.store.is_some(), place.workspace.is_some());
        Ok(Self { workspace, store, named, chosen })
    }

    /// Returns the workspace as sessions record it.
    pub(crate) fn recorded(&self) -> String {
        self.workspace.display().to_string()
    }

    /// Returns true if the user named the store: then all of its sessions are meant.
    #[cfg(feature = "server")]
    pub(crate) fn has_named_store(&self) -> bool {
        self.named
    }

    /// Rejects a session of another workspace for a new prompt under its name, unless the user named
    /// this workspace or the store: names are unique in a store, so another session may be meant.
    pub(crate) fn reject_elsewhere(&self, session: &Session) -> Result<(), Failure> {
        let here = self.recorded();
        let opened_in = session.workspace.as_deref().filter(|opened_in| *opened_in != here);
        match opened_in.filter(|_| !self.chosen && !self.named) {
            None => Ok(()),
            Some(opened_in) => Err(Failure::usage(format!(
                "session {id} belongs to the workspace {opened_in}, and this is {here}: choose \
                 another name, continue it there with --workspace {opened_in}, or here with \
                 windlass resume {id}",
                id = session.id
            ))),
        }
    }

    /// Opens the store for a command that needs an existing one. A named store must exist, so that
    /// a mistyped name is reported and creates nothing. An in-memory store is always a new one.
    pub(crate) async fn open_to_read(&self) -> Result<StoreHandle, Failure> {
        if self.store == StoreUrl::Memory {
            return Err(Failure::usage(
                "a memory store is lost when its process ends, so it has no sessions to \
                 continue or read: name the session's store, file:PATH or sled:PATH",
            ));
        }
        if self.named && !self.store.exists() {
            return Err(Failure::usage(format!("there is no store {}", self.store)));
        }
        self.open().await
    }

    /// Opens an existing store to print what it has. A damaged store that would not be opened to
    /// write is opened with the failure, which the command ends with.
    pub(crate) async fn open_to_print(&self) -> Result<(StoreHandle, Option<Failure>), Failure> {
        let failure = match self.open_to_read().await {
            Ok(opened) => return Ok((opened, None)),
            Err(failure) => failure,
        };
        let StoreUrl::Optional(OptionalStoreUrl { backend, path, .. }) = &self.store else {
            return Err(failure);
        };
        let Some(open) = backend.open_damaged.filter(|_| failure.exit == ExitKind::Store) else {
            return Err(failure);
        };
        match open(path.clone()).await {
            Ok(opened) => Ok((opened, Some(failure))),
            Err(_) => Err(failure),
        }
    }

    /// Returns damage of the store that belongs to no listed session.
    pub(crate) async fn damage(&self) -> Result<Vec<UnattributedDamage>, Failure> {
        let StoreUrl::File(folder) = self.store.clone() else {
            return Ok(Vec::new());
        };
        let damage = tokio::task::spawn_blocking(move || FileStore::damage(&folder)).await;
        let damage = damage.map_err(|error| {
            Failure::new(ExitKind::Store, format!("cannot check the store for damage: {error}"))
        })?;
        Ok(damage?)
    }

    /// Lists maintenance of the store that was interrupted, or is still running.
    pub(crate) async fn unfinished_maintenance(
        &self,
    ) -> Result<Vec<UnfinishedMaintenance>, Failure> {
        let StoreUrl::File(folder) = self.store.clone() else {
            return Ok(Vec::new());
        };
        let listed = tokio::task::spawn_blocking(move || FileStore::unfinished(&folder)).await;
        let listed = listed.map_err(|error| {
            let words = format!("cannot check the store for unfinished maintenance: {error}");
            Failure::new(ExitKind::Store, words)
        })?;
        Ok(listed?)
    }

    /// Opens the store of the URL.
    pub(crate) async fn open(&self) -> Result<StoreHandle, Failure> {
        self.store.is_ours()?;
        match self.store.clone() {
            StoreUrl::File(path) => folder(path, |path| Ok(Arc::new(FileStore::open(path)?))).await,
            StoreUrl::Optional(other) => other.open().await,
            StoreUrl::Memory => Ok(StoreHandle {
                store: Arc::new(MemoryStore::new()),
                blobs: Arc::new(MemoryBlobs::new()),
                node: None,
            }),
        }
    }
}

/// Opens a store in a folder, with its blob store.
pub(super) async fn folder(
    path: PathBuf,
    open: fn(PathBuf) -> Result<Arc<dyn LogStore>, StoreError>,
) -> Result<StoreHandle, Failure> {
    let blobs = Arc::new(FileBlobs::new(path.clone()));
    // Opening reads files and may wait for a lock, so it runs on a blocking thread.
    let opened = tokio::task::spawn_blocking(move || open(path)).await;
    let opened = opened.map_err(|error| {
        Failure::new(ExitKind::Store, format!("cannot open the store: {error}"))
    })?;
    Ok(StoreHandle { store: opened?, blobs, node: None })
}

impl StoreUrl {
    /// Returns the path, if the store is a folder.
    pub(crate) fn path(&self) -> Option<&Path> {
        match self {
            Self::File(path) => Some(path),
            Self::Optional(other) => other.folder(),
            Self::Memory => None,
        }
    }

    /// Returns true if several processes may run sessions on the store as nodes.
    #[cfg(feature = "server")]
    pub(crate) fn has_nodes(&self) -> bool {
        match self {
            Self::Optional(other) => other.folder().is_none(),
            Self::File(_) | Self::Memory => false,
        }
    }

    /// Returns true if the store exists, as far as that is visible without opening it.
    pub(crate) fn exists(&self) -> bool {
        self.path().is_none_or(Path::exists)
    }

    /// Rejects a folder with a store of another kind, since each kind ignores the logs of the
    /// other.
    fn is_ours(&self) -> Result<(), Failure> {
        let Some(path) = self.path() else {
            return Ok(());
        };
        let file = ["lanes", "sessions"];
        let file = file.iter().any(|folder| path.join(folder).is_dir());
        let sled = path.join("db").is_dir();
        let wants_file = matches!(self, Self::File(_));
        let other = match (wants_file, file, sled) {
            (true, false, true) => "sled",
            (false, true, false) => "file",
            (true | false, _, _) => return Ok(()),
        };
        Err(Failure::usage(format!(
            "cannot open {self}: the folder has a store of another kind, {other}:{}",
            path.display()
        )))
    }

    fn parse(url: &str) -> Result<Self, Failure> {
        let (scheme, path) = url.split_once(':').unwrap_or((url, ""));
        match (scheme, path) {
            ("memory", "") => Ok(Self::Memory),
            ("file", path) if !path.is_empty() => Ok(Self::File(absolute(path)?)),
            _ => match store::backend(scheme)? {
                Some(backend) => OptionalStoreUrl::parse(backend, url, path).map(Self::Optional),
                None => Err(no_store(url)),
            },
        }
    }
}

impl OptionalStoreUrl {
    fn parse(backend: &'static Backend, url: &str, path: &str) -> Result<Self, Failure> {
        let folder = match backend.open {
            OpenBackend::Folder(_) if !path.is_empty() => absolute(path)?,
            // Checked now, so that an invalid URL is rejected before anything is done.
            OpenBackend::Servers { check, .. } if path.starts_with("//") => {
                check(url)?;
                PathBuf::new()
            }
            OpenBackend::Folder(_) | OpenBackend::Servers { .. } => return Err(no_store(url)),
        };
        Ok(Self { backend, url: url.to_owned(), path: folder })
    }

    fn folder(&self) -> Option<&Path> {
        match self.backend.open {
            OpenBackend::Folder(_) => Some(&self.path),
            OpenBackend::Servers { .. } => None,
        }
    }

    fn open(self) -> OpenFuture {
        match self.backend.open {
            OpenBackend::Folder(open) => open(self.path),
            OpenBackend::Servers { open, .. } => open(self.url),
        }
    }
}

fn no_store(url: &str) -> Failure {
    Failure::usage(format!(
        "{:?} is not a store: use file:PATH, sled:PATH, postgres://HOST/DATABASE, \
         nats://HOST/PLACE or memory:",
        redacted(url)
    ))
}

impl std::fmt::Display for StoreUrl {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::File(path) => write!(f, "file:{}", path.display()),
            Self::Optional(other) => match other.folder() {
                Some(path) => write!(f, "{}:{}", other.backend.schemes[0], path.display()),
                None => f.write_str(&redacted(&other.url)),
            },
            Self::Memory => f.write_str("memory:"),
        }
    }
}

impl std::fmt::Debug for StoreUrl {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

/// Returns a URL without credentials and options.
fn redacted(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else {
        return url.to_owned();
    };
    let rest = rest.split_once(['?', '#']).map_or(rest, |(rest, _)| rest);
    // A password may contain a slash that should have been escaped.
    let rest = rest.rsplit_once('@').map_or(rest, |(_, rest)| rest);
    format!("{scheme}://{rest}")
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

    #[test]
    #[cfg(all(feature = "nats", feature = "postgres"))]
    fn a_url_is_shown_without_what_is_secret() {
        for url in [
            "nats://agent:se@cret@host:4222/place?system=a:secret",
            "nats://secret@host:4222/place",
            "nats://a:x/secret@host:4222/place#secret",
        ] {
            assert_eq!(redacted(url), "nats://host:4222/place", "{url}");
        }
        let store = StoreUrl::parse("nats://agent:secret@host:4222/place").unwrap();
        assert_eq!(format!("{store} {store:?}"), "nats://host:4222/place nats://host:4222/place");
        for bad in [
            "postgres://agent:secret@host/db?pool=secret",
            "ftp://agent:secret@host",
            "nats://agent:secret@host/pl%ace",
        ] {
            let refused = StoreUrl::parse(bad).unwrap_err();
            assert!(!refused.message.contains("secret"), "{}", refused.message);
        }
    }
}
