//! Totals of a session's turns.

use serde::{Deserialize, Serialize};

use super::{Session, TurnUsage};
use crate::budget;

/// Totals of a session's turns, with those that a fork inherited. A rewind changes none of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionTotals {
    /// Number of turns that have opened.
    pub turns: u64,
    /// Usage of the settled turns.
    pub spent: TurnUsage,
}

impl Session {
    /// Returns the usage of all turns, with the open one.
    #[must_use]
    pub fn spent(&self) -> TurnUsage {
        let settled = self.totals.spent;
        self.turn().map_or(settled, |turn| settled.plus(&turn.spent))
    }

    /// Estimates the tokens of the next request: the provider's count of the latest one, with an
    /// estimate of later additions. Estimates all of it without such a count.
    #[must_use]
    pub fn context_tokens(&self) -> u64 {
        let settings = self.turn().map_or(&self.settings, |turn| &turn.settings);
        budget::context_tokens(self, settings.base_bytes(&self.found_tools))
    }
}

impl TurnUsage {
    /// Adds the usage of another turn.
    fn plus(mut self, other: &Self) -> Self {
        let Self {
            samples,
            attempts,
            calls,
            usage,
            estimated_tokens,
            cost_micros,
            continuations,
            compactions,
            re_asks,
            agents,
        } = other;
        self.samples = self.samples.saturating_add(*samples);
        self.attempts = self.attempts.saturating_add(*attempts);
        self.calls = self.calls.saturating_add(*calls);
        self.usage.add(usage);
        self.estimated_tokens = self.estimated_tokens.saturating_add(*estimated_tokens);
        self.cost_micros = self.cost_micros.saturating_add(*cost_micros);
        self.continuations = self.continuations.saturating_add(*continuations);
        self.compactions = self.compactions.saturating_add(*compactions);
        self.re_asks = self.re_asks.saturating_add(*re_asks);
        self.agents = self.agents.plus(*agents);
        self
    }
}

impl SessionTotals {
    /// Adds a settled turn.
    pub(crate) fn settle(&mut self, spent: &TurnUsage) {
        self.spent = self.spent.plus(spent);
    }
}
