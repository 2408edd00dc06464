//! Turns: opened, let in, blocked, settled.

use alloc::sync::Arc;
use alloc::vec::Vec;

use super::{allowed, interrupt, misfit, turn_of};
use crate::because::Because;
use crate::error::Misfit;
use crate::fact::{InputAccepted, InputBlocked, Lasting, TurnFact, TurnOpened, TurnSettled};
use crate::gate::{Gates, Step, Word};
use crate::goal::Standing;
use crate::hook::HookAt;
use crate::id::{InputId, Seq, TurnId};
use crate::outcome::Outcome;
use crate::record::Recorded;
use crate::session::{Hold, Pending, Phase, Session, Spent, Turn};
use crate::settings::Settings;
use crate::stage::{Opening, Stage, Transition};

pub(super) fn on_turn(
    session: &mut Session,
    recorded: &Recorded,
    fact: TurnFact<'_>,
) -> Result<(), Misfit> {
    match fact {
        TurnFact::TurnOpened(fact) => on_opened(session, recorded, fact),
        TurnFact::InterruptRequested(fact) => interrupt::on_requested(session, recorded, fact),
        TurnFact::TurnSettled(fact) => on_settled(session, recorded, fact),
    }
}

fn on_opened(session: &mut Session, recorded: &Recorded, fact: &TurnOpened) -> Result<(), Misfit> {
    if session.turn().is_some() {
        return Err(misfit(recorded, "a turn is open already"));
    }
    if recorded.turn != Some(TurnId(recorded.seq.0)) {
        return Err(misfit(
            recorded,
            "a turn is named by the position of its opening",
        ));
    }
    if fact.settings != session.settings_at {
        return Err(misfit(
            recorded,
            "its settings are not the session's latest",
        ));
    }
    let opening = match fact.because {
        Because::Opened { input } => opened_by(session, recorded, fact, input)?,
        Because::Goal { set } => opened_for(session, recorded, fact, set)?,
        Because::ToolResults
        | Because::Retry
        | Because::Unfinished
        | Because::PendingInput { .. }
        | Because::HookContext { .. }
        | Because::RetryReturn { .. }
        | Because::Compacted => {
            return Err(misfit(
                recorded,
                "a turn is opened by an input, or for a goal",
            ));
        }
    };
    session.gates = Gates::default();
    session.phase = Phase::Turning(Turn {
        id: TurnId(recorded.seq.0),
        goal: match opening {
            Opening::Goal(set) => Some(set),
            Opening::Input(_) => None,
        },
        scope: fact.scope.clone(),
        settings: session.settings.clone(),
        limits: fact.limits,
        dry_run: fact.dry_run,
        opened_at: recorded.ts,
        spent: Spent::default(),
        stop: None,
        pause: None,
        gates: Gates::default(),
        pending: core::mem::take(&mut session.pending).into(),
        base_bytes: base_bytes(&session.settings),
        context_bytes: 0,
        compacted: None,
        compacting: 0,
        told_last: false,
        retried: 0,
        stage: Stage::Opening(opening),
    });
    Ok(())
}

fn opened_by(
    session: &Session,
    recorded: &Recorded,
    fact: &TurnOpened,
    input: InputId,
) -> Result<Opening, Misfit> {
    match session.next_input() {
        Some(next) if next.id == input => {
            if next.scope != fact.scope || next.dry_run != fact.dry_run {
                return Err(misfit(recorded, "it is not opened as its input asks"));
            }
            Ok(Opening::Input(input))
        }
        Some(_) | None => Err(misfit(recorded, "its input is not the next that waits")),
    }
}

fn opened_for(
    session: &mut Session,
    recorded: &Recorded,
    fact: &TurnOpened,
    set: Seq,
) -> Result<Opening, Misfit> {
    let waits = session.next_input().is_some();
    let goal = session.goal.as_mut().filter(|goal| goal.set == set);
    let goal = goal.ok_or_else(|| misfit(recorded, "there is no such goal"))?;
    let due = goal.standing == Standing::Due && goal.turns < goal.goal.turns;
    if waits || !due || goal.scope != fact.scope || fact.dry_run {
        return Err(misfit(recorded, "no turn is due for the goal"));
    }
    goal.turns = goal.turns.saturating_add(1);
    goal.standing = Standing::Waiting;
    Ok(Opening::Goal(set))
}

/// Bytes of what each request begins with.
fn base_bytes(settings: &Arc<Settings>) -> u64 {
    let settings = settings.as_asked();
    let tools = settings.tools.iter().map(|tool| {
        let texts = [&tool.name, &tool.description, &tool.parameters];
        texts.iter().map(|text| text.len()).sum::<usize>()
    });
    settings.instructions.len().saturating_add(tools.sum()) as u64
}

