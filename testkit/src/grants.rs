//! Grants in memory, for tests.

use async_trait::async_trait;
use windlass_core::{GrantLifetime, SessionId};
use windlass_ports::sync::Mutex;
use windlass_ports::{Grant, Grants, GrantsError, NewGrant};

/// A record of approval grants that ends with the test. It has one workspace.
#[derive(Debug, Default)]
pub struct MemoryGrants(Mutex<Vec<Grant>>);

#[async_trait]
impl Grants for MemoryGrants {
    async fn of_session(
        &self,
        session: &SessionId,
        _workspace: Option<&str>,
    ) -> Result<Vec<Grant>, GrantsError> {
        let own = |grant: &&Grant| grant.session.as_ref().is_none_or(|of| of == session);
        Ok(self.0.lock().iter().filter(own).cloned().collect())
    }

    async fn add(
        &self,
        session: &SessionId,
        _workspace: Option<&str>,
        grant: NewGrant,
    ) -> Result<Grant, GrantsError> {
        let mut grants = self.0.lock();
        let NewGrant { lifetime, tool, calls, at_ms } = grant;
        let session = match lifetime {
            GrantLifetime::Session => Some(session.clone()),
            GrantLifetime::Always => None,
        };
        let id = format!("grant-{}", grants.len());
        let grant = Grant { id, lifetime, session, tool, calls, at_ms };
        grants.push(grant.clone());
        Ok(grant)
    }

    async fn list(&self) -> Result<Vec<Grant>, GrantsError> {
        Ok(self.0.lock().clone())
    }

    async fn revoke(&self, id: &str) -> Result<bool, GrantsError> {
        let mut grants = self.0.lock();
        let before = grants.len();
        grants.retain(|grant| grant.id != id);
        Ok(grants.len() < before)
    }
}
