//! Hooks: asked, decided. A gate is where its point is: at the session, the turn, or a call.

use alloc::format;
use alloc::sync::Arc;

use super::{Asking, Gate, Gates, Passed, Word, counts_as};
use crate::call::edit as edit_call;
use crate::context;
use crate::error::Misfit;
use crate::evolve::{interrupt, misfit, turn_of};
use crate::fact::{HookDecided, HookFact, HooksAsked};
use crate::failure::FailureKind;
use crate::history;
use crate::hook::{
    ContextUse, Edit, Editable, GateLevel, HookAt, HookOrder, HookVerdict, SessionStart, Trigger,
};
use crate::id::{CallId, Seq};
use crate::outcome::Outcome;
use crate::record::Recorded;
use crate::session::{Pending, Progress, Session, Turn};
use crate::settings::Settings;
use crate::stage::Transition;
use crate::stage::executing::leave_if_done;

/// Location of a gate.
#[derive(Clone, Copy)]
enum Place {
    Session,
    Turn,
    Call(usize),
}

pub(crate) fn on_hook(
    session: &mut Session,
    recorded: &Recorded,
    fact: HookFact<'_>,
) -> Result<(), Misfit> {
    match fact {
        HookFact::HooksAsked(fact) => on_asked(session, recorded, fact),
        HookFact::HookDecided(fact) => on_decided(session, recorded, fact),
    }
}

fn on_asked(session: &mut Session, recorded: &Recorded, fact: &HooksAsked) -> Result<(), Misfit> {
    let place = place(session, recorded, fact.at)?;
    let subject = subject(session, place, fact.at);
    let settings = settings(session, place);
    let gates = gates(session, recorded, place)?;
    if gates.passed.iter().any(|passed| passed.at == fact.at) {
        return Err(misfit(recorded, "its hooks have spoken already"));
    }
    let gate = gates.open.get_or_insert_with(|| Gate::new(fact.at));
    if gate.at != fact.at {
        return Err(misfit(recorded, "other hooks are being asked"));
    }
    let again = |asking: &Asking| fact.hooks.contains(&asking.hook);
    let fits = if fact.attempt == 1 {
        gate.asks(&settings.hooks, &subject, &fact.hooks)
    } else {
        let same = gate.out.iter().filter(|asking| again(asking));
        let mut earlier = same.clone();
        same.count() == fact.hooks.len()
            && earlier.all(|asking| asking.attempt.saturating_add(1) == fact.attempt)
    };
    if !fits {
        return Err(misfit(recorded, "these are not the hooks to be asked now"));
    }
    gate.out.retain(|asking| !again(asking));
    gate.out.extend(fact.hooks.iter().map(|hook| Asking {
        hook: *hook,
        asked: recorded.seq,
        attempt: fact.attempt,
        since: recorded.ts,
    }));
    Ok(())
}

fn on_decided(
    session: &mut Session,
    recorded: &Recorded,
    fact: &HookDecided,
) -> Result<(), Misfit> {
    let (place, at) = asked(session, fact.asked, fact.hook)
        .ok_or_else(|| misfit(recorded, "no such hook is asked"))?;
    let subject = subject(session, place, at);
    let settings = settings(session, place);
    let index = usize::try_from(fact.hook).unwrap_or(usize::MAX);
    let spec = settings.hooks.get(index);
    let spec = spec.ok_or_else(|| misfit(recorded, "there is no such hook"))?;
    if spec.name != fact.name {
        return Err(misfit(recorded, "the hook has another name"));
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
            return Err(misfit(recorded, "this hook changes nothing"));
        }
        change(session, recorded, at, edit)?;
    }
    let pending = fact.context.as_ref().map(|text| {
        let text = context::frame(&history::hook_name(&fact.name), text);
        Pending {
            decided: recorded.seq,
            part: context::framed(&text),
            lasting: at.point().properties().lasting,
        }
    });
    let gates = gates(session, recorded, place)?;
    if let Some(gate) = &mut gates.open {
        gate.out.retain(|asking| asking.hook != fact.hook);
        gate.heard.push(fact.hook);
        gate.word.with(counts, recorded.seq, &fact.reason);
        gate.contexts
            .extend(pending.map(|pending| (fact.hook, pending)));
    }
    if let Some(turn) = session.turn_mut() {
        let bytes = pending.map_or(0, |pending| pending.part.bytes);
        turn.context_bytes = turn.context_bytes.saturating_add(bytes);
    }
    close(session, recorded, place, &settings, &subject);
    if at != HookAt::Interrupt {
        end(session, recorded, fact, counts);
    }
    leave_if_done(session);
    Ok(())
}

