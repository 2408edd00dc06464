//! Turns: applies their opening, the admission of inputs, and their end.

use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::{allowed, interrupt, invalid_fact, turn_of};
use crate::context;
use crate::error::InvalidFact;
use crate::fact::{
    ContextLifetime, InputAccepted, InputBlocked, TurnFact, TurnOpened, TurnSettled,
};
use crate::goal::GoalStatus;
use crate::history;
use crate::hook::HookOccurrence;
use crate::hook_rounds::{CombinedVerdict, HookRounds, RoundStep};
use crate::id::{InputId, Seq, TurnId};
use crate::outcome::TurnOutcome;
use crate::program::ProgramEffects;
use crate::reason::Reason;
use crate::record::RecordedFact;
use crate::session::{Hold, PendingContext, Phase, Session, Turn, TurnUsage};
use crate::settings::{Settings, ToolSpec};
use crate::stage::{Executing, Stage, Transition, TurnOpening};

pub(super) fn on_turn(
    session: &mut Session,
    recorded: &RecordedFact,
    fact: TurnFact<'_>,
) -> Result<(), InvalidFact> {
    match fact {
        TurnFact::TurnOpened(fact) => on_opened(session, recorded, fact),
        TurnFact::InterruptRequested(fact) => {
            interrupt::on_interrupt_requested(session, recorded, fact)
        }
        TurnFact::TurnSettled(fact) => on_settled(session, recorded, fact),
    }
}

fn on_opened(
    session: &mut Session,
    recorded: &RecordedFact,
    fact: &TurnOpened,
) -> Result<(), InvalidFact> {
    if session.turn().is_some() {
        return Err(invalid_fact(recorded, "a turn is open already"));
    }
    if recorded.turn != Some(TurnId(recorded.seq.0)) {
        return Err(invalid_fact(recorded, "a turn is named by the position of its opening"));
    }
    if fact.settings != session.settings_at {
        return Err(invalid_fact(recorded, "its settings are not the session's latest"));
    }
    let opening = match fact.reason {
        Reason::Input { input } => open_for_input(session, recorded, fact, input)?,
        Reason::Goal { set } => open_for_goal(session, recorded, fact, set)?,
        Reason::CompactionRequested { request } => {
            open_to_compact(session, recorded, fact, request)?
        }
        Reason::ToolResults
        | Reason::Retry
        | Reason::Unfinished
        | Reason::PendingInput { .. }
        | Reason::HookContext { .. }
        | Reason::InvalidOutput { .. }
        | Reason::EmptyAnswer { .. }
        | Reason::Compacted => {
            return Err(invalid_fact(
                recorded,
                "a turn is opened by an input, for a goal, or to compact",
            ));
        }
    };
    session.hook_rounds = HookRounds::default();
    session.totals.turns = session.totals.turns.saturating_add(1);
    session.phase = Phase::InTurn(Turn {
        id: TurnId(recorded.seq.0),
        goal: match opening {
            TurnOpening::Goal(set) => Some(set),
            TurnOpening::Input(_) | TurnOpening::Compaction(_) => None,
        },
        scope: fact.scope.clone(),
        settings: session.settings.clone(),
        limits: fact.limits,
        dry_run: fact.dry_run,
        opened_at: recorded.ts,
        spent: TurnUsage::default(),
        stop: None,
        pause: None,
        hook_rounds: HookRounds::default(),
        pending: core::mem::take(&mut session.pending).into(),
        base_bytes: session.settings.base_bytes(&session.found_tools),
        context_bytes: 0,
        compaction: match opening {
            TurnOpening::Compaction(_) => session.compaction.take(),
            TurnOpening::Input(_) | TurnOpening::Goal(_) => None,
        },
        command: match opening {
            TurnOpening::Input(input) => {
                session.queued(input).is_some_and(|queued| queued.command.is_some())
            }
            TurnOpening::Goal(_) | TurnOpening::Compaction(_) => false,
        },
        compacted: None,
        compacting: 0,
        announced_last: false,
        re_asks: 0,
        empty_answers: 0,
        program_effects: ProgramEffects::default(),
        rules_changed: None,
        stage: Stage::Opening(opening),
    });
    Ok(())
}

fn open_for_input(
    session: &Session,
    recorded: &RecordedFact,
    fact: &TurnOpened,
    input: InputId,
) -> Result<TurnOpening, InvalidFact> {
    match session.continued_input() {
        Some(next) if next.id == input => {
            if next.scope != fact.scope || next.dry_run != fact.dry_run {
                return Err(invalid_fact(recorded, "it is not opened as its input asks"));
            }
            Ok(TurnOpening::Input(input))
        }
        Some(_) | None => Err(invalid_fact(recorded, "its input is not the next that waits")),
    }
}

