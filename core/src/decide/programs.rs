//! Programs: the facts that a program's word is, and what becomes of one that is not to go on.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::Plan;
use crate::call::{Observation, ObservationStatus};
use crate::effect::EffectKey;
use crate::error::Reject;
use crate::fact::{
    CallObserved, ContextInjected, ContextSource, Fact, Lasting, ProgramCalled, ProgramRun,
};
use crate::id::CallId;
use crate::input::ProgramNews;
use crate::item::CallItem;
use crate::program::{ProgramOutcome, SampleKind};
use crate::session::{CallState, Progress, Stage, Turn};

/// What the model is told before the last sample for work.
pub(super) const LAST: &str = "This is the last program of this turn. It cannot call tools: a program \
                               that names one is refused. Return the result now, with what is known.";

pub(super) fn on_programmed(
    plan: &mut Plan,
    key: EffectKey,
    news: ProgramNews,
) -> Result<(), Reject> {
    let program = awaited(plan, key)?;
    match news {
        ProgramNews::Calls(calls) => call(plan, program, calls),
        ProgramNews::Ended {
            outcome,
            fault,
            observation,
        } => end(plan, program, outcome, fault, observation),
    }
}

/// It waits for calls. One that says so and names none would wait for ever: it has ended.
fn call(plan: &mut Plan, program: CallId, calls: Vec<CallItem>) -> Result<(), Reject> {
    if calls.is_empty() {
        let words = "Stopped: its runtime said that it waits, and for nothing. This is a defect of the \
                     runtime.";
        let turn = plan.session.turn();
        let fact = turn.map(|turn| wordless(turn, program, ObservationStatus::Failed, words));
        return fact.map_or(Ok(()), |fact| plan.push(fact));
    }
    for item in calls {
        plan.push(Fact::ProgramCalled(ProgramCalled {
            program,
            item: Arc::new(item),
        }))?;
    }
    Ok(())
}

/// It has ended. What comes from the last program for work counts as returned, and one that failed, or
/// whose value is not what is asked for, leaves nothing.
fn end(
    plan: &mut Plan,
    program: CallId,
    mut outcome: Box<ProgramOutcome>,
    fault: Option<String>,
    observation: Observation,
) -> Result<(), Reject> {
    let turn = plan.session.turn();
    let contract = turn.is_some_and(|turn| turn.settings.options.answer.is_some());
    outcome.end = outcome
        .end
        .within(turn.map_or(SampleKind::Normal, Turn::executing_kind));
    let fault = fault.filter(|_| contract && outcome.end.returned().is_some());
    if fault.is_some() || !outcome.end.lasts() {
        outcome.memory = None;
        outcome.defined.clear();
    }
    plan.push(Fact::ProgramRun(ProgramRun {
        program,
        outcome: Arc::from(outcome),
        fault,
    }))?;
    plan.push(Fact::CallObserved(CallObserved {
        call: program,
        observation: Arc::new(observation),
        took: None,
        tells: None,
    }))
}

/// The program that this run is the awaited one of.
fn awaited(plan: &Plan, key: EffectKey) -> Result<CallId, Reject> {
    let stale = Reject::Stale(key);
    let EffectKey::Call { call, started: run } = key else {
        return Err(stale);
    };
    let turn = plan.session.turn().filter(|turn| turn.stop.is_none());
    let turn = turn.filter(|turn| turn.program_goes_on(call));
    let mut calls = turn.into_iter().flat_map(Turn::calls);
    let runs = |one: &CallState| match &one.progress {
        Progress::Running { started, .. } => one.id == call && *started == run,
        Progress::Proposed
        | Progress::Asking { .. }
        | Progress::Allowed
        | Progress::Denied { .. }
        | Progress::Reconciling { .. }
        | Progress::Done { .. } => false,
    };
    if calls.any(runs) {
        Ok(call)
    } else {
        Err(stale)
    }
}

/// A program that runs is not waited for once the turn is to stop: it changes nothing by itself. What
/// it has called is.
pub(super) fn stopped(turn: &Turn, call: &CallState) -> Option<Fact> {
    if !turn.program_goes_on(call.id) {
        return None;
    }
    let words = "Stopped: the turn was asked to stop while this program ran. The calls that it had \
                 made are not undone.";
    Some(wordless(turn, call.id, ObservationStatus::Aborted, words))
}

/// A program that ended, and whose log ends there: what the model was to be told of it was lost with
/// its process. A store that appends what is decided at once as a whole never shows this.
pub(super) fn untold(turn: &Turn, call: &CallState) -> Fact {
    let words = "The program ended, and the process ended before it was told with what. The calls that \
                 it had made are not undone.";
    wordless(turn, call.id, ObservationStatus::Unknown, words)
}

/// A program whose process ended too often.
pub(super) fn given_up(turn: &Turn, call: CallId) -> Fact {
    let words = "Stopped: the process that ran this program ended. The calls that it had made are not \
                 undone.";
    wordless(turn, call, ObservationStatus::Aborted, words)
}

/// What is said for a program that has no word of its own. The model is told which of its calls
/// change something, and what became of them: the history has their words.
fn wordless(turn: &Turn, call: CallId, status: ObservationStatus, words: &str) -> Fact {
    let tells = match &turn.stage {
        Stage::Executing(executing) => executing.changes.telling(),
        Stage::Opening(_)
        | Stage::Ready(_)
        | Stage::Compacting(_)
        | Stage::Sampling(_)
        | Stage::Backoff(_)
        | Stage::Concluding(_)
        | Stage::Ending(_) => None,
    };
    Fact::CallObserved(CallObserved {
        call,
        observation: Arc::new(Observation::new(status, words)),
        took: None,
        tells,
    })
}

/// The model is told that the next sample is the last one for work.
pub(super) fn last_sample(turn: &Turn) -> Option<Fact> {
    if turn.told_last || turn.next_kind() != SampleKind::MustReturn {
        return None;
    }
    Some(Fact::ContextInjected(ContextInjected {
        from: ContextSource::LastSample { text: LAST.into() },
        lasting: Lasting::Turn,
    }))
}
