//! Proposed calls: a call as it enters the state, with its validity.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::compaction::ItemFingerprint;
use crate::context;
use crate::deferred::SEARCH_TOOLS_TOOL;
use crate::digest::Digest;
use crate::goal::GOAL_TOOL;
use crate::hook_rounds::HookRounds;
use crate::id::{CallId, Seq};
use crate::item::CallItem;
use crate::program::{PROGRAM_TOOL, call_line};
use crate::session::{CallProgress, CallState, CallValidity, OutsideSandbox, Turn, UserCommand};
use crate::settings::EffectClass;

/// Returns a call as it enters the state, with its validity.
pub(crate) fn proposed(
    (turn, found): (&Turn, &BTreeSet<String>),
    seq: Seq,
    call: &CallItem,
    surplus: bool,
) -> CallState {
    let provider_id = Digest::EMPTY.part(call.provider_id.as_bytes());
    let mut others = turn.calls().iter();
    let twin = !call.provider_id.is_empty() && others.any(|other| other.provider_id == provider_id);
    let fitness = match (twin, &turn.settings.options.program) {
        (_, _) if surplus => CallValidity::Surplus,
        (true, _) => invalid(
            "Not run: another call of the same answer has the same id. Give each call an id of its \
             own.",
        ),
        (false, Some(_)) => program(turn, call),
        (false, None) => validity(turn, found, call),
    };
    state(turn, seq, call, fitness, None)
}

/// Returns a call of a program as it enters the state, with its validity.
pub(crate) fn program_call(turn: &Turn, seq: Seq, program: CallId, call: &CallItem) -> CallState {
    let fitness = if !turn.programs_call(turn.executing_kind()) {
        invalid("Not run: this is the last program for work, and it cannot call tools.")
    } else if !turn.room_for_program_call() {
        invalid("Not run: the limit of calls is used up.")
    } else {
        // Programs have all tools: none of them is deferred.
        validity(turn, &BTreeSet::new(), call)
    };
    let line = match &fitness {
        CallValidity::Valid {
            effect: EffectClass::Idempotent | EffectClass::Effectful, ..
        } if !turn.dry_run => Some(reported_line(&call.name, &call.arguments)),
        CallValidity::Valid { .. }
        | CallValidity::Goal
        | CallValidity::Program { .. }
        | CallValidity::Surplus
        | CallValidity::Invalid { .. } => None,
    };
    CallState { label: line, ..state(turn, seq, call, fitness, Some(program)) }
}

/// Returns the call of a user's command as it enters the state, with its validity. A user needs no
/// offer of the tool, so a deferred one runs too.
pub(crate) fn command_call(turn: &Turn, seq: Seq, call: &CallItem) -> CallState {
    let found = BTreeSet::from([call.name.clone()]);
    let validity = validity(turn, &found, call);
    CallState { command: Some(UserCommand::default()), ..state(turn, seq, call, validity, None) }
}

/// Returns the size of a program call's name, as shown to the model.
pub(crate) fn reported_line(tool: &str, arguments: &str) -> ItemFingerprint {
    context::reported_call(&call_line(tool, arguments))
}

fn state(
    turn: &Turn,
    seq: Seq,
    call: &CallItem,
    fitness: CallValidity,
    parent: Option<CallId>,
) -> CallState {
    let mut state = CallState {
        id: CallId(seq.0),
        tool: Arc::from(call.name.as_str()),
        provider_id: Digest::EMPTY.part(call.provider_id.as_bytes()),
        validity: fitness,
        arguments: Digest::EMPTY.part(call.arguments.as_bytes()),
        sha256: call.sha256,
        edited: None,
        rule_verdict: None,
        possibly_denied: false,
        hook_rounds: HookRounds::default(),
        contexts: Vec::new(),
        grant: None,
        progress: CallProgress::Proposed,
        inline: call.inline,
        ended: false,
        label: None,
        barred: false,
        held: false,
        outside_sandbox: call.outside_sandbox.then(OutsideSandbox::default),
        matched: None,
        parent,
        suspended: None,
        command: None,
    };
    state.apply_rules(&turn.settings, &call.rules, &call.possible_rules);
    state
}

fn invalid(reason: &str) -> CallValidity {
    CallValidity::Invalid { reason: String::from(reason) }
}

/// Result of each program of an answer that has several, for the model.
pub(crate) const SEVERAL_PROGRAMS: &str = "Not run: your answer has more than one program, and none \
                                           of them was run. Write one that does all of it.";

/// Validates the only call of an answer in program mode: a program.
fn program(turn: &Turn, call: &CallItem) -> CallValidity {
    if call.name != PROGRAM_TOOL {
        let name: String = call.name.chars().take(80).collect();
        return invalid(&format!(
            "Not run: {name:?} is no tool here. Call {PROGRAM_TOOL} with a program that calls it as \
             a function."
        ));
    }
    if turn.calls().iter().any(CallState::is_program) {
        return invalid(SEVERAL_PROGRAMS);
    }
    if let Some(fault) = &call.fault {
        return invalid(&format!("Not run: the program cannot be used. {fault}"));
    }
    let mode = turn.settings.options.program.as_ref();
    let call_ms = turn.limits.call_ms;
    let timeout_ms = mode.map_or(call_ms, |mode| mode.limits.step_ms(call_ms));
    CallValidity::Program { timeout_ms }
}

fn validity(turn: &Turn, found: &BTreeSet<String>, call: &CallItem) -> CallValidity {
    let Some(tool) = turn.settings.tool(&call.name) else {
        let settings = &turn.settings;
        let offered = settings.tools.iter().filter(|tool| settings.offers(tool, found));
        let names: Vec<&str> = offered.map(|tool| tool.name.as_str()).collect();
        let name: String = call.name.chars().take(80).collect();
        return CallValidity::Invalid {
            reason: format!(
                "Not run: there is no tool {name:?}. The tools are: {}.",
                names.join(", ")
            ),
        };
    };
    if turn.settings.defers(tool, found) {
        return CallValidity::Invalid {
            reason: format!(
                "Not run: the tool {} is not offered yet. Find it with {SEARCH_TOOLS_TOOL} first.",
                tool.name
            ),
        };
    }
    if let Some(fault) = &call.fault {
        return CallValidity::Invalid {
            reason: format!("Not run: the arguments of {} cannot be used. {fault}", tool.name),
        };
    }
    if tool.name == GOAL_TOOL {
        return CallValidity::Goal;
    }
    CallValidity::Valid {
        effect: tool.effect,
        concurrency: tool.concurrency,
        timeout_ms: tool.timeout_ms.unwrap_or(turn.limits.call_ms).min(turn.limits.call_ms),
        reconciles: tool.reconciles,
    }
}
