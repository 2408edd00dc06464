//! Access: identities, rights and limits by token.
//!
//! Only the SHA-256 of a token is stored.

mod grant;
mod hash;
mod quota;
mod rate;
mod secret;
mod ticket;

use std::collections::BTreeMap;
use std::sync::Arc;

pub use grant::{Grant, Quota, Right, Rights};
pub use hash::TokenHash;
pub(crate) use quota::{SessionPermit, UsageCounters, UsagePermit};
pub(crate) use rate::RateLimiter;
pub(crate) use secret::hex;
pub use secret::new_token;
pub(crate) use ticket::TicketStore;
use windlass_engine::ports::sync::Mutex;

/// Grants by token. They can be replaced while the server runs.
#[derive(Debug, Default)]
pub struct Access {
    table: Mutex<Arc<GrantTable>>,
}

#[derive(Debug, Default)]
struct GrantTable {
    grants: BTreeMap<TokenHash, Arc<Grant>>,
    quotas: BTreeMap<String, Quota>,
}

impl Access {
    /// Creates access with these grants by token, and these quotas by tenant; other tenants have
    /// the default quota.
    #[must_use]
    pub fn new(
        grants: impl IntoIterator<Item = (TokenHash, Grant)>,
        quotas: BTreeMap<String, Quota>,
    ) -> Self {
        let access = Self::default();
        access.replace(grants, quotas);
        access
    }

    /// Replaces all grants and quotas.
    pub fn replace(
        &self,
        grants: impl IntoIterator<Item = (TokenHash, Grant)>,
        quotas: BTreeMap<String, Quota>,
    ) {
        let grants = grants.into_iter();
        let known = GrantTable {
            grants: grants.map(|(hash, grant)| (hash, Arc::new(grant))).collect(),
            quotas,
        };
        *self.table.lock() = Arc::new(known);
    }

    /// Returns the grant of a token. The lookup uses the hash, so its time does not reveal any
    /// known token.
    pub(crate) fn grant(&self, token: &str) -> Option<(TokenHash, Arc<Grant>)> {
        let hash = TokenHash::of(token);
        Some((hash, self.table().grants.get(&hash)?.clone()))
    }

    /// Returns true if a token is still known with these rights.
    pub(crate) fn current_grant(&self, hash: &TokenHash) -> Option<Arc<Grant>> {
        self.table().grants.get(hash).cloned()
    }

    /// Returns the limits of a tenant.
    pub(crate) fn quota(&self, tenant: &str) -> Quota {
        self.table().quotas.get(tenant).copied().unwrap_or_default()
    }

    fn table(&self) -> Arc<GrantTable> {
        self.table.lock().clone()
    }
}
