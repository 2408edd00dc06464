//! Proceed: every step of a turn that needs nothing from the world.

use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;

use super::compaction::{self, Size};
use super::hooks::{self, At};
use super::{Plan, budget, calls, conclude, context, programs};
use crate::because::Because;
use crate::deadline::{limit, told as told_until};
use crate::error::Reject;
use crate::evolve::{over, word};
use crate::fact::{
    Fact, GoalEnded, InputAccepted, InputBlocked, InterruptRequested, SampleCut, SampleStarted,
    Stands, StopWhen, TurnOpened, TurnSettled,
};
use crate::failure::{FailureKind, Retry, SampleFailure};
use crate::goal::{GoalEnd, Standing};
use crate::hook::{HookAt, HookPoint, SessionStart};
use crate::outcome::{Interrupter, Outcome};
use crate::scope::Scope;
use crate::session::{Backoff, Hold, Opening, Phase, Queued, Ready, Sampling, Stage, Stop, Turn};
use crate::time::Timestamp;

/// Takes steps until the world has to say something.
///
/// It ends: each step moves a call or a turn forward, and each turn that it opens takes an input
/// from the queue, or from what its goal may have.
pub(super) fn go_on(plan: &mut Plan) -> Result<(), Reject> {
    while let Some(fact) = next(plan) {
        plan.push(fact)?;
    }
    Ok(())
}

fn next(plan: &Plan) -> Option<Fact> {
    let turn = match &plan.session.phase {
        Phase::Idle => return idle(plan),
        Phase::Turning(turn) => turn,
    };
    if let Some(fact) = goal_met(plan).or_else(|| overdue(plan, turn)) {
        return Some(fact);
    }
    if let Some(fact) = asks_on(turn) {
        return Some(fact);
    }
    match (&turn.stage, &turn.stop) {
        (Stage::Sampling(_) | Stage::Executing(_), _) => {
            let late = || match (&turn.stage, &turn.stop) {
                (Stage::Sampling(sampling), Some(stop)) => abandon(plan, turn, sampling, stop),
                (_, _) => None,
            };
            calls::next(plan, turn).or_else(late)
        }
        (_, Some(stop)) => not_let_in(turn, stop).or_else(|| told(plan, turn, stop)),
        (Stage::Opening(opening), None) => open(plan, turn, *opening),
        (Stage::Ready(ready), None) => ready_(plan, turn, ready),
        (Stage::Compacting(_), None) => None,
        (Stage::Backoff(_), None) if turn.pause.is_some() && rests(turn) => paused(plan, turn),
        (Stage::Backoff(_), None) if steered(plan, turn) => hear(plan, turn, plan.session.steer()?),
        (Stage::Backoff(backoff), None) if waits(plan, turn, backoff.until) => None,
        (Stage::Backoff(backoff), None) => Some(retry(plan, turn, backoff)),
        (Stage::Concluding(concluding), None) => conclude::conclude(plan, turn, concluding),
        (Stage::Ending(outcome), None) => Some(settle(plan, turn, outcome.clone())),
    }
}

/// The next hooks of the occurrence that is open. They come before every other step: what else the
/// turn might do next could be a question of its own, and would wait for this one for ever.
fn asks_on(turn: &Turn) -> Option<Fact> {
    let at = turn.gates.open.as_ref()?.at;
    if turn.stop.is_some() && at != HookAt::Interrupt {
        return None;
    }
    match hooks::at_turn(turn, at, word(at)) {
        At::Do(fact) => Some(fact),
        At::Wait | At::Passed(_) => None,
    }
}

/// No turn is open: one is opened for what waits, or for a goal that is not met.
fn idle(plan: &Plan) -> Option<Fact> {
    let session = &plan.session;
    if session.gates.open.is_some() {
        return hooks::at_rest(session);
    }
    if let Some(fact) = goal_over(plan) {
        return Some(fact);
    }
    if session.hold == Hold::Held {
        return None;
    }
    open_turn(plan, None).or_else(|| open_goal(plan))
}

/// Opens a turn for the next input that waits, under the key that a user asks for that under.
pub(super) fn open_turn(plan: &Plan, key: Option<String>) -> Option<Fact> {
    let input = plan.session.next_input()?;
    let because = Because::Opened { input: input.id };
    Some(Fact::TurnOpened(TurnOpened {
        dry_run: input.dry_run,
        key,
        ..opened(plan, because, input.scope.clone())
    }))
}

