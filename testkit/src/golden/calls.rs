//! Calls that are out, as canonical text.

use windlass_core::{ApprovalQuestion, CallProgress, CallState, CallValidity, History};

use super::canon::Lines;
use super::{gates, state};

pub(super) fn lines(lines: &mut Lines, calls: &[CallState], history: &History) {
    for (index, call) in calls.iter().enumerate() {
        one(lines, &format!("call.{index}"), call, history);
    }
}

fn one(lines: &mut Lines, name: &str, call: &CallState, history: &History) {
    let CallState {
        id,
        tool,
        provider_id,
        validity: fit,
        arguments,
        sha256,
        edited,
        rule_verdict: ruled,
        hook_rounds: asked,
        contexts,
        grant: lent,
        progress: far,
        inline: spoken,
        ended,
        // Of its tool and its arguments, and in the prompt where it is told.
        label: _,
        barred,
        held,
        outside_sandbox,
        possibly_denied,
        matched,
        parent,
        suspended,
        command,
    } = call;
    lines.put(name, &(id, tool));
    lines.flag(&format!("{name}.spoken"), *spoken);
    lines.flag(&format!("{name}.ended"), *ended);
    lines.flag(&format!("{name}.barred"), *barred);
    lines.flag(&format!("{name}.held"), *held);
    lines.maybe(&format!("{name}.outside_sandbox"), outside_sandbox.as_ref());
    lines.flag(&format!("{name}.possibly_denied"), *possibly_denied);
    lines.maybe(&format!("{name}.matched"), matched.as_ref());
    lines.maybe(&format!("{name}.parent"), parent.as_ref());
    lines.maybe(&format!("{name}.suspended"), suspended.as_ref());
    lines.maybe(&format!("{name}.command"), command.as_ref());
    lines.put(&format!("{name}.provider_id"), provider_id);
    fitness(lines, &format!("{name}.fitness"), fit);
    lines.put(&format!("{name}.arguments"), arguments);
    lines.maybe(&format!("{name}.sha256"), sha256.as_ref());
    if let Some(words) = edited {
        state::part(lines, &format!("{name}.edited"), words);
    }
    lines.maybe(&format!("{name}.ruled"), ruled.as_ref());
    gates::lines(lines, &format!("{name}.gates"), asked);
    state::pending(lines, &format!("{name}.context"), contexts.iter());
    lines.maybe(&format!("{name}.lent"), lent.as_ref());
    progress(lines, &format!("{name}.progress"), far);
    lines.maybe(&format!("{name}.item"), history.call(*id));
    lines.maybe(&format!("{name}.runs_with"), history.arguments(*id).as_ref());
    lines.maybe(&format!("{name}.observation"), history.observation(*id));
}

fn fitness(lines: &mut Lines, name: &str, fitness: &CallValidity) {
    match fitness {
        CallValidity::Valid { effect, concurrency, timeout_ms, reconciles } => {
            lines.put(name, &("fit", effect, concurrency, timeout_ms, reconciles))
        }
        CallValidity::Goal => lines.put(name, &"goal"),
        CallValidity::Program { timeout_ms } => lines.put(name, &("program", timeout_ms)),
        CallValidity::Surplus => lines.put(name, &"surplus"),
        CallValidity::Invalid { reason } => lines.put(name, &("unfit", reason)),
    }
}

fn progress(lines: &mut Lines, name: &str, progress: &CallProgress) {
    match progress {
        CallProgress::Proposed => lines.put(name, &"proposed"),
        CallProgress::AwaitingApproval { question: None } => lines.put(name, &"asking"),
        CallProgress::AwaitingApproval { question: Some(question) } => {
            let ApprovalQuestion { asked, attempt, deadline } = question;
            lines.put(name, &("asking", asked, attempt, deadline));
        }
        CallProgress::Allowed => lines.put(name, &"allowed"),
        CallProgress::Denied { reason, .. } => lines.put(name, &("denied", reason)),
        CallProgress::Running { started, attempt, plan } => {
            lines.put(name, &("running", started, attempt, plan))
        }
        CallProgress::AwaitingResult { started, deadline } => {
            lines.put(name, &("awaiting_result", started, deadline));
        }
        CallProgress::Reconciling { started, attempt } => {
            lines.put(name, &("reconciling", started, attempt));
        }
        CallProgress::Done { observation, ran } => {
            lines.put(name, &("done", ran));
            state::part(lines, name, observation);
        }
    }
}
