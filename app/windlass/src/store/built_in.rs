//! Built-in schemes: one file for each store of this build.

use super::scheme::KnownScheme;
#[cfg(not(all(
    feature = "file",
    feature = "memory",
    feature = "nats",
    feature = "postgres",
    feature = "sled",
    feature = "sqlite"
)))]
use KnownScheme::NotBuilt;

/// Returns every store of this crate, with those whose cargo features are off.
pub(super) fn all() -> Vec<KnownScheme> {
    vec![
        #[cfg(feature = "file")]
        KnownScheme::Built(super::file::scheme()),
        #[cfg(not(feature = "file"))]
        NotBuilt {
            names: &["file"],
            form: "file:PATH",
            words: "the store of plain files",
            feature: "file",
        },
        #[cfg(feature = "sled")]
        KnownScheme::Built(super::sled::scheme()),
        #[cfg(not(feature = "sled"))]
        NotBuilt { names: &["sled"], form: "sled:PATH", words: "the store sled", feature: "sled" },
        #[cfg(feature = "sqlite")]
        KnownScheme::Built(super::sqlite::scheme()),
        #[cfg(not(feature = "sqlite"))]
        NotBuilt {
            names: &["sqlite"],
            form: "sqlite:PATH",
            words: "the store SQLite",
            feature: "sqlite",
        },
        #[cfg(feature = "postgres")]
        KnownScheme::Built(super::postgres::scheme()),
        #[cfg(not(feature = "postgres"))]
        NotBuilt {
            names: &["postgres", "postgresql"],
            form: "postgres://HOST/DATABASE",
            words: "the store PostgreSQL",
            feature: "postgres",
        },
        #[cfg(feature = "nats")]
        KnownScheme::Built(super::nats::scheme()),
        #[cfg(not(feature = "nats"))]
        NotBuilt {
            names: &["nats", "tls"],
            form: "nats://HOST/PLACE",
            words: "the store NATS",
            feature: "nats",
        },
        #[cfg(feature = "memory")]
        KnownScheme::Built(super::memory::scheme()),
        #[cfg(not(feature = "memory"))]
        NotBuilt {
            names: &["memory"],
            form: "memory:",
            words: "the in-memory store",
            feature: "memory",
        },
    ]
}
