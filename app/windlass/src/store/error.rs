//! Errors of stores that are named by a URL.

use windlass_engine::ports::StoreError;

/// Error of naming or opening a store.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreUrlError {
    /// The URL names no store, or the folder has a store of another kind.
    #[error("{0}")]
    Invalid(String),
    /// The store exists, but its cargo feature is off.
    #[error("this build is without {name}: enable the feature `{feature}` of the crate `windlass`")]
    NotBuilt {
        /// Name of the store.
        name: &'static str,
        /// Cargo feature that builds it.
        feature: &'static str,
    },
    /// The store cannot be opened.
    #[error("{0}")]
    Store(#[from] StoreError),
}
