//! Call steps: decides, asks, starts and abandons calls, one step at a time.

use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;

use super::proposed::SEVERAL_PROGRAMS;
use super::{
    Observation, ObservationStatus, Verdict, client, denial, policy, programs, suspension,
};
use crate::budget::answer::{delays_agents, may_use_up};
use crate::budget::{self, grants};
use crate::decide::Plan;
use crate::fact::{
    ApprovalAnswered, ApprovalAsked, CallDecided, CallObserved, CallStarted, Decider, Fact,
};
use crate::hook::HookOccurrence;
use crate::hook_rounds::CombinedVerdict;
use crate::hook_rounds::hooks::{self, HookStep};
use crate::id::CallId;
use crate::outcome::LimitKind;
use crate::scope::Scope;
use crate::session::{ApprovalQuestion, CallProgress, CallState, CallValidity, StopRequest, Turn};
use crate::settings::{Concurrency, EffectClass};

/// Returns the next step of the pending calls. `answer` is the combined verdict of hooks on the
/// model's answer.
pub(crate) fn next(plan: &Plan, turn: &Turn, answer: &CombinedVerdict) -> Option<Fact> {
    let mut calls = turn.calls().iter();
    let step = calls.find_map(|call| settle_or_decide(plan, turn, call, answer));
    step.or_else(|| start(plan, turn))
}

/// Returns the fact that settles or decides one call without running it.
fn settle_or_decide(
    plan: &Plan,
    turn: &Turn,
    call: &CallState,
    answer: &CombinedVerdict,
) -> Option<Fact> {
    if call.ended && matches!(call.progress, CallProgress::Running { .. }) {
        return Some(programs::lost_report(turn, call));
    }
    match (&call.progress, &turn.stop) {
        (CallProgress::Done { ran: true, .. }, None) => {
            let at = HookOccurrence::AfterTool { call: call.id };
            match hooks::at_call(turn, call, at) {
                HookStep::Add(fact) => Some(fact),
                HookStep::Wait | HookStep::Finished(_) => None,
            }
        }
        (CallProgress::Done { .. }, _)
        | (CallProgress::Running { .. } | CallProgress::Reconciling { .. }, None) => None,
        (CallProgress::AwaitingResult { deadline, .. }, None) => {
            client::expire(plan, call, *deadline)
        }
        (CallProgress::AwaitingResult { .. }, Some(_)) => {
            Some(client::stopped(call, plan.session.stop_cause()))
        }
        (CallProgress::Running { .. }, Some(_)) if call.is_program() => {
            programs::stopped(&plan.session, turn, call)
        }
        (CallProgress::Running { .. } | CallProgress::Reconciling { .. }, Some(stop)) => {
            abandon(plan, turn, call, stop)
        }
        (CallProgress::Denied { .. }, _) if call.is_suspended() => {
            Some(client::stopped(call, "it may not go on"))
        }
        (CallProgress::Denied { reason, by_person }, _) => {
            let words = match (by_person, &call.command) {
                // No model is advised: a user made the call.
                (_, Some(_)) => reason.clone(),
                (true, None) => denial::by_person(reason),
                (false, None) => denial::result(reason),
            };
            Some(observed(call, ObservationStatus::Denied, words))
        }
        (
            CallProgress::Proposed | CallProgress::AwaitingApproval { .. } | CallProgress::Allowed,
            Some(_),
        ) if call.is_suspended() => Some(client::stopped(call, plan.session.stop_cause())),
        (
            CallProgress::Proposed | CallProgress::AwaitingApproval { .. } | CallProgress::Allowed,
            Some(_),
        ) => {
            let words = format!("Not run: {} before this call began.", plan.session.stop_cause());
            Some(observed(call, ObservationStatus::NotStarted, words))
        }
        (
            CallProgress::Proposed | CallProgress::AwaitingApproval { .. } | CallProgress::Allowed,
            None,
        ) if !call.is_suspended() && turn.exceeded_call_limit().is_some() => {
            let words = "Not run: the answer asks for more calls than the limit allows.";
            Some(observed(call, ObservationStatus::NotStarted, words.into()))
        }
        (
            CallProgress::Proposed | CallProgress::AwaitingApproval { .. } | CallProgress::Allowed,
            None,
        ) if !call.is_suspended()
            && let Some(words) = used_up(plan, turn) =>
        {
            Some(observed(call, ObservationStatus::NotStarted, words.into()))
        }
        (
            CallProgress::Proposed | CallProgress::AwaitingApproval { .. } | CallProgress::Allowed,
            None,
        ) if !call.is_suspended() && turn.is_older_than_rules(call) => {
            Some(observed(call, ObservationStatus::NotStarted, OTHER_RULES.into()))
        }
        (CallProgress::Proposed, None) => propose(turn, call, answer),
        (CallProgress::AwaitingApproval { question: None }, None) => ask(plan, turn, call),
        (CallProgress::AwaitingApproval { question: Some(question) }, None) => {
            expire(plan, call, question)
        }
        // Its budget is that of its first run.
        (CallProgress::Allowed, None) if call.is_suspended() => suspension::settle(call),
        (CallProgress::Allowed, None) => {
            settle_invalid(turn, call).or_else(|| goal(plan, turn, call))
        }
    }
}

