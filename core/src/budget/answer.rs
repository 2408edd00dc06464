//! Answers: the reservation for a sample with its answer, and the expected usage while it streams.
//!
//! The request and the longest answer are reserved together. If the budget leaves less than the
//! longest answer, it bounds the answer, and the provider is asked for no more. Calls of an answer
//! that may use up the budget wait for its end.

use super::{AddedContent, tokens};
use crate::decide::Plan;
use crate::fact::{Reservation, SampleCut};
use crate::outcome::LimitKind;
use crate::session::{Session, Turn};
use crate::stage::Sampling;
use crate::usage::{Price, Usage};

/// Fewest tokens that an answer needs: a request that leaves it less is not sent.
pub(super) const LEAST_ANSWER: u64 = 256;
/// Reserved tokens of an answer if neither the settings nor a window limit it.
const UNLIMITED_ANSWER: u64 = 8_192;

/// Reservation for a sample.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct SampleReservation {
    /// Reservation for the request and its answer.
    pub(crate) reserved: Reservation,
    /// Most tokens of the answer, if the budget leaves less than the longest one.
    pub(crate) output_bound: Option<u64>,
}

/// Returns the reservation for the next sample, or the limit that leaves no room for it.
pub(crate) fn reserve_sample(plan: &Plan, turn: &Turn) -> Result<SampleReservation, LimitKind> {
    if !has_budget(turn) {
        return Ok(SampleReservation::default());
    }
    let input = tokens(&plan.session, turn, AddedContent::default());
    let longest = longest_answer(turn, input);
    let (room, limit) = answer_room(turn, input);
    if room < LEAST_ANSWER.min(longest) {
        return Err(limit);
    }
    let reserved = reservation(turn, input, longest.min(room));
    Ok(SampleReservation { reserved, output_bound: (room < longest).then_some(room) })
}

/// Returns the limit that the reservation of a sample reaches.
pub(crate) fn bounding_limit(turn: &Turn, reserved: &Reservation) -> LimitKind {
    let tokens = turn.tokens().saturating_add(reserved.tokens);
    match turn.limits.tokens > 0 && tokens >= turn.limits.tokens {
        true => LimitKind::Tokens,
        false => LimitKind::Cost,
    }
}

/// Returns true if the streaming answer may use up the budget, so that none of its calls may start
/// before its usage is known.
pub(crate) fn may_use_up(session: &Session, turn: &Turn) -> bool {
    let Some(sampling) = turn.stage.sampling() else {
        return false;
    };
    let (limits, expected) = (&turn.limits, streaming(session, turn, sampling));
    let over = |limit: u64, spent: u64, more: u64| limit > 0 && spent.saturating_add(more) >= limit;
    over(limits.tokens, turn.tokens(), expected.tokens)
        || over(limits.cost_micros, turn.cost_micros(), expected.cost_micros)
}

/// Returns true if an agent must wait for the end of the answer: only then it is known how much of
/// the budget is left, and how many agents share it.
pub(crate) fn delays_agents(turn: &Turn) -> bool {
    turn.stage.sampling().is_some()
}

/// Returns the expected usage of a streaming answer: its reservation, or its length so far if that
/// is more.
fn streaming(session: &Session, turn: &Turn, sampling: &Sampling) -> Reservation {
    let reserved = sampling.reserved;
    let input = tokens(session, turn, AddedContent::default());
    let so_far = reservation(turn, input, streamed_so_far(sampling).tokens());
    Reservation {
        tokens: reserved.tokens.max(so_far.tokens),
        cost_micros: reserved.cost_micros.max(so_far.cost_micros),
    }
}

/// Returns the estimated usage of an answer that ended, if the turn has a budget and the provider
/// reported no usage.
pub(crate) fn estimate_ended(
    session: &Session,
    turn: &Turn,
    sampling: &Sampling,
    reported: Option<&Usage>,
) -> Option<Reservation> {
    let unknown = has_budget(turn) && reported.is_none();
    unknown.then(|| unreported(session, turn, sampling, None, ""))
}

