//! Hooks: applies questions and decisions. A hook round belongs to the session, the turn, or a
//! call.

use alloc::format;
use alloc::sync::Arc;

use super::{CombinedVerdict, FinishedRound, HookRound, HookRounds, PendingHook, counts_as};
use crate::call::edit as edit_call;
use crate::context;
use crate::error::InvalidFact;
use crate::evolve::{interrupt, invalid_fact, turn_of};
use crate::fact::{HookDecided, HookFact, HooksAsked};
use crate::failure::FailureKind;
use crate::history;
use crate::hook::{
    CompactionTrigger, ContextUse, Edit, Editable, HookLevel, HookOccurrence, HookOrder,
    HookVerdict, SessionStart,
};
use crate::id::{CallId, Seq};
use crate::outcome::TurnOutcome;
use crate::record::RecordedFact;
use crate::session::{CallProgress, PendingContext, Session, Turn};
use crate::settings::Settings;
use crate::stage::Transition;
use crate::stage::executing::leave_if_done;

/// Location of a hook round.
#[derive(Clone, Copy)]
enum RoundLocation {
    Session,
    Turn,
    Call(usize),
}

pub(crate) fn on_hook(
    session: &mut Session,
    recorded: &RecordedFact,
    fact: HookFact<'_>,
) -> Result<(), InvalidFact> {
    match fact {
        HookFact::HooksAsked(fact) => on_hooks_asked(session, recorded, fact),
        HookFact::HookDecided(fact) => on_decided(session, recorded, fact),
    }
}

fn on_hooks_asked(
    session: &mut Session,
    recorded: &RecordedFact,
    fact: &HooksAsked,
) -> Result<(), InvalidFact> {
    let place = locate(session, recorded, fact.at)?;
    let subject = subject(session, place, fact.at);
    let settings = settings(session, place);
    let gates = rounds_at(session, recorded, place)?;
    if gates.finished.iter().any(|passed| passed.at == fact.at) {
        return Err(invalid_fact(recorded, "its hooks have spoken already"));
    }
    let new = || HookRound { all: fact.all, ..HookRound::new(fact.at) };
    let gate = gates.open.get_or_insert_with(new);
    if gate.at != fact.at || gate.all != fact.all {
        return Err(invalid_fact(recorded, "other hooks are being asked"));
    }
    let again = |asking: &PendingHook| fact.hooks.contains(&asking.hook);
    let fits = if fact.attempt == 1 {
        gate.is_next_round(&settings.hooks, &subject, &fact.hooks)
    } else {
        let same = gate.pending.iter().filter(|asking| again(asking));
        let mut earlier = same.clone();
        same.count() == fact.hooks.len()
            && earlier.all(|asking| asking.attempt.saturating_add(1) == fact.attempt)
    };
    if !fits {
        return Err(invalid_fact(recorded, "these are not the hooks to be asked now"));
    }
    gate.pending.retain(|asking| !again(asking));
    gate.pending.extend(fact.hooks.iter().map(|hook| PendingHook {
        hook: *hook,
        asked: recorded.seq,
        attempt: fact.attempt,
        since: recorded.ts,
    }));
    Ok(())
}

fn on_decided(
    session: &mut Session,
    recorded: &RecordedFact,
    fact: &HookDecided,
) -> Result<(), InvalidFact> {
    let (place, at) = asked_hook(session, fact.asked, fact.hook)
        .ok_or_else(|| invalid_fact(recorded, "no such hook is asked"))?;
    let subject = subject(session, place, at);
    let settings = settings(session, place);
    let index = usize::try_from(fact.hook).unwrap_or(usize::MAX);
    let spec = settings.hooks.get(index);
    let spec = spec.ok_or_else(|| invalid_fact(recorded, "there is no such hook"))?;
    if spec.name != fact.name {
        return Err(invalid_fact(recorded, "the hook has another name"));
    }
    let counts = counts_as(spec, fact.verdict);
    if let Some(edit) = &fact.edit {
        let may = match counts {
            HookVerdict::Pass | HookVerdict::Allow | HookVerdict::Ask => true,
            HookVerdict::Deny | HookVerdict::Halt | HookVerdict::Failed | HookVerdict::Overrun => {
                false
            }
        };
        if !may || spec.order == HookOrder::Parallel {
            return Err(invalid_fact(recorded, "this hook changes nothing"));
        }
        apply_edit(session, recorded, at, edit)?;
    }
    let pending = fact.context.as_ref().map(|text| {
        let text = context::frame(&history::hook_name(&fact.name), text);
        PendingContext {
            decided: recorded.seq,
            text: context::framed(&text),
            lifetime: at.point().properties().lifetime,
        }
    });
    let gates = rounds_at(session, recorded, place)?;
    if let Some(gate) = &mut gates.open {
        gate.pending.retain(|asking| asking.hook != fact.hook);
        gate.answered.push(fact.hook);
        gate.verdict.with(counts, recorded.seq, &fact.reason);
        gate.contexts.extend(pending.map(|pending| (fact.hook, pending)));
    }
    if let Some(turn) = session.turn_mut() {
        let bytes = pending.map_or(0, |pending| pending.text.bytes);
        turn.context_bytes = turn.context_bytes.saturating_add(bytes);
    }
    close(session, recorded, place, &settings, &subject);
    if at != HookOccurrence::Interrupt {
        end(session, recorded, fact, counts);
    }
    leave_if_done(session);
    Ok(())
}