fn opened(plan: &Plan, because: Because, scope: Arc<Scope>) -> TurnOpened {
    TurnOpened {
        because,
        scope,
        settings: plan.session.settings_at,
        limits: plan.session.settings.limits.within(&plan.ceiling),
        dry_run: false,
        key: None,
    }
}

fn open_goal(plan: &Plan) -> Option<Fact> {
    let goal = plan.session.goal.as_ref()?;
    let because = Because::Goal { set: goal.set };
    let opened = || Fact::TurnOpened(opened(plan, because, goal.scope.clone()));
    (goal.standing == Standing::Due).then(opened)
}

fn goal_met(plan: &Plan) -> Option<Fact> {
    match &plan.session.goal.as_ref()?.standing {
        Standing::Met { call } => Some(goal_ended(GoalEnd::Met { call: *call })),
        Standing::Waiting | Standing::Due | Standing::Over { .. } => None,
    }
}

fn goal_over(plan: &Plan) -> Option<Fact> {
    let goal = plan.session.goal.as_ref()?;
    match &goal.standing {
        Standing::Due if goal.turns >= goal.goal.turns => Some(goal_ended(GoalEnd::Exhausted)),
        Standing::Over { reason } => Some(goal_ended(GoalEnd::Stopped {
            reason: reason.clone(),
        })),
        Standing::Met { call } => Some(goal_ended(GoalEnd::Met { call: *call })),
        Standing::Waiting | Standing::Due => None,
    }
}

fn goal_ended(end: GoalEnd) -> Fact {
    Fact::GoalEnded(GoalEnded { end })
}

/// Asks the turn to stop when its own deadline has passed.
pub(super) fn overdue(plan: &Plan, turn: &Turn) -> Option<Fact> {
    let late = limit(turn).is_some_and(|limit| plan.at >= limit);
    (late && turn.stop.is_none()).then(|| {
        Fact::InterruptRequested(InterruptRequested {
            by: Interrupter::Deadline,
            scope: Arc::new(Scope::system("the time of the turn is over")),
            reason: format!(
                "the turn has run for {} ms, which is its limit",
                turn.limits.turn_ms
            ),
            when: StopWhen::Now,
            key: None,
        })
    })
}

/// An input that hooks have kept out does not open another turn: it would end in the same way, for
/// ever. One whose turn was asked to stop, or ran out of time, waits for a user's word.
fn not_let_in(turn: &Turn, stop: &Stop) -> Option<Fact> {
    let input = match turn.opening()? {
        Opening::Input(input) => input,
        Opening::Goal(_) => return None,
    };
    let reason = match &stop.outcome {
        Outcome::Blocked { reason } => reason.clone(),
        Outcome::Failed { message, .. } => message.clone(),
        Outcome::Interrupted { .. }
        | Outcome::Exhausted { .. }
        | Outcome::Completed
        | Outcome::NoAnswer
        | Outcome::Refused
        | Outcome::Misshapen { .. } => return None,
    };
    Some(Fact::InputBlocked(InputBlocked { input, reason }))
}

/// What the turn was opened for is let in, after the hooks that hear of it, and what the model is
/// to know besides. A turn that was asked to stop after its step hears the hooks that are being
/// asked, and lets nothing in that the model would not be asked about.
fn open(plan: &Plan, turn: &Turn, opening: Opening) -> Option<Fact> {
    let pausing = turn.pause.is_some();
    let begins = [
        plan.session
            .start
            .map(|start| HookAt::SessionStart { start }),
        plan.session.is_child().then_some(HookAt::SubTurnStart),
    ];
    for at in begins.into_iter().flatten() {
        match hooks::at_turn(turn, at, word(at)) {
            At::Do(_) | At::Wait if pausing && rests(turn) => return paused(plan, turn),
            At::Do(fact) => return Some(fact),
            At::Wait => return None,
            At::Passed(word) => {
                if let Some(reason) = hooks::reason(word) {
                    return Some(turned_away(plan, turn, opening, reason));
                }
            }
        }
    }
    let queued = match opening {
        Opening::Input(input) => plan.session.queue.iter().find(|queued| queued.id == input),
        Opening::Goal(_) => None,
    };
    if pausing {
        return match queued.and_then(|queued| kept_out(turn, queued)) {
            Some(fact) => Some(fact),
            None if rests(turn) => paused(plan, turn),
            None => None,
        };
    }
    if plan.session.shown.items > 0 {
        match compaction::fit(plan, turn, false) {
            Size::Do(fact) => return Some(fact),
            Size::Wait => return None,
            // It is let in all the same, and the turn then ends for this reason.
            Size::Fits | Size::Over(_) => {}
        }
    }
    if let Some(queued) = queued {
        return hear(plan, turn, queued);
    }
    let goal = plan.session.goal.as_ref();
    let goal = goal.filter(|goal| opening == Opening::Goal(goal.set));
    Some(match goal {
        Some(goal) => context::before_goal(plan, turn, goal),
        // The goal was taken away, or another one set, while the turn opened.
        None => settle(
            plan,
            turn,
            Outcome::Blocked {
                reason: String::from("the goal was taken away"),
            },
        ),
    })
}

