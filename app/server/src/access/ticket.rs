//! Tickets: credentials in a URL for browsers that cannot send a header. Each is valid for one
//! connection to the events of one session, for a short time, in this process only.

use std::collections::HashMap;
use std::sync::Arc;

use windlass_engine::core::{SessionId, Timestamp};
use windlass_engine::ports::sync::Mutex;

use super::secret::secret;
use super::{Access, Grant, TokenHash};
use crate::problem::{Problem, ProblemCode};

/// Valid tickets of this process.
#[derive(Debug)]
pub(crate) struct TicketStore {
    issued: Mutex<HashMap<TokenHash, IssuedTicket>>,
    /// Most tickets of one tenant at a time.
    max_per_tenant: usize,
    lifetime_ms: u64,
}

#[derive(Debug)]
struct IssuedTicket {
    session: SessionId,
    tenant: String,
    /// Token for which the ticket was issued.
    token: TokenHash,
    until: Timestamp,
}

impl TicketStore {
    /// Creates a store of up to `most` tickets, shared among this many tenants, each valid for
    /// `good_ms`.
    pub(crate) fn new(most: usize, tenants: usize, good_ms: u64) -> Self {
        Self {
            issued: Mutex::default(),
            max_per_tenant: (most / tenants.max(1)).max(1),
            lifetime_ms: good_ms,
        }
    }

    /// Issues a ticket for a session that its holder may read, on behalf of this token.
    pub(crate) fn issue(
        &self,
        now: Timestamp,
        session: &SessionId,
        grant: &Grant,
        token: TokenHash,
    ) -> Result<String, Problem> {
        let text = secret("ticket_").map_err(|error| {
            tracing::error!(%error, "the operating system gives no entropy");
            Problem::new(ProblemCode::Defect, "cannot create a ticket")
        })?;
        let mut out = self.issued.lock();
        out.retain(|_, ticket| ticket.until > now);
        let held = out.values().filter(|ticket| ticket.tenant == grant.tenant);
        if held.count() >= self.max_per_tenant {
            let detail = "too many tickets are unused: use them, or wait until they expire";
            let seconds = self.lifetime_ms.div_ceil(1_000);
            return Err(Problem::new(ProblemCode::TooManyRequests, detail).retry_after(seconds));
        }
        let ticket = IssuedTicket {
            session: session.clone(),
            tenant: grant.tenant.clone(),
            token,
            until: Timestamp(now.0.saturating_add(self.lifetime_ms)),
        };
        out.insert(TokenHash::of(&text), ticket);
        Ok(text)
    }

    /// Redeems a ticket, which is then invalid in any case. `None` if it is unknown or expired, is
    /// for another session, or belongs to a revoked token.
    pub(crate) fn redeem(
        &self,
        now: Timestamp,
        ticket: &str,
        session: &str,
        access: &Access,
    ) -> Option<(TokenHash, Arc<Grant>)> {
        let ticket = self.issued.lock().remove(&TokenHash::of(ticket))?;
        if ticket.until <= now || ticket.session.as_str() != session {
            return None;
        }
        let grant = access.current_grant(&ticket.token)?;
        Some((ticket.token, grant))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use windlass_engine::core::Scope;

    use super::*;
    use crate::access::Rights;

    fn grant(tenant: &str) -> Grant {
        Grant { tenant: tenant.to_owned(), scope: Scope::local("ann"), rights: Rights::ALL }
    }

    fn session(id: &str) -> SessionId {
        SessionId::new(id).unwrap()
    }

    #[test]
    fn a_ticket_is_good_once_for_its_session_and_while_its_token_is() {
        let token = TokenHash::of("token");
        let access = Access::new([(token, grant("a"))], BTreeMap::new());
        let tickets = TicketStore::new(10, 1, 30);
        let issue = || tickets.issue(Timestamp(0), &session("s"), &grant("a"), token).unwrap();
        let ticket = issue();
        assert!(tickets.redeem(Timestamp(29), &ticket, "s", &access).is_some());
        assert!(tickets.redeem(Timestamp(29), &ticket, "s", &access).is_none());
        let ticket = issue();
        assert!(tickets.redeem(Timestamp(30), &ticket, "s", &access).is_none());
        let ticket = issue();
        assert!(tickets.redeem(Timestamp(1), &ticket, "other", &access).is_none());
        assert!(tickets.redeem(Timestamp(1), &ticket, "s", &access).is_none());
        let ticket = issue();
        access.replace([], BTreeMap::new());
        assert!(tickets.redeem(Timestamp(1), &ticket, "s", &access).is_none());
    }

    #[test]
    fn a_tenant_that_has_its_share_gets_none_and_takes_none_from_another() {
        let token = TokenHash::of("token");
        let tickets = TicketStore::new(4, 2, 30);
        let issue = |now, tenant| {
            let grant = grant(tenant);
            tickets.issue(Timestamp(now), &session("s"), &grant, token)
        };
        assert!(issue(0, "a").is_ok() && issue(1, "a").is_ok());
        let problem = issue(2, "a").unwrap_err();
        assert_eq!(problem.code, ProblemCode::TooManyRequests);
        assert_eq!(problem.retry_after, Some(1));
        assert!(issue(2, "b").is_ok());
        assert!(issue(30, "a").is_ok(), "the first is over");
    }
}