fn open_for_goal(
    session: &mut Session,
    recorded: &RecordedFact,
    fact: &TurnOpened,
    set: Seq,
) -> Result<TurnOpening, InvalidFact> {
    let waits = session.next_input().is_some();
    let goal = session.goal.as_mut().filter(|goal| goal.set == set);
    let goal = goal.ok_or_else(|| invalid_fact(recorded, "there is no such goal"))?;
    let due = goal.status == GoalStatus::Due && goal.turns < goal.goal.turns;
    if waits || !due || goal.scope != fact.scope || fact.dry_run {
        return Err(invalid_fact(recorded, "no turn is due for the goal"));
    }
    goal.turns = goal.turns.saturating_add(1);
    goal.status = GoalStatus::Waiting;
    Ok(TurnOpening::Goal(set))
}

fn open_to_compact(
    session: &Session,
    recorded: &RecordedFact,
    fact: &TurnOpened,
    request: Seq,
) -> Result<TurnOpening, InvalidFact> {
    match &session.compaction {
        Some(waiting) if waiting.requested == request => {
            if waiting.scope != fact.scope || fact.dry_run {
                return Err(invalid_fact(recorded, "it is not opened as its request asks"));
            }
            Ok(TurnOpening::Compaction(request))
        }
        Some(_) | None => Err(invalid_fact(recorded, "no such compaction was requested")),
    }
}

impl Settings {
    /// Returns the bytes of the fixed beginning of each request.
    pub(crate) fn base_bytes(self: &Arc<Self>, found: &BTreeSet<String>) -> u64 {
        let settings = self.for_request(found);
        let instructions = settings.instructions.len() as u64;
        settings.tools.iter().map(ToolSpec::prompt_bytes).fold(instructions, u64::saturating_add)
    }
}

impl ToolSpec {
    /// Returns the bytes of the tool in a request.
    pub(crate) fn prompt_bytes(&self) -> u64 {
        let texts = [&self.name, &self.description, &self.parameters];
        texts.iter().fold(0, |sum, text| sum.saturating_add(text.len() as u64))
    }
}

pub(crate) fn on_input_accepted(
    session: &mut Session,
    recorded: &RecordedFact,
    fact: &InputAccepted,
) -> Result<(), InvalidFact> {
    if session.queued(fact.input).is_some_and(|queued| queued.command != fact.call) {
        return Err(invalid_fact(recorded, "its call is another one"));
    }
    let turn = turn_of(session, recorded)?;
    let at = HookOccurrence::PromptSubmitted { input: fact.input };
    match turn.hook_rounds.step(&turn.settings.hooks, at, "") {
        // The hooks on a command are those of its call.
        _ if fact.call.is_some() => {}
        RoundStep::Finished(
            CombinedVerdict::Pass | CombinedVerdict::Allow | CombinedVerdict::Ask,
        ) => {}
        RoundStep::Finished(CombinedVerdict::Deny { .. }) | RoundStep::Ask(_) | RoundStep::Wait => {
            return Err(invalid_fact(recorded, "its hooks have not let it in"));
        }
    }
    let ending = turn.stage.rules().concludes();
    // A command asks no model, so context stays pending.
    let injected = turn.pending.is_empty() || fact.call.is_some();
    if turn.stop.is_some() || !(ending || injected) {
        return Err(invalid_fact(recorded, "it is not let in here"));
    }
    let turn = allowed(session, recorded, Transition::Accept(fact.input))?;
    turn.stage = match &fact.call {
        Some(call) => Stage::Executing(Executing::command(turn, recorded.seq, call)),
        None => Stage::Ready(turn.stage.rules().accepted(fact.input)),
    };
    let queued = take_from_queue(session, fact.input);
    let queued = queued.ok_or_else(|| invalid_fact(recorded, "no such input waits"))?;
    let parts = core::iter::once(&queued.text).chain(queued.images.iter());
    session.visible = parts.fold(session.visible, |shown, part| shown.with(*part));
    Ok(())
}

/// Applies a blocked input. It ends the turn that it opened; a steering input leaves the turn as it
/// is.
pub(crate) fn on_input_blocked(
    session: &mut Session,
    recorded: &RecordedFact,
    fact: &InputBlocked,
) -> Result<(), InvalidFact> {
    let turn = allowed(session, recorded, Transition::Block(fact.input))?;
    if turn.opening().is_some() {
        let reason = fact.reason.clone();
        turn.stage = Stage::Ending(TurnOutcome::Blocked { reason });
    }
    let queued = take_from_queue(session, fact.input);
    queued.map(|_| ()).ok_or_else(|| invalid_fact(recorded, "no such input waits"))
}

