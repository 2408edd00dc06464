//! Budgets: the expected usage of a sample, and the limits that it must fit.

pub(crate) mod grants;

use crate::compaction::VisiblePart;
use crate::decide::Plan;
use crate::fact::Reservation;
use crate::outcome::LimitKind;
use crate::session::{Session, Turn};
use crate::usage::Usage;

/// Fewest bytes of text that a token has on average. English has more than four; this value
/// overestimates the tokens.
const BYTES_PER_TOKEN: u64 = 3;
/// Tokens of the frame that a provider puts around one item.
const TOKENS_PER_ITEM: u64 = 12;

/// Pending addition to the conversation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct AddedContent {
    /// Number of bytes of text.
    pub(crate) bytes: u64,
    /// Number of items.
    pub(crate) items: u64,
}

impl AddedContent {
    /// Estimates the tokens of content that the provider has not measured.
    pub(crate) fn tokens(self) -> u64 {
        let text = self.bytes.div_ceil(BYTES_PER_TOKEN);
        text.saturating_add(self.items.saturating_mul(TOKENS_PER_ITEM))
    }
}

/// Estimates the tokens of a request with `more` content.
///
/// If the provider measured an earlier request, the new one extends it, and only the additions are
/// estimated. A compaction discards the measurement. A reported count of zero tokens does not count
/// as a measurement.
pub(crate) fn tokens(session: &Session, turn: &Turn, more: AddedContent) -> u64 {
    let VisiblePart { bytes, items, .. } = session.visible;
    match &session.measured {
        Some(measured) if measured.tokens > 0 => {
            let since = bytes.saturating_sub(measured.visible.bytes);
            let items = items.saturating_sub(measured.visible.items);
            let since = AddedContent {
                bytes: since.saturating_add(more.bytes),
                items: items.saturating_add(more.items),
            };
            measured.tokens.saturating_add(since.tokens())
        }
        Some(_) | None => {
            let all = bytes.saturating_add(turn.base_bytes);
            let all = AddedContent {
                bytes: all.saturating_add(more.bytes),
                items: items.saturating_add(more.items),
            };
            all.tokens()
        }
    }
}

/// Returns the tokens that the model's window leaves for a request; `None` if the window is
/// unknown.
pub(crate) fn window_room(turn: &Turn) -> Option<u64> {
    let window = turn.settings.window.tokens;
    let half = window / 2;
    let answer = turn.settings.max_output_tokens.unwrap_or(window / 8);
    (window > 0).then(|| window.saturating_sub(answer.min(half)))
}

/// Returns the limit that forbids another sample, if one does. A further attempt belongs to the
/// same sample and is not checked here.
pub(crate) fn exhausted_limit(turn: &Turn) -> Option<LimitKind> {
    let over = |limit: u64, spent: u64| limit > 0 && spent >= limit;
    if turn.samples() >= turn.limits.samples || turn.work_is_used_up() {
        return Some(LimitKind::Samples);
    }
    if over(turn.limits.tokens, turn.tokens()) {
        return Some(LimitKind::Tokens);
    }
    over(turn.limits.cost_micros, turn.cost_micros()).then_some(LimitKind::Cost)
}

/// Returns the reservation for the next sample, or the limit that leaves no room for it.
pub(crate) fn reserve(plan: &Plan, turn: &Turn) -> Result<Reservation, LimitKind> {
    let limits = &turn.limits;
    let reserved = estimate(plan, turn, AddedContent::default());
    let over = |limit: u64, spent: u64, more: u64| limit > 0 && spent.saturating_add(more) > limit;
    if over(limits.tokens, turn.tokens(), reserved.tokens) {
        return Err(LimitKind::Tokens);
    }
    if over(limits.cost_micros, turn.cost_micros(), reserved.cost_micros) {
        return Err(LimitKind::Cost);
    }
    Ok(reserved)
}

/// Returns the expected usage of the next sample with `more` in its request.
pub(crate) fn estimate(plan: &Plan, turn: &Turn, more: AddedContent) -> Reservation {
    let limits = &turn.limits;
    let mut reserved = Reservation::default();
    if limits.tokens == 0 && limits.cost_micros == 0 {
        return reserved;
    }
    let usage = Usage {
        input: Some(tokens(&plan.session, turn, more)),
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
