//! Scope: the principal or the system that acts.

use alloc::collections::BTreeMap;
use alloc::string::String;

use serde::{Deserialize, Serialize};

/// Principal or system that a session, turn or call acts for. Unknown fields are rejected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Scope {
    /// A principal of a tenant.
    Principal {
        /// Tenant; sessions of another tenant do not exist for this scope.
        tenant: String,
        /// Principal within the tenant.
        principal: String,
        /// Claims of the identity provider about the principal, as text.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        claims: BTreeMap<String, String>,
    },
    /// The system itself: recovery, timeouts, maintenance.
    System {
        /// Reason why the system acts.
        reason: String,
    },
}

impl Scope {
    /// Returns the scope of a person at their own machine: tenant `local`.
    #[must_use]
    pub fn local(principal: impl Into<String>) -> Self {
        Self::principal("local", principal)
    }

    /// Returns true if a session of `owner` exists for this scope: the same tenant, or the system.
    #[must_use]
    pub fn can_access(&self, owner: &Self) -> bool {
        match (self, owner) {
            (Self::System { .. }, _) => true,
            (Self::Principal { .. }, Self::System { .. }) => false,
            (Self::Principal { tenant, .. }, Self::Principal { tenant: of, .. }) => tenant == of,
        }
    }

    /// Returns true if this scope is no wider than another: the same principal of the same tenant,
    /// without additional claims. Every scope is within the system.
    #[must_use]
    pub fn within(&self, other: &Self) -> bool {
        match (self, other) {
            (_, Self::System { .. }) => true,
            (Self::System { .. }, Self::Principal { .. }) => false,
            (
                Self::Principal { tenant, principal, claims },
                Self::Principal { tenant: of, principal: who, claims: known },
            ) => {
                let has = |(name, value): (&String, &String)| known.get(name) == Some(value);
                tenant == of && principal == who && claims.iter().all(has)
            }
        }
    }

    /// Returns the scope of a principal of a tenant, without claims.
    #[must_use]
    pub fn principal(tenant: impl Into<String>, principal: impl Into<String>) -> Self {
        Self::Principal {
            tenant: tenant.into(),
            principal: principal.into(),
            claims: BTreeMap::new(),
        }
    }

    /// Returns the scope of the system, with its reason.
    #[must_use]
    pub fn system(reason: impl Into<String>) -> Self {
        Self::System { reason: reason.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scope(tenant: &str, principal: &str, claims: &[(&str, &str)]) -> Scope {
        let pair = |(name, value): &(&str, &str)| (String::from(*name), String::from(*value));
        Scope::Principal {
            tenant: tenant.into(),
            principal: principal.into(),
            claims: claims.iter().map(pair).collect(),
        }
    }

    #[test]
    fn a_scope_is_within_its_like_with_no_claim_more() {
        let wide = scope("acme", "ann", &[("role", "admin"), ("team", "a")]);
        assert!(wide.within(&wide));
        assert!(scope("acme", "ann", &[("role", "admin")]).within(&wide));
        assert!(scope("acme", "ann", &[]).within(&wide));
        assert!(!scope("acme", "ann", &[("role", "user")]).within(&wide));
        assert!(!scope("acme", "ann", &[("region", "eu")]).within(&wide));
        assert!(!wide.within(&scope("acme", "ann", &[])));
    }

    #[test]
    fn a_scope_is_not_within_one_of_another_principal_or_tenant() {
        for claims in [&[][..], &[("role", "admin")]] {
            let ann = scope("acme", "ann", claims);
            assert!(!scope("acme", "bob", claims).within(&ann));
            assert!(!scope("other", "ann", claims).within(&ann));
            assert!(!scope("other", "bob", claims).within(&ann));
        }
    }

    #[test]
    fn everything_is_within_the_system_and_the_system_within_nothing_else() {
        let system = Scope::system("recovery");
        let ann = scope("acme", "ann", &[]);
        assert!(ann.within(&system));
        assert!(system.within(&system));
        assert!(!system.within(&ann));
    }
}
