//! Format of facts over versions: the bodies that this engine reads, and the table that converts
//! those of older versions. Parses no text: the codec of the ports hands a body over as a tree.

mod reader;
mod tree;
mod upcast;

use alloc::string::String;
use alloc::sync::Arc;
use core::fmt;

use serde::{Deserialize, Serialize};

pub use reader::InvalidBody;
pub use tree::BodyTree;
pub use upcast::{BodyForm, BodyReader, Upcast};

/// Version of fact bodies that this engine writes, and the newest that it reads.
pub const FACT_VERSION: u32 = 1;

/// Minor version of [`FACT_VERSION`] that this engine writes. It grows with each field and each kind
/// that a release adds.
pub const FACT_MINOR: u32 = 0;

/// Version of a log's format. Its text is `1.0`.
///
/// A new version changes or removes fields: an older engine rejects its facts, and a newer one
/// converts the older ones. A new minor version only adds fields and kinds that an older engine may
/// ignore: it reads the facts, and rejects the kinds that it does not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FormatVersion {
    /// Version; key `v` of an envelope.
    pub version: u32,
    /// Minor version; key `minor` of an envelope, which has none for 0.
    pub minor: u32,
}

impl FormatVersion {
    /// Format that this engine writes.
    pub const CURRENT: Self = Self { version: FACT_VERSION, minor: FACT_MINOR };
}

impl fmt::Display for FormatVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.version, self.minor)
    }
}

/// Format in which a fact is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FactFormat {
    /// Version of the body.
    pub at: FormatVersion,
    /// Body as it was read, if this engine would write it in another form. It is older, or has
    /// fields that this engine does not know. Whoever writes the fact again writes this text.
    pub body: Option<Arc<str>>,
    /// Encrypted form of the fact, if it is stored in one.
    pub sealed: Option<Arc<SealedFact>>,
}

/// Encrypted form of a fact, as an adapter stores it. The fact beside it only has what a listing
/// shows. It belongs to no session that an engine could continue, so the fold rejects it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SealedFact {
    /// Bytes of the encrypted fact's body, with those of the outputs and images that it names.
    pub bytes: u64,
    /// Encrypted envelope of the fact, as text.
    pub text: String,
}

impl FactFormat {
    /// Format of a fact that this engine wrote.
    pub const CURRENT: Self = Self { at: FormatVersion::CURRENT, body: None, sealed: None };
}