/// Closes a gate whose hooks have all spoken.
fn close(
    session: &mut Session,
    recorded: &Recorded,
    place: Place,
    settings: &Settings,
    subject: &str,
) {
    let Ok(gates) = gates(session, recorded, place) else {
        return;
    };
    let complete = |gate: &mut Gate| gate.is_complete(&settings.hooks, subject);
    let Some(mut gate) = gates.open.take_if(complete) else {
        return;
    };
    gate.contexts.sort_by_key(|(hook, _)| *hook);
    let dropped = drops(&gate);
    let denied = matches!(gate.word, Word::Deny { .. });
    gates.passed.push(Passed {
        at: gate.at,
        word: gate.word,
    });
    if let HookAt::SessionStart { .. } = gate.at
        && !denied
    {
        session.start = None;
    }
    let contexts = gate.contexts.into_iter().map(|(_, pending)| pending);
    match (place, session.turn_mut()) {
        (Place::Turn, Some(turn)) if !dropped => turn.pending.extend(contexts),
        (Place::Call(index), Some(turn)) => {
            if let Some(call) = turn.calls_mut().get_mut(index) {
                call.contexts.extend(contexts);
            }
        }
        (Place::Session | Place::Turn | Place::Call(_), _) => {}
    }
}

/// Returns true if what hooks gave here is for nobody: the prompt that it goes with is blocked, or
/// the turn ends.
fn drops(gate: &Gate) -> bool {
    match gate.at.point().properties().context {
        ContextUse::Dropped => true,
        ContextUse::UnlessDenied => matches!(gate.word, Word::Deny { .. }),
        ContextUse::Kept => false,
    }
}

