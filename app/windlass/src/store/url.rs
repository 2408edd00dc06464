//! URL of a store.

use std::fmt;
use std::path::{Path, PathBuf};

use super::scheme::{OpenScheme, StoreScheme};
use super::{OpenStore, StoreSchemes, StoreUrlError};

/// Files and folders by which a store of a scheme is recognized in a path.
const MARKS: [(&str, &[&str]); 3] =
    [("file", &["lanes", "sessions"]), ("sled", &["db"]), ("sqlite", &["windlass.sqlite3"])];

/// URL of a store.
///
/// `Display` omits its credentials and its options.
#[derive(Clone)]
pub struct StoreUrl {
    scheme: StoreScheme,
    url: String,
    /// Absolute path, if the store is one.
    path: Option<PathBuf>,
}

impl PartialEq for StoreUrl {
    fn eq(&self, other: &Self) -> bool {
        match (&self.path, &other.path) {
            (Some(one), Some(other_path)) => {
                one == other_path && self.scheme.name() == other.scheme.name()
            }
            (None, None) => self.url == other.url,
            (Some(_), None) | (None, Some(_)) => false,
        }
    }
}

impl Eq for StoreUrl {}

impl StoreUrl {
    /// Parses the URL of a store of this crate: `memory:`, `file:PATH`, `sled:PATH`,
    /// `sqlite:PATH`, `postgres://HOST/DATABASE` or `nats://HOST/PLACE`.
    ///
    /// # Errors
    /// [`StoreUrlError`] when the URL names no store, or one whose cargo feature is off.
    pub fn parse(url: &str) -> Result<Self, StoreUrlError> {
        StoreSchemes::built_in().parse(url)
    }

    /// Creates the URL of a scheme. An invalid URL is rejected before anything is done.
    pub(super) fn new(scheme: StoreScheme, url: &str, rest: &str) -> Result<Self, StoreUrlError> {
        let path = match &scheme.open {
            OpenScheme::Process(_) => None,
            OpenScheme::Path(_) => Some(absolute(Path::new(rest))?),
            OpenScheme::Servers { check, .. } => {
                check(url)?;
                None
            }
        };
        Ok(Self { scheme, url: url.to_owned(), path })
    }

    /// Creates the URL of a path.
    pub(super) fn at(scheme: StoreScheme, path: PathBuf) -> Result<Self, StoreUrlError> {
        match &scheme.open {
            OpenScheme::Path(_) => {
                let url = format!("{}:{}", scheme.name(), path.display());
                Ok(Self { path: Some(absolute(&path)?), scheme, url })
            }
            OpenScheme::Process(_) | OpenScheme::Servers { .. } => {
                let words = format!("a store {}: has no path", scheme.name());
                Err(StoreUrlError::Invalid(words))
            }
        }
    }

    /// Opens the store.
    ///
    /// # Errors
    /// [`StoreUrlError`] when the folder has a store of another kind, or the store cannot be opened.
    pub async fn open(&self) -> Result<OpenStore, StoreUrlError> {
        self.is_ours()?;
        match (&self.scheme.open, &self.path) {
            (OpenScheme::Path(open), Some(path)) => open(path.clone()).await,
            (OpenScheme::Servers { open, .. }, _) => open(self.url.clone()).await,
            (OpenScheme::Process(open), _) => open().await,
            (OpenScheme::Path(_), None) => {
                Err(StoreUrlError::Invalid(format!("the store {self} has no path")))
            }
        }
    }

    /// Opens a damaged store that [`open`](Self::open) refuses, to read what it has. `None` if its
    /// kind needs no such way.
    pub async fn open_damaged(&self) -> Option<Result<OpenStore, StoreUrlError>> {
        let (open, path) = (self.scheme.open_damaged.as_ref()?, self.path.clone()?);
        Some(open(path).await)
    }

    /// Returns the scheme.
    #[must_use]
    pub fn scheme(&self) -> &str {
        self.scheme.name()
    }

    /// Returns the path, if the store is one.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Returns the folder of a store of plain files.
    #[must_use]
    pub fn file_folder(&self) -> Option<&Path> {
        self.path().filter(|_| self.scheme() == "file")
    }

    /// Returns true if the store ends with its process.
    #[must_use]
    pub fn ends_with_process(&self) -> bool {
        matches!(self.scheme.open, OpenScheme::Process(_))
    }

    /// Returns true if several processes may run sessions on the store as nodes.
    #[must_use]
    pub fn has_nodes(&self) -> bool {
        matches!(self.scheme.open, OpenScheme::Servers { .. })
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
        let is_there = |marks: &[&str]| marks.iter().any(|mark| path.join(mark).exists());
        let Some((_, own)) = MARKS.iter().find(|(scheme, _)| *scheme == self.scheme()) else {
            return Ok(());
        };
        let mut others = MARKS.iter().filter(|(scheme, _)| *scheme != self.scheme());
        match others.find(|(_, marks)| is_there(marks)) {
            Some((other, _)) if !is_there(own) => Err(StoreUrlError::Invalid(format!(
                "cannot open {self}: the folder has a store of another kind, {other}:{}",
                path.display()
            ))),
            Some(_) | None => Ok(()),
        }
    }
}

impl fmt::Display for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.path {
            Some(path) => write!(f, "{}:{}", self.scheme(), path.display()),
            None => f.write_str(&redacted(&self.url)),
        }
    }
}

impl fmt::Debug for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Returns a URL without credentials and options.
pub(super) fn redacted(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else {
        return url.to_owned();
    };
    let rest = rest.split_once(['?', '#']).map_or(rest, |(rest, _)| rest);
    // A password may contain a slash that should have been escaped.
    let rest = rest.rsplit_once('@').map_or(rest, |(_, rest)| rest);
    format!("{scheme}://{rest}")
}

fn absolute(path: &Path) -> Result<PathBuf, StoreUrlError> {
    std::path::absolute(path).map_err(|error| {
        StoreUrlError::Invalid(format!("the store's path {:?}: {error}", path.display()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(all(feature = "file", feature = "memory"))]
    fn store_urls() {
        assert!(StoreUrl::parse("memory:").unwrap().ends_with_process());
        let file = StoreUrl::parse("file:/a/b").unwrap();
        assert_eq!(file.file_folder(), Some(Path::new("/a/b")));
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
