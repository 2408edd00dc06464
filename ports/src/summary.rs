//! Session listings: the state of a session that a store can read without an engine.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use windlass_core::{Fact, RecordedFact, Scope, Seq, SessionId, Timestamp};

/// A session in a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionListing {
    /// Id of the session.
    pub id: SessionId,
    /// Summary of its log; `None` if the log is damaged.
    pub summary: Option<SessionSummary>,
}

/// Most bytes of a batch.
const BATCH_BYTES: u64 = 2 * 1024 * 1024;

impl SessionListing {
    /// Divides listed sessions into batches, to read the first `limit` facts of the logs of a batch
    /// at once: at most `most` sessions, with 2 MiB of facts together by the average of each log. A
    /// log with more, or of unknown length, is a batch of its own.
    pub fn batches(listed: &[Self], most: usize, limit: usize) -> impl Iterator<Item = &[Self]> {
        let limit = u64::try_from(limit).unwrap_or(u64::MAX);
        let size = move |listing: &Self| {
            let summary = listing.summary.as_ref()?;
            let average = summary.bytes? / summary.last.0.max(1);
            average.checked_mul(limit.min(summary.last.0))
        };
        let mut rest = listed;
        std::iter::from_fn(move || {
            let mut bytes = 0_u64;
            let fits = |listing: &&Self| {
                bytes = bytes.saturating_add(size(listing).unwrap_or(u64::MAX));
                bytes <= BATCH_BYTES
            };
            let count = rest.iter().take(most).take_while(fits).count();
            let (batch, behind) = rest.split_at_checked(count.max(1))?;
            rest = behind;
            Some(batch)
        })
    }
}

/// Summary of a log: a fold of its facts without rules about turns. A store saves it or folds it
/// from the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionSummary {
    /// Last position of the log.
    pub last: Seq,
    /// Time of the last fact's decision.
    pub changed_at: Timestamp,
    /// Tenant that the session belongs to; `None` for one of the system.
    pub tenant: Option<Arc<str>>,
    /// True while a turn is open.
    pub turn_open: bool,
    /// Inputs that wait for a turn, and awaited results of detached children.
    pub waiting_inputs: u32,
    /// Bytes of the bodies of its facts as JSON, and of the outputs and images that they name; `None` if the
    /// summary was begun by a release that did not count them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
}

impl SessionSummary {
    /// Returns the summary of a log that begins with this fact.
    #[must_use]
    pub fn begin(first: &RecordedFact) -> Self {
        let tenant = if let Fact::SessionOpened(opened) = &first.fact {
            match &*opened.owner {
                Scope::Principal { tenant, .. } => Some(tenant.as_str().into()),
                Scope::System { .. } => None,
            }
        } else {
            None
        };
        let mut summary = Self {
            last: Seq::ZERO,
            changed_at: first.ts,
            tenant,
            turn_open: false,
            waiting_inputs: 0,
            bytes: Some(0),
        };
        summary.apply(first);
        summary
    }

    /// Applies the next fact.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "a new fact changes a summary only on purpose"
    )]
    pub fn apply(&mut self, fact: &RecordedFact) {
        self.last = fact.seq;
        self.changed_at = fact.ts;
        self.bytes = self.bytes.map(|bytes| bytes.saturating_add(fact.bytes()));
        match &fact.fact {
            // It was awaited, and counts already.
            Fact::InputQueued(fact) if fact.result_of.is_some() => {}
            Fact::InputQueued(_) => self.waiting_inputs = self.waiting_inputs.saturating_add(1),
            Fact::InputAccepted(_) | Fact::InputBlocked(_) | Fact::InputWithdrawn(_) => {
                self.waiting_inputs = self.waiting_inputs.saturating_sub(1);
            }
            Fact::TurnOpened(_) => self.turn_open = true,
            Fact::TurnSettled(settled) => {
                self.turn_open = false;
                let waiting = settled.waiting.len().saturating_add(settled.detached.len());
                self.waiting_inputs = u32::try_from(waiting).unwrap_or(u32::MAX);
            }
            _ => {}
        }
    }

    /// Returns the summary of a log after more facts; `None` only without any facts.
    #[must_use]
    pub fn after<'a>(
        before: Option<Self>,
        facts: impl IntoIterator<Item = &'a RecordedFact>,
    ) -> Option<Self> {
        facts.into_iter().fold(before, |summary, fact| {
            let Some(mut summary) = summary else {
                return Some(Self::begin(fact));
            };
            summary.apply(fact);
            Some(summary)
        })
    }

    /// Returns true if work remains: a turn is open, or an input waits.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.turn_open || self.waiting_inputs > 0
    }
}

