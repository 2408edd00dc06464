//! Budget grants: the part of its turn's budget that an agent receives, and the turn's reserve.
//!
//! A turn that grants budget reserves its last samples: the one that concludes it, and one for each
//! re-ask of an invalid output. Each of them shows the later conversation, with the results of the
//! running calls. So the turn also reserves their estimated tokens and money, with room for the
//! result of each agent. The rest is shared by the agents of the answer that are yet to start.

use alloc::vec::Vec;

use super::answer::LEAST_ANSWER;
use super::{AddedContent, estimate};
use crate::agent::{AgentSpec, BudgetGrant};
use crate::call::programs::LAST;
use crate::deadline::left_ms;
use crate::decide::Plan;
use crate::session::{CallProgress, CallState, Turn};
use crate::usage::Usage;

/// Without a configured answer limit, reserves 1/N of the grant for the result.
const RESULT_SHARE: u64 = 8;
/// Bytes of the engine's own text around a call's result, or in place of it.
const WRAPPER_BYTES: u64 = 160;

/// Returns the grant of an agent: an equal share of the turn's remaining budget, and no more than it
/// declares. Running grants and the reserve for the turn's conclusion come off first. The agents of
/// the answer that are yet to start share, this one included; what one does not need by its
/// declaration goes to the others. `None` if nothing is left.
pub(crate) fn grant(plan: &Plan, turn: &Turn, agent: &AgentSpec) -> Option<BudgetGrant> {
    let limits = &turn.limits;
    let kept = turn.reserved_for_re_asks().saturating_add(1);
    let taken = turn.samples().saturating_add(turn.granted_total().samples);
    let left = limits.samples.saturating_sub(taken).saturating_sub(kept);
    let sharing: Vec<&AgentSpec> = unstarted_agents(turn).collect();
    let declared = sharing.iter().map(|agent| u64::from(agent.samples));
    let share = fair_share(u64::from(left), declared.collect());
    let samples = u32::try_from(share).unwrap_or(left).min(left).min(agent.samples);
    let time = left_ms(turn, plan.at);
    (samples > 0 && time != Some(0)).then_some(())?;
    let least = turn.settings.max_output_tokens.unwrap_or(LEAST_ANSWER);
    let each = estimate(plan, turn, outstanding(turn), least);
    let (answer, price) = (turn.settings.max_output_tokens, turn.settings.price);
    let told = answer.map(|tokens| Usage { input: Some(tokens), ..Usage::default() });
    let tokens = BudgetPool {
        limit: limits.tokens,
        used: turn.tokens(),
        reserved_samples: u64::from(kept),
        sample_estimate: each.tokens,
        max_result: answer,
    };
    let money = BudgetPool {
        limit: limits.cost_micros,
        used: turn.cost_micros(),
        reserved_samples: u64::from(kept),
        sample_estimate: each.cost_micros,
        max_result: told.map(|told| price.map_or(0, |price| price.of(&told))),
    };
    let out = || turn.calls().iter().filter_map(|call| call.grant);
    let out_tokens = out().map(|lent| lent.tokens);
    let out_money = out().map(|lent| lent.cost_micros);
    let declared_tokens = sharing.iter().map(|agent| agent.tokens);
    let declared_money = sharing.iter().map(|agent| agent.cost_micros);
    Some(BudgetGrant {
        samples,
        tokens: tokens.grant(agent.tokens, out_tokens, declared_tokens)?,
        cost_micros: money.grant(agent.cost_micros, out_money, declared_money)?,
        turn_ms: time.unwrap_or(0),
    })
}

/// Returns the agents of the calls that are yet to start.
fn unstarted_agents(turn: &Turn) -> impl Iterator<Item = &AgentSpec> {
    let unstarted = |call: &&CallState| match &call.progress {
        CallProgress::Proposed | CallProgress::AwaitingApproval { .. } | CallProgress::Allowed => {
            true
        }
        CallProgress::Denied { .. }
        | CallProgress::Running { .. }
        | CallProgress::AwaitingResult { .. }
        | CallProgress::Reconciling { .. }
        | CallProgress::Done { .. } => false,
    };
    turn.calls().iter().filter(unstarted).filter_map(|call| turn.agent(call))
}