fn turned_away(plan: &Plan, turn: &Turn, opening: Opening, reason: String) -> Fact {
    match opening {
        Opening::Input(input) => Fact::InputBlocked(InputBlocked { input, reason }),
        Opening::Goal(_) => settle(plan, turn, Outcome::Blocked { reason }),
    }
}

/// That hooks have kept an input out, if they have.
fn kept_out(turn: &Turn, queued: &Queued) -> Option<Fact> {
    let at = HookAt::PromptSubmitted { input: queued.id };
    match hooks::at_turn(turn, at, word(at)) {
        At::Do(_) | At::Wait => None,
        At::Passed(word) => hooks::reason(word).map(|reason| {
            Fact::InputBlocked(InputBlocked {
                input: queued.id,
                reason,
            })
        }),
    }
}

/// An input is let in, if its hooks let it.
pub(super) fn hear(plan: &Plan, turn: &Turn, queued: &Queued) -> Option<Fact> {
    let at = HookAt::PromptSubmitted { input: queued.id };
    match hooks::at_turn(turn, at, word(at)) {
        At::Do(fact) => return Some(fact),
        At::Wait => return None,
        At::Passed(_) => {}
    }
    if let Some(fact) = kept_out(turn, queued) {
        return Some(fact);
    }
    let before = context::before_input(plan, turn, queued);
    Some(before.unwrap_or(Fact::InputAccepted(InputAccepted { input: queued.id })))
}

/// The model may be asked next: after what the user has said meanwhile, if the conversation fits,
/// the hooks let it, and there is something left to spend.
fn ready_(plan: &Plan, turn: &Turn, ready: &Ready) -> Option<Fact> {
    if turn.pause.is_some() && rests(turn) {
        return paused(plan, turn);
    }
    if ready
        .not_before
        .is_some_and(|until| waits(plan, turn, until))
    {
        return None;
    }
    if let Some(limit) = budget::spent(turn) {
        return Some(settle(plan, turn, Outcome::Exhausted { limit }));
    }
    if let Some(start @ SessionStart::Resume) = plan.session.start {
        let at = HookAt::SessionStart { start };
        match hooks::at_turn(turn, at, word(at)) {
            At::Do(fact) => return Some(fact),
            At::Wait => return None,
            At::Passed(word) => {
                if let Some(reason) = hooks::reason(word) {
                    return Some(settle(plan, turn, Outcome::Blocked { reason }));
                }
            }
        }
    }
    if asked_at(turn).is_none_or(|at| at.point() != HookPoint::BeforeSample)
        && let Some(step) = made_ready(plan, turn, ready)
    {
        return step;
    }
    let sample = turn.spent.samples.saturating_add(1);
    let at = HookAt::BeforeSample { sample };
    match hooks::at_turn(turn, at, word(at)) {
        At::Do(fact) => return Some(fact),
        At::Wait => return None,
        At::Passed(word) => {
            if let Some(reason) = hooks::reason(word) {
                return Some(settle(plan, turn, Outcome::Blocked { reason }));
            }
        }
    }
    Some(match budget::reserve(plan, turn) {
        Err(limit) => settle(plan, turn, Outcome::Exhausted { limit }),
        Ok(reserved) => Fact::SampleStarted(SampleStarted {
            sample,
            attempt: 1,
            because: ready.because,
            digest: plan.session.shown.digest,
            reserved,
            kind: turn.next_kind(),
        }),
    })
}

/// What comes before the hooks that see the next request; `None` when there is nothing left.
fn made_ready(plan: &Plan, turn: &Turn, ready: &Ready) -> Option<Option<Fact>> {
    match compaction::fit(plan, turn, ready.overflow) {
        Size::Do(fact) => return Some(Some(fact)),
        Size::Wait => return Some(None),
        Size::Over(outcome) => return Some(Some(settle(plan, turn, outcome))),
        Size::Fits => {}
    }
    if let Some(steer) = plan.session.steer() {
        return Some(hear(plan, turn, steer));
    }
    context::pending(turn)
        .or_else(|| programs::last_sample(turn))
        .map(Some)
}

