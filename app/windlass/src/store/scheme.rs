//! Schemes: the kinds of stores that a program opens by URL.
//!
//! The stores of this crate are rows of the same table as those of a program.

use std::fmt;
use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;

use super::url::{StoreUrl, redacted};
use super::{OpenStore, StoreUrlError, built_in};

/// Future of an open store.
pub(super) type OpenFuture = Pin<Box<dyn Future<Output = Result<OpenStore, StoreUrlError>> + Send>>;

type CheckUrl = Arc<dyn Fn(&str) -> Result<(), StoreUrlError> + Send + Sync>;

type OpenPath = Arc<dyn Fn(PathBuf) -> OpenFuture + Send + Sync>;

/// Kind of store, named by the scheme of its URL.
///
/// ```
/// use windlass::memory::{MemoryBlobs, MemoryStore};
/// use windlass::store::{OpenStore, StoreScheme, StoreSchemes};
///
/// let mine = StoreScheme::path("mine", async |_path| {
///     Ok(OpenStore::new(MemoryStore::new(), MemoryBlobs::new()))
/// });
/// let stores = StoreSchemes::built_in().with(mine)?;
/// assert_eq!(stores.parse("mine:state")?.scheme(), "mine");
/// # Ok::<(), windlass::store::StoreUrlError>(())
/// ```
#[derive(Clone)]
pub struct StoreScheme {
    /// Names, the default one first.
    names: Vec<String>,
    /// Form of a URL, for messages.
    form: String,
    pub(super) open: OpenScheme,
    pub(super) open_damaged: Option<OpenPath>,
}

/// Way in which a store is opened.
#[derive(Clone)]
pub(super) enum OpenScheme {
    /// The store lasts as long as the process, and nothing follows its scheme.
    Process(Arc<dyn Fn() -> OpenFuture + Send + Sync>),
    /// The rest of the URL is a path, which one process uses at a time.
    Path(OpenPath),
    /// The URL names servers, which any number of processes share, each a node.
    Servers {
        /// Rejects an invalid URL, without opening anything.
        check: CheckUrl,
        open: Arc<dyn Fn(String) -> OpenFuture + Send + Sync>,
    },
}

impl StoreScheme {
    /// Creates the kind `NAME:`, a store that ends with its process.
    pub fn in_process<F, R>(name: &str, open: F) -> Self
    where
        F: Fn() -> R + Send + Sync + 'static,
        R: Future<Output = Result<OpenStore, StoreUrlError>> + Send + 'static,
    {
        let open = OpenScheme::Process(Arc::new(move || Box::pin(open())));
        Self::new(name, format!("{name}:"), open)
    }

    /// Creates the kind `NAME:PATH`, a file or folder that one process uses at a time. The path is
    /// absolute.
    pub fn path<F, R>(name: &str, open: F) -> Self
    where
        F: Fn(PathBuf) -> R + Send + Sync + 'static,
        R: Future<Output = Result<OpenStore, StoreUrlError>> + Send + 'static,
    {
        let open = OpenScheme::Path(Arc::new(move |path| Box::pin(open(path))));
        Self::new(name, format!("{name}:PATH"), open)
    }

    /// Creates the kind `NAME://..`, servers that any number of processes share. The whole URL is
    /// checked before anything is done, and given to `open`.
    ///
    /// A store whose [`OpenStore`] is shared runs sessions on several nodes.
    pub fn servers<C, F, R>(name: &str, check: C, open: F) -> Self
    where
        C: Fn(&str) -> Result<(), StoreUrlError> + Send + Sync + 'static,
        F: Fn(String) -> R + Send + Sync + 'static,
        R: Future<Output = Result<OpenStore, StoreUrlError>> + Send + 'static,
    {
        let open = OpenScheme::Servers {
            check: Arc::new(check),
            open: Arc::new(move |url| Box::pin(open(url))),
        };
        Self::new(name, format!("{name}://HOST/NAME"), open)
    }

    fn new(name: &str, form: String, open: OpenScheme) -> Self {
        Self { names: vec![name.to_owned()], form, open, open_damaged: None }
    }

    /// Adds another name of the scheme.
    #[must_use]
    pub fn with_name(mut self, name: &str) -> Self {
        self.names.push(name.to_owned());
        self
    }

    /// Replaces the form of a URL in messages, for example `postgres://HOST/DATABASE`.
    #[must_use]
    pub fn with_form(mut self, form: impl Into<String>) -> Self {
        self.form = form.into();
        self
    }

    /// Adds a way to open a damaged store that the usual one refuses, to read what it has.
    #[must_use]
    pub fn with_damaged<F, R>(mut self, open: F) -> Self
    where
        F: Fn(PathBuf) -> R + Send + Sync + 'static,
        R: Future<Output = Result<OpenStore, StoreUrlError>> + Send + 'static,
    {
        self.open_damaged = Some(Arc::new(move |path| Box::pin(open(path))));
        self
    }

    /// Returns the default name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.names.first().map_or("", String::as_str)
    }

    /// Returns the form of a URL.
    #[must_use]
    pub fn form(&self) -> &str {
        &self.form
    }
}

impl fmt::Debug for StoreScheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("StoreScheme").field(&self.form).finish()
    }
}

/// Stores that a program opens by URL.
#[derive(Debug, Clone)]
pub struct StoreSchemes(Vec<KnownScheme>);

