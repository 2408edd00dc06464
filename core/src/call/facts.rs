//! Calls: decided, asked about, started, observed.

use alloc::string::String;

use super::proposed::told_call;
use super::{ObservationStatus, Verdict};
use crate::context;
use crate::deadline::left_ms;
use crate::digest::Digest;
use crate::error::Misfit;
use crate::evolve::{misfit, turn_of};
use crate::fact::{
    ApprovalAnswered, ApprovalAsked, CallDecided, CallObserved, CallStarted, ReconcileStarted,
    RecoveryFact,
};
use crate::gate::Step;
use crate::goal::Standing;
use crate::hook::{Edit, HookAt, SessionStart};
use crate::id::CallId;
use crate::program::Fate;
use crate::record::Recorded;
use crate::rule::RuleVerdict;
use crate::session::{CallState, Fitness, Progress, Question, Session, Turn};
use crate::settings::{EffectClass, Settings};
use crate::stage::Change;
use crate::stage::executing::{leave_if_done, tell};

/// Applies the work of a new process: it resumes the session, or asks a tool about a call.
pub(crate) fn on_recovery(
    session: &mut Session,
    recorded: &Recorded,
    fact: RecoveryFact<'_>,
) -> Result<(), Misfit> {
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
    recorded: &Recorded,
    fact: &CallDecided,
) -> Result<(), Misfit> {
    let call = call_of(turn_of(session, recorded)?, recorded, fact.call)?;
    match (&call.progress, fact.verdict) {
        (Progress::Proposed, _)
        | (Progress::Asking { question: None }, Verdict::Allow | Verdict::Deny) => {}
        (
            Progress::Asking { .. }
            | Progress::Allowed
            | Progress::Denied { .. }
            | Progress::Running { .. }
            | Progress::Reconciling { .. }
            | Progress::Done { .. },
            _,
        ) => return Err(misfit(recorded, "the call is decided already")),
    }
    if fact.arguments != call.arguments {
        return Err(misfit(recorded, "the decision is about other arguments"));
    }
    call.progress = match fact.verdict {
        Verdict::Allow => Progress::Allowed,
        Verdict::Ask => Progress::Asking { question: None },
        Verdict::Deny => Progress::Denied {
            reason: fact.reason.clone(),
        },
    };
    Ok(())
}

pub(crate) fn on_asked(
    session: &mut Session,
    recorded: &Recorded,
    fact: &ApprovalAsked,
) -> Result<(), Misfit> {
    let call = call_of(turn_of(session, recorded)?, recorded, fact.call)?;
    let Progress::Asking { question } = call.progress else {
        return Err(misfit(recorded, "nobody is to be asked about the call"));
    };
    let (attempt, deadline) = match question {
        None => (1, fact.deadline),
        Some(open) => (open.attempt.saturating_add(1), open.deadline),
    };
    if fact.attempt != attempt || fact.deadline != deadline || fact.arguments != call.arguments {
        return Err(misfit(recorded, "it is not the question that is open"));
    }
    call.progress = Progress::Asking {
        question: Some(Question {
            asked: recorded.seq,
            attempt,
            deadline,
        }),
    };
    Ok(())
}

pub(crate) fn on_answered(
    session: &mut Session,
    recorded: &Recorded,
    fact: &ApprovalAnswered,
) -> Result<(), Misfit> {
    let turn = turn_of(session, recorded)?;
    let call = call_of(turn, recorded, fact.call)?;
    let Progress::Asking { question: Some(_) } = call.progress else {
        return Err(misfit(recorded, "nobody is asked about the call"));
    };
    if fact.arguments != call.arguments {
        return Err(misfit(recorded, "the answer is about other arguments"));
    }
    let progress = match fact.verdict {
        Verdict::Allow => Progress::Allowed,
        Verdict::Deny => Progress::Denied {
            reason: fact.reason.clone(),
        },
        Verdict::Ask => return Err(misfit(recorded, "an answer allows or denies")),
    };
    if let Some(change) = &fact.edit {
        if progress != Progress::Allowed {
            return Err(misfit(recorded, "what is denied is not changed"));
        }
        edit(turn, recorded, fact.call, change)?;
    }
    let call = call_of(turn, recorded, fact.call)?;
    call.progress = match (progress, call.ruled, &fact.edit) {
        (Progress::Allowed, Some(RuleVerdict::Deny), Some(_)) => Progress::Denied {
            reason: String::from("Denied: a rule forbids the arguments that the answer gives."),
        },
        (progress, _, _) => progress,
    };
    Ok(())
}