/// Whether a user has spoken to the turn and may still be heard in it.
fn steered(plan: &Plan, turn: &Turn) -> bool {
    plan.session.steer().is_some() && budget::spent(turn).is_none()
}

/// Whether nothing stands between the turn and its end: hooks that are being asked are heard first.
pub(super) fn rests(turn: &Turn) -> bool {
    asked_at(turn).is_none_or(|at| at == HookAt::Interrupt)
}

pub(super) fn prompt(at: HookAt) -> bool {
    at.point() == HookPoint::PromptSubmitted
}

/// Where hooks of the turn are being asked.
pub(super) fn asked_at(turn: &Turn) -> Option<HookAt> {
    turn.gates.open.as_ref().map(|gate| gate.at)
}

fn retry(plan: &Plan, turn: &Turn, backoff: &Backoff) -> Fact {
    let tries = backoff.failures.saturating_add(backoff.restarts);
    match budget::reserve(plan, turn) {
        Err(limit) => settle(plan, turn, Outcome::Exhausted { limit }),
        Ok(reserved) => Fact::SampleStarted(SampleStarted {
            sample: turn.spent.samples,
            attempt: tries.saturating_add(1),
            because: Because::Retry,
            digest: plan.session.shown.digest,
            reserved,
            kind: backoff.kind,
        }),
    }
}

/// Whether a wait has time left. One that has more of it than any backoff gets was recorded under
/// a clock that has since been set back; it is over.
fn waits(plan: &Plan, turn: &Turn, until: Timestamp) -> bool {
    let left_ms = until.since_ms(plan.at);
    left_ms > 0 && left_ms <= turn.limits.backoff_max_ms
}

/// Gives up on a sample that was told to stop and has not answered within its grace.
fn abandon(plan: &Plan, turn: &Turn, sampling: &Sampling, stop: &Stop) -> Option<Fact> {
    let late = plan.at >= stop.at.plus_ms(turn.limits.grace_ms);
    late.then(|| {
        let message = "the model's stream did not stop within its grace and was abandoned";
        let failure = SampleFailure::new(FailureKind::Cancelled, Retry::Never, message);
        let stands: Stands = super::answer::stands(turn, sampling, &failure);
        Fact::SampleCut(SampleCut {
            started: sampling.started,
            failure,
            partial: String::new(),
            stands,
            usage: None,
            retry_at: None,
            asked: None,
        })
    })
}

/// The turn was asked to stop before the model is asked again.
fn paused(plan: &Plan, turn: &Turn) -> Option<Fact> {
    told(plan, turn, turn.pause.as_ref()?)
}

/// Hooks hear that the turn was asked to stop, within its grace; then it ends.
pub(super) fn told(plan: &Plan, turn: &Turn, stop: &Stop) -> Option<Fact> {
    let interrupted = match &stop.outcome {
        Outcome::Interrupted { .. } | Outcome::Exhausted { .. } => true,
        Outcome::Completed
        | Outcome::NoAnswer
        | Outcome::Refused
        | Outcome::Misshapen { .. }
        | Outcome::Blocked { .. }
        | Outcome::Failed { .. } => false,
    };
    if interrupted {
        match hooks::at_turn(turn, HookAt::Interrupt, "") {
            At::Do(fact) => return Some(fact),
            At::Wait if told_until(turn).is_some_and(|until| plan.at >= until) => {
                return hooks::give_up(plan, turn);
            }
            At::Wait => return None,
            At::Passed(_) => {}
        }
    }
    Some(settle(plan, turn, stop.outcome.clone()))
}

/// A goal that was due when a turn of the user began ends with that turn as it would with its own:
/// where another turn would not mend it, none is opened.
fn goal_left(plan: &Plan, outcome: &Outcome) -> Option<Fact> {
    let goal = plan.session.goal.as_ref()?;
    let reason = over(outcome, "a turn before it")?;
    (goal.standing == Standing::Due).then(|| goal_ended(GoalEnd::Stopped { reason }))
}

pub(super) fn settle(plan: &Plan, turn: &Turn, outcome: Outcome) -> Fact {
    if let Some(fact) = goal_left(plan, &outcome) {
        return fact;
    }
    Fact::TurnSettled(TurnSettled {
        outcome,
        spent: turn.spent_at_last(),
        waiting: plan.session.queue.iter().map(|queued| queued.id).collect(),
    })
}