/// Tenants whose sessions a caller may see. There is no default, so that no caller forgets it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tenants {
    /// All tenants, and the sessions of the system: for the operator of a store.
    All,
    /// One tenant.
    One(String),
}

impl Tenants {
    /// Returns the tenants whose sessions exist for this scope: its own, or all for the system.
    #[must_use]
    pub fn of(scope: &Scope) -> Self {
        match scope {
            Scope::Principal { tenant, .. } => Self::One(tenant.clone()),
            Scope::System { .. } => Self::All,
        }
    }

    /// Returns the tenant; `None` for all of them.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::All => None,
            Self::One(tenant) => Some(tenant),
        }
    }
}

/// Condition on the sessions to list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionFilter {
    /// Only sessions of these tenants.
    pub tenants: Tenants,
    /// Only sessions with remaining work, or only those without.
    pub open: Option<bool>,
    /// Only sessions without a writer, as far as the store can tell: the next claim decides. A
    /// session that this store object has claimed has a writer. On shared storage, so has one that
    /// another object has claimed, until that object's liveness time is over.
    pub unclaimed: bool,
}

impl SessionFilter {
    /// Filter that matches the sessions of all tenants: for the operator of a store.
    pub const ALL_TENANTS: &'static Self = &Self::of(Tenants::All);

    /// Returns the filter that matches all sessions of these tenants.
    #[must_use]
    pub const fn of(tenants: Tenants) -> Self {
        Self { tenants, open: None, unclaimed: false }
    }

    /// Returns the filter that matches those of the sessions with remaining work.
    #[must_use]
    pub fn open(self) -> Self {
        Self { open: Some(true), ..self }
    }

    /// Returns true if the filter matches a session. `is_held` returns true if a writer holds it.
    ///
    /// Only the filter without any condition matches a session with a damaged log.
    #[must_use]
    pub fn matches(
        &self,
        summary: Option<&SessionSummary>,
        is_held: impl FnOnce() -> bool,
    ) -> bool {
        let Some(summary) = summary else {
            return *self == *Self::ALL_TENANTS;
        };
        let of = self.tenants.name();
        of.is_none_or(|tenant| summary.tenant.as_deref() == Some(tenant))
            && self.open.is_none_or(|open| summary.is_open() == open)
            && !(self.unclaimed && is_held())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listing((last, bytes): (u64, Option<u64>)) -> SessionListing {
        let summary = SessionSummary {
            last: Seq(last),
            changed_at: Timestamp(0),
            tenant: None,
            turn_open: false,
            waiting_inputs: 0,
            bytes,
        };
        SessionListing { id: SessionId::new("s").unwrap(), summary: Some(summary) }
    }

    #[test]
    fn a_batch_has_few_sessions_and_few_bytes() {
        let half = (4, Some(BATCH_BYTES / 2));
        let (small, long) = ((1, Some(1)), (100, Some(5 * BATCH_BYTES)));
        let listed = [half, half, small, small, small, small, (1, None), (1, half.1), long, long];
        let listed = listed.map(listing);
        let sizes = |limit| {
            let batches = SessionListing::batches(&listed, 3, limit).map(<[_]>::len);
            batches.collect::<Vec<_>>()
        };
        assert_eq!(sizes(100), [2, 3, 1, 1, 1, 1, 1]);
        assert_eq!(sizes(10), [2, 3, 1, 1, 2, 1]);
        assert_eq!(SessionListing::batches(&[], 3, 10).count(), 0);
    }
}