/// Finishes a hook round once all of its hooks have replied.
fn close(
    session: &mut Session,
    recorded: &RecordedFact,
    place: RoundLocation,
    settings: &Settings,
    subject: &str,
) {
    let Ok(gates) = rounds_at(session, recorded, place) else {
        return;
    };
    let complete = |gate: &mut HookRound| gate.is_complete(&settings.hooks, subject);
    let Some(mut gate) = gates.open.take_if(complete) else {
        return;
    };
    gate.contexts.sort_by_key(|(hook, _)| *hook);
    let dropped = drops_context(&gate);
    let denied = matches!(gate.verdict, CombinedVerdict::Deny { .. });
    let brings = gate.at.input().is_some() && !dropped;
    let given = gate.contexts.iter().filter(|_| brings).map(|(_, pending)| pending.decided);
    let contexts = given.collect();
    gates.finished.push(FinishedRound { at: gate.at, verdict: gate.verdict, contexts });
    if let HookOccurrence::SessionStart { .. } = gate.at
        && !denied
    {
        session.start = None;
    }
    let contexts = gate.contexts.into_iter().map(|(_, pending)| pending);
    match (place, session.turn_mut()) {
        (RoundLocation::Turn, Some(turn)) if !dropped => turn.pending.extend(contexts),
        (RoundLocation::Call(index), Some(turn)) => {
            if let Some(call) = turn.calls_mut().get_mut(index) {
                call.contexts.extend(contexts);
            }
        }
        (RoundLocation::Session | RoundLocation::Turn | RoundLocation::Call(_), _) => {}
    }
}

/// Returns true if context from hooks is discarded: their prompt is blocked, or the turn ends.
fn drops_context(gate: &HookRound) -> bool {
    match gate.at.point().properties().context {
        ContextUse::Dropped => true,
        ContextUse::UnlessDenied => matches!(gate.verdict, CombinedVerdict::Deny { .. }),
        ContextUse::Always => false,
    }
}

/// Ends the turn if a hook halts it or exceeds its context budget.
fn end(session: &mut Session, recorded: &RecordedFact, fact: &HookDecided, counts: HookVerdict) {
    let outcome = match counts {
        HookVerdict::Halt => {
            TurnOutcome::Blocked { reason: format!("{}: {}", fact.name, fact.reason) }
        }
        HookVerdict::Overrun => {
            TurnOutcome::Failed { failure: FailureKind::Hook, message: fact.reason.clone() }
        }
        HookVerdict::Pass
        | HookVerdict::Allow
        | HookVerdict::Ask
        | HookVerdict::Deny
        | HookVerdict::Failed => return,
    };
    if let Some(turn) = session.turn_mut()
        && turn.stop.is_none()
    {
        interrupt::stop(turn, recorded, outcome);
    }
}

/// Applies a hook's replacement for a prompt or arguments.
fn apply_edit(
    session: &mut Session,
    recorded: &RecordedFact,
    at: HookOccurrence,
    edit: &Edit,
) -> Result<(), InvalidFact> {
    let nothing = || invalid_fact(recorded, "there is nothing to change here");
    match at.point().properties().edits {
        Editable::Nothing => Err(nothing()),
        Editable::Prompt => {
            let mut queue = session.queue.iter_mut();
            let queued = queue.find(|queued| Some(queued.id) == at.input());
            let queued = queued.ok_or_else(|| invalid_fact(recorded, "no such input waits"))?;
            queued.text = context::user(&edit.text);
            Ok(())
        }
        Editable::Arguments => {
            let turn = turn_of(session, recorded)?;
            edit_call(turn, recorded, at.call().ok_or_else(nothing)?, edit)
        }
    }
}

/// Returns the hook that this fact asked, with its round.
fn asked_hook(session: &Session, seq: Seq, hook: u32) -> Option<(RoundLocation, HookOccurrence)> {
    let asks = |gates: &HookRounds| {
        let gate = gates.open.as_ref()?;
        let mut out = gate.pending.iter();
        let asked = out.any(|asking| asking.hook == hook && asking.asked == seq);
        asked.then_some(gate.at)
    };
    if let Some(at) = asks(&session.hook_rounds) {
        return Some((RoundLocation::Session, at));
    }
    let turn = session.turn()?;
    if let Some(at) = asks(&turn.hook_rounds) {
        return Some((RoundLocation::Turn, at));
    }
    let mut calls = turn.calls().iter().enumerate();
    calls.find_map(|(index, call)| Some((RoundLocation::Call(index), asks(&call.hook_rounds)?)))
}

