//! Workspace and store of a command.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use windlass::store::{OpenStore, StoreSchemes, StoreUrl};
use windlass_encrypted::Rotation;
use windlass_engine::CopyTarget;
use windlass_engine::core::Session;
use windlass_engine::ports::{BlobStore, LogStore};
use windlass_file::{FileStore, UnattributedDamage, UnfinishedMaintenance};

use super::encryption::{Encryption, keys_folder};
use super::node::Node;
use super::{left_store, user_state};
use crate::args::LocationArgs;
use crate::config;
use crate::exit::{ExitKind, Failure};

/// Workspace and store of a command.
#[derive(Debug, Clone)]
pub(crate) struct Workspace {
    /// Absolute path of the tools' working folder.
    pub(crate) workspace: PathBuf,
    /// URL of the store.
    pub(crate) store: StoreUrl,
    /// Source of the store's master key.
    encryption: Encryption,
    /// True if the user named the store.
    named: bool,
    /// True if the user named the workspace.
    chosen: bool,
}

/// Open store.
#[derive(Clone)]
pub(crate) struct StoreHandle {
    pub(crate) store: Arc<dyn LogStore>,
    pub(crate) blobs: Arc<dyn BlobStore>,
    /// This process as a node of the store, if the store supports several.
    pub(crate) node: Option<Node>,
}

impl From<OpenStore> for StoreHandle {
    fn from(opened: OpenStore) -> Self {
        let node = opened.shared.map(Node::new);
        Self { store: opened.store, blobs: opened.blobs, node }
    }
}

impl StoreHandle {
    /// Converts into the source or target of a copy.
    pub(crate) fn copy_target(self) -> CopyTarget {
        let Self { store, blobs, .. } = self;
        CopyTarget { store, blobs }
    }
}

impl Workspace {
    /// Parses the URL of a store without a workspace, and the source of its master key.
    pub(super) fn named(
        stores: &StoreSchemes,
        url: &str,
        key: Option<&str>,
    ) -> Result<Self, Failure> {
        let store = stores.parse(url)?;
        Ok(Self {
            workspace: PathBuf::new(),
            encryption: Encryption::of_copied(&store, key)?,
            store,
            named: true,
            chosen: false,
        })
    }

    /// Reads the workspace and store from the arguments.
    pub(super) fn new(stores: &StoreSchemes, place: &LocationArgs) -> Result<Self, Failure> {
        let folder = place.workspace.as_deref().unwrap_or(Path::new("."));
        let shown = folder.display();
        let workspace = folder.canonicalize().map_err(|error| {
            Failure::usage(format!("cannot open the workspace {shown}: {error}"))
        })?;
        if !workspace.is_dir() {
            return Err(Failure::usage(format!("the workspace {shown} is not a folder")));
        }
        let usual = match (&place.store, &place.config_fault) {
            (None, None) => config::default_store(place.config_profile.as_deref())?,
            (named, _) => named.clone(),
        };
        let store = match &usual {
            None => {
                let store = user_state::default_store()?;
                left_store::report(&workspace, &store);
                stores.at("file", store)?
            }
            Some(url) => stores.parse(url)?,
        };
        let encryption = Encryption::new(place)?;
        let (named, chosen) = (place.store.is_some(), place.workspace.is_some());
        Ok(Self { workspace, store, encryption, named, chosen })
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
        if self.store.ends_with_process() {
            return Err(Failure::usage(format!(
                "a {} store is lost when its process ends, so it has no sessions to continue or \
                 read: name the session's store, file:PATH, sled:PATH or sqlite:PATH",
                self.store.scheme()
            )));
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
        if failure.exit != ExitKind::Store {
            return Err(failure);
        }
        match self.encryption.open_damaged(&self.store).await {
            Some(Ok(opened)) => Ok((opened.into(), Some(failure))),
            Some(Err(_)) | None => Err(failure),
        }
    }

    /// Returns damage of the store that belongs to no listed session.
    pub(crate) async fn damage(&self) -> Result<Vec<UnattributedDamage>, Failure> {
        let Some(folder) = self.store.file_folder().map(Path::to_owned) else {
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
        let Some(folder) = self.store.file_folder().map(Path::to_owned) else {
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
        Ok(self.encryption.open(&self.store).await?.into())
    }

    /// Encrypts the keys of the store's sessions with another master key. `None` if the store is not
    /// encrypted.
    pub(crate) async fn rotate_keys(&self, new: Option<&str>) -> Result<Option<Rotation>, Failure> {
        let new = new.map(Encryption::parse).transpose()?;
        self.encryption.rotate(&self.store, new.as_ref()).await
    }

    /// Destroys the keys of sessions that were erased, and returns their number.
    pub(crate) async fn destroy_unused_keys(&self) -> Result<usize, Failure> {
        self.encryption.destroy_unused_keys(&self.store).await
    }

    /// Returns the paths of the store and of its keys: no tool needs them.
    pub(super) fn private_paths(&self) -> Vec<PathBuf> {
        let key = self.encryption.file().and_then(|path| std::path::absolute(path).ok());
        let paths = self.store.path().map(Path::to_owned).into_iter();
        paths.chain(keys_folder(&self.store)).chain(key).collect()
    }

    /// Returns true if the store is encrypted, or will be.
    pub(crate) fn is_encrypted(&self) -> bool {
        self.encryption.is_on() && self.store.path().is_some()
    }
}
