//! Calls: validates and applies the facts of decisions, questions, starts and observations.

use alloc::string::String;

use super::proposed::reported_line;
use super::{ObservationStatus, Verdict, denial};
use crate::context;
use crate::deadline::left_ms;
use crate::detached;
use crate::digest::Digest;
use crate::error::InvalidFact;
use crate::evolve::{invalid_fact, turn_of};
use crate::fact::{
    ApprovalAnswered, ApprovalAsked, CallDecided, CallObserved, CallStarted, ReconcileStarted,
    RecoveryFact,
};
use crate::goal::GoalStatus;
use crate::hook::{Edit, HookOccurrence, SessionStart};
use crate::hook_rounds::RoundStep;
use crate::id::CallId;
use crate::program::CallOutcome;
use crate::record::RecordedFact;
use crate::render::{command_result_text, program_report_text};
use crate::rule::RuleVerdict;
use crate::scope::Scope;
use crate::session::{
    ApprovalQuestion, CallProgress, CallState, CallValidity, OutsideSandbox, Session, Turn,
};
use crate::settings::EffectClass;
use crate::stage::EffectfulCall;
use crate::stage::executing::{add_report, leave_if_done};

/// Applies a recovery fact: the session resumes, or a tool is asked about a call.
pub(crate) fn on_recovery(
    session: &mut Session,
    recorded: &RecordedFact,
    fact: RecoveryFact<'_>,
) -> Result<(), InvalidFact> {
    match fact {
        RecoveryFact::SessionResumed(_) => {
            session.start = Some(SessionStart::Resume);
            Ok(())
        }
        RecoveryFact::ReconcileStarted(fact) => on_reconcile_started(session, recorded, fact),
    }
}

pub(crate) fn on_decided(
    session: &mut Session,
    recorded: &RecordedFact,
    fact: &CallDecided,
) -> Result<(), InvalidFact> {
    let call = call_of(turn_of(session, recorded)?, recorded, fact.call)?;
    match (&call.progress, fact.verdict) {
        (CallProgress::Proposed, _)
        | (CallProgress::AwaitingApproval { question: None }, Verdict::Allow | Verdict::Deny) => {}
        (
            CallProgress::AwaitingApproval { .. }
            | CallProgress::Allowed
            | CallProgress::Denied { .. }
            | CallProgress::Running { .. }
            | CallProgress::AwaitingResult { .. }
            | CallProgress::Reconciling { .. }
            | CallProgress::Done { .. },
            _,
        ) => return Err(invalid_fact(recorded, "the call is decided already")),
    }
    if fact.arguments != call.arguments_digest() {
        return Err(invalid_fact(recorded, "the decision is about other arguments"));
    }
    call.progress = match fact.verdict {
        Verdict::Allow => CallProgress::Allowed,
        Verdict::Ask => CallProgress::AwaitingApproval { question: None },
        Verdict::Deny => CallProgress::Denied { reason: fact.reason.clone(), by_person: false },
    };
    Ok(())
}

pub(crate) fn on_approval_asked(
    session: &mut Session,
    recorded: &RecordedFact,
    fact: &ApprovalAsked,
) -> Result<(), InvalidFact> {
    let call = call_of(turn_of(session, recorded)?, recorded, fact.call)?;
    let CallProgress::AwaitingApproval { question } = call.progress else {
        return Err(invalid_fact(recorded, "nobody is to be asked about the call"));
    };
    let (attempt, deadline) = match question {
        None => (1, fact.deadline),
        // One that expired while nobody could answer has another deadline.
        Some(open) if open.deadline.is_some_and(|deadline| recorded.ts >= deadline) => {
            (open.attempt.saturating_add(1), fact.deadline)
        }
        Some(open) => (open.attempt.saturating_add(1), open.deadline),
    };
    if fact.attempt != attempt
        || fact.deadline != deadline
        || fact.arguments != call.arguments_digest()
    {
        return Err(invalid_fact(recorded, "it is not the question that is open"));
    }
    call.progress = CallProgress::AwaitingApproval {
        question: Some(ApprovalQuestion { asked: recorded.seq, attempt, deadline }),
    };
    Ok(())
}

