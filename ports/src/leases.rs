//! The leases port: which of many processes may act, for a time that it has to renew.

use std::fmt;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use windlass_core::{Epoch, Retry};

use crate::error::{ErrorKind, PortError};
use crate::store::StoreErrorKind;

/// Grants leases: a name is held by one holder at most, until its time is over.
///
/// Laws:
/// - *exclusive*: of a name there is one holder at any moment of the clock that the leases live by
///   (that of the database, not of the holder);
/// - *ends*: a lease that is not renewed is over when its time is, whatever became of its holder;
/// - *grows*: each lease of a name has an epoch larger than all before it, also across restarts;
/// - *renewed in time*: renewing counts from the moment of renewal and keeps the epoch; a lease that
///   is over may be renewed while nobody else has had it since, or be `Lost`, and is lost for good
///   once another had it.
///
/// A name and a holder are texts of 1 to [`LeaseCapabilities::name_bytes`] bytes without control
/// characters; names that differ in any byte are different names.
#[async_trait]
pub trait Leases: Send + Sync + 'static {
    /// Returns the promises of these leases.
    fn capabilities(&self) -> LeaseCapabilities;

    /// Takes a lease of `ttl_ms` milliseconds. The same holder may take what it holds: it gets a
    /// larger epoch, and its lease before is over.
    ///
    /// # Errors
    /// `Held` while another holds it, `Invalid` for a name, a holder or a time that is not taken;
    /// `Unavailable`, `Io`: then it may have been granted, and lasts for its time.
    async fn acquire(&self, name: &str, holder: &str, ttl_ms: u64) -> Result<Lease, LeaseError>;

    /// Makes a lease last for its time from now on.
    ///
    /// # Errors
    /// `Lost` when it is over, was given back, or was taken anew by whoever; `Unavailable`, `Io`: then
    /// it may have been renewed.
    async fn renew(&self, lease: &Lease) -> Result<(), LeaseError>;

    /// Gives a lease back: its name is free at once. One that is over changes nothing, neither for
    /// another nor for the same holder. Any object at the same place may give it back.
    ///
    /// # Errors
    /// `Unavailable`, `Io`.
    async fn release(&self, lease: &Lease) -> Result<(), LeaseError>;

    /// Returns the current holder of a name; `None` if it is free.
    ///
    /// # Errors
    /// `Unavailable`, `Io`.
    async fn holder(&self, name: &str) -> Result<Option<LeaseStatus>, LeaseError>;
}

/// Promises of a lease service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeaseCapabilities {
    /// The shortest time that is taken, in milliseconds.
    pub min_ttl_ms: u64,
    /// The longest time that is taken, in milliseconds.
    pub max_ttl_ms: u64,
    /// The most bytes of a name, and of a holder. At least 64.
    pub name_bytes: usize,
    /// Longest delay of the end of a lease, in milliseconds. A lease never ends early.
    pub slack_ms: u64,
}

/// A lease that was granted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lease {
    /// Name that is held.
    pub name: String,
    /// Holder of the name.
    pub holder: String,
    /// The generation of the name.
    pub epoch: Epoch,
    /// For how long from each renewal, in milliseconds.
    pub ttl_ms: u64,
}

/// A lease as others see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaseStatus {
    /// Holder of the name.
    pub holder: String,
    /// The generation of the name.
    pub epoch: Epoch,
    /// Time until the lease ends without a renewal, in milliseconds.
    pub remaining_ms: u64,
}

/// Failure to acquire or to retain a lease.
pub type LeaseError = PortError<LeaseErrorKind>;

/// Classes of lease errors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LeaseErrorKind {
    /// Another process holds the name.
    Held(LeaseStatus),
    /// The lease has ended.
    Lost,
    /// The name, the holder or the time is not valid.
    Invalid,
    /// The server could not be reached, or did not answer in time.
    Unavailable,
    /// The operating system or the database failed.
    Io,
}

impl ErrorKind for LeaseErrorKind {
    fn retry(&self) -> Retry {
        match self {
            Self::Held(_) | Self::Unavailable => Retry::Soon,
            Self::Lost | Self::Invalid | Self::Io => Retry::Never,
        }
    }
}

impl From<&StoreErrorKind> for LeaseErrorKind {
    fn from(kind: &StoreErrorKind) -> Self {
        match kind {
            StoreErrorKind::Unavailable => Self::Unavailable,
            StoreErrorKind::Unknown
            | StoreErrorKind::Locked
            | StoreErrorKind::NotClaimed
            | StoreErrorKind::Conflict { .. }
            | StoreErrorKind::Invalid
            | StoreErrorKind::TooLarge
            | StoreErrorKind::Corrupt { .. }
            | StoreErrorKind::Newer
            | StoreErrorKind::ReadOnly
            | StoreErrorKind::Unsupported
            | StoreErrorKind::Full
            | StoreErrorKind::Io => Self::Io,
        }
    }
}

impl fmt::Display for LeaseStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            holder,
            remaining_ms: left_ms,
            ..
        } = self;
        write!(f, "{holder}, for another {left_ms} ms without a renewal")
    }
}
