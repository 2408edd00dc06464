//! Grants: what a token stands for, and how much a tenant may have.

use serde::{Deserialize, Serialize};
use windlass_engine::core::Scope;

/// Identity and rights that a token grants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// Name of the tenant.
    pub tenant: String,
    /// On whose behalf it acts: a principal of that tenant.
    pub scope: Scope,
    /// Rights of the token.
    pub rights: Rights,
}

/// One thing that a token may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Right {
    /// See sessions and their events.
    Read,
    /// Open and fork sessions, send inputs, interrupt.
    Run,
    /// Answer whether calls may run.
    Approve,
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
}

impl Rights {
    /// Every right there is.
    pub const ALL: Self = Self {
        read: true,
        run: true,
        approve: true,
    };

    /// Those of a list.
    #[must_use]
    pub fn from_list(list: &[Right]) -> Self {
        Self {
            read: list.contains(&Right::Read),
            run: list.contains(&Right::Run),
            approve: list.contains(&Right::Approve),
        }
    }

    /// Returns true if this is one of them.
    #[must_use]
    pub fn has(self, right: Right) -> bool {
        match right {
            Right::Read => self.read,
            Right::Run => self.run,
            Right::Approve => self.approve,
        }
    }
}

/// Limits of a tenant. Each process counts for itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Quota {
    /// Sessions in the store.
    pub sessions: u64,
    /// Turns that are open, or asked for, at a time.
    pub turns: u64,
    /// Bytes of a request's body; 0 for the server's own bound.
    pub request_bytes: u64,
    /// Requests a second, on average.
    pub requests_per_second: u32,
    /// Requests at once beyond that.
    pub burst: u32,
    /// Streams of events at a time.
    pub streams: u64,
}

impl Default for Quota {
    fn default() -> Self {
        Self {
            sessions: 100_000,
            turns: 1_000,
            request_bytes: 0,
            requests_per_second: 1_000,
            burst: 2_000,
            streams: 10_000,
        }
    }
}