/// A hook that halts, or says more than it may, ends the turn.
fn end(session: &mut Session, recorded: &Recorded, fact: &HookDecided, counts: HookVerdict) {
    let outcome = match counts {
        HookVerdict::Halt => Outcome::Blocked {
            reason: format!("{}: {}", fact.name, fact.reason),
        },
        HookVerdict::Overrun => Outcome::Failed {
            failure: FailureKind::Hook,
            message: fact.reason.clone(),
        },
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
fn change(
    session: &mut Session,
    recorded: &Recorded,
    at: HookAt,
    edit: &Edit,
) -> Result<(), Misfit> {
    let nothing = || misfit(recorded, "there is nothing to change here");
    match at.point().properties().edits {
        Editable::Nothing => Err(nothing()),
        Editable::Prompt => {
            let mut queue = session.queue.iter_mut();
            let queued = queue.find(|queued| Some(queued.id) == at.input());
            let queued = queued.ok_or_else(|| misfit(recorded, "no such input waits"))?;
            queued.part = context::user(&edit.text);
            Ok(())
        }
        Editable::Arguments => {
            let turn = turn_of(session, recorded)?;
            edit_call(turn, recorded, at.call().ok_or_else(nothing)?, edit)
        }
    }
}

/// The hook that is asked by this fact, wherever it is.
fn asked(session: &Session, seq: Seq, hook: u32) -> Option<(Place, HookAt)> {
    let asks = |gates: &Gates| {
        let gate = gates.open.as_ref()?;
        let mut out = gate.out.iter();
        let asked = out.any(|asking| asking.hook == hook && asking.asked == seq);
        asked.then_some(gate.at)
    };
    if let Some(at) = asks(&session.gates) {
        return Some((Place::Session, at));
    }
    let turn = session.turn()?;
    if let Some(at) = asks(&turn.gates) {
        return Some((Place::Turn, at));
    }
    let mut calls = turn.calls().iter().enumerate();
    calls.find_map(|(index, call)| Some((Place::Call(index), asks(&call.gates)?)))
}

/// Returns the location of an occurrence's gate, if the session is there.
fn place(session: &Session, recorded: &Recorded, at: HookAt) -> Result<Place, Misfit> {
    let nowhere = || misfit(recorded, "the session does not stand there");
    if at.point().properties().gate == GateLevel::Session {
        return match session.turn() {
            None => Ok(Place::Session),
            Some(_) => Err(nowhere()),
        };
    }
    let turn = session.turn().ok_or_else(nowhere)?;
    if recorded.turn != Some(turn.id) {
        return Err(misfit(recorded, "it is another turn's fact"));
    }
    if !stands(session, turn, at) {
        return Err(nowhere());
    }
    match at.call() {
        None => Ok(Place::Turn),
        Some(id) => {
            let index = turn.calls().iter().position(|call| call.id == id);
            Ok(Place::Call(index.ok_or_else(nowhere)?))
        }
    }
}

/// Returns true if a turn is where this occurrence is.
fn stands(session: &Session, turn: &Turn, at: HookAt) -> bool {
    let stops = turn.stop.is_some() || turn.pause.is_some();
    if at == HookAt::Interrupt {
        return stops;
    }
    if let Some(id) = at.call() {
        return turn.stop.is_none() && stands_at_call(turn, id, at);
    }
    turn.allows(session, Transition::AskHooks(at)).is_ok()
}

/// Returns true if a call is at this occurrence.
fn stands_at_call(turn: &Turn, id: CallId, at: HookAt) -> bool {
    let mut calls = turn.calls().iter();
    let Some(call) = calls.find(|call| call.id == id) else {
        return false;
    };
    match &call.progress {
        Progress::Proposed => at == HookAt::BeforeTool { call: id },
        Progress::Asking { question: None } => at == HookAt::PermissionRequest { call: id },
        Progress::Done { ran: true, .. } => at == HookAt::AfterTool { call: id },
        Progress::Asking { question: Some(_) }
        | Progress::Allowed
        | Progress::Denied { .. }
        | Progress::Running { .. }
        | Progress::Reconciling { .. }
        | Progress::Done { ran: false, .. } => false,
    }
}

/// Returns the subject of an occurrence, as hook declarations name it.
fn subject(session: &Session, place: Place, at: HookAt) -> Arc<str> {
    let tool = |id: CallId| {
        let turn = session.turn()?;
        let call = turn.calls().iter().find(|call| call.id == id)?;
        Some(call.tool.clone())
    };
    match (place, at.call()) {
        (Place::Call(_), Some(call)) => tool(call).unwrap_or_default(),
        (Place::Session | Place::Turn | Place::Call(_), _) => Arc::from(word(at)),
    }
}

/// The subject of an occurrence that is not about a call.
pub(crate) fn word(at: HookAt) -> &'static str {
    let start = at.start().map(SessionStart::word);
    let trigger = at.trigger().map(Trigger::word);
    start.or(trigger).unwrap_or_default()
}

/// The settings whose hooks are meant: the turn's, frozen, or the session's at rest.
fn settings(session: &Session, place: Place) -> Arc<Settings> {
    match (place, session.turn()) {
        (Place::Turn | Place::Call(_), Some(turn)) => turn.settings.clone(),
        (Place::Session | Place::Turn | Place::Call(_), _) => session.settings.clone(),
    }
}

fn gates<'a>(
    session: &'a mut Session,
    recorded: &Recorded,
    place: Place,
) -> Result<&'a mut Gates, Misfit> {
    match place {
        Place::Session => Ok(&mut session.gates),
        Place::Turn => Ok(&mut turn_of(session, recorded)?.gates),
        Place::Call(index) => {
            let call = turn_of(session, recorded)?.calls_mut().get_mut(index);
            let call = call.ok_or_else(|| misfit(recorded, "no such call is out"))?;
            Ok(&mut call.gates)
        }
    }
}
