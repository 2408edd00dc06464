//! An open turn, as canonical text: what it has taken, and where it stands.

use serde_json::Value;
use windlass_core::{
    AfterCalls, AfterCompacting, AnswerKind, Compacting, Executing, History, SampleKind, Sampling,
    Stage, StopRequest, Turn, TurnOpening, TurnUsage,
};

use super::canon::{Lines, record};
use super::{calls, gates, settings, state};

/// What the first version counts of a turn.
const SPENT: &[&str] = &[
    "samples",
    "attempts",
    "calls",
    "usage",
    "estimated_tokens",
    "cost_micros",
    "continuations",
    "compactions",
];

pub(super) fn lines(lines: &mut Lines, turn: &Turn, history: &History) {
    let Turn {
        id,
        // The log says it where it says why the turn was opened.
        goal: _,
        scope,
        settings: set,
        limits,
        dry_run,
        opened_at,
        spent: taken,
        stop: stopping,
        pause,
        hook_rounds: asked,
        pending,
        base_bytes,
        context_bytes,
        compaction,
        command,
        compacted,
        compacting,
        announced_last: told_last,
        re_asks: retried,
        // The log says it: the notices of empty answers.
        empty_answers: _,
        // The log says it: the effects of failed programs.
        program_effects: _,
        rules_changed,
        stage: _,
    } = turn;
    lines.put("turn", id);
    lines.put("turn.scope", scope);
    settings::lines(lines, "turn.settings", set);
    lines.put("turn.limits", &settings::limits(limits));
    lines.flag("turn.dry_run", *dry_run);
    lines.flag("turn.command", *command);
    lines.maybe("turn.rules_changed", rules_changed.as_ref());
    lines.put("turn.opened_at", opened_at);
    lines.put("turn.spent", &spent(taken));
    stop(lines, "turn.stop", stopping.as_ref());
    stop(lines, "turn.pause", pause.as_ref());
    gates::lines(lines, "turn.gates", asked);
    state::pending(lines, "turn.pending", pending.iter());
    lines.put("turn.base_bytes", base_bytes);
    lines.put("turn.context_bytes", context_bytes);
    state::compaction(lines, "turn.compaction", compaction.as_ref());
    lines.maybe("turn.compacted", compacted.as_ref());
    if *compacting > 0 {
        lines.put("turn.compacting", compacting);
    }
    lines.flag("turn.told_last", *told_last);
    if *retried > 0 {
        lines.put("turn.retried", retried);
    }
    stage(lines, turn, history);
    let (said, called) = history.latest_answer();
    lines.put("turn.answer", &(said, called));
}

fn spent(spent: &TurnUsage) -> Value {
    record(spent, SPENT)
}

fn stop(lines: &mut Lines, name: &str, stop: Option<&StopRequest>) {
    if let Some(StopRequest { outcome, at, seq }) = stop {
        lines.put(name, &(outcome, at, seq));
    }
}

/// The fields of a stage that are written in this order; further ones come after these.
const ORDER: &[&str] = &[
    "kind",
    "because",
    "overflow",
    "not_before",
    "until",
    "failures",
    "restarts",
    "started",
    "stop",
    "said",
    "fault",
];

fn stage(lines: &mut Lines, turn: &Turn, history: &History) {
    let stage = &turn.stage;
    lines.put("stage", &stage.name().as_str());
    if let Some(sampling) = stage.sampling() {
        return sampling_lines(lines, sampling, history);
    }
    if let Some(executing) = stage.executing() {
        return executing_lines(lines, executing, history);
    }
    if let Some(compacting) = stage.compacting() {
        return compacting_lines(lines, compacting);
    }
    if let Some(opening) = turn.opening() {
        return opening_line(lines, opening);
    }
    match stage.ending() {
        Some(outcome) => lines.put("stage.outcome", outcome),
        None => fields(lines, stage),
    }
}

