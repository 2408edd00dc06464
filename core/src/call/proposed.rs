//! Proposed: a call as it enters the state, with what stands against running it.

use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::facts::ruled;
use crate::compaction::Part;
use crate::context;
use crate::digest::Digest;
use crate::gate::Gates;
use crate::goal::GOAL_TOOL;
use crate::id::{CallId, Seq};
use crate::item::CallItem;
use crate::program::{PROGRAM_TOOL, call_line};
use crate::session::{CallState, Fitness, Progress, Turn};
use crate::settings::EffectClass;

/// A call as it enters the state, with what stands against running it.
pub(crate) fn proposed(turn: &Turn, seq: Seq, call: &CallItem) -> CallState {
    let provider_id = Digest::EMPTY.part(call.provider_id.as_bytes());
    let mut others = turn.calls().iter();
    let twin = !call.provider_id.is_empty() && others.any(|other| other.provider_id == provider_id);
    let fitness = match (twin, &turn.settings.options.program) {
        (true, _) => unfit(
            "Not run: another call of the same answer has the same id. Give each call an id of its \
             own.",
        ),
        (false, Some(_)) => program(turn, call),
        (false, None) => fitness(turn, call),
    };
    state(turn, seq, call, fitness, None)
}

/// A call of a program, with what stands against running it.
pub(crate) fn called(turn: &Turn, seq: Seq, program: CallId, call: &CallItem) -> CallState {
    let fitness = if !turn.programs_call(turn.executing_kind()) {
        unfit("Not run: this is the last program for work, and it cannot call tools.")
    } else if !turn.room_for_program_call() {
        unfit("Not run: the limit of calls is used up.")
    } else {
        fitness(turn, call)
    };
    let line = match &fitness {
        Fitness::Fit {
            effect: EffectClass::Idempotent | EffectClass::Effectful,
            ..
        } if !turn.dry_run => Some(told_call(&call.name, &call.arguments)),
        Fitness::Fit { .. } | Fitness::Goal | Fitness::Program { .. } | Fitness::Unfit { .. } => {
            None
        }
    };
    CallState {
        line,
        ..state(turn, seq, call, fitness, Some(program))
    }
}

/// Returns the size of a program call's name, as the model is shown it.
pub(crate) fn told_call(tool: &str, arguments: &str) -> Part {
    context::told_call(&call_line(tool, arguments))
}

fn state(
    turn: &Turn,
    seq: Seq,
    call: &CallItem,
    fitness: Fitness,
    parent: Option<CallId>,
) -> CallState {
    CallState {
        id: CallId(seq.0),
        tool: Arc::from(call.name.as_str()),
        provider_id: Digest::EMPTY.part(call.provider_id.as_bytes()),
        fitness,
        arguments: Digest::EMPTY.part(call.arguments.as_bytes()),
        edited: None,
        ruled: ruled(&turn.settings, &call.rules),
        gates: Gates::default(),
        contexts: Vec::new(),
        lent: None,
        progress: Progress::Proposed,
        spoken: call.spoken,
        ended: false,
        line: None,
        parent,
    }
}

fn unfit(reason: &str) -> Fitness {
    Fitness::Unfit {
        reason: String::from(reason),
    }
}

/// Validates the one call of an answer in program mode: a program.
fn program(turn: &Turn, call: &CallItem) -> Fitness {
    if call.name != PROGRAM_TOOL {
        let name: String = call.name.chars().take(80).collect();
        return unfit(&format!(
            "Not run: {name:?} is no tool here. Call {PROGRAM_TOOL} with a program that calls it as \
             a function."
        ));
    }
    if turn.calls().iter().any(CallState::is_program) {
        return unfit("Not run: an answer has one program. Write all of it in that one.");
    }
    if let Some(fault) = &call.fault {
        return unfit(&format!("Not run: the program cannot be used. {fault}"));
    }
    Fitness::Program {
        timeout_ms: turn.limits.call_ms,
    }
}

fn fitness(turn: &Turn, call: &CallItem) -> Fitness {
    let Some(tool) = turn.settings.tool(&call.name) else {
        let names: Vec<&str> = turn
            .settings
            .tools
            .iter()
            .map(|tool| tool.name.as_str())
            .collect();
        let name: String = call.name.chars().take(80).collect();
        return Fitness::Unfit {
            reason: format!(
                "Not run: there is no tool {name:?}. The tools are: {}.",
                names.join(", ")
            ),
        };
    };
    if let Some(fault) = &call.fault {
        return Fitness::Unfit {
            reason: format!(
                "Not run: the arguments of {} cannot be used. {fault}",
                tool.name
            ),
        };
    }
    if tool.name == GOAL_TOOL {
        return Fitness::Goal;
    }
    Fitness::Fit {
        effect: tool.effect,
        concurrency: tool.concurrency,
        timeout_ms: tool
            .timeout_ms
            .unwrap_or(turn.limits.call_ms)
            .min(turn.limits.call_ms),
        reconciles: tool.reconciles,
    }
}
