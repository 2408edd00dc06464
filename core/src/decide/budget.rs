//! Budgets: what a sample is expected to take, what stands against it, and what is lent.

use super::Plan;
use crate::agent::{AgentSpec, Lent};
use crate::compaction::Shown;
use crate::deadline::left_ms;
use crate::fact::Reserved;
use crate::outcome::LimitKind;
use crate::session::{Session, Stage, Turn};
use crate::usage::Usage;

/// Bytes of text that a token has at least, on average. English has more than four; this errs on
/// the side of too many tokens.
const BYTES_PER_TOKEN: u64 = 3;
/// Tokens of the frame that a provider puts around one item.
const TOKENS_PER_ITEM: u64 = 12;

/// What is about to be added to the conversation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct More {
    /// Bytes of text.
    pub(super) bytes: u64,
    /// Items.
    pub(super) items: u64,
}

/// An estimate of the tokens of a request that shows so much more.
///
/// Where the provider has measured an earlier request, this one is a longer form of it, since a
/// compaction forgets the measure: only what came since is estimated. A request that is said to have
/// had no tokens at all was not measured.
pub(super) fn tokens(session: &Session, turn: &Turn, more: More) -> u64 {
    let guess = |bytes: u64, items: u64| {
        let text = bytes.div_ceil(BYTES_PER_TOKEN);
        text.saturating_add(items.saturating_mul(TOKENS_PER_ITEM))
    };
    let Shown { bytes, items, .. } = session.shown;
    match &session.measured {
        Some(measured) if measured.tokens > 0 => {
            let since = bytes.saturating_sub(measured.shown.bytes);
            let items = items.saturating_sub(measured.shown.items);
            let more = guess(
                since.saturating_add(more.bytes),
                items.saturating_add(more.items),
            );
            measured.tokens.saturating_add(more)
        }
        Some(_) | None => {
            let all = bytes.saturating_add(turn.base_bytes);
            guess(
                all.saturating_add(more.bytes),
                items.saturating_add(more.items),
            )
        }
    }
}

/// The tokens that the model's window leaves for a request; `None` where nobody knows the window.
pub(super) fn room(turn: &Turn) -> Option<u64> {
    let window = turn.settings.window.tokens;
    let half = window / 2;
    let answer = turn.settings.max_output_tokens.unwrap_or(window / 8);
    (window > 0).then(|| window.saturating_sub(answer.min(half)))
}

/// The limit that stands against another sample, if one does. It is not asked about a further
/// attempt, which is of the same sample.
pub(super) fn spent(turn: &Turn) -> Option<LimitKind> {
    let over = |limit: u64, spent: u64| limit > 0 && spent >= limit;
    if turn.samples() >= turn.limits.samples || turn.has_worked() {
        return Some(LimitKind::Samples);
    }
    if over(turn.limits.tokens, turn.tokens()) {
        return Some(LimitKind::Tokens);
    }
    over(turn.limits.cost_micros, turn.cost_micros()).then_some(LimitKind::Cost)
}

/// What is set aside for the next sample, or the limit that leaves no room for it.
pub(super) fn reserve(plan: &Plan, turn: &Turn) -> Result<Reserved, LimitKind> {
    let limits = &turn.limits;
    let reserved = estimate(plan, turn);
    let over = |limit: u64, spent: u64, more: u64| limit > 0 && spent.saturating_add(more) > limit;
    if over(limits.tokens, turn.tokens(), reserved.tokens) {
        return Err(LimitKind::Tokens);
    }
    if over(limits.cost_micros, turn.cost_micros(), reserved.cost_micros) {
        return Err(LimitKind::Cost);
    }
    Ok(reserved)
}

/// What the next sample is expected to take of what is limited.
fn estimate(plan: &Plan, turn: &Turn) -> Reserved {
    let limits = &turn.limits;
    let mut reserved = Reserved::default();
    if limits.tokens == 0 && limits.cost_micros == 0 {
        return reserved;
    }
    let usage = Usage {
        input: Some(tokens(&plan.session, turn, More::default())),
        output: Some(turn.settings.max_output_tokens.unwrap_or(0)),
        ..Usage::default()
    };
    if limits.tokens > 0 {
        reserved.tokens = usage.tokens();
    }
    if limits.cost_micros > 0 {
        reserved.cost_micros = turn.settings.price.map_or(0, |price| price.of(&usage));
    }
    reserved
}

/// What an agent is lent: as much as it may have of what the turn has left, beside what calls that
/// run are lent and what the turn needs for a sample that concludes it. `None` where nothing is left.
pub(super) fn lend(plan: &Plan, turn: &Turn, agent: &AgentSpec) -> Option<Lent> {
    let next = estimate(plan, turn);
    // The answer that brought the call may still stream: what is set aside for it is taken, too.
    let streams = match &turn.stage {
        Stage::Sampling(sampling) => sampling.reserved,
        Stage::Opening(_)
        | Stage::Ready(_)
        | Stage::Compacting(_)
        | Stage::Backoff(_)
        | Stage::Executing(_)
        | Stage::Concluding(_)
        | Stage::Ending(_) => Reserved::default(),
    };
    let (limits, out) = (&turn.limits, turn.lent());
    let taken = turn.samples().saturating_add(out.samples);
    // One is for the model to conclude with, and those for retries are for nothing else.
    let kept = turn.kept_for_retries().saturating_add(1);
    let left = limits.samples.saturating_sub(taken).saturating_sub(kept);
    let share = |limit: u64, declared: u64, taken: [u64; 4]| {
        if limit == 0 {
            return Some(declared);
        }
        let taken = taken
            .iter()
            .fold(0, |sum: u64, one| sum.saturating_add(*one));
        let left = limit.saturating_sub(taken);
        let most = if declared == 0 {
            left
        } else {
            left.min(declared)
        };
        (most > 0).then_some(most)
    };
    let tokens = [turn.tokens(), out.tokens, streams.tokens, next.tokens];
    let money = [
        turn.cost_micros(),
        out.cost_micros,
        streams.cost_micros,
        next.cost_micros,
    ];
    let samples = left.min(agent.samples);
    let time = left_ms(turn, plan.at);
    (samples > 0 && time != Some(0)).then_some(())?;
    Some(Lent {
        samples,
        tokens: share(limits.tokens, agent.tokens, tokens)?,
        cost_micros: share(limits.cost_micros, agent.cost_micros, money)?,
        turn_ms: time.unwrap_or(0),
    })
}
