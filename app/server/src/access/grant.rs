//! Grants: identity and rights of a token, and limits of a tenant.

use serde::{Deserialize, Serialize};
use windlass_engine::core::Scope;

/// Identity and rights that a token grants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// Name of the tenant.
    pub tenant: String,
    /// Scope of the token: a principal of that tenant.
    pub scope: Scope,
    /// Rights of the token.
    pub rights: Rights,
}

/// Right of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Right {
    /// Read sessions and their events.
    Read,
    /// Open and fork sessions, send inputs, interrupt.
    Run,
    /// Answer approvals.
    Approve,
    /// Erase sessions for good.
    Erase,
}

/// Set of rights of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rights {
    /// Grants [`Right::Read`] on sessions.
    pub read: bool,
    /// Grants [`Right::Run`] on sessions.
    pub run: bool,
    /// Grants [`Right::Approve`] on calls.
    pub approve: bool,
    /// Grants [`Right::Erase`] on sessions.
    pub erase: bool,
}

impl Rights {
    /// All rights.
    pub const ALL: Self = Self { read: true, run: true, approve: true, erase: true };

    /// Returns the rights of a list.
    #[must_use]
    pub fn from_list(list: &[Right]) -> Self {
        Self {
            read: list.contains(&Right::Read),
            run: list.contains(&Right::Run),
            approve: list.contains(&Right::Approve),
            erase: list.contains(&Right::Erase),
        }
    }

    /// Returns true if this right is granted.
    #[must_use]
    pub fn has(self, right: Right) -> bool {
        match right {
            Right::Read => self.read,
            Right::Run => self.run,
            Right::Approve => self.approve,
            Right::Erase => self.erase,
        }
    }
}

/// Limits of a tenant. Each process counts separately.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Quota {
    /// Sessions in the store.
    pub sessions: u64,
    /// Bytes of the bodies of its sessions' facts as JSON, and of the outputs and images that they
    /// name. A session that began under a release that did not count them does not count.
    pub bytes: u64,
    /// Turns that are open or requested at a time.
    pub turns: u64,
    /// Bytes of a request's body; 0 for the server's own limit.
    pub request_bytes: u64,
    /// Average requests per second.
    pub requests_per_second: u32,
    /// Requests that may exceed the average at once.
    pub burst: u32,
    /// Event streams at a time.
    pub streams: u64,
}

impl Default for Quota {
    fn default() -> Self {
        Self {
            sessions: 100_000,
            bytes: 100 * 1024 * 1024 * 1024,
            turns: 1_000,
            request_bytes: 0,
            requests_per_second: 1_000,
            burst: 2_000,
            streams: 10_000,
        }
    }
}