/// Settles a call that cannot run, from the beginning or by now.
fn settle_invalid(turn: &Turn, call: &CallState) -> Option<Fact> {
    match &call.validity {
        CallValidity::Invalid { reason } => {
            Some(observed(call, ObservationStatus::Failed, reason.clone()))
        }
        CallValidity::Surplus => Some(observed(call, ObservationStatus::NotStarted, surplus(turn))),
        CallValidity::Valid { .. } | CallValidity::Goal | CallValidity::Program { .. } => None,
    }
}

/// Returns the result of a call that does not start since its answer, or the session, has used up a
/// limit.
fn used_up(plan: &Plan, turn: &Turn) -> Option<&'static str> {
    turn.stage.executing()?;
    let limit = budget::used_up(&plan.session, turn)?;
    Some(if limit == LimitKind::SessionBytes { FULL } else { USED_UP })
}

/// Result of a call whose answer used up the budget, for the model.
const USED_UP: &str = "Not started: limit. The budget of the turn is used up. Request it again in a \
                       later turn, if it is still needed.";

/// Result of a call that would make a full session longer, for the model.
const FULL: &str = "Not started: limit. The session has as many bytes as it may.";

/// Result of a call that was not compared with the rules of this process, for the model.
const OTHER_RULES: &str = "Not started: the rules about calls have changed since this one was \
                           requested. Request it again, if it is still needed.";

/// Result of a call that repeats an effect of a failed program, for the model.
const REPEATED: &str = "Not started: an earlier program of this turn made the same call and failed \
                        after it. The effects of its calls stand, or may stand. If they are to happen \
                        once more, make the calls again in your next program.";

/// Returns the result of a surplus call, for the model.
fn surplus(turn: &Turn) -> String {
    let calls = match turn.limits.calls_per_sample {
        1 => String::from("1 call"),
        most => format!("{most} calls"),
    };
    format!(
        "Not started: limit. An answer may make at most {calls}, and this one is beyond that. \
         Request it again in a later answer, if it is still needed."
    )
}

/// Answers the call that reports the goal as met. An answer that began before the goal was set
/// cannot report on that goal.
fn goal(plan: &Plan, turn: &Turn, call: &CallState) -> Option<Fact> {
    if call.validity != CallValidity::Goal {
        return None;
    }
    let began = turn.stage.rules().answer()?;
    let (status, words) = match &plan.session.goal {
        Some(goal) if goal.set < began => (ObservationStatus::Done, "Noted: the goal is met."),
        Some(_) => {
            (ObservationStatus::Failed, "Not noted: the goal was set after this answer began.")
        }
        None => (ObservationStatus::Failed, "There is no goal that could be met."),
    };
    Some(observed(call, status, words.into()))
}

/// Returns the first fact about a proposed call: an observation if it is invalid, else its
/// decision.
fn propose(turn: &Turn, call: &CallState, answer: &CombinedVerdict) -> Option<Fact> {
    let effect = match &call.validity {
        CallValidity::Invalid { .. } | CallValidity::Surplus => return settle_invalid(turn, call),
        CallValidity::Goal | CallValidity::Program { .. } => EffectClass::ReadOnly,
        CallValidity::Valid { effect, .. } => *effect,
    };
    if turn.repeats_effect(call) {
        return Some(observed(call, ObservationStatus::NotStarted, REPEATED.into()));
    }
    if let Some(reason) = hooks::call_denial(answer) {
        return Some(Fact::CallDecided(CallDecided {
            call: call.id,
            verdict: Verdict::Deny,
            by: Decider::Hook,
            reason,
            arguments: call.arguments_digest(),
        }));
    }
    match hooks::at_call(turn, call, HookOccurrence::BeforeTool { call: call.id }) {
        HookStep::Add(fact) => Some(fact),
        HookStep::Wait => None,
        HookStep::Finished(word) => {
            Some(Fact::CallDecided(policy::decide(turn, call, effect, word)))
        }
    }
}

/// Asks a person about a call, after its hooks have replied.
fn ask(plan: &Plan, turn: &Turn, call: &CallState) -> Option<Fact> {
    let at = HookOccurrence::PermissionRequest { call: call.id };
    let word = match hooks::at_call(turn, call, at) {
        HookStep::Add(fact) => return Some(fact),
        HookStep::Wait => return None,
        HookStep::Finished(word) => word,
    };
    if let Some(fact) = settle_invalid(turn, call) {
        return Some(fact);
    }
    if let Some(decided) = policy::before_asking(call, word) {
        return Some(Fact::CallDecided(decided));
    }
    let limit = turn.limits.approval_ms;
    Some(Fact::ApprovalAsked(ApprovalAsked {
        call: call.id,
        attempt: 1,
        arguments: call.arguments_digest(),
        deadline: (limit > 0).then(|| plan.at.plus_ms(limit)),
    }))
}

