//! Calls of the turn so far, as hooks and tools are told of them.

use std::sync::Arc;

use windlass_core::{
    CallId, CallProgress, CallState, History, HookOccurrence, ObservationStatus, PromptItem,
    Session, Turn,
};
use windlass_ports::{TurnCall, TurnCallStatus, TurnCalls};

/// Most items of the conversation that are searched for calls.
const LOOK_BACK: usize = 4_096;

/// Returns the calls of the open turn that come before a question to a hook.
pub(super) fn turn_calls(session: &Session, history: &History, at: HookOccurrence) -> TurnCalls {
    let Some(turn) = session.turn() else {
        return TurnCalls::default();
    };
    let (mut calls, whole) = of_earlier_answers(turn, history);
    let pending = turn.calls().iter().filter(|call| Some(call.id) != at.call());
    let before = |call: &CallState| at.call().is_some_and(|subject| call.id.0 < subject.0);
    let listed = pending.filter(|call| before(call) || call.progress != CallProgress::Proposed);
    calls.extend(listed.filter_map(|call| of_current_answer(call, history)));
    TurnCalls::latest(calls, !whole || turn.spent.compactions > 0)
}

/// The calls of the turn that the conversation has, with their results. Tells if the turn's start was
/// reached.
fn of_earlier_answers(turn: &Turn, history: &History) -> (Vec<TurnCall>, bool) {
    let items = history.items();
    let from = items.len().saturating_sub(LOOK_BACK);
    let mut whole = from == 0;
    let mut found: Vec<(&Arc<str>, TurnCall)> = Vec::new();
    for item in items.iter_from(from) {
        if let PromptItem::Call { sample, id, call } = item {
            if sample.0 <= turn.id.0 {
                whole = true;
                continue;
            }
            let arguments = Arc::from(call.arguments.as_str());
            let status = TurnCallStatus::Running;
            found.push((id, TurnCall { tool: call.name.clone(), arguments, status }));
        } else if let PromptItem::Result { id, observation, edited } = item
            && let Some((_, call)) = found.iter_mut().rfind(|(of, _)| *of == id)
        {
            call.status = TurnCallStatus::Ended(observation.status);
            if let Some(edited) = edited {
                call.arguments = edited.clone();
            }
        } else if let PromptItem::Text { sample, .. } = item {
            whole |= sample.0 <= turn.id.0;
        }
    }
    (found.into_iter().map(|(_, call)| call).collect(), whole)
}

/// A call of the answer at hand.
fn of_current_answer(call: &CallState, history: &History) -> Option<TurnCall> {
    let status = match &call.progress {
        CallProgress::Proposed => TurnCallStatus::Proposed,
        CallProgress::AwaitingApproval { .. } => TurnCallStatus::AwaitingApproval,
        CallProgress::Allowed => TurnCallStatus::Allowed,
        CallProgress::Denied { .. } => TurnCallStatus::Denied,
        CallProgress::Running { .. }
        | CallProgress::Reconciling { .. }
        | CallProgress::AwaitingResult { .. } => TurnCallStatus::Running,
        CallProgress::Done { .. } => TurnCallStatus::Ended(history.observation(call.id)?.status),
    };
    let arguments = history.arguments(call.id)?;
    Some(TurnCall { tool: call.tool.to_string(), arguments, status })
}

/// Returns the number of failed calls in a row that the turn made before a call, with its tool and its
/// arguments. Calls of other tools do not count.
pub(super) fn failed_before(turn: &Turn, history: &History, id: CallId) -> u32 {
    let found = turn.calls().iter().find(|call| call.id == id).zip(history.arguments(id));
    let Some((call, arguments)) = found else {
        return 0;
    };
    let fails = |status, made: &str| status == ObservationStatus::Failed && *made == *arguments;
    // Of the answer at hand, then of earlier ones, each time the latest call first.
    let mut count = 0_u32;
    for earlier in turn.calls().iter().rev().skip_while(|earlier| earlier.id != id).skip(1) {
        if earlier.tool == call.tool
            && matches!(earlier.progress, CallProgress::Done { .. })
            && let Some(made) = history.arguments(earlier.id)
            && let Some(observation) = history.observation(earlier.id)
        {
            if !fails(observation.status, &made) {
                return count;
            }
            count = count.saturating_add(1);
        }
    }
    let mut ended = Vec::new();
    for item in history.items().iter_reverse().take(LOOK_BACK) {
        if let PromptItem::Result { id, observation, edited } = item {
            ended.push((id, observation.status, edited.as_ref()));
        } else if let PromptItem::Call { sample, id, call: earlier } = item {
            if sample.0 <= turn.id.0 {
                return count;
            }
            let result = ended.iter().rposition(|(of, ..)| *of == id);
            if let Some((_, status, edited)) = result.map(|at| ended.swap_remove(at))
                && *earlier.name == *call.tool
            {
                if !fails(status, edited.map_or(&*earlier.arguments, |edited| edited)) {
                    return count;
                }
                count = count.saturating_add(1);
            }
        }
    }
    count
}
