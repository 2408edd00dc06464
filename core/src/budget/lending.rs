//! Lending: what an agent may take of its turn's budget, and what the turn keeps to conclude with.
//!
//! A turn that lends keeps its last samples: the one that concludes it, and those that retries of a
//! rejected return may take. Each of them shows the conversation as it will be then, with what came
//! of the calls that are out. So what it is estimated at is kept of tokens and money, too, and room for
//! the result of each agent, which the model is told in each of them.

use super::{More, estimate};
use crate::agent::{AgentSpec, Lent};
use crate::call::programs::LAST;
use crate::deadline::left_ms;
use crate::decide::Plan;
use crate::fact::Reserved;
use crate::session::{Progress, Turn};
use crate::stage::Sampling;
use crate::usage::Usage;

/// A result takes so manieth of what its agent is lent, where nobody says how long an answer may be.
const RESULT: u64 = 8;
/// Bytes of the engine's own words around what a call comes to, or in the place of it.
const WORDS: u64 = 160;

/// Returns the grant of an agent: up to its declared share of the turn's remaining budget, beside
/// running grants and the needs of the turn's conclusion. `None` if nothing is left.
pub(crate) fn lend(plan: &Plan, turn: &Turn, agent: &AgentSpec) -> Option<Lent> {
    let limits = &turn.limits;
    let kept = turn.kept_for_retries().saturating_add(1);
    let taken = turn.samples().saturating_add(turn.lent().samples);
    let left = limits.samples.saturating_sub(taken).saturating_sub(kept);
    let samples = left.min(agent.samples);
    let time = left_ms(turn, plan.at);
    (samples > 0 && time != Some(0)).then_some(())?;
    let each = estimate(plan, turn, outstanding(turn));
    let (streams, answer) = (streaming(turn), turn.settings.max_output_tokens);
    let price = turn.settings.price;
    let told = answer.map(|tokens| Usage {
        input: Some(tokens),
        ..Usage::default()
    });
    let tokens = Purse {
        limit: limits.tokens,
        taken: turn.tokens().saturating_add(streams.tokens),
        kept: u64::from(kept),
        each: each.tokens,
        result: answer,
    };
    let money = Purse {
        limit: limits.cost_micros,
        taken: turn.cost_micros().saturating_add(streams.cost_micros),
        kept: u64::from(kept),
        each: each.cost_micros,
        result: told.map(|told| price.map_or(0, |price| price.of(&told))),
    };
    let out = || turn.calls().iter().filter_map(|call| call.lent);
    Some(Lent {
        samples,
        tokens: tokens.lends(agent.tokens, out().map(|lent| lent.tokens))?,
        cost_micros: money.lends(agent.cost_micros, out().map(|lent| lent.cost_micros))?,
        turn_ms: time.unwrap_or(0),
    })
}

/// One of the sums that a turn is limited to, and what stands against lending it.
struct Purse {
    /// The limit; 0 for none.
    limit: u64,
    /// Spent part of the budget, with the expected usage of the streaming answer.
    taken: u64,
    /// Samples that are kept.
    kept: u64,
    /// Estimate of each of them, without the results of agents.
    each: u64,
    /// Most tokens of a result, if the settings limit answers.
    result: Option<u64>,
}

impl Purse {
    /// Returns the grant of an agent that may have `declared` of the budget (0: the rest), beside
    /// the grants of others. `None` if nothing is left.
    fn lends(&self, declared: u64, others: impl Iterator<Item = u64>) -> Option<u64> {
        if self.limit == 0 {
            return Some(declared);
        }
        let others = others.map(|lent| lent.saturating_add(self.kept_for_result(lent)));
        let kept = self.kept.saturating_mul(self.each);
        let against = others.fold(self.taken.saturating_add(kept), u64::saturating_add);
        let most = self.most(self.limit.saturating_sub(against));
        let most = if declared == 0 {
            most
        } else {
            most.min(declared)
        };
        (most > 0).then_some(most)
    }

    /// Returns the reserve with which each last sample can show the result of an agent with this
    /// grant: no agent can say more than it was granted.
    fn kept_for_result(&self, lent: u64) -> u64 {
        let result = self.result.map_or(lent / RESULT, |most| most.min(lent));
        self.kept.saturating_mul(result)
    }

    /// The most that can be lent so that it and what is kept for its result are in `room`.
    fn most(&self, room: u64) -> u64 {
        let Some(result) = self.result else {
            return part(room, RESULT, self.kept);
        };
        let beside = room.saturating_sub(self.kept.saturating_mul(result));
        beside.max(part(room, 1, self.kept))
    }
}

/// Of something that is parted by `lent` to `kept`, what is lent.
fn part(whole: u64, lent: u64, kept: u64) -> u64 {
    let (all, of) = (lent.saturating_add(kept), u128::from(whole));
    u64::try_from(of * u128::from(lent) / u128::from(all.max(1))).unwrap_or(whole)
}

/// Returns the additions to the conversation once the running calls have ended: the answer that
/// made them, while it streams; their results, or a frame for each unknown one; and the notice that
/// the next program is the last one, in program mode.
fn outstanding(turn: &Turn) -> More {
    let mut more = turn.stage.sampling().map_or(More::default(), said);
    let mut add = |bytes: u64| {
        more.bytes = more.bytes.saturating_add(bytes);
        more.items = more.items.saturating_add(1);
    };
    // What a program calls is told to the program.
    for call in turn.calls().iter().filter(|call| call.parent.is_none()) {
        match &call.progress {
            Progress::Done { observation, .. } => add(observation.bytes),
            Progress::Proposed
            | Progress::Asking { .. }
            | Progress::Allowed
            | Progress::Denied { .. }
            | Progress::Running { .. }
            | Progress::Reconciling { .. } => add(WORDS),
        }
    }
    if turn.settings.options.program.is_some() && !turn.told_last {
        add(WORDS.saturating_add(LAST.len() as u64));
    }
    more
}

/// Returns the size of the streaming answer so far.
fn said(sampling: &Sampling) -> More {
    let parts = sampling.items.iter().map(|(_, part, _)| part.bytes);
    More {
        bytes: parts.fold(0, u64::saturating_add),
        items: sampling.items.len() as u64,
    }
}

/// Returns the expected usage of the answer that made the call, while it streams: its reservation,
/// and its length so far beyond that.
fn streaming(turn: &Turn) -> Reserved {
    let Some(sampling) = turn.stage.sampling() else {
        return Reserved::default();
    };
    let mut reserved = sampling.reserved;
    if turn.settings.max_output_tokens.is_some() {
        return reserved;
    }
    let (limits, price) = (&turn.limits, turn.settings.price);
    let usage = Usage {
        output: Some(said(sampling).tokens()),
        ..Usage::default()
    };
    if limits.tokens > 0 {
        reserved.tokens = reserved.tokens.saturating_add(usage.tokens());
    }
    if limits.cost_micros > 0 {
        let cost = price.map_or(0, |price| price.of(&usage));
        reserved.cost_micros = reserved.cost_micros.saturating_add(cost);
    }
    reserved
}
