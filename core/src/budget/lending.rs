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

/// What an agent is lent: as much as it may have of what the turn has left, beside what calls that
/// run are lent and what the turn needs to conclude. `None` where nothing is left.
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
    /// What is spent of it, with what the answer that streams is expected to take.
    taken: u64,
    /// Samples that are kept.
    kept: u64,
    /// What each of them is estimated at, without the results of agents.
    each: u64,
    /// What a result takes at most, where the settings say how long an answer may be.
    result: Option<u64>,
}

impl Purse {
    /// What an agent is lent of it that may have so much (0: all that is left), beside what others are
    /// lent. `None` where nothing is left.
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

    /// What is kept so that each last sample can show the result of an agent that is lent so much: no
    /// agent can say more than it was lent.
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

/// What the model is told besides, once the calls that are out have ended: the answer that brought
/// them, while it streams; what they came to, as far as it is known, and else a frame for it; and that
/// its next program is the last one, where it writes programs.
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

/// What the answer that streams has said so far.
fn said(sampling: &Sampling) -> More {
    let parts = sampling.items.iter().map(|(_, part, _)| part.bytes);
    More {
        bytes: parts.fold(0, u64::saturating_add),
        items: sampling.items.len() as u64,
    }
}

/// What the answer that brought the call is expected to take, while it streams: what was set aside
/// for it, and what it has said so far, where that was not set aside.
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
