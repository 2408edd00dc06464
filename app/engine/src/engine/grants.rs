//! Grants: the record of approval grants of an engine, for those who answer questions elsewhere.

use std::sync::Arc;

use windlass_core::{ApprovalGrant, GrantLifetime, SessionId};
use windlass_ports::{Grant, GrantOffer, Grants, GrantsError, GrantsErrorKind};

use super::Engine;
use crate::approvals::PendingApproval;
use crate::grants::{GrantBook, GrantQuery};

impl Engine {
    /// Sets the record of approval grants. Without one nothing is remembered, and every question is
    /// put to a person. Sessions that are open keep the record that they began with.
    pub fn set_grants(&self, grants: Arc<dyn Grants>) {
        *self.inner.grants.lock() = GrantBook::new(Some(grants));
    }

    /// Returns the offer to a person for calls like one that is asked about.
    #[must_use]
    pub fn grant_offer(&self, pending: &PendingApproval) -> GrantOffer {
        self.book().offer(pending.reason, &pending.covers)
    }

    /// Records a grant for calls like one that is asked about, and returns it with its record for
    /// the log. The answer to the question is given apart from it, and
    /// [`apply_grants`](Self::apply_grants) after that.
    ///
    /// # Errors
    /// [`GrantsError`] when no grant can be given, or it cannot be recorded.
    pub async fn add_grant(
        &self,
        (session, workspace): (&SessionId, Option<&str>),
        pending: &PendingApproval,
        lifetime: GrantLifetime,
    ) -> Result<(Grant, ApprovalGrant), GrantsError> {
        let book = self.book();
        let (GrantOffer::Offered { .. }, Ok(calls)) =
            (self.grant_offer(pending), pending.covers.clone())
        else {
            let words = "this call can be allowed only once";
            return Err(GrantsError::new(GrantsErrorKind::Unsupported, words));
        };
        let query = GrantQuery {
            session: session.clone(),
            workspace: workspace.map(Arc::from),
            tool: pending.tool.clone(),
            arguments: pending.arguments.clone(),
        };
        let text = calls.to_string();
        let grant = book.add(&query, lifetime, calls, self.inner.ports.clock.now()).await?;
        Ok((grant, ApprovalGrant { used: false, lifetime, text }))
    }

    /// Answers the open questions that grants cover by now.
    pub fn apply_grants(&self) {
        self.book().announce();
    }

    /// Returns the approval grants of the user in this workspace; none without a record of them.
    ///
    /// # Errors
    /// [`GrantsError`] when the record cannot be read.
    pub async fn grants(&self) -> Result<Vec<Grant>, GrantsError> {
        match self.book().port() {
            Some(port) => port.list().await,
            None => Ok(Vec::new()),
        }
    }

    /// Revokes an approval grant. Returns false if there is none with this id.
    ///
    /// # Errors
    /// [`GrantsError`] when the record cannot be read or written.
    pub async fn revoke_grant(&self, id: &str) -> Result<bool, GrantsError> {
        match self.book().port() {
            Some(port) => port.revoke(id).await,
            None => Ok(false),
        }
    }

    fn book(&self) -> GrantBook {
        self.inner.grants.lock().clone()
    }
}
