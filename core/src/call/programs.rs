//! Programs: the facts of a program's events, and the end of a program that must stop.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::{Observation, ObservationStatus};
use crate::budget;
use crate::fact::{
    CallObserved, ContextInjected, ContextLifetime, ContextSource, Fact, ProgramCalled, ProgramRun,
};
use crate::id::CallId;
use crate::input::ProgramEvent;
use crate::item::CallItem;
use crate::program::{PROGRAM_TOOL, ProgramOutcome, SampleKind};
use crate::session::{CallState, CallValidity, Session, Turn};

/// Notice to the model before the last sample for work.
pub(crate) const LAST: &str = "This is the last program of this turn. It cannot call tools: a program \
                               that names one is refused. Return the result now, with what is known.";

/// Returns true if a call is a program and its answer has another one: neither runs.
pub(crate) fn is_one_of_several(calls: &[CallState], program: &CallState) -> bool {
    let other = |call: &CallState| call.id != program.id && call.parent.is_none();
    program.is_program() && calls.iter().any(|call| other(call) && &*call.tool == PROGRAM_TOOL)
}

/// Returns why an answer that must have the turn's last program has none that can run.
pub(crate) fn unusable(turn: &Turn, kind: SampleKind, calls: &[CallState]) -> Option<String> {
    let runs = |call: &CallState| call.is_program() && !is_one_of_several(calls, call);
    if !turn.must_return(kind) || calls.iter().any(runs) {
        return None;
    }
    calls.iter().find_map(|call| match &call.validity {
        CallValidity::Invalid { reason } => Some(reason.clone()),
        CallValidity::Valid { .. }
        | CallValidity::Goal
        | CallValidity::Program { .. }
        | CallValidity::Surplus => None,
    })
}

/// Returns the facts that record a program's event.
pub(super) fn on_program_event(turn: &Turn, program: CallId, news: ProgramEvent) -> Vec<Fact> {
    match news {
        ProgramEvent::Calls(calls) => call(turn, program, calls),
        ProgramEvent::Ended { outcome, fault, observation } => {
            end(turn, program, outcome, fault, observation)
        }
    }
}

/// The program waits for calls. A program that names no call would wait for ever, so it has ended.
fn call(turn: &Turn, program: CallId, calls: Vec<CallItem>) -> Vec<Fact> {
    if calls.is_empty() {
        let words = "Stopped: its runtime said that it waits, and for nothing. This is a defect of the \
                     runtime.";
        return alloc::vec![without_report(turn, program, ObservationStatus::Failed, words)];
    }
    let called = |item| Fact::ProgramCalled(ProgramCalled { program, item: Arc::new(item) });
    calls.into_iter().map(called).collect()
}

/// The program has ended. The value of the turn's last program counts as returned. If the result
/// is invalid, or that program has none, the model is asked again.
fn end(
    turn: &Turn,
    program: CallId,
    mut outcome: Box<ProgramOutcome>,
    fault: Option<String>,
    observation: Observation,
) -> Vec<Fact> {
    let contract = turn.settings.options.output_schema.is_some();
    let last = turn.must_return(turn.executing_kind());
    if last {
        outcome.end = outcome.end.as_returned();
    }
    let missing = outcome.end.missing_result().filter(|_| last);
    let fault = missing.or(fault.filter(|_| contract && outcome.end.returned().is_some()));
    if fault.is_some() || !outcome.end.retains_definitions() {
        outcome.forget_definitions();
    }
    alloc::vec![
        Fact::ProgramRun(ProgramRun { program, outcome: Arc::from(outcome), fault }),
        Fact::CallObserved(CallObserved {
            call: program,
            observation: Arc::new(observation),
            usage: None,
            report: None,
            form: None,
            detached: false,
            by: None,
            key: None,
        }),
    ]
}

/// Ends a running program once the turn is to stop, without waiting: a program changes nothing by
/// itself. Its calls are still awaited.
pub(crate) fn stopped(session: &Session, turn: &Turn, call: &CallState) -> Option<Fact> {
    if !turn.program_can_resume(call.id) {
        return None;
    }
    let words = format!(
        "Stopped: {} while this program ran. The calls that it had made are not undone.",
        session.stop_cause()
    );
    Some(without_report(turn, call.id, ObservationStatus::Aborted, &words))
}

/// Returns the report of a program whose log ends right after its end: the original was lost with
/// its process. A store that appends each decision as a whole never reaches this.
pub(crate) fn lost_report(turn: &Turn, call: &CallState) -> Fact {
    let words = "The program ended, and the process ended before it was told with what. The calls that \
                 it had made are not undone.";
    without_report(turn, call.id, ObservationStatus::Unknown, words)
}

/// Ends a program whose process ended too often.
pub(crate) fn abandoned(turn: &Turn, call: CallId) -> Fact {
    let words = "Stopped: the process that ran this program ended. The calls that it had made are not \
                 undone.";
    without_report(turn, call, ObservationStatus::Aborted, words)
}

/// Returns the observation of a program without a report of its own. It shows the model the
/// program's effectful calls and their outcomes: the history has their text.
fn without_report(turn: &Turn, call: CallId, status: ObservationStatus, words: &str) -> Fact {
    let most = budget::result_form(&turn.settings).map_or(u64::MAX, |form| form.max_bytes / 4);
    let executing = turn.stage.executing();
    let tells = executing.and_then(|executing| executing.effectful_calls.within(most).report());
    Fact::CallObserved(CallObserved {
        call,
        observation: Arc::new(Observation::new(status, words)),
        usage: None,
        report: tells,
        form: None,
        detached: false,
        by: None,
        key: None,
    })
}

/// Returns the notice that the next sample is the last one for work.
pub(crate) fn last_sample(turn: &Turn) -> Option<Fact> {
    if turn.announced_last || turn.next_kind() != SampleKind::MustReturn {
        return None;
    }
    Some(Fact::ContextInjected(ContextInjected {
        from: ContextSource::LastSample { text: LAST.into() },
        lifetime: ContextLifetime::Turn,
    }))
}
