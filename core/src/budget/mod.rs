//! Budgets: the expected usage of a sample, and the limits that it must fit.

pub(crate) mod answer;
pub(crate) mod grants;

use crate::compact::SUMMARY_ROOM;
use crate::compaction::{MIN_RESULT_BYTES, ResultForm, VisiblePart};
use crate::decide::Plan;
use crate::fact::Reservation;
use crate::outcome::LimitKind;
use crate::session::{Session, Turn};
use crate::settings::Settings;
use crate::usage::Usage;

/// Fewest bytes of text that a token has on average. English has more than four; this value
/// overestimates the tokens.
const BYTES_PER_TOKEN: u64 = 3;
/// The window has room for this number of the longest results.
const RESULT_SHARE: u64 = 4;
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
    request_tokens(session, turn.base_bytes, more)
}

/// Estimates the tokens of a request whose fixed beginning has these bytes.
pub(crate) fn context_tokens(session: &Session, base_bytes: u64) -> u64 {
    request_tokens(session, base_bytes, AddedContent::default())
}

fn request_tokens(session: &Session, base_bytes: u64, more: AddedContent) -> u64 {
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
        Some(_) | None => all_unmeasured(session, base_bytes, more),
    }
}

/// Estimates the tokens of a request with `more` content as if the provider had measured none.
pub(crate) fn unmeasured(session: &Session, turn: &Turn, more: AddedContent) -> u64 {
    all_unmeasured(session, turn.base_bytes, more)
}

fn all_unmeasured(session: &Session, base_bytes: u64, more: AddedContent) -> u64 {
    let VisiblePart { bytes, items, .. } = session.visible;
    let all = bytes.saturating_add(base_bytes);
    let all = AddedContent {
        bytes: all.saturating_add(more.bytes),
        items: items.saturating_add(more.items),
    };
    all.tokens()
}

/// Returns the tokens that the model's window leaves for a request; `None` if the window is
/// unknown.
pub(crate) fn window_room(settings: &Settings) -> Option<u64> {
    let window = settings.window.tokens;
    let half = window / 2;
    let answer = settings.max_output_tokens.unwrap_or(window / 8);
    (window > 0).then(|| window.saturating_sub(answer.min(half)))
}

/// Returns the form of one result that the window leaves room for; `None` if the window is unknown.
pub(crate) fn result_form(settings: &Settings) -> Option<ResultForm> {
    let bytes = window_room(settings)?.saturating_mul(BYTES_PER_TOKEN) / RESULT_SHARE;
    let bytes = bytes.max(MIN_RESULT_BYTES);
    let readable = settings.offers_read_output();
    Some(ResultForm { max_bytes: bytes, at_once: bytes, readable })
}

/// Returns the limit that forbids another sample, if one does. A further attempt belongs to the
/// same sample and is not checked here.
pub(crate) fn exhausted_limit(session: &Session, turn: &Turn) -> Option<LimitKind> {
    if turn.samples() >= turn.limits.samples || turn.work_is_used_up() {
        return Some(LimitKind::Samples);
    }
    used_up(session, turn)
}

/// Returns the budget that is used up, if one is: no call of the answer starts any more.
pub(crate) fn used_up(session: &Session, turn: &Turn) -> Option<LimitKind> {
    if session.is_full(&turn.limits) {
        return Some(LimitKind::SessionBytes);
    }
    budget_over(turn, |limit, spent| spent >= limit)
}

/// Returns the budget that the turn has exceeded, if one is.
pub(crate) fn exceeded(turn: &Turn) -> Option<LimitKind> {
    budget_over(turn, |limit, spent| spent > limit)
}

fn budget_over(turn: &Turn, over: fn(u64, u64) -> bool) -> Option<LimitKind> {
    let limits = &turn.limits;
    let over = |limit: u64, spent: u64| limit > 0 && over(limit, spent);
    if over(limits.tokens, turn.tokens()) {
        return Some(LimitKind::Tokens);
    }
    over(limits.cost_micros, turn.cost_micros()).then_some(LimitKind::Cost)
}

/// Returns the reservation for a summary, or the limit that leaves no room for it. The compaction
/// should leave `target` bytes, so a longer summary is of no use.
pub(crate) fn reserve(plan: &Plan, turn: &Turn, target: u64) -> Result<Reservation, LimitKind> {
    let limits = &turn.limits;
    let answer = turn.settings.max_output_tokens;
    let answer = answer.unwrap_or(SUMMARY_ROOM.min(target) / BYTES_PER_TOKEN);
    let reserved = estimate(plan, turn, AddedContent::default(), answer);
    let over = |limit: u64, spent: u64, more: u64| limit > 0 && spent.saturating_add(more) > limit;
    if over(limits.tokens, turn.tokens(), reserved.tokens) {
        return Err(LimitKind::Tokens);
    }
    if over(limits.cost_micros, turn.cost_micros(), reserved.cost_micros) {
        return Err(LimitKind::Cost);
    }
    Ok(reserved)
}

/// Returns the expected usage of a summary or of a later sample, with `more` in its request and an
/// answer of this many tokens.
fn estimate(plan: &Plan, turn: &Turn, more: AddedContent, answer: u64) -> Reservation {
    let limits = &turn.limits;
    let mut reserved = Reservation::default();
    if limits.tokens == 0 && limits.cost_micros == 0 {
        return reserved;
    }
    let usage = Usage {
        input: Some(tokens(&plan.session, turn, more)),
        output: Some(answer),
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

impl Turn {
    /// Returns the most requests for the summary of the running compaction. Each may use its
    /// reservation.
    #[must_use]
    pub fn summary_attempts(&self) -> u32 {
        let reserved = self.stage.compacting().map(|running| running.reserved).unwrap_or_default();
        let fit = |limit: u64, spent: u64, each: u64| match limit.saturating_sub(spent) {
            left if limit > 0 => left.checked_div(each),
            _ => None,
        };
        let tokens = fit(self.limits.tokens, self.tokens(), reserved.tokens);
        let cost = fit(self.limits.cost_micros, self.cost_micros(), reserved.cost_micros);
        let fit = tokens.into_iter().chain(cost).min().unwrap_or(u64::MAX);
        self.limits.attempts.min(u32::try_from(fit).unwrap_or(u32::MAX)).max(1)
    }
}