/// The fields of a stage that is written as it is serialised; one that is absent or false is left
/// out.
fn fields(lines: &mut Lines, stage: &Stage) {
    let written = serde_json::to_value(stage).unwrap_or_default();
    let state = written.get(stage.name().as_str());
    let state = state.and_then(Value::as_object).into_iter().flatten();
    let mut fields: Vec<(&String, &Value)> = state.collect();
    let place = |name: &str| ORDER.iter().position(|one| *one == name);
    fields.sort_by_key(|(name, _)| (place(name).unwrap_or(ORDER.len()), *name));
    for (name, value) in fields {
        if !value.is_null() && *value != Value::Bool(false) {
            lines.put(&format!("stage.{name}"), value);
        }
    }
}

fn compacting_lines(lines: &mut Lines, compacting: &Compacting) {
    let Compacting { started, trigger, reserved, reader: _, after: then } = compacting;
    lines.put("stage.started", started);
    lines.put("stage.trigger", trigger);
    lines.put("stage.reserved", reserved);
    match then {
        AfterCompacting::Open(opening) => opening_line(lines, *opening),
        AfterCompacting::Ask(because) => lines.put("stage.because", because),
    }
}

fn executing_lines(lines: &mut Lines, executing: &Executing, history: &History) {
    let Executing {
        started,
        calls: out,
        after: then,
        kind: what,
        program_calls: made,
        // Of the calls that were made, and in the prompt where they are told.
        effectful_calls: _,
        report: told,
        contexts,
    } = executing;
    lines.put("stage.started", started);
    match then {
        AfterCalls::Ask => lines.put("stage.then", &"ask"),
        AfterCalls::Wait(until) => lines.put("stage.then", &("wait", until)),
        AfterCalls::End(outcome) => lines.put("stage.then", &("end", outcome)),
        AfterCalls::Returned => lines.put("stage.then", &"returned"),
        AfterCalls::Rejected(fault) => lines.put("stage.then", &("rejected", fault)),
    }
    kind(lines, *what);
    if *made > 0 {
        lines.put("stage.made", made);
    }
    if let Some(told) = told {
        state::part(lines, "stage.told", told);
    }
    state::pending(lines, "stage.made_context", contexts.iter());
    calls::lines(lines, out.as_slice(), history);
}

fn opening_line(lines: &mut Lines, opening: TurnOpening) {
    match opening {
        TurnOpening::Input(input) => lines.put("stage.opening", &("input", input)),
        TurnOpening::Goal(set) => lines.put("stage.opening", &("goal", set)),
        TurnOpening::Compaction(request) => lines.put("stage.opening", &("compaction", request)),
    }
}

fn sampling_lines(lines: &mut Lines, sampling: &Sampling, history: &History) {
    let Sampling {
        started,
        previous,
        failures,
        restarts,
        request: asked,
        reserved,
        output_bound,
        kind: what,
        calls: out,
        items,
        found,
    } = sampling;
    for (index, name) in found.iter().enumerate() {
        lines.put(&format!("stage.found.{index}"), name);
    }
    kind(lines, *what);
    lines.put("stage.started", started);
    lines.put("stage.previous", previous);
    lines.put("stage.failures", failures);
    lines.put("stage.restarts", restarts);
    state::shown(lines, "stage.asked", asked);
    lines.put("stage.reserved", reserved);
    lines.maybe("stage.output_bound", output_bound.as_ref());
    for (index, (seq, words, says)) in items.iter().enumerate() {
        let name = format!("stage.item.{index}");
        lines.put(&name, &(seq, said(*says)));
        state::part(lines, &name, words);
    }
    calls::lines(lines, out, history);
}

fn kind(lines: &mut Lines, kind: SampleKind) {
    if !kind.is_normal() {
        lines.put("stage.kind", &kind);
    }
}

fn said(said: AnswerKind) -> &'static str {
    match said {
        AnswerKind::Nothing => "nothing",
        AnswerKind::Refusal => "refusal",
        AnswerKind::Text => "text",
    }
}