pub(crate) fn on_approval_answered(
    session: &mut Session,
    recorded: &RecordedFact,
    fact: &ApprovalAnswered,
) -> Result<(), InvalidFact> {
    let turn = turn_of(session, recorded)?;
    let call = call_of(turn, recorded, fact.call)?;
    let CallProgress::AwaitingApproval { question: Some(_) } = call.progress else {
        return Err(invalid_fact(recorded, "nobody is asked about the call"));
    };
    if fact.arguments != call.arguments_digest() {
        return Err(invalid_fact(recorded, "the answer is about other arguments"));
    }
    if fact.grant.is_some() && !call.approval_reason().permits_grants() {
        return Err(invalid_fact(
            recorded,
            "no grant covers a call that is asked about for this reason",
        ));
    }
    let progress = match fact.verdict {
        Verdict::Allow => CallProgress::Allowed,
        Verdict::Deny => CallProgress::Denied {
            reason: fact.reason.clone(),
            by_person: matches!(*fact.by, Scope::Principal { .. }),
        },
        Verdict::Ask => return Err(invalid_fact(recorded, "an answer allows or denies")),
    };
    let asked_outside = call.outside_sandbox.is_some();
    if let Some(change) = &fact.edit {
        if progress != CallProgress::Allowed {
            return Err(invalid_fact(recorded, "what is denied is not changed"));
        }
        edit(turn, recorded, fact.call, change)?;
    }
    let call = call_of(turn, recorded, fact.call)?;
    call.progress = match (progress, call.rule_verdict, &fact.edit) {
        (CallProgress::Allowed, Some(RuleVerdict::Deny), Some(_)) => {
            CallProgress::Denied { reason: String::from(denial::EDIT_BY_RULE), by_person: false }
        }
        // The person was not told that the call would leave the sandbox.
        (CallProgress::Allowed, _, Some(_)) if call.outside_sandbox.is_some() && !asked_outside => {
            CallProgress::Denied { reason: String::from(denial::EDIT_OUTSIDE), by_person: false }
        }
        (progress, _, _) => progress,
    };
    let by_person = matches!(*fact.by, Scope::Principal { .. });
    if let Some(outside) = &mut call.outside_sandbox
        && call.progress == CallProgress::Allowed
    {
        outside.approved = by_person.then_some(recorded.seq);
    }
    Ok(())
}

/// Replaces a call's arguments.
pub(crate) fn edit(
    turn: &mut Turn,
    recorded: &RecordedFact,
    id: CallId,
    edit: &Edit,
) -> Result<(), InvalidFact> {
    let settings = turn.settings.clone();
    let call = call_of(turn, recorded, id)?;
    call.arguments = Digest::EMPTY.part(edit.text.as_bytes());
    call.sha256 = edit.sha256;
    call.edited = Some(context::edited(&edit.text));
    if let Some(command) = &mut call.command {
        command.edited = Some(edit.text.clone());
    }
    if call.label.is_some() {
        call.label = Some(reported_line(&call.tool, &edit.text));
    }
    call.apply_rules(&settings, &edit.rules, &edit.possible_rules);
    call.outside_sandbox = edit.outside_sandbox.then(OutsideSandbox::default);
    if let Some(fault) = &edit.fault {
        call.validity = CallValidity::Invalid {
            reason: alloc::format!(
                "Not run: the arguments that were put in the place of the model's cannot be \
                 used. {fault}"
            ),
        };
    }
    Ok(())
}

