//! Budgets: what a sample is expected to take, and what stands against it.

use super::Plan;
use crate::compaction::Shown;
use crate::fact::Reserved;
use crate::outcome::LimitKind;
use crate::session::{Session, Turn};
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
    if turn.spent.samples >= turn.limits.samples {
        return Some(LimitKind::Samples);
    }
    if over(turn.limits.tokens, turn.tokens()) {
        return Some(LimitKind::Tokens);
    }
    over(turn.limits.cost_micros, turn.spent.cost_micros).then_some(LimitKind::Cost)
}

/// What is set aside for the next sample, or the limit that leaves no room for it.
pub(super) fn reserve(plan: &Plan, turn: &Turn) -> Result<Reserved, LimitKind> {
    let limits = &turn.limits;
    let mut reserved = Reserved::default();
    if limits.tokens == 0 && limits.cost_micros == 0 {
        return Ok(reserved);
    }
    let usage = Usage {
        input: Some(tokens(&plan.session, turn, More::default())),
        output: Some(turn.settings.max_output_tokens.unwrap_or(0)),
        ..Usage::default()
    };
    if limits.tokens > 0 {
        reserved.tokens = usage.tokens();
        let total = turn.tokens().saturating_add(reserved.tokens);
        if total > limits.tokens {
            return Err(LimitKind::Tokens);
        }
    }
    if limits.cost_micros > 0 {
        reserved.cost_micros = turn.settings.price.map_or(0, |price| price.of(&usage));
        let total = turn.spent.cost_micros.saturating_add(reserved.cost_micros);
        if total > limits.cost_micros {
            return Err(LimitKind::Cost);
        }
    }
    Ok(reserved)
}
