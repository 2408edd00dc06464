//! Queue: applies changes of waiting inputs.

use alloc::vec::Vec;

use super::invalid_fact;
use crate::context;
use crate::error::InvalidFact;
use crate::fact::{InputEdited, InputMoved, InputWithdrawn};
use crate::hook::{CompactionTrigger, HookOccurrence, HookPoint};
use crate::hook_rounds::HookRound;
use crate::id::InputId;
use crate::record::RecordedFact;
use crate::session::{QueuedInput, Session};

/// Replaces the text of an input. What its hooks replied to the old text no longer counts.
pub(super) fn on_edited(
    session: &mut Session,
    recorded: &RecordedFact,
    fact: &InputEdited,
) -> Result<(), InvalidFact> {
    require_changeable(session, recorded, fact.input)?;
    if session.queued(fact.input).is_some_and(|queued| queued.command.is_some()) {
        return Err(invalid_fact(recorded, "a command is not edited"));
    }
    let mut waiting = session.queue.iter_mut();
    if let Some(queued) = waiting.find(|queued| queued.id == fact.input) {
        queued.text = context::user(&fact.text);
    }
    discard_replies(session, fact.input);
    reconsider_compaction(session);
    Ok(())
}

/// Moves an input within the queue. Hooks are no longer asked about a steering input that is not
/// next any more: they are asked again when it is.
pub(super) fn on_moved(
    session: &mut Session,
    recorded: &RecordedFact,
    fact: &InputMoved,
) -> Result<(), InvalidFact> {
    require_unopened(session, recorded, fact.input)?;
    if session.overtaken(fact.input, fact.before).is_some() {
        return Err(invalid_fact(recorded, "the answer yields to an input behind it"));
    }
    let first = session.steer().map(|steer| steer.id);
    let moved = take(session, recorded, fact.input)?;
    let index = match fact.before {
        None => session.queue.len(),
        Some(other) => {
            let index = session.queue.iter().position(|queued| queued.id == other);
            index.ok_or_else(|| invalid_fact(recorded, "no such input waits"))?
        }
    };
    session.queue.insert(index, moved);
    discard_unless_next(session, first);
    reconsider_compaction(session);
    Ok(())
}

pub(super) fn on_withdrawn(
    session: &mut Session,
    recorded: &RecordedFact,
    fact: &InputWithdrawn,
) -> Result<(), InvalidFact> {
    require_unopened(session, recorded, fact.input)?;
    take(session, recorded, fact.input)?;
    discard_replies(session, fact.input);
    reconsider_compaction(session);
    Ok(())
}

/// Removes an input from the queue.
fn take(
    session: &mut Session,
    recorded: &RecordedFact,
    input: InputId,
) -> Result<QueuedInput, InvalidFact> {
    require_changeable(session, recorded, input)?;
    let index = session.queue.iter().position(|queued| queued.id == input);
    let queued = index.and_then(|index| session.queue.remove(index));
    queued.ok_or_else(|| invalid_fact(recorded, "no such input waits"))
}

fn require_changeable(
    session: &Session,
    recorded: &RecordedFact,
    input: InputId,
) -> Result<(), InvalidFact> {
    if session.queued(input).is_none() {
        return Err(invalid_fact(recorded, "no such input waits"));
    }
    match session.is_locked(input) {
        true => Err(invalid_fact(recorded, "the answer yields to the input")),
        false => Ok(()),
    }
}

fn require_unopened(
    session: &Session,
    recorded: &RecordedFact,
    input: InputId,
) -> Result<(), InvalidFact> {
    match session.turn().is_some_and(|turn| turn.is_opened_by(input)) {
        true => Err(invalid_fact(recorded, "a turn is open for the input")),
        false => Ok(()),
    }
}

/// Discards the replies of hooks about the steering input that was next before a change, unless it
/// still is: their context would precede another input.
pub(super) fn discard_unless_next(session: &mut Session, before: Option<InputId>) {
    if let Some(before) = before.filter(|before| !session.is_steer(*before)) {
        discard_replies(session, before);
    }
}

/// Stops asking hooks about a compaction that makes room for an input: the input has changed. They
/// are asked again if the compaction is still necessary.
fn reconsider_compaction(session: &mut Session) {
    let for_room = |round: &mut HookRound| {
        let trigger = round.at.trigger();
        round.at.point() == HookPoint::BeforeCompaction
            && trigger == Some(CompactionTrigger::Window)
    };
    if let Some(turn) = session.turn_mut() {
        turn.hook_rounds.open.take_if(for_room);
    }
}

/// Discards the replies of hooks about all inputs: there are further hooks on inputs.
pub(crate) fn discard_all_replies(session: &mut Session) {
    let inputs: Vec<InputId> = session.queue.iter().map(|queued| queued.id).collect();
    for input in inputs {
        discard_replies(session, input);
    }
}

/// Discards all replies of hooks about an input, with their context, and stops asking them.
fn discard_replies(session: &mut Session, input: InputId) {
    let at = HookOccurrence::PromptSubmitted { input };
    let Some(turn) = session.turn_mut() else {
        return;
    };
    turn.hook_rounds.open.take_if(|round| round.at == at);
    let mut finished = turn.hook_rounds.finished.iter();
    let Some(index) = finished.position(|round| round.at == at) else {
        return;
    };
    let round = turn.hook_rounds.finished.remove(index);
    turn.pending.retain(|pending| !round.contexts.contains(&pending.decided));
}
