//! Grants port: standing approvals of a person for calls like one that was asked about.
//!
//! A grant is the user's. It is never in a workspace and never in a log, so neither can bring one
//! along.

use std::fmt;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use windlass_core::{GrantLifetime, Retry, SessionId, Sha256};

use crate::error::{ErrorKind, PortError};

/// Records approval grants.
///
/// An implementation is bound to one user or tenant, one workspace and one store.
///
/// Laws:
/// - *bound*: a grant applies in its own workspace only, and one for a session in that session of
///   that store only;
/// - *durable*: a grant that was returned by [`add`](Self::add) is there after a restart;
/// - *revocable*: after [`revoke`](Self::revoke) it applies nowhere, also in other processes;
/// - *closed*: an unreadable record is an error and never a grant.
#[async_trait]
pub trait Grants: Send + Sync + 'static {
    /// Returns the grants that apply in a session with this workspace.
    ///
    /// # Errors
    /// [`GrantsError`] when the record cannot be read.
    async fn of_session(
        &self,
        session: &SessionId,
        workspace: Option<&str>,
    ) -> Result<Vec<Grant>, GrantsError>;

    /// Records a grant. An equal one is returned as it is.
    ///
    /// # Errors
    /// [`GrantsError`] when the workspace is another one, the record is full, or it cannot be read
    /// or written.
    async fn add(
        &self,
        session: &SessionId,
        workspace: Option<&str>,
        grant: NewGrant,
    ) -> Result<Grant, GrantsError>;

    /// Returns all grants of the user in this workspace.
    ///
    /// # Errors
    /// [`GrantsError`] when the record cannot be read.
    async fn list(&self) -> Result<Vec<Grant>, GrantsError>;

    /// Revokes one of the grants that [`list`](Self::list) returns. Returns false if there is none.
    ///
    /// # Errors
    /// [`GrantsError`] when the record cannot be read or written.
    async fn revoke(&self, id: &str) -> Result<bool, GrantsError>;
}

/// An approval grant to record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewGrant {
    /// Lifetime of the grant.
    pub lifetime: GrantLifetime,
    /// Name of the tool.
    pub tool: String,
    /// Calls of the tool that it covers.
    pub calls: GrantedCalls,
    /// Time at which it was given, in milliseconds since 1970.
    pub at_ms: u64,
}

/// A recorded approval grant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// Id, by which it is revoked.
    pub id: String,
    /// Lifetime of the grant.
    pub lifetime: GrantLifetime,
    /// Session, if it is for one.
    pub session: Option<SessionId>,
    /// Name of the tool.
    pub tool: String,
    /// Calls of the tool that it covers.
    pub calls: GrantedCalls,
    /// Time at which it was given, in milliseconds since 1970.
    pub at_ms: u64,
}

/// Calls of a tool that a grant covers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum GrantedCalls {
    /// Command lines of which each command begins with these words.
    Command {
        /// Name of the argument with the command line.
        argument: String,
        /// Words, without any character that a shell or a pattern treats specially.
        words: Vec<String>,
    },
    /// Calls with this path.
    Path {
        /// Name of the argument with the path.
        argument: String,
        /// Path in its normal form.
        path: String,
    },
    /// Calls with exactly these arguments.
    Arguments {
        /// SHA-256 of the arguments.
        sha256: Sha256,
    },
}

/// The calls in words, after the name of their tool.
impl fmt::Display for GrantedCalls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Command { words, .. } => {
                write!(f, "commands that begin with `{}`", words.join(" "))
            }
            Self::Path { argument, path } => write!(f, "calls with the {argument} `{path}`"),
            Self::Arguments { .. } => f.write_str("calls with exactly these arguments"),
        }
    }
}

/// Failure to read or write the record of grants.
pub type GrantsError = PortError<GrantsErrorKind>;

/// Classes of errors of the record of grants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GrantsErrorKind {
    /// The record cannot be read or written.
    Record,
    /// The record is full.
    Full,
    /// The session belongs to another workspace.
    OtherWorkspace,
    /// Nothing of this kind is recorded here.
    Unsupported,
}

impl ErrorKind for GrantsErrorKind {
    fn retry(&self) -> Retry {
        match self {
            Self::Record | Self::Full | Self::OtherWorkspace | Self::Unsupported => Retry::Never,
        }
    }
}