/// Puts other arguments in the place of a call's own.
pub(crate) fn edit(
    turn: &mut Turn,
    recorded: &Recorded,
    id: CallId,
    edit: &Edit,
) -> Result<(), Misfit> {
    let settings = turn.settings.clone();
    let call = call_of(turn, recorded, id)?;
    call.arguments = Digest::EMPTY.part(edit.text.as_bytes());
    call.edited = Some(context::edited(&edit.text));
    if call.line.is_some() {
        call.line = Some(told_call(&call.tool, &edit.text));
    }
    call.ruled = ruled(&settings, &edit.rules);
    if let Some(fault) = &edit.fault {
        call.fitness = Fitness::Unfit {
            reason: alloc::format!(
                "Not run: the arguments that were put in the place of the model's cannot be \
                 used. {fault}"
            ),
        };
    }
    Ok(())
}

/// Returns the verdict of the rules that a call matches: deny beats ask, ask beats allow.
pub(crate) fn ruled(settings: &Settings, rules: &[u32]) -> Option<RuleVerdict> {
    let rule = |index: &u32| settings.rules.get(usize::try_from(*index).ok()?);
    rules.iter().filter_map(rule).map(|rule| rule.verdict).max()
}

pub(crate) fn on_started(
    session: &mut Session,
    recorded: &Recorded,
    fact: &CallStarted,
) -> Result<(), Misfit> {
    let turn = turn_of(session, recorded)?;
    let dry_run = turn.dry_run;
    let (over, waits) = (
        turn.stage.executing().is_some(),
        turn.calls()
            .iter()
            .any(|call| call.parent == Some(fact.call)),
    );
    let call = call_of(turn, recorded, fact.call)?;
    let effect = match &call.fitness {
        Fitness::Fit { effect, .. } => effect,
        // A program changes nothing by itself, and is run from its start as often as need be.
        Fitness::Program { .. } if over && !waits => &EffectClass::ReadOnly,
        Fitness::Program { .. } | Fitness::Goal | Fitness::Unfit { .. } => {
            return Err(misfit(recorded, "the call cannot be run"));
        }
    };
    let plan = dry_run && *effect != EffectClass::ReadOnly;
    if fact.plan != plan {
        return Err(misfit(
            recorded,
            "a dry run plans what would change something",
        ));
    }
    let attempt = match (&call.progress, effect) {
        (Progress::Allowed, _) => 1,
        (Progress::Running { .. }, EffectClass::Effectful) if !plan => {
            return Err(misfit(recorded, "an effectful call starts at most once"));
        }
        (Progress::Running { attempt, .. }, _) => attempt.saturating_add(1),
        (
            Progress::Proposed
            | Progress::Asking { .. }
            | Progress::Denied { .. }
            | Progress::Reconciling { .. }
            | Progress::Done { .. },
            _,
        ) => {
            return Err(misfit(recorded, "the call may not start"));
        }
    };
    if fact.attempt != attempt {
        return Err(misfit(recorded, "its runs are not counted on"));
    }
    if attempt > 1 && fact.lent != call.lent {
        return Err(misfit(recorded, "it is lent something else than before"));
    }
    call.progress = Progress::Running {
        started: recorded.seq,
        attempt,
        plan,
    };
    if attempt == 1 {
        return lend(turn, recorded, fact, plan);
    }
    Ok(())
}

/// An agent is lent what the turn has left, and leaves a sample for the turn to conclude; nothing
/// else is lent anything.
fn lend(
    turn: &mut Turn,
    recorded: &Recorded,
    fact: &CallStarted,
    plan: bool,
) -> Result<(), Misfit> {
    let (out, limits) = (turn.lent(), turn.limits);
    let (samples, tokens, cost) = (turn.samples(), turn.tokens(), turn.cost_micros());
    let time = left_ms(turn, recorded.ts);
    let settings = turn.settings.clone();
    let call = call_of(turn, recorded, fact.call)?;
    let tool = settings.tool(&call.tool);
    let agent = !plan && tool.is_some_and(|tool| tool.agent.is_some());
    if agent != fact.lent.is_some() {
        return Err(misfit(
            recorded,
            "an agent is lent a budget, and nothing else is",
        ));
    }
    let Some(lent) = fact.lent else {
        return Ok(());
    };
    let left = limits.samples.saturating_sub(samples);
    let left = left.saturating_sub(out.samples).saturating_sub(1);
    let fits = |limit: u64, taken: [u64; 2], lent: u64| {
        let taken = taken[0].saturating_add(taken[1]);
        limit == 0 || (lent > 0 && taken.saturating_add(lent) <= limit)
    };
    // An older engine lent no time: then the limits of the turn were the child's.
    if lent.samples == 0
        || lent.samples > left
        || time.is_some_and(|time| lent.turn_ms > time)
        || !fits(limits.tokens, [tokens, out.tokens], lent.tokens)
        || !fits(
            limits.cost_micros,
            [cost, out.cost_micros],
            lent.cost_micros,
        )
    {
        return Err(misfit(recorded, "more is lent than the turn has left"));
    }
    call.lent = Some(lent);
    Ok(())
}