/// Returns the estimated usage of an attempt that broke off, as far as it may be billed and the
/// provider did not report it.
pub(crate) fn estimate_cut(
    session: &Session,
    turn: &Turn,
    sampling: &Sampling,
    cut: &SampleCut,
) -> Option<Reservation> {
    if !cut.failure.kind.is_billed() {
        return None;
    }
    let rest = unreported(session, turn, sampling, cut.usage.as_ref(), &cut.partial);
    (rest != Reservation::default()).then_some(rest)
}

/// Estimates the unreported part of the request and of the streamed answer. Some providers count an
/// answer only at its end and report a few tokens at its beginning, so a report of less than half of
/// the streamed part does not cover it.
fn unreported(
    session: &Session,
    turn: &Turn,
    sampling: &Sampling,
    reported: Option<&Usage>,
    partial: &str,
) -> Reservation {
    let mut streamed = streamed_so_far(sampling);
    streamed.bytes = streamed.bytes.saturating_add(partial.len() as u64);
    streamed.items = streamed.items.saturating_add(u64::from(!partial.is_empty()));
    let (input, output) = (tokens(session, turn, AddedContent::default()), streamed.tokens());
    let usage = match reported {
        None => usage(input, output),
        Some(Usage { input: None, output: None, total: Some(_), .. }) => usage(0, 0),
        Some(reported) => {
            let said = reported.output.unwrap_or(0);
            let rest = if said < output / 2 { output.saturating_sub(said) } else { 0 };
            usage(if reported.input.is_some() { 0 } else { input }, rest)
        }
    };
    let cost_micros = turn.settings.price.map_or(0, |price| price.of(&usage));
    Reservation { tokens: usage.tokens(), cost_micros }
}

/// Returns the size of the streaming answer so far.
fn streamed_so_far(sampling: &Sampling) -> AddedContent {
    let parts = sampling.items.iter().map(|(_, part, _)| part.bytes);
    AddedContent { bytes: parts.fold(0, u64::saturating_add), items: sampling.items.len() as u64 }
}

/// Returns the most tokens of an answer to a request of this size: the limit of the settings, or
/// the rest of the window.
fn longest_answer(turn: &Turn, input: u64) -> u64 {
    let window = turn.settings.window.tokens;
    match turn.settings.max_output_tokens {
        Some(most) => most,
        None if window > 0 => window.saturating_sub(input).max(LEAST_ANSWER),
        None => UNLIMITED_ANSWER,
    }
}

/// Returns the tokens that the budget leaves for an answer to a request of this size, and the limit
/// that they come from.
fn answer_room(turn: &Turn, input: u64) -> (u64, LimitKind) {
    let limits = &turn.limits;
    let tokens = match limits.tokens {
        0 => u64::MAX,
        limit => limit.saturating_sub(turn.tokens()).saturating_sub(input),
    };
    let money = match (limits.cost_micros, turn.settings.price) {
        (0, _) | (_, None) => u64::MAX,
        (limit, Some(price)) => {
            affordable_output(&price, limit.saturating_sub(turn.cost_micros()), input)
        }
    };
    match money < tokens {
        true => (money, LimitKind::Cost),
        false => (tokens, LimitKind::Tokens),
    }
}

/// Returns the most tokens of an answer that cost no more than `micros` with the request.
fn affordable_output(price: &Price, micros: u64, input: u64) -> u64 {
    let asked = price.of(&Usage { input: Some(input), ..Usage::default() });
    let left = u128::from(micros.saturating_sub(asked)).saturating_mul(1_000_000);
    if asked > micros {
        return 0;
    }
    left.checked_div(u128::from(price.output_micros))
        .map_or(u64::MAX, |tokens| u64::try_from(tokens).unwrap_or(u64::MAX))
}

/// Returns the reservation for a request and an answer, as far as the turn has a budget.
fn reservation(turn: &Turn, input: u64, output: u64) -> Reservation {
    let usage = usage(input, output);
    let cost = || turn.settings.price.map_or(0, |price| price.of(&usage));
    Reservation {
        tokens: if turn.limits.tokens > 0 { usage.tokens() } else { 0 },
        cost_micros: if turn.limits.cost_micros > 0 { cost() } else { 0 },
    }
}

fn usage(input: u64, output: u64) -> Usage {
    Usage { input: Some(input), output: Some(output), ..Usage::default() }
}

fn has_budget(turn: &Turn) -> bool {
    turn.limits.tokens > 0 || turn.limits.cost_micros > 0
}
