//! Optional stores: a table with one row for each store of this build, one file each.
//!
//! A store whose cargo feature is off is not in the table; its URL is rejected with the feature's
//! name.

use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;

use super::{OpenStore, StoreUrlError};

/// Store with its URL schemes.
pub(super) struct Backend {
    /// Schemes, the default one first.
    pub(super) schemes: &'static [&'static str],
    pub(super) open: OpenBackend,
    /// Opens a damaged store that `open` refuses, to read what it has.
    pub(super) open_damaged: Option<fn(PathBuf) -> OpenFuture>,
}

/// Way in which a store is opened.
pub(super) enum OpenBackend {
    /// The rest of the URL is the path of a folder, which one process uses at a time.
    #[cfg_attr(not(feature = "sled"), expect(dead_code, reason = "this build has no such store"))]
    Folder(fn(PathBuf) -> OpenFuture),
    /// The URL names servers, which any number of processes share, each a node.
    #[cfg_attr(
        not(any(feature = "nats", feature = "postgres")),
        expect(dead_code, reason = "this build has no such store")
    )]
    Servers {
        /// Rejects an invalid URL, without opening anything.
        check: fn(&str) -> Result<(), StoreUrlError>,
        open: fn(String) -> OpenFuture,
    },
}

/// Future of an open store.
pub(super) type OpenFuture = Pin<Box<dyn Future<Output = Result<OpenStore, StoreUrlError>> + Send>>;

/// Stores of this build.
static BACKENDS: &[Backend] = &[
    #[cfg(feature = "nats")]
    super::nats::BACKEND,
    #[cfg(feature = "postgres")]
    super::postgres::BACKEND,
    #[cfg(feature = "sled")]
    super::sled::BACKEND,
];

/// Every optional store: scheme, name, and the cargo feature that builds it.
const OPTIONAL: &[(&str, &str, &str)] = &[
    ("file", "the store of plain files", "file"),
    ("memory", "the in-memory store", "memory"),
    ("nats", "the store NATS", "nats"),
    ("postgres", "the store PostgreSQL", "postgres"),
    ("postgresql", "the store PostgreSQL", "postgres"),
    ("sled", "the store sled", "sled"),
    ("tls", "the store NATS", "nats"),
];

/// Finds the store of a scheme; `None` if no store of the table has it.
///
/// # Errors
/// When the store exists, but not in this build.
pub(super) fn backend(scheme: &str) -> Result<Option<&'static Backend>, StoreUrlError> {
    let built = BACKENDS.iter().find(|one| one.schemes.contains(&scheme));
    match built {
        Some(backend) => Ok(Some(backend)),
        None => is_built(scheme).map(|()| None),
    }
}

/// Rejects the scheme of a store that this build lacks.
fn is_built(scheme: &str) -> Result<(), StoreUrlError> {
    let has = match scheme {
        "file" => cfg!(feature = "file"),
        "memory" => cfg!(feature = "memory"),
        other => BACKENDS.iter().any(|one| one.schemes.contains(&other)),
    };
    match OPTIONAL.iter().find(|(known, ..)| *known == scheme) {
        Some((_, name, feature)) if !has => Err(StoreUrlError::NotBuilt { name, feature }),
        Some(_) | None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_optional_store_is_built_or_refused_with_its_feature() {
        for (scheme, name, feature) in OPTIONAL {
            let plain = matches!(*scheme, "file" | "memory");
            match backend(scheme) {
                Ok(found) => assert!(found.is_some() || plain, "{scheme}"),
                Err(refused) => {
                    let words = refused.to_string();
                    assert!(words.contains(name), "{words}");
                    assert!(words.contains(feature), "{words}");
                }
            }
        }
        assert!(matches!(backend("ftp"), Ok(None)));
    }
}
