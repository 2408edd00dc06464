//! Optional stores: a table with one row for each that this build has, one file each.
//!
//! A store that is off by its cargo feature is not in the table; its URL is refused by name.

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

/// A store that URLs of some schemes name.
pub(super) struct Backend {
    /// The schemes, the usual one first.
    pub(super) schemes: &'static [&'static str],
    pub(super) open: OpenBackend,
}

/// Way in which a store is opened.
pub(super) enum OpenBackend {
    /// The rest of the URL is the path of a folder, which one process uses at a time.
    #[cfg_attr(
        not(feature = "sled"),
        expect(dead_code, reason = "this build has no such store")
    )]
    Folder(fn(PathBuf) -> OpenFuture),
    /// The URL names servers, which any number of processes share, each a node.
    #[cfg_attr(
        not(any(feature = "nats", feature = "postgres")),
        expect(dead_code, reason = "this build has no such store")
    )]
    Servers {
        /// Refuses a URL that cannot be opened, without opening anything.
        check: fn(&str) -> Result<(), Failure>,
        open: fn(String) -> OpenFuture,
    },
}

/// A store that is being opened.
pub(super) type OpenFuture = Pin<Box<dyn Future<Output = Result<StoreHandle, Failure>> + Send>>;

/// The stores of this build.
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
/// The store exists, and this build is without it.
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

/// Refuses every URL: live events need NATS.
#[cfg(not(feature = "nats"))]
#[cfg(feature = "server")]
pub(super) fn check_live(_url: &str) -> Result<(), Failure> {
    Err(Failure::not_built("live events over NATS", "nats"))
}

/// Refuses every URL: live events need NATS.
#[cfg(not(feature = "nats"))]
pub(super) async fn relay(
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