/// Returns the location of an occurrence's hook round, if the session is there.
fn locate(
    session: &Session,
    recorded: &RecordedFact,
    at: HookOccurrence,
) -> Result<RoundLocation, InvalidFact> {
    let nowhere = || invalid_fact(recorded, "the session does not stand there");
    if at.point().properties().level == HookLevel::Session {
        return match session.turn() {
            None => Ok(RoundLocation::Session),
            Some(_) => Err(nowhere()),
        };
    }
    let turn = session.turn().ok_or_else(nowhere)?;
    if recorded.turn != Some(turn.id) {
        return Err(invalid_fact(recorded, "it is another turn's fact"));
    }
    if !is_at(session, turn, at) {
        return Err(nowhere());
    }
    match at.call() {
        None => Ok(RoundLocation::Turn),
        Some(id) => {
            let index = turn.calls().iter().position(|call| call.id == id);
            Ok(RoundLocation::Call(index.ok_or_else(nowhere)?))
        }
    }
}

/// Returns true if a turn is at this occurrence.
fn is_at(session: &Session, turn: &Turn, at: HookOccurrence) -> bool {
    let stops = turn.stop.is_some() || turn.pause.is_some();
    if at == HookOccurrence::Interrupt {
        return stops;
    }
    if let Some(id) = at.call() {
        return turn.stop.is_none() && is_at_call(turn, id, at);
    }
    turn.allows(session, Transition::AskHooks(at)).is_ok()
}

/// Returns true if a call is at this occurrence.
fn is_at_call(turn: &Turn, id: CallId, at: HookOccurrence) -> bool {
    let mut calls = turn.calls().iter();
    let Some(call) = calls.find(|call| call.id == id) else {
        return false;
    };
    match &call.progress {
        CallProgress::Proposed => at == HookOccurrence::BeforeTool { call: id },
        CallProgress::AwaitingApproval { question: None } => {
            at == HookOccurrence::PermissionRequest { call: id }
        }
        CallProgress::Done { ran: true, .. } => at == HookOccurrence::AfterTool { call: id },
        CallProgress::AwaitingApproval { question: Some(_) }
        | CallProgress::Allowed
        | CallProgress::Denied { .. }
        | CallProgress::Running { .. }
        | CallProgress::AwaitingResult { .. }
        | CallProgress::Reconciling { .. }
        | CallProgress::Done { ran: false, .. } => false,
    }
}

/// Returns the subject of an occurrence, as hook declarations name it.
fn subject(session: &Session, place: RoundLocation, at: HookOccurrence) -> Arc<str> {
    let tool = |id: CallId| {
        let turn = session.turn()?;
        let call = turn.calls().iter().find(|call| call.id == id)?;
        Some(call.tool.clone())
    };
    match (place, at.call()) {
        (RoundLocation::Call(_), Some(call)) => tool(call).unwrap_or_default(),
        (RoundLocation::Session | RoundLocation::Turn | RoundLocation::Call(_), _) => {
            Arc::from(subject_name(at))
        }
    }
}

/// Returns the subject of an occurrence that is not about a call.
pub(crate) fn subject_name(at: HookOccurrence) -> &'static str {
    let start = at.start().map(SessionStart::as_str);
    let trigger = at.trigger().map(CompactionTrigger::as_str);
    start.or(trigger).unwrap_or_default()
}

/// Returns the settings whose hooks apply: those of the turn, or of the idle session.
fn settings(session: &Session, place: RoundLocation) -> Arc<Settings> {
    match (place, session.turn()) {
        (RoundLocation::Turn | RoundLocation::Call(_), Some(turn)) => turn.settings.clone(),
        (RoundLocation::Session | RoundLocation::Turn | RoundLocation::Call(_), _) => {
            session.settings.clone()
        }
    }
}

fn rounds_at<'a>(
    session: &'a mut Session,
    recorded: &RecordedFact,
    place: RoundLocation,
) -> Result<&'a mut HookRounds, InvalidFact> {
    match place {
        RoundLocation::Session => Ok(&mut session.hook_rounds),
        RoundLocation::Turn => Ok(&mut turn_of(session, recorded)?.hook_rounds),
        RoundLocation::Call(index) => {
            let call = turn_of(session, recorded)?.calls_mut().get_mut(index);
            let call = call.ok_or_else(|| invalid_fact(recorded, "no such call is out"))?;
            Ok(&mut call.hook_rounds)
        }
    }
}