/// Denies a call if its question has no answer by the deadline.
fn expire(plan: &Plan, call: &CallState, question: &ApprovalQuestion) -> Option<Fact> {
    let late = question.deadline.is_some_and(|deadline| plan.at >= deadline);
    late.then(|| {
        Fact::ApprovalAnswered(ApprovalAnswered {
            call: call.id,
            by: Arc::new(Scope::system("nobody answered in time")),
            verdict: Verdict::Deny,
            reason: String::from(denial::LATE),
            arguments: call.arguments_digest(),
            edit: None,
            grant: None,
            key: None,
        })
    })
}

/// Returns true if a dry run only plans this call.
pub(super) fn is_planned(turn: &Turn, call: &CallState) -> bool {
    turn.dry_run && !call.is_read_only()
}

/// Starts the first waiting call, if there is room for it. Calls start in order, so others never
/// overtake an exclusive one for ever.
fn start(plan: &Plan, turn: &Turn) -> Option<Fact> {
    if turn.stop.is_some() || may_use_up(&plan.session, turn) {
        return None;
    }
    let waits = |call: &&CallState| call.progress == CallProgress::Allowed;
    let call = turn.calls().iter().find(waits)?;
    if let CallValidity::Program { timeout_ms, .. } = call.validity {
        // Hooks on the rest of the answer reply first.
        let whole = turn.stage.executing().is_some();
        if whole && programs::is_one_of_several(turn.calls(), call) {
            let words = String::from(SEVERAL_PROGRAMS);
            return Some(observed(call, ObservationStatus::Failed, words));
        }
        return whole.then(|| {
            Fact::CallStarted(CallStarted {
                call: call.id,
                attempt: 1,
                idempotency_key: idempotency_key(plan, call.id),
                timeout_ms,
                plan: false,
                client: false,
                grant: None,
            })
        });
    }
    let CallValidity::Valid { concurrency, timeout_ms, .. } = &call.validity else {
        return None;
    };
    let mut running = 0_u32;
    let mut alone = false;
    for other in turn.calls() {
        let runs = match &other.progress {
            CallProgress::Running { .. }
            | CallProgress::AwaitingResult { .. }
            | CallProgress::Reconciling { .. } => true,
            CallProgress::Proposed
            | CallProgress::AwaitingApproval { .. }
            | CallProgress::Allowed
            | CallProgress::Denied { .. }
            | CallProgress::Done { .. } => false,
        };
        if let (true, CallValidity::Valid { concurrency, .. }) = (runs, &other.validity) {
            running = running.saturating_add(1);
            alone |= *concurrency == Concurrency::Exclusive;
        }
    }
    let room = match concurrency {
        Concurrency::Parallel => !alone && running < turn.limits.parallel_calls.max(1),
        Concurrency::Exclusive => running == 0,
    };
    if !room {
        return None;
    }
    let planned = is_planned(turn, call);
    let agent = turn.agent(call).filter(|_| !planned);
    if agent.is_some() && delays_agents(turn) {
        return None;
    }
    let lent = agent.map(|agent| grants::grant(plan, turn, agent));
    if lent == Some(None) {
        let words = "Not run: too little of the turn's budget is left to lend it to an agent. Do \
                     the work yourself, or conclude.";
        return Some(observed(call, ObservationStatus::NotStarted, words.into()));
    }
    let lent = lent.flatten();
    let by_client = !planned && turn.is_run_by_client(call);
    Some(Fact::CallStarted(CallStarted {
        call: call.id,
        attempt: call.next_run(),
        idempotency_key: idempotency_key(plan, call.id),
        timeout_ms: turn.run_ms(call, lent, *timeout_ms),
        plan: planned,
        client: by_client,
        grant: lent,
    }))
}

/// Returns the idempotency key of a call: the same for each run of it, and unique over all
/// sessions. A fork uses the source session's id for an inherited call.
pub(crate) fn idempotency_key(plan: &Plan, call: CallId) -> String {
    plan.session.idempotency_key(call)
}

/// Abandons a run that was asked to stop and did not answer within its grace period.
fn abandon(plan: &Plan, turn: &Turn, call: &CallState, stop: &StopRequest) -> Option<Fact> {
    let late = plan.at >= stop.at.plus_ms(turn.limits.grace_ms);
    let cause = plan.session.stop_cause();
    late.then(|| {
        if call.is_read_only() || is_planned(turn, call) {
            let words = format!("Stopped: {cause}. The tool changes nothing.");
            return observed(call, ObservationStatus::Aborted, words);
        }
        let words = format!(
            "Unknown: {cause} and this call did not end in time. It may have taken effect or not; \
             check before you repeat it."
        );
        observed(call, ObservationStatus::Unknown, words)
    })
}

pub(super) fn observed(call: &CallState, status: ObservationStatus, words: String) -> Fact {
    Fact::CallObserved(CallObserved {
        call: call.id,
        observation: Arc::new(Observation::new(status, words)),
        usage: call.grant.map(|lent| lent.as_usage()),
        report: None,
        form: None,
        detached: call.grant.is_some(),
        by: None,
        key: None,
    })
}
