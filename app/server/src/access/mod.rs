//! Access: which token stands for whom, what it may do, and how much.
//!
//! Tokens are known by their SHA-256 only.

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
pub(crate) use quota::{Pass, SessionPass, Uses};
pub(crate) use rate::Rates;
pub(crate) use secret::hex;
pub use secret::new_token;
pub(crate) use ticket::Tickets;
use windlass_engine::ports::sync::Mutex;

/// Grants by token. They can be replaced while the server runs.
#[derive(Debug, Default)]
pub struct Access {
    known: Mutex<Arc<Known>>,
}

#[derive(Debug, Default)]
struct Known {
    grants: BTreeMap<TokenHash, Arc<Grant>>,
    quotas: BTreeMap<String, Quota>,
}

impl Access {
    /// Knows these tokens, and these quotas by tenant; a tenant without one has the usual quota.
    #[must_use]
    pub fn new(
        grants: impl IntoIterator<Item = (TokenHash, Grant)>,
        quotas: BTreeMap<String, Quota>,
    ) -> Self {
        let access = Self::default();
        access.replace(grants, quotas);
        access
    }

    /// Knows these from now on, and no others.
    pub fn replace(
        &self,
        grants: impl IntoIterator<Item = (TokenHash, Grant)>,
        quotas: BTreeMap<String, Quota>,
    ) {
        let grants = grants.into_iter();
        let known = Known {
            grants: grants
                .map(|(hash, grant)| (hash, Arc::new(grant)))
                .collect(),
            quotas,
        };
        *self.known.lock() = Arc::new(known);
    }

    /// Whom a token stands for. What is looked up is its hash, so how long it takes says nothing
    /// of any known token.
    pub(crate) fn grant(&self, token: &str) -> Option<(TokenHash, Arc<Grant>)> {
        let hash = TokenHash::of(token);
        Some((hash, self.known().grants.get(&hash)?.clone()))
    }

    /// Returns true if a token is still known with these rights.
    pub(crate) fn stands(&self, hash: &TokenHash) -> Option<Arc<Grant>> {
        self.known().grants.get(hash).cloned()
    }

    /// Returns the limits of a tenant.
    pub(crate) fn quota(&self, tenant: &str) -> Quota {
        self.known().quotas.get(tenant).copied().unwrap_or_default()
    }

    fn known(&self) -> Arc<Known> {
        self.known.lock().clone()
    }
}