/// Row of the table.
#[derive(Debug, Clone)]
pub(super) enum KnownScheme {
    Built(StoreScheme),
    /// The store exists, but its cargo feature is off.
    #[cfg_attr(
        all(
            feature = "file",
            feature = "memory",
            feature = "nats",
            feature = "postgres",
            feature = "sled",
            feature = "sqlite"
        ),
        expect(dead_code, reason = "this build has all stores")
    )]
    NotBuilt {
        names: &'static [&'static str],
        form: &'static str,
        /// Name of the store in words.
        words: &'static str,
        feature: &'static str,
    },
}

impl KnownScheme {
    fn has_name(&self, name: &str) -> bool {
        match self {
            Self::Built(scheme) => scheme.names.iter().any(|one| one == name),
            Self::NotBuilt { names, .. } => names.contains(&name),
        }
    }

    fn form(&self) -> &str {
        match self {
            Self::Built(scheme) => &scheme.form,
            Self::NotBuilt { form, .. } => form,
        }
    }
}

impl StoreSchemes {
    /// Returns the stores of this crate. One whose cargo feature is off is refused with the name of
    /// the feature.
    #[must_use]
    pub fn built_in() -> Self {
        Self(built_in::all())
    }

    /// Adds a kind of store.
    ///
    /// # Errors
    /// [`StoreUrlError::Invalid`] when its name is taken, or is no scheme of a URL.
    pub fn with(mut self, scheme: StoreScheme) -> Result<Self, StoreUrlError> {
        for name in &scheme.names {
            let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "+-.".contains(c);
            let begins = name.starts_with(|c: char| c.is_ascii_lowercase());
            if !begins || !name.chars().all(fits) {
                return Err(StoreUrlError::Invalid(format!(
                    "cannot add the store {name:?}: a scheme is a lower-case letter, and then \
                     letters, digits, + - and ."
                )));
            }
            if self.0.iter().any(|known| known.has_name(name)) {
                let words = format!("cannot add the store {name}: there is one of this name");
                return Err(StoreUrlError::Invalid(words));
            }
        }
        self.0.push(KnownScheme::Built(scheme));
        Ok(self)
    }

    /// Returns the forms of all URLs, for messages.
    pub fn forms(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(KnownScheme::form)
    }

    /// Parses the URL of a store.
    ///
    /// # Errors
    /// [`StoreUrlError`] when the URL names no store, or one whose cargo feature is off.
    pub fn parse(&self, url: &str) -> Result<StoreUrl, StoreUrlError> {
        let (name, rest) = url.split_once(':').unwrap_or((url, ""));
        let scheme = self.scheme(name, url)?;
        let fits = match &scheme.open {
            OpenScheme::Process(_) => rest.is_empty(),
            OpenScheme::Path(_) => !rest.is_empty(),
            OpenScheme::Servers { .. } => rest.starts_with("//"),
        };
        match fits {
            true => StoreUrl::new(scheme.clone(), url, rest),
            false => Err(self.no_store(url)),
        }
    }

    /// Returns the URL of a path in a scheme of paths.
    ///
    /// # Errors
    /// As [`parse`](Self::parse).
    pub fn at(&self, name: &str, path: PathBuf) -> Result<StoreUrl, StoreUrlError> {
        let scheme = self.scheme(name, name)?;
        StoreUrl::at(scheme.clone(), path)
    }

    fn scheme(&self, name: &str, url: &str) -> Result<&StoreScheme, StoreUrlError> {
        match self.0.iter().find(|known| known.has_name(name)) {
            Some(KnownScheme::Built(scheme)) => Ok(scheme),
            Some(KnownScheme::NotBuilt { words, feature, .. }) => {
                Err(StoreUrlError::NotBuilt { name: words, feature })
            }
            None => Err(self.no_store(url)),
        }
    }

    fn no_store(&self, url: &str) -> StoreUrlError {
        let forms: Vec<&str> = self.forms().collect();
        let (last, first) = forms.split_last().unwrap_or((&"", &[]));
        StoreUrlError::Invalid(format!(
            "{:?} is not a store: use {} or {last}",
            redacted(url),
            first.join(", ")
        ))
    }
}

impl Default for StoreSchemes {
    fn default() -> Self {
        Self::built_in()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_store_is_built_or_refused_with_its_feature() {
        for known in built_in::all() {
            let KnownScheme::NotBuilt { names, words, feature, .. } = known else { continue };
            for name in names {
                let url = format!("{name}:x");
                let refused = StoreSchemes::built_in().parse(&url).unwrap_err().to_string();
                assert!(refused.contains(words) && refused.contains(feature), "{refused}");
            }
        }
        let refused = StoreSchemes::built_in().parse("ftp:x").unwrap_err().to_string();
        for form in ["file:PATH", "memory:", "nats://", "postgres://", "sled:PATH", "sqlite:PATH"] {
            assert!(refused.contains(form), "{refused}");
        }
    }

    #[test]
    fn a_name_is_taken_once_and_messages_have_it() {
        let scheme = |name: &str| {
            StoreScheme::path(name, async |_| Err(StoreUrlError::Invalid("closed".to_owned())))
        };
        let stores = StoreSchemes::built_in().with(scheme("mine")).unwrap();
        for taken in ["mine", "file", "tls", "Mine", "m:", "", "9p"] {
            assert!(stores.clone().with(scheme(taken)).is_err(), "{taken}");
        }
        let refused = stores.parse("ftp:x").unwrap_err().to_string();
        assert!(refused.ends_with("or mine:PATH"), "{refused}");
        assert!(stores.parse("mine:").is_err());
        assert_eq!(stores.parse("mine:/a").unwrap().to_string(), "mine:/a");
    }
}