pub(crate) fn on_started(
    session: &mut Session,
    recorded: &RecordedFact,
    fact: &CallStarted,
) -> Result<(), InvalidFact> {
    let turn = turn_of(session, recorded)?;
    let dry_run = turn.dry_run;
    let (over, waits) = (
        turn.stage.executing().is_some(),
        turn.calls().iter().any(|call| call.parent == Some(fact.call)),
    );
    let settings = turn.settings.clone();
    let call = call_of(turn, recorded, fact.call)?;
    let by_client = settings.tool(&call.tool).is_some_and(|tool| tool.client);
    let effect = match &call.validity {
        CallValidity::Valid { effect, .. } => effect,
        // A program changes nothing by itself, and may restart from its beginning at any time.
        CallValidity::Program { .. } if over && !waits => &EffectClass::ReadOnly,
        CallValidity::Program { .. }
        | CallValidity::Goal
        | CallValidity::Surplus
        | CallValidity::Invalid { .. } => {
            return Err(invalid_fact(recorded, "the call cannot be run"));
        }
    };
    let plan = dry_run && *effect != EffectClass::ReadOnly;
    if fact.plan != plan {
        return Err(invalid_fact(recorded, "a dry run plans what would change something"));
    }
    let attempt = match (&call.progress, effect) {
        (CallProgress::Allowed, _) => call.next_run(),
        (CallProgress::Running { .. }, EffectClass::Effectful)
            if !plan && !call.is_repeatable() =>
        {
            return Err(invalid_fact(recorded, "an effectful call starts at most once"));
        }
        (CallProgress::Running { attempt, .. }, _) => attempt.saturating_add(1),
        (
            CallProgress::Proposed
            | CallProgress::AwaitingApproval { .. }
            | CallProgress::Denied { .. }
            | CallProgress::AwaitingResult { .. }
            | CallProgress::Reconciling { .. }
            | CallProgress::Done { .. },
            _,
        ) => {
            return Err(invalid_fact(recorded, "the call may not start"));
        }
    };
    if fact.attempt != attempt {
        return Err(invalid_fact(recorded, "its runs are not counted on"));
    }
    if attempt > 1 && fact.grant != call.grant {
        return Err(invalid_fact(recorded, "it is lent something else than before"));
    }
    if fact.client != (by_client && !plan) {
        return Err(invalid_fact(recorded, "a client runs the calls of its own tools alone"));
    }
    call.progress = match fact.client {
        true => CallProgress::AwaitingResult {
            started: recorded.seq,
            deadline: recorded.ts.plus_ms(fact.timeout_ms),
        },
        false => CallProgress::Running { started: recorded.seq, attempt, plan },
    };
    if attempt == 1 {
        return check_grant(turn, recorded, fact, plan);
    }
    Ok(())
}

/// Validates a budget grant. An agent's grant fits the turn's remaining budget and leaves a sample
/// for the turn's conclusion. Other calls have no grant.
fn check_grant(
    turn: &mut Turn,
    recorded: &RecordedFact,
    fact: &CallStarted,
    plan: bool,
) -> Result<(), InvalidFact> {
    let (out, limits) = (turn.granted_total(), turn.limits);
    let (samples, tokens, cost) = (turn.samples(), turn.tokens(), turn.cost_micros());
    let time = left_ms(turn, recorded.ts);
    let settings = turn.settings.clone();
    let call = call_of(turn, recorded, fact.call)?;
    let tool = settings.tool(&call.tool);
    let agent = !plan && tool.is_some_and(|tool| tool.agent.is_some());
    if agent != fact.grant.is_some() {
        return Err(invalid_fact(recorded, "an agent is lent a budget, and nothing else is"));
    }
    let Some(lent) = fact.grant else {
        return Ok(());
    };
    let left = limits.samples.saturating_sub(samples);
    let left = left.saturating_sub(out.samples).saturating_sub(1);
    let fits = |limit: u64, taken: [u64; 2], lent: u64| {
        let taken = taken[0].saturating_add(taken[1]);
        limit == 0 || (lent > 0 && taken.saturating_add(lent) <= limit)
    };
    // Older engines granted no time; the turn's limits applied to the child.
    if lent.samples == 0
        || lent.samples > left
        || time.is_some_and(|time| lent.turn_ms > time)
        || !fits(limits.tokens, [tokens, out.tokens], lent.tokens)
        || !fits(limits.cost_micros, [cost, out.cost_micros], lent.cost_micros)
    {
        return Err(invalid_fact(recorded, "more is lent than the turn has left"));
    }
    call.grant = Some(lent);
    Ok(())
}

fn on_reconcile_started(
    session: &mut Session,
    recorded: &RecordedFact,
    fact: &ReconcileStarted,
) -> Result<(), InvalidFact> {
    let call = call_of(turn_of(session, recorded)?, recorded, fact.call)?;
    let CallValidity::Valid { reconciles: true, .. } = &call.validity else {
        return Err(invalid_fact(recorded, "the tool cannot say what became of it"));
    };
    let attempt = match &call.progress {
        CallProgress::Running { .. } => 1,
        CallProgress::Reconciling { attempt, .. } => attempt.saturating_add(1),
        CallProgress::Proposed
        | CallProgress::AwaitingApproval { .. }
        | CallProgress::Allowed
        | CallProgress::AwaitingResult { .. }
        | CallProgress::Denied { .. }
        | CallProgress::Done { .. } => return Err(invalid_fact(recorded, "the call did not run")),
    };
    if fact.attempt != attempt {
        return Err(invalid_fact(recorded, "its runs are not counted on"));
    }
    call.progress = CallProgress::Reconciling { started: recorded.seq, attempt };
    Ok(())
}

