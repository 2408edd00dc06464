//! Scope: on whose behalf something happens.

use alloc::collections::BTreeMap;
use alloc::string::String;

use serde::{Deserialize, Serialize};

/// On whose behalf a session, a turn or a call acts. Unknown fields are refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Scope {
    /// A principal of a tenant.
    Principal {
        /// The tenant; sessions of another tenant do not exist for this scope.
        tenant: String,
        /// Who acts within the tenant.
        principal: String,
        /// What the identity provider said of the principal, as text.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        claims: BTreeMap<String, String>,
    },
    /// The system itself: recovery, timeouts, maintenance.
    System {
        /// Why the system acts.
        reason: String,
    },
}

impl Scope {
    /// The scope of a person at their own machine: tenant `local`.
    #[must_use]
    pub fn local(principal: impl Into<String>) -> Self {
        Self::Principal {
            tenant: "local".into(),
            principal: principal.into(),
            claims: BTreeMap::new(),
        }
    }

    /// Whether a session of `owner` exists for this scope: the same tenant, or the system.
    #[must_use]
    pub fn sees(&self, owner: &Self) -> bool {
        match (self, owner) {
            (Self::System { .. }, _) => true,
            (Self::Principal { .. }, Self::System { .. }) => false,
            (Self::Principal { tenant, .. }, Self::Principal { tenant: of, .. }) => tenant == of,
        }
    }

    /// The scope of the system, with its reason.
    #[must_use]
    pub fn system(reason: impl Into<String>) -> Self {
        Self::System {
            reason: reason.into(),
        }
    }
}