fn take_from_queue(session: &mut Session, input: InputId) -> Option<crate::session::QueuedInput> {
    let index = session.queue.iter().position(|queued| queued.id == input)?;
    session.queue.remove(index)
}

/// Settles the turn. It leaves a hold if it was interrupted, was asked to stop after its step, or
/// ran out of time before its input was admitted. A later input of a user lifts the hold. A turn
/// that asks no model leaves the goal as it is. One that only compacts also leaves the hold, unless
/// the user continued the session to begin it. One that a fork inherited leaves the hold.
fn on_settled(
    session: &mut Session,
    recorded: &RecordedFact,
    fact: &TurnSettled,
) -> Result<(), InvalidFact> {
    let waiting = session.queue.iter().map(|queued| queued.id);
    if !waiting.eq(fact.waiting.iter().copied()) {
        return Err(invalid_fact(recorded, "it does not say what waits"));
    }
    if session.detached_calls() != fact.detached {
        return Err(invalid_fact(recorded, "it does not say whose results are awaited"));
    }
    let steers = session.user_steer().is_some();
    let inherited = session.turn_is_inherited();
    let turn = turn_of(session, recorded)?;
    // A summary that the stop cancelled may have been billed. Older logs do not count its
    // reservation.
    if fact.spent != turn.spent && fact.spent != turn.spent_at_last() {
        return Err(invalid_fact(recorded, "it does not say what the turn took"));
    }
    let turn = allowed(session, recorded, Transition::Settle(&fact.outcome))?;
    let asks_model = turn.asks_model();
    if steers && asks_model && fact.outcome == TurnOutcome::Completed {
        return Err(invalid_fact(recorded, "the user has spoken to it meanwhile"));
    }
    let goal = turn.goal;
    let keeps_hold = turn.compaction.as_ref().is_some_and(|request| !request.waits);
    let holds = hold_after(turn, &fact.outcome);
    let spoken_since = |asked: Seq| {
        let mut waiting = session.queue.iter();
        waiting.any(|queued| queued.id.0 > asked.0 && queued.result.is_none())
    };
    session.hold = match holds {
        Some(asked) if !spoken_since(asked) => Hold::Held,
        None if keeps_hold || inherited => session.hold,
        Some(_) | None => Hold::Free,
    };
    if let Some(state) = &mut session.goal
        && state.status == GoalStatus::Waiting
        && asks_model
    {
        state.status = match crate::goal::facts::status_after(&fact.outcome) {
            // It replaced the goal of the turn, and has had no turn yet.
            GoalStatus::Stopped { .. } if goal.is_some_and(|set| set != state.set) => {
                GoalStatus::Due
            }
            standing @ (GoalStatus::Waiting
            | GoalStatus::Due
            | GoalStatus::Met { .. }
            | GoalStatus::Stopped { .. }) => standing,
        };
    }
    let lasts = |pending: &&PendingContext| pending.lifetime == ContextLifetime::Session;
    let turn = turn_of(session, recorded)?;
    let kept: Vec<PendingContext> = turn.pending.iter().filter(lasts).copied().collect();
    session.pending = kept;
    if let Some(notice) = &fact.notice {
        let part = context::framed(&context::frame(history::INTERRUPT, notice));
        session.visible = session.visible.with(part);
    }
    session.totals.settle(&fact.spent);
    session.phase = Phase::Idle;
    Ok(())
}

/// Returns the stop request that leaves a hold when the turn ends with this outcome.
///
/// A deadline concerns only its turn, so it leaves a hold only for an input that was not admitted:
/// its next turn might end in the same way. A request to stop after the step always leaves a hold,
/// since nothing new should begin.
pub(crate) fn hold_after(turn: &Turn, outcome: &TurnOutcome) -> Option<Seq> {
    let pause = turn.pause.as_ref();
    let stops = match outcome {
        TurnOutcome::Interrupted { .. } => true,
        TurnOutcome::Exhausted { .. } => matches!(turn.opening(), Some(TurnOpening::Input(_))),
        TurnOutcome::Completed
        | TurnOutcome::NoAnswer
        | TurnOutcome::Refused
        | TurnOutcome::InvalidOutput { .. }
        | TurnOutcome::Blocked { .. }
        | TurnOutcome::Failed { .. } => false,
    };
    let stop = turn.stop.as_ref().filter(|_| stops);
    stop.into_iter().chain(pause).map(|stop| stop.seq).max()
}