pub(crate) fn on_input_accepted(
    session: &mut Session,
    recorded: &Recorded,
    fact: &InputAccepted,
) -> Result<(), Misfit> {
    let turn = turn_of(session, recorded)?;
    let at = HookAt::PromptSubmitted { input: fact.input };
    match turn.gates.step(&turn.settings.hooks, at, "") {
        Step::Passed(Word::Pass | Word::Allow | Word::Ask) => {}
        Step::Passed(Word::Deny { .. }) | Step::Ask(_) | Step::Wait => {
            return Err(misfit(recorded, "its hooks have not let it in"));
        }
    }
    let ending = turn.stage.rules().concludes();
    if turn.stop.is_some() || !(ending || turn.pending.is_empty()) {
        return Err(misfit(recorded, "it is not let in here"));
    }
    let turn = allowed(session, recorded, Transition::Accept(fact.input))?;
    turn.stage = Stage::Ready(turn.stage.rules().accepted(fact.input));
    let queued = take(session, fact.input);
    let queued = queued.ok_or_else(|| misfit(recorded, "no such input waits"))?;
    let parts = core::iter::once(&queued.part).chain(queued.images.iter());
    session.shown = parts.fold(session.shown, |shown, part| shown.with(*part));
    Ok(())
}

/// A blocked input ends the turn that it opened. One that came meanwhile leaves the turn as it is.
pub(crate) fn on_input_blocked(
    session: &mut Session,
    recorded: &Recorded,
    fact: &InputBlocked,
) -> Result<(), Misfit> {
    let turn = allowed(session, recorded, Transition::Block(fact.input))?;
    if turn.opening().is_some() {
        let reason = fact.reason.clone();
        turn.stage = Stage::Ending(Outcome::Blocked { reason });
    }
    let queued = take(session, fact.input);
    queued
        .map(|_| ())
        .ok_or_else(|| misfit(recorded, "no such input waits"))
}

fn take(session: &mut Session, input: InputId) -> Option<crate::session::Queued> {
    let index = session.queue.iter().position(|queued| queued.id == input)?;
    session.queue.remove(index)
}

/// An interrupted turn leaves a hold, and so does one that ends by itself after it was asked to stop
/// after its step, or whose time was over before it let its input in; unless a user has spoken since.
fn on_settled(
    session: &mut Session,
    recorded: &Recorded,
    fact: &TurnSettled,
) -> Result<(), Misfit> {
    let waiting = session.queue.iter().map(|queued| queued.id);
    if !waiting.eq(fact.waiting.iter().copied()) {
        return Err(misfit(recorded, "it does not say what waits"));
    }
    let steers = session.steer().is_some();
    let turn = turn_of(session, recorded)?;
    // A summary that the stop cut off may have been charged for. Logs from before that was counted
    // say only what the turn took otherwise.
    if fact.spent != turn.spent && fact.spent != turn.spent_at_last() {
        return Err(misfit(recorded, "it does not say what the turn took"));
    }
    let turn = allowed(session, recorded, Transition::Settle(&fact.outcome))?;
    if steers && fact.outcome == Outcome::Completed {
        return Err(misfit(recorded, "the user has spoken to it meanwhile"));
    }
    let goal = turn.goal;
    let holds = holds(turn, &fact.outcome);
    let spoken_since = |asked: Seq| {
        let last = session.queue.back();
        last.is_some_and(|last| last.id.0 > asked.0)
    };
    session.hold = match holds {
        Some(asked) if !spoken_since(asked) => Hold::Held,
        Some(_) | None => Hold::Free,
    };
    if let Some(state) = &mut session.goal
        && state.standing == Standing::Waiting
    {
        state.standing = match crate::goal::facts::after(&fact.outcome) {
            // It took the place of the goal that the turn was for, and no turn was for it yet.
            Standing::Over { .. } if goal.is_some_and(|set| set != state.set) => Standing::Due,
            standing @ (Standing::Waiting
            | Standing::Due
            | Standing::Met { .. }
            | Standing::Over { .. }) => standing,
        };
    }
    let lasts = |pending: &&Pending| pending.lasting == Lasting::Session;
    let turn = turn_of(session, recorded)?;
    let kept: Vec<Pending> = turn.pending.iter().filter(lasts).copied().collect();
    session.pending = kept;
    session.phase = Phase::Idle;
    Ok(())
}

/// The request to stop that leaves a hold when the turn ends like this.
///
/// A deadline is about its turn alone, so nobody has to lift what it leaves; only an input that it
/// kept out waits, as its next turn might end in the same way. Whoever asks for a stop after the
/// step wants nothing new to begin, however the turn then ends.
pub(crate) fn holds(turn: &Turn, outcome: &Outcome) -> Option<Seq> {
    let pause = turn.pause.as_ref();
    let stops = match outcome {
        Outcome::Interrupted { .. } => true,
        Outcome::Exhausted { .. } => matches!(turn.opening(), Some(Opening::Input(_))),
        Outcome::Completed
        | Outcome::NoAnswer
        | Outcome::Refused
        | Outcome::Misshapen { .. }
        | Outcome::Blocked { .. }
        | Outcome::Failed { .. } => false,
    };
    let stop = turn.stop.as_ref().filter(|_| stops);
    stop.into_iter().chain(pause).map(|stop| stop.seq).max()
}
