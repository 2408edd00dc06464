//! The leases port: grants one process among many the right to act, for a limited time that it must
//! renew.

use std::fmt;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use windlass_core::{Epoch, Retry};

use crate::error::{ErrorKind, PortError};
use crate::store::StoreErrorKind;

/// Grants leases: a name has at most one holder, until the lease expires.
///
/// Laws:
/// - *exclusive*: a name has one holder at any time, by the clock of the lease service (that of the
///   database, not of the holder);
/// - *expires*: a lease that is not renewed ends at its time, even if its holder has died;
/// - *grows*: each lease of a name has an epoch larger than all earlier ones, also across restarts;
/// - *renewable*: a renewal counts from its own time and does not change the epoch. An expired
///   lease may be renewed or be `Lost` while no other holder has acquired it; after that it is
///   `Lost`.
///
/// A name and a holder are texts of 1 to [`LeaseCapabilities::name_bytes`] bytes without control
/// characters. Names are compared byte by byte.
#[async_trait]
pub trait Leases: Send + Sync + 'static {
    /// Returns the promises of these leases.
    fn capabilities(&self) -> LeaseCapabilities;

    /// Acquires a lease of `ttl_ms` milliseconds. A holder may acquire its own name again: the new
    /// lease has a larger epoch, and the earlier one ends.
    ///
    /// # Errors
    /// `Held` while another holds it, `Invalid` for an invalid name, holder or time; `Unavailable`,
    /// `Io`: then it may have been granted, and lasts for its time.
    async fn acquire(&self, name: &str, holder: &str, ttl_ms: u64) -> Result<Lease, LeaseError>;

    /// Renews a lease for its full time from now on.
    ///
    /// # Errors
    /// `Lost` when it has ended, was released, or was acquired again; `Unavailable`, `Io`: then it
    /// may have been renewed.
    async fn renew(&self, lease: &Lease) -> Result<(), LeaseError>;

    /// Releases a lease: its name is free at once. Releasing an ended lease has no effect on any
    /// other lease. Any object of the same service may release it.
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
    /// Shortest accepted time, in milliseconds.
    pub min_ttl_ms: u64,
    /// Longest accepted time, in milliseconds.
    pub max_ttl_ms: u64,
    /// Most bytes of a name, and of a holder. At least 64.
    pub name_bytes: usize,
    /// Longest delay of the end of a lease, in milliseconds. A lease never ends early.
    pub slack_ms: u64,
}

/// A granted lease.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lease {
    /// Name of the lease.
    pub name: String,
    /// Holder of the name.
    pub holder: String,
    /// Generation of the name.
    pub epoch: Epoch,
    /// Time from each renewal to the end, in milliseconds.
    pub ttl_ms: u64,
}

/// A lease as other processes see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaseStatus {
    /// Holder of the name.
    pub holder: String,
    /// Generation of the name.
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
            | StoreErrorKind::WrongKey
            | StoreErrorKind::ReadOnly
            | StoreErrorKind::Unsupported
            | StoreErrorKind::Full
            | StoreErrorKind::Io
            | StoreErrorKind::Ended => Self::Io,
        }
    }
}

impl fmt::Display for LeaseStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { holder, remaining_ms: left_ms, .. } = self;
        write!(f, "{holder}, for another {left_ms} ms without a renewal")
    }
}
