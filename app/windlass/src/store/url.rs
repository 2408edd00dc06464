//! URL of a store.

use std::fmt;
use std::path::{Path, PathBuf};
#[cfg(feature = "file")]
use std::sync::Arc;

#[cfg(feature = "file")]
use windlass_engine::ports::{LogStore, StoreError};

use super::backend::{Backend, OpenBackend, OpenFuture, backend};
use super::{OpenStore, StoreUrlError};

/// URL of a store.
///
/// `Display` omits its credentials and its options.
#[derive(Clone, PartialEq, Eq)]
pub enum StoreUrl {
    /// Folder of plain append-only logs.
    File(PathBuf),
    /// Store that a cargo feature adds.
    Optional(OptionalStoreUrl),
    /// In-memory store, which ends with the process.
    Memory,
}

/// URL of a store that a cargo feature adds.
#[derive(Clone)]
pub struct OptionalStoreUrl {
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

impl StoreUrl {
    /// Parses the URL of a store: `memory:`, `file:PATH`, `sled:PATH`, `postgres://HOST/DATABASE` or
    /// `nats://HOST/PLACE`.
    ///
    /// # Errors
    /// [`StoreUrlError`] when the URL names no store, or one whose cargo feature is off.
    pub fn parse(url: &str) -> Result<Self, StoreUrlError> {
        let (scheme, path) = url.split_once(':').unwrap_or((url, ""));
        let backend = backend(scheme)?;
        match (scheme, path, backend) {
            ("memory", "", None) => Ok(Self::Memory),
            ("file", path, None) if !path.is_empty() => Ok(Self::File(absolute(path)?)),
            (_, path, Some(backend)) => {
                OptionalStoreUrl::parse(backend, url, path).map(Self::Optional)
            }
            (_, _, None) => Err(no_store(url)),
        }
    }

    /// Opens the store.
    ///
    /// # Errors
    /// [`StoreUrlError`] when the folder has a store of another kind, or the store cannot be opened.
    pub async fn open(&self) -> Result<OpenStore, StoreUrlError> {
        self.is_ours()?;
        match self.clone() {
            Self::File(path) => open_file(path).await,
            Self::Optional(other) => other.open().await,
            Self::Memory => open_memory(),
        }
    }

    /// Opens a damaged store that [`open`](Self::open) refuses, to read what it has. `None` if its
    /// kind needs no such way.
    pub async fn open_damaged(&self) -> Option<Result<OpenStore, StoreUrlError>> {
        let Self::Optional(OptionalStoreUrl { backend, path, .. }) = self else {
            return None;
        };
        let open = backend.open_damaged?;
        Some(open(path.clone()).await)
    }

    /// Returns the path, if the store is a folder.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::File(path) => Some(path),
            Self::Optional(other) => other.folder(),
            Self::Memory => None,
        }
    }

    /// Returns true if several processes may run sessions on the store as nodes.
    #[must_use]
    pub fn has_nodes(&self) -> bool {
        match self {
            Self::Optional(other) => other.folder().is_none(),
            Self::File(_) | Self::Memory => false,
        }
    }

    /// Returns true if the store exists, as far as that is visible without opening it.
    #[must_use]
    pub fn exists(&self) -> bool {
        self.path().is_none_or(Path::exists)
    }

    /// Rejects a folder with a store of another kind, since each kind ignores the logs of the
    /// other.
    fn is_ours(&self) -> Result<(), StoreUrlError> {
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
        Err(StoreUrlError::Invalid(format!(
            "cannot open {self}: the folder has a store of another kind, {other}:{}",
            path.display()
        )))
    }
}

impl OptionalStoreUrl {
    fn parse(backend: &'static Backend, url: &str, path: &str) -> Result<Self, StoreUrlError> {
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

#[cfg(feature = "file")]
async fn open_file(path: PathBuf) -> Result<OpenStore, StoreUrlError> {
    let open = |path| -> Result<Arc<dyn LogStore>, StoreError> {
        Ok(Arc::new(windlass_file::FileStore::open(path)?))
    };
    super::open_folder(path, open).await
}

#[cfg(not(feature = "file"))]
async fn open_file(_path: PathBuf) -> Result<OpenStore, StoreUrlError> {
    Err(backend("file").err().unwrap_or_else(|| no_store("file:")))
}

#[cfg(feature = "memory")]
fn open_memory() -> Result<OpenStore, StoreUrlError> {
    Ok(OpenStore::in_memory())
}

#[cfg(not(feature = "memory"))]
fn open_memory() -> Result<OpenStore, StoreUrlError> {
    Err(backend("memory").err().unwrap_or_else(|| no_store("memory:")))
}

fn no_store(url: &str) -> StoreUrlError {
    StoreUrlError::Invalid(format!(
        "{:?} is not a store: use file:PATH, sled:PATH, postgres://HOST/DATABASE, \
         nats://HOST/PLACE or memory:",
        redacted(url)
    ))
}

impl fmt::Display for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
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

impl fmt::Debug for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
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

fn absolute(path: &str) -> Result<PathBuf, StoreUrlError> {
    std::path::absolute(Path::new(path))
        .map_err(|error| StoreUrlError::Invalid(format!("the store's path {path:?}: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(all(feature = "file", feature = "memory"))]
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
            let refused = StoreUrl::parse(bad).unwrap_err().to_string();
            assert!(!refused.contains("secret"), "{refused}");
        }
    }
}
