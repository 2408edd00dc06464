//! Encryption of stores: the source of their master key, and the layer over an open store.
//!
//! The keys of sessions are in a folder beside that of the store, which marks it as encrypted. So an
//! encrypted store is never opened without its key, and a plain one never with a key.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Deserialize;
use windlass::store::{OpenStore, StoreUrl};
use windlass_encrypted::{
    EncryptedBlobs, EncryptedStore, FolderKeys, KeyError, KeySource, MasterKeys, Rotation,
    SessionKeys,
};
use windlass_engine::ports::SessionFilter;

use super::tools::configured;
use crate::args::LocationArgs;
use crate::exit::{ExitKind, Failure};
use crate::secrets;

/// Name of the file in the user's configuration folder.
pub(super) const NAME: &str = "encryption.toml";
/// Word for no key.
const NONE: &str = "none";
/// Suffix of the folder with the keys, beside the folder of the store.
const SUFFIX: &str = ".keys";

/// Source of the master key of a store; none for a plain store.
#[derive(Debug, Clone, Default)]
pub(crate) struct Encryption(Option<KeySource>);

/// The user's own default.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct EncryptionFile {
    /// As `--encrypt-key`. A path is relative to the folder of the file.
    key: Option<String>,
}

impl Encryption {
    /// Reads the source from the arguments, else from the user's configuration.
    pub(super) fn new(place: &LocationArgs) -> Result<Self, Failure> {
        match &place.encrypt_key {
            Some(source) => Self::parse(source),
            None => Self::configured(),
        }
    }

    /// Reads the source of a store in a copy. Without one, an encrypted store has the user's default.
    pub(super) fn of_copied(store: &StoreUrl, source: Option<&str>) -> Result<Self, Failure> {
        match source {
            Some(source) => Self::parse(source),
            None if keys_folder(store).is_some_and(|keys| FolderKeys::exists(&keys)) => {
                Self::configured()
            }
            None => Ok(Self(None)),
        }
    }

    /// Parses a source.
    pub(crate) fn parse(source: &str) -> Result<Self, Failure> {
        if source == NONE {
            return Ok(Self(None));
        }
        let parsed: Result<KeySource, _> = source.parse();
        // A key that was given in place of its source must not be printed.
        parsed.map(|source| Self(Some(source))).map_err(|error| Failure::usage(error.to_string()))
    }

    fn configured() -> Result<Self, Failure> {
        let Some(path) = configured(NAME).filter(|path| path.is_file()) else {
            return Ok(Self(None));
        };
        let wrong = |error: &dyn std::fmt::Display| {
            Failure::usage(format!("cannot read {}: {error}", path.display()))
        };
        let text = std::fs::read_to_string(&path).map_err(|error| wrong(&error))?;
        let file: EncryptionFile = toml::from_str(&text).map_err(|error| wrong(&error))?;
        let source = file.key.map_or(Ok(Self(None)), |key| Self::parse(&key));
        let mut source = source.map_err(|failure| wrong(&failure.message))?;
        if let (Some(KeySource::File(file)), Some(folder)) = (&mut source.0, path.parent()) {
            *file = folder.join(&*file);
        }
        Ok(source)
    }

    /// Returns true if there is a key.
    pub(super) fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// Returns the variable with the key, if it comes from one.
    pub(super) fn variable(&self) -> Option<&str> {
        match &self.0 {
            Some(KeySource::Variable(name)) => Some(name),
            Some(KeySource::File(_) | KeySource::Command(_)) | None => None,
        }
    }

    /// Returns the file with the key, if it comes from one.
    pub(super) fn file(&self) -> Option<&Path> {
        match &self.0 {
            Some(KeySource::File(path)) => Some(path),
            Some(KeySource::Variable(_) | KeySource::Command(_)) | None => None,
        }
    }

    /// Opens a store. Its key is checked before anything is changed.
    pub(super) async fn open(&self, url: &StoreUrl) -> Result<OpenStore, Failure> {
        let Some(keys) = self.keys(url).await? else {
            return Ok(url.open().await?);
        };
        if keys.is_new {
            reject_plain_sessions(url, &url.open().await?).await?;
        }
        let folder = keys.check(url).await?;
        Ok(encrypt(url, url.open().await?, folder, keys.masters).await?.0)
    }

    /// Opens a damaged store to read what it has. `None` if its kind needs no such way.
    pub(super) async fn open_damaged(&self, url: &StoreUrl) -> Option<Result<OpenStore, Failure>> {
        let opened = match url.open_damaged().await? {
            Ok(opened) => opened,
            Err(error) => return Some(Err(error.into())),
        };
        Some(self.read_damaged(url, opened).await)
    }

    async fn read_damaged(&self, url: &StoreUrl, opened: OpenStore) -> Result<OpenStore, Failure> {
        let Some(keys) = self.keys(url).await? else {
            return Ok(opened);
        };
        let folder = keys.check(url).await?;
        Ok(encrypt(url, opened, folder, keys.masters).await?.0)
    }

