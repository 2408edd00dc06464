//! Proceed: every step of a turn that needs nothing from the world.

use alloc::format;
use alloc::string::String;

use super::{Plan, calls};
use crate::because::Because;
use crate::error::Reject;
use crate::fact::{
    Fact, InputAccepted, InterruptRequested, SampleCut, SampleStarted, TurnOpened, TurnSettled,
};
use crate::failure::{FailureKind, Retry, SampleFailure};
use crate::item::StopReason;
use crate::outcome::{Interrupter, LimitKind, Outcome};
use crate::session::{Backoff, Concluding, Hold, Phase, Said, Sampling, Stage, Stop, Turn};

/// Takes steps until the world has to say something.
///
/// It ends: each step moves a call or a turn forward, and each turn that it opens takes an input
/// from the queue.
pub(super) fn go_on(plan: &mut Plan) -> Result<(), Reject> {
    while let Some(fact) = next(plan) {
        plan.push(fact)?;
    }
    Ok(())
}

fn next(plan: &Plan) -> Option<Fact> {
    let turn = match &plan.session.phase {
        Phase::Idle if plan.session.hold == Hold::Held => return None,
        Phase::Idle => return open_turn(plan),
        Phase::Turning(turn) => turn,
    };
    if let Some(fact) = overdue(plan, turn) {
        return Some(fact);
    }
    match (&turn.stage, &turn.stop) {
        (Stage::Opening { input }, _) => Some(Fact::InputAccepted(InputAccepted { input: *input })),
        (Stage::Sampling(_), None) => None,
        (Stage::Sampling(sampling), Some(stop)) => abandon(plan, turn, sampling, stop),
        (Stage::Executing(executing), _) => calls::next(plan, turn, executing),
        (Stage::Ready(_) | Stage::Backoff(_), Some(stop))
        | (Stage::Concluding(_) | Stage::Ending(_), Some(stop)) => {
            Some(settle(turn, stopped(stop)))
        }
        (Stage::Ready(ready), None) => Some(match spent(turn) {
            Some(limit) => settle(turn, Outcome::Exhausted { limit }),
            None => sample(plan, turn, ready.because, 0),
        }),
        (Stage::Backoff(backoff), None) if waits(plan, turn, backoff) => None,
        (Stage::Backoff(backoff), None) => {
            let tries = backoff.failures.saturating_add(backoff.restarts);
            Some(sample(plan, turn, Because::Retry, tries))
        }
        (Stage::Concluding(concluding), None) => Some(settle(turn, concluded(concluding))),
        (Stage::Ending(outcome), None) => Some(settle(turn, outcome.clone())),
    }
}

/// Whether a backoff has time left. One that has more of it than any backoff gets was recorded
/// under a clock that has since been set back; it is over.
fn waits(plan: &Plan, turn: &Turn, backoff: &Backoff) -> bool {
    let left_ms = backoff.until.since_ms(plan.at);
    left_ms > 0 && left_ms <= turn.limits.backoff_max_ms
}

/// Opens a turn for the oldest input that waits.
pub(super) fn open_turn(plan: &Plan) -> Option<Fact> {
    let input = plan.session.queue.front()?;
    Some(Fact::TurnOpened(TurnOpened {
        because: Because::Opened { input: input.id },
        scope: input.scope.clone(),
        settings: plan.session.settings_at,
        limits: plan.session.settings.limits.within(&plan.ceiling),
        dry_run: input.dry_run,
    }))
}

/// Asks the turn to stop when its own deadline has passed.
pub(super) fn overdue(plan: &Plan, turn: &Turn) -> Option<Fact> {
    let turn_ms = turn.limits.turn_ms;
    let late = turn_ms > 0 && plan.at >= turn.opened_at.plus_ms(turn_ms);
    let ended = matches!(turn.stage, Stage::Concluding(_) | Stage::Ending(_));
    let opening = matches!(turn.stage, Stage::Opening { .. });
    (late && !ended && !opening && turn.stop.is_none()).then(|| {
        Fact::InterruptRequested(InterruptRequested {
            by: Interrupter::Deadline,
            reason: format!("the turn has run for {turn_ms} ms, which is its limit"),
        })
    })
}

/// The limit that stands against another sample, if one does. It is not asked about a further
/// attempt, which is of the same sample.
fn spent(turn: &Turn) -> Option<LimitKind> {
    if turn.spent.samples >= turn.limits.samples {
        return Some(LimitKind::Samples);
    }
    let tokens = turn.limits.tokens;
    (tokens > 0 && turn.spent.usage.tokens() >= tokens).then_some(LimitKind::Tokens)
}

fn sample(plan: &Plan, turn: &Turn, because: Because, tries: u32) -> Fact {
    let first = u32::from(tries == 0);
    Fact::SampleStarted(SampleStarted {
        sample: turn.spent.samples.saturating_add(first),
        attempt: tries.saturating_add(1),
        because,
        digest: plan.session.context,
    })
}

/// Gives up on a sample that was told to stop and has not answered within its grace.
fn abandon(plan: &Plan, turn: &Turn, sampling: &Sampling, stop: &Stop) -> Option<Fact> {
    let late = plan.at >= stop.at.plus_ms(turn.limits.grace_ms);
    late.then(|| {
        let message = "the model's stream did not stop within its grace and was abandoned";
        Fact::SampleCut(SampleCut {
            started: sampling.started,
            failure: SampleFailure::new(FailureKind::Cancelled, Retry::Never, message),
            partial: String::new(),
            retry_at: None,
        })
    })
}

fn settle(turn: &Turn, outcome: Outcome) -> Fact {
    Fact::TurnSettled(TurnSettled {
        outcome,
        spent: turn.spent,
    })
}

fn stopped(stop: &Stop) -> Outcome {
    match stop.by {
        Interrupter::Person | Interrupter::Shutdown => Outcome::Interrupted {
            by: stop.by,
            reason: stop.reason.clone(),
        },
        Interrupter::Deadline => Outcome::Exhausted {
            limit: LimitKind::WallClock,
        },
    }
}

fn concluded(concluding: &Concluding) -> Outcome {
    match (&concluding.stop, concluding.said) {
        (StopReason::Length, _) => Outcome::Exhausted {
            limit: LimitKind::OutputTokens,
        },
        (StopReason::ContentFilter, _) => Outcome::Failed {
            failure: FailureKind::ContentFilter,
            message: String::from("the provider's content filter cut the answer off"),
        },
        (StopReason::Stop | StopReason::Unfinished | StopReason::Other(_), said) => match said {
            Said::Text => Outcome::Completed,
            Said::Refusal => Outcome::Refused,
            Said::Nothing => Outcome::NoAnswer,
        },
    }
}