pub(crate) fn on_observed(
    session: &mut Session,
    recorded: &RecordedFact,
    fact: &CallObserved,
) -> Result<(), InvalidFact> {
    let turn = turn_of(session, recorded)?;
    let granted = call_of(turn, recorded, fact.call)?.grant.is_some();
    let child = detached::detach(turn, recorded, fact, granted)?;
    let ran = match &call_of(turn, recorded, fact.call)?.progress {
        CallProgress::Done { .. } => {
            return Err(invalid_fact(recorded, "the call has its observation already"));
        }
        CallProgress::Running { .. }
        | CallProgress::AwaitingResult { .. }
        | CallProgress::Reconciling { .. } => true,
        CallProgress::Proposed
        | CallProgress::AwaitingApproval { .. }
        | CallProgress::Allowed
        | CallProgress::Denied { .. } => call_of(turn, recorded, fact.call)?.is_suspended(),
    };
    let call = call_of(turn, recorded, fact.call)?;
    let awaited = matches!(call.progress, CallProgress::AwaitingResult { .. });
    if fact.by.is_some() && (!awaited || call.is_suspended()) {
        return Err(invalid_fact(recorded, "no client's result is awaited"));
    }
    let outcome = CallOutcome::of(ran, Some(fact.observation.status));
    turn.note_effect(fact.call, outcome);
    let call = call_of(turn, recorded, fact.call)?;
    let lent = call.grant.take();
    if lent.is_some() != fact.usage.is_some() {
        return Err(invalid_fact(recorded, "what is lent is taken or given back"));
    }
    if lent.zip(fact.usage).is_some_and(|(lent, took)| took.samples > lent.samples) {
        return Err(invalid_fact(recorded, "it took more samples than it was lent"));
    }
    let done = fact.observation.status == ObservationStatus::Done;
    let goal = done && call.validity == CallValidity::Goal;
    let observation = match (&call.command, call.inline) {
        (Some(command), _) => {
            let edited = command.edited.as_deref();
            context::user(&command_result_text(&fact.visible_observation(), edited))
        }
        (None, true) => context::framed(&program_report_text(&fact.observation)),
        (None, false) => context::observation(&fact.visible_observation(), call.edited),
    };
    call.progress = CallProgress::Done { observation, ran };
    call.hook_rounds.open = None;
    let searched = ran.then(|| call.tool.clone());
    let change = call.label.map(|line| EffectfulCall { call: fact.call, line, outcome });
    add_report(turn, recorded, fact, change)?;
    turn.spent.agents = turn.spent.agents.plus(fact.usage.unwrap_or_default());
    session.detached.extend(child);
    // The order in which calls end changes nothing.
    session.detached.sort_by_key(|child| child.call);
    if let (true, Some(state)) = (goal, &mut session.goal) {
        state.status = GoalStatus::Met { call: fact.call };
    }
    if let Some(tool) = searched {
        session.add_found(&tool, &fact.observation);
    }
    leave_if_done(session);
    Ok(())
}

/// Returns true if no hook reply about a call that ran is pending.
pub(crate) fn hooks_finished(turn: &Turn, call: &CallState) -> bool {
    let CallProgress::Done { ran: true, .. } = call.progress else {
        return true;
    };
    let at = HookOccurrence::AfterTool { call: call.id };
    match call.hook_rounds.step(&turn.settings.hooks, at, &call.tool) {
        RoundStep::Finished(_) => true,
        RoundStep::Ask(_) | RoundStep::Wait => false,
    }
}

fn call_of<'a>(
    turn: &'a mut Turn,
    recorded: &RecordedFact,
    id: CallId,
) -> Result<&'a mut CallState, InvalidFact> {
    let mut calls = turn.calls_mut().iter_mut();
    let call = calls.find(|call| call.id == id);
    call.ok_or_else(|| invalid_fact(recorded, "no such call is out"))
}
