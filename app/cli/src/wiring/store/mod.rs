//! Optional stores: a table with one row for each store of this build, one file each.
//!
//! A store whose cargo feature is off is not in the table; its URL is rejected with the feature's
//! name.

#[cfg(feature = "nats")]
mod nats;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "sled")]
mod sled;

use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;

use super::workspace::StoreHandle;
use crate::exit::Failure;

#[cfg(feature = "nats")]
pub(super) use nats::{check_live, connect_live_bus};

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
        check: fn(&str) -> Result<(), Failure>,
        open: fn(String) -> OpenFuture,
    },
}

/// Future of an open store.
pub(super) type OpenFuture = Pin<Box<dyn Future<Output = Result<StoreHandle, Failure>> + Send>>;

/// Stores of this build.
static BACKENDS: &[Backend] = &[
    #[cfg(feature = "nats")]
    nats::BACKEND,
    #[cfg(feature = "postgres")]
    postgres::BACKEND,
    #[cfg(feature = "sled")]
    sled::BACKEND,
];

/// Every optional store: scheme, name, and the cargo feature that builds it.
const OPTIONAL: &[(&str, &str, &str)] = &[
    ("nats", "NATS", "nats"),
    ("postgres", "PostgreSQL", "postgres"),
    ("postgresql", "PostgreSQL", "postgres"),
    ("sled", "sled", "sled"),
    ("tls", "NATS", "nats"),
];

/// Finds the store of a scheme; `None` if no store has it.
///
/// # Errors
/// When the store exists, but not in this build.
pub(super) fn backend(scheme: &str) -> Result<Option<&'static Backend>, Failure> {
    let built = BACKENDS.iter().find(|one| one.schemes.contains(&scheme));
    let known = OPTIONAL.iter().find(|(known, ..)| *known == scheme);
    match (built, known) {
        (Some(backend), _) => Ok(Some(backend)),
        (None, Some((_, name, feature))) => {
            Err(Failure::not_built(&format!("the store {name}"), feature))
        }
        (None, None) => Ok(None),
    }
}

/// Rejects every URL: live events need NATS.
#[cfg(not(feature = "nats"))]
#[cfg(feature = "server")]
pub(super) fn check_live(_url: &str) -> Result<(), Failure> {
    Err(Failure::not_built("live events over NATS", "nats"))
}

/// Rejects every URL: live events need NATS.
#[cfg(not(feature = "nats"))]
pub(super) async fn connect_live_bus(
    _url: &str,
) -> Result<std::sync::Arc<dyn windlass_engine::ports::LiveBus>, Failure> {
    Err(Failure::not_built("live events over NATS", "nats"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_optional_store_is_built_or_refused_by_name() {
        for (scheme, name, feature) in OPTIONAL {
            match backend(scheme) {
                Ok(found) => assert!(found.is_some(), "{scheme}"),
                Err(refused) => {
                    assert!(refused.message.contains(name), "{}", refused.message);
                    assert!(refused.message.contains(feature), "{}", refused.message);
                }
            }
        }
        assert!(matches!(backend("ftp"), Ok(None)));
    }
}