fn on_reconcile_started(
    session: &mut Session,
    recorded: &Recorded,
    fact: &ReconcileStarted,
) -> Result<(), Misfit> {
    let call = call_of(turn_of(session, recorded)?, recorded, fact.call)?;
    let Fitness::Fit {
        reconciles: true, ..
    } = &call.fitness
    else {
        return Err(misfit(recorded, "the tool cannot say what became of it"));
    };
    let attempt = match &call.progress {
        Progress::Running { .. } => 1,
        Progress::Reconciling { attempt, .. } => attempt.saturating_add(1),
        Progress::Proposed
        | Progress::Asking { .. }
        | Progress::Allowed
        | Progress::Denied { .. }
        | Progress::Done { .. } => return Err(misfit(recorded, "the call did not run")),
    };
    if fact.attempt != attempt {
        return Err(misfit(recorded, "its runs are not counted on"));
    }
    call.progress = Progress::Reconciling {
        started: recorded.seq,
        attempt,
    };
    Ok(())
}

pub(crate) fn on_observed(
    session: &mut Session,
    recorded: &Recorded,
    fact: &CallObserved,
) -> Result<(), Misfit> {
    let turn = turn_of(session, recorded)?;
    let call = call_of(turn, recorded, fact.call)?;
    let ran = match &call.progress {
        Progress::Done { .. } => {
            return Err(misfit(recorded, "the call has its observation already"));
        }
        Progress::Running { .. } | Progress::Reconciling { .. } => true,
        Progress::Proposed
        | Progress::Asking { .. }
        | Progress::Allowed
        | Progress::Denied { .. } => false,
    };
    let lent = call.lent.take();
    if lent.is_some() != fact.took.is_some() {
        return Err(misfit(recorded, "what is lent is taken or given back"));
    }
    if lent
        .zip(fact.took)
        .is_some_and(|(lent, took)| took.samples > lent.samples)
    {
        return Err(misfit(recorded, "it took more samples than it was lent"));
    }
    let done = fact.observation.status == ObservationStatus::Done;
    let goal = done && call.fitness == Fitness::Goal;
    let observation = match call.spoken {
        true => context::framed(&context::spoken(&fact.observation.output)),
        false => context::observation(&fact.observation, call.edited),
    };
    call.progress = Progress::Done { observation, ran };
    call.gates.open = None;
    let change = call.line.map(|line| Change {
        call: fact.call,
        line,
        fate: Fate::of(ran, Some(fact.observation.status)),
    });
    tell(turn, recorded, fact, change)?;
    turn.spent.agents = turn.spent.agents.and(fact.took.unwrap_or_default());
    if let (true, Some(state)) = (goal, &mut session.goal) {
        state.standing = Standing::Met { call: fact.call };
    }
    leave_if_done(session);
    Ok(())
}

/// Returns true if the hooks have said what they have to say about a call that ran.
pub(crate) fn heard(turn: &Turn, call: &CallState) -> bool {
    let Progress::Done { ran: true, .. } = call.progress else {
        return true;
    };
    let at = HookAt::AfterTool { call: call.id };
    match call.gates.step(&turn.settings.hooks, at, &call.tool) {
        Step::Passed(_) => true,
        Step::Ask(_) | Step::Wait => false,
    }
}

fn call_of<'a>(
    turn: &'a mut Turn,
    recorded: &Recorded,
    id: CallId,
) -> Result<&'a mut CallState, Misfit> {
    let mut calls = turn.calls_mut().iter_mut();
    let call = calls.find(|call| call.id == id);
    call.ok_or_else(|| misfit(recorded, "no such call is out"))
}
