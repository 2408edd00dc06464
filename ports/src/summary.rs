//! Entry of a session in a listing: as much as a store can know without an engine.

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

/// A log in short: a fold of its facts that needs no rule about turns. A store keeps it beside the
/// log, or folds it anew.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionSummary {
    /// Last position of the log.
    pub last: Seq,
    /// When the last fact was decided.
    pub changed_at: Timestamp,
    /// The tenant that the session belongs to; `None` for one of the system.
    pub tenant: Option<Arc<str>>,
    /// True while a turn is open.
    pub turn_open: bool,
    /// Inputs that wait for a turn.
    pub waiting_inputs: u32,
}

impl SessionSummary {
    /// The summary of a log that begins with this fact.
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
        };
        summary.apply(first);
        summary
    }

    /// Takes in the fact that follows.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "a new fact changes a summary only on purpose"
    )]
    pub fn apply(&mut self, fact: &RecordedFact) {
        self.last = fact.seq;
        self.changed_at = fact.ts;
        match &fact.fact {
            Fact::InputQueued(_) => self.waiting_inputs = self.waiting_inputs.saturating_add(1),
            Fact::InputAccepted(_) | Fact::InputBlocked(_) => {
                self.waiting_inputs = self.waiting_inputs.saturating_sub(1);
            }
            Fact::TurnOpened(_) => self.turn_open = true,
            Fact::TurnSettled(settled) => {
                self.turn_open = false;
                self.waiting_inputs = u32::try_from(settled.waiting.len()).unwrap_or(u32::MAX);
            }
            _ => {}
        }
    }

    /// The summary of a log after more facts; `None` only for no facts at all.
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

/// Condition on the sessions to list. The default matches all of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionFilter {
    /// Only those of this tenant.
    pub tenant: Option<String>,
    /// Only those that have something left to do, or only those that have not.
    pub open: Option<bool>,
    /// Only those that no writer holds at this moment, as far as the store can tell: the next claim
    /// decides. One that this store object holds is held; one that another object holds is so where
    /// several may write at one place, for as long as that one may live.
    pub unclaimed: bool,
}

impl SessionFilter {
    /// Filter that matches all sessions.
    pub const ALL: &'static Self = &Self {
        tenant: None,
        open: None,
        unclaimed: false,
    };

    /// Returns true if the filter matches a session. `is_held` returns true if a writer holds it.
    ///
    /// No condition matches a session with a damaged log.
    #[must_use]
    pub fn matches(
        &self,
        summary: Option<&SessionSummary>,
        is_held: impl FnOnce() -> bool,
    ) -> bool {
        let Some(summary) = summary else {
            return *self == *Self::ALL;
        };
        let of = self.tenant.as_deref();
        of.is_none_or(|tenant| summary.tenant.as_deref() == Some(tenant))
            && self.open.is_none_or(|open| summary.is_open() == open)
            && !(self.unclaimed && is_held())
    }
}