    /// Encrypts the keys of all sessions with the first key of a source; those of this one decrypt
    /// too. `None` if the store is not encrypted.
    pub(super) async fn rotate(
        &self,
        url: &StoreUrl,
        new: Option<&Self>,
    ) -> Result<Option<Rotation>, Failure> {
        let Some(keys) = self.keys(url).await?.filter(|keys| !keys.is_new) else {
            return Ok(None);
        };
        let folder = keys.check(url).await?;
        let masters = match new.and_then(|new| new.0.clone()) {
            Some(new) => read(new).await?.with_earlier(keys.masters),
            None => keys.masters,
        };
        let rotation = folder.rotate(&masters).await;
        Ok(Some(rotation.map_err(|error| failed("rotate the keys of", url, &error))?))
    }

    /// Destroys the keys of sessions that have no log any more, and returns their number.
    pub(super) async fn destroy_unused_keys(&self, url: &StoreUrl) -> Result<usize, Failure> {
        let Some(keys) = self.keys(url).await?.filter(|keys| !keys.is_new) else {
            return Ok(0);
        };
        let folder = keys.check(url).await?;
        let (_, layer) = encrypt(url, url.open().await?, folder, keys.masters).await?;
        Ok(layer.destroy_unused_keys().await?)
    }

    /// Reads the master keys of a store; `None` for a plain one.
    async fn keys(&self, url: &StoreUrl) -> Result<Option<StoreKeys>, Failure> {
        let folder = keys_folder(url);
        let is_encrypted = folder.as_deref().is_some_and(FolderKeys::exists);
        match (self.0.clone(), folder) {
            (None, _) if is_encrypted => {
                let words = format!(
                    "the store {url} is encrypted: name the source of its key with --encrypt-key"
                );
                Err(Failure::new(ExitKind::Store, words))
            }
            (None, _) => Ok(None),
            (Some(_), None) if url.ends_with_process() => Ok(None),
            (Some(_), None) => Err(Failure::usage(format!(
                "cannot encrypt {url}, whose nodes exchange commands in plain text: use a store in a \
                 folder, or --encrypt-key none"
            ))),
            (Some(source), Some(folder)) => {
                Ok(Some(StoreKeys { folder, is_new: !is_encrypted, masters: read(source).await? }))
            }
        }
    }
}

/// Keys of a store.
struct StoreKeys {
    folder: PathBuf,
    /// True if the store is not encrypted yet.
    is_new: bool,
    masters: MasterKeys,
}

impl StoreKeys {
    /// Opens the folder with the keys. Nothing of another master key is changed.
    async fn check(&self, url: &StoreUrl) -> Result<FolderKeys, Failure> {
        let folder = FolderKeys::open(&self.folder).map_err(|error| {
            let words = format!("cannot open the keys in {}: {error}", self.folder.display());
            Failure::new(ExitKind::Store, words)
        })?;
        folder.check(&self.masters).await.map_err(|error| failed("open", url, &error))?;
        Ok(folder)
    }
}

/// Puts the layer over an open store, and returns it beside the store.
async fn encrypt(
    url: &StoreUrl,
    mut opened: OpenStore,
    folder: FolderKeys,
    masters: MasterKeys,
) -> Result<(OpenStore, Arc<EncryptedStore>), Failure> {
    if opened.shared.is_some() {
        return Err(Failure::usage(format!("cannot encrypt {url}, which several processes share")));
    }
    let keys = SessionKeys::new(Arc::new(folder), masters);
    let layer = Arc::new(EncryptedStore::open(opened.store, keys.clone()).await?);
    opened.store = layer.clone();
    opened.blobs = Arc::new(EncryptedBlobs::new(opened.blobs, keys));
    Ok((opened, layer))
}

/// Rejects a store that has sessions and no keys.
async fn reject_plain_sessions(url: &StoreUrl, opened: &OpenStore) -> Result<(), Failure> {
    let listed = opened.store.sessions(SessionFilter::ALL_TENANTS, None, 1).await?;
    match listed.is_empty() {
        true => Ok(()),
        false => Err(Failure::new(
            ExitKind::Store,
            format!(
                "the store {url} has sessions that are not encrypted: open it with --encrypt-key \
                 none, or copy them with windlass copy --to-key into a new store"
            ),
        )),
    }
}

/// Returns the folder with the keys of a store that has a path.
pub(super) fn keys_folder(url: &StoreUrl) -> Option<PathBuf> {
    let mut folder = OsString::from(url.path()?);
    folder.push(SUFFIX);
    Some(folder.into())
}

/// Reads master keys. A command may take a while, so it runs on a thread that may block.
async fn read(source: KeySource) -> Result<MasterKeys, Failure> {
    let read = tokio::task::spawn_blocking(move || source.read(secrets::value)).await;
    let wrong = |words: String| Failure::new(ExitKind::Store, words);
    let read = read.map_err(|error| wrong(format!("cannot read the master keys: {error}")))?;
    read.map_err(|error| wrong(error.to_string()))
}

fn failed(doing: &str, url: &StoreUrl, error: &KeyError) -> Failure {
    let mut words = format!("cannot {doing} {url}: {error}");
    if let KeyError::OtherMaster { master } = error {
        words = format!(
            "cannot {doing} {url}: its keys were encrypted with master key {master}, which is not \
             the one of --encrypt-key; name the right source, nothing was changed"
        );
    }
    Failure::new(ExitKind::Store, words)
}