/// Returns the largest share of `room` that each of the demands can have, of which none gets more
/// than it is; rounded up, so that the first ones get what cannot be divided.
fn fair_share(room: u64, mut demands: Vec<u64>) -> u64 {
    demands.sort_unstable();
    let mut left = room;
    for (demand, among) in demands.iter().zip((1..=demands.len() as u64).rev()) {
        let share = left.div_ceil(among);
        if *demand > share {
            return share;
        }
        left = left.saturating_sub(*demand);
    }
    room
}

/// One limited sum of a turn, with the amounts that reduce what it can grant.
struct BudgetPool {
    /// The limit; 0 for none.
    limit: u64,
    /// Used part of the budget.
    used: u64,
    /// Number of reserved samples.
    reserved_samples: u64,
    /// Estimate for each reserved sample, without the results of agents.
    sample_estimate: u64,
    /// Most tokens of a result, if the settings limit answers.
    max_result: Option<u64>,
}

impl BudgetPool {
    /// Returns the grant of an agent that declares `declared` (0: the rest), after the grants of
    /// `others`, if agents that declare `sharing` share what is left. `None` if nothing is left.
    fn grant(
        &self,
        declared: u64,
        others: impl Iterator<Item = u64>,
        sharing: impl Iterator<Item = u64>,
    ) -> Option<u64> {
        if self.limit == 0 {
            return Some(declared);
        }
        let kept = self.reserved_samples.saturating_mul(self.sample_estimate);
        let others = others.map(|lent| self.with_result(lent));
        let against = others.fold(self.used.saturating_add(kept), u64::saturating_add);
        let room = self.limit.saturating_sub(against);
        let demand = |declared| match declared {
            0 => u64::MAX,
            declared => self.with_result(declared),
        };
        let most = self.max_grant(fair_share(room, sharing.map(demand).collect()));
        let most = if declared == 0 { most } else { most.min(declared) };
        (most > 0).then_some(most)
    }

    /// Returns a grant together with the reserve for its result.
    fn with_result(&self, lent: u64) -> u64 {
        lent.saturating_add(self.reserve_for_result(lent))
    }

    /// Returns the reserve that lets each last sample show the result of an agent with this grant.
    /// A result is never longer than the grant.
    fn reserve_for_result(&self, lent: u64) -> u64 {
        let result = self.max_result.map_or(lent / RESULT_SHARE, |most| most.min(lent));
        self.reserved_samples.saturating_mul(result)
    }

    /// Returns the largest grant that fits into `room` together with the reserve for its result.
    fn max_grant(&self, room: u64) -> u64 {
        let Some(result) = self.max_result else {
            return granted_share(room, RESULT_SHARE, self.reserved_samples);
        };
        let beside = room.saturating_sub(self.reserved_samples.saturating_mul(result));
        beside.max(granted_share(room, 1, self.reserved_samples))
    }
}

/// Returns the granted part of `whole`, split in the ratio `lent` to `kept`.
fn granted_share(whole: u64, lent: u64, kept: u64) -> u64 {
    let (all, of) = (lent.saturating_add(kept), u128::from(whole));
    u64::try_from(of * u128::from(lent) / u128::from(all.max(1))).unwrap_or(whole)
}

/// Returns what the running calls will add to the conversation: their results, or a frame for each
/// unknown result. In program mode it includes the notice of the last program.
fn outstanding(turn: &Turn) -> AddedContent {
    let mut more = AddedContent::default();
    let mut add = |bytes: u64| {
        more.bytes = more.bytes.saturating_add(bytes);
        more.items = more.items.saturating_add(1);
    };
    // Results of a program's calls go to the program, not to the conversation.
    for call in turn.calls().iter().filter(|call| call.parent.is_none()) {
        match &call.progress {
            CallProgress::Done { observation, .. } => add(observation.bytes),
            CallProgress::Proposed
            | CallProgress::AwaitingApproval { .. }
            | CallProgress::Allowed
            | CallProgress::Denied { .. }
            | CallProgress::Running { .. }
            | CallProgress::AwaitingResult { .. }
            | CallProgress::Reconciling { .. } => add(WRAPPER_BYTES),
        }
    }
    if turn.settings.options.program.is_some() && !turn.announced_last {
        add(WRAPPER_BYTES.saturating_add(LAST.len() as u64));
    }
    more
}
