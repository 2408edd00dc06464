//! Evolve: applies facts to the state. Every log that an engine wrote is valid; a fact of any other
//! log is rejected and changes nothing.

mod context;
pub(crate) mod interrupt;
pub(crate) mod queue;
mod turn;

pub(crate) use turn::hold_after;

use alloc::borrow::Cow;
use alloc::collections::{BTreeSet, VecDeque};
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::compaction::VisiblePart;
use crate::context as shown;
use crate::error::InvalidFact;
use crate::fact::{
    Fact, FactGroup, InputFact, InputQueued, PermissionFact, RunFact, SessionFact, SettingsChanged,
};
use crate::hook::SessionStart;
use crate::hook_rounds::HookRounds;
use crate::id::{InputId, Seq};
use crate::record::RecordedFact;
use crate::render::command_text;
use crate::session::{
    Delivery, Hold, Phase, QueuedContext, QueuedInput, Session, SessionTotals, Turn,
};
use crate::stage::{Transition, compacting, executing, sampling};
use crate::{call, ceiling, detached, goal, hook_rounds, rewind, title, undo};

/// Returns the session that a log's first fact opens.
///
/// # Errors
/// [`InvalidFact`] when the fact is not a `SessionOpened` at position 1.
pub fn evolve_first(first: &RecordedFact) -> Result<Session, InvalidFact> {
    require_readable(first)?;
    let Fact::SessionOpened(fact) = &first.fact else {
        return Err(invalid_fact(first, "a log begins with SessionOpened"));
    };
    if first.seq != Seq::ZERO.next() {
        return Err(invalid_fact(first, "a log begins at position 1"));
    }
    let mut session = Session {
        id: first.session.clone(),
        next: first.seq.next(),
        changed_at: first.ts,
        bytes: first.bytes(),
        owner: fact.owner.clone(),
        workspace: fact.workspace.as_deref().map(Arc::from),
        lineage: Arc::new(fact.lineage.clone()),
        title: None,
        totals: SessionTotals::default(),
        settings: fact.settings.clone(),
        settings_at: first.seq,
        queue: VecDeque::new(),
        keys: Arc::default(),
        hold: Hold::Free,
        visible: VisiblePart::EMPTY,
        measured: None,
        known_context: Arc::default(),
        found_tools: Arc::default(),
        goal: None,
        detached: Vec::new(),
        compaction: None,
        reader: None,
        start: Some(SessionStart::Startup),
        pending: Vec::new(),
        hook_rounds: HookRounds::default(),
        latest_sample: Seq::ZERO,
        phase: Phase::Idle,
        rewind: Arc::default(),
    };
    session.hold_if_forked(first.seq);
    rewind::remember(&mut session, first);
    Ok(session)
}

/// Returns the session after one more fact.
///
/// # Errors
/// [`InvalidFact`] when the fact belongs to another session, is not at the next position, or is not
/// possible in the current state.
pub fn evolve(mut session: Session, recorded: &RecordedFact) -> Result<Session, InvalidFact> {
    session.apply(recorded)?;
    Ok(session)
}

impl Session {
    /// Applies a fact in place, like [`evolve`]. Discard the session after an error.
    ///
    /// # Errors
    /// As [`evolve`].
    pub fn apply(&mut self, recorded: &RecordedFact) -> Result<(), InvalidFact> {
        apply(self, recorded)
    }
}

/// Rejects an encrypted fact: the one beside it is not what happened.
pub(crate) fn require_readable(recorded: &RecordedFact) -> Result<(), InvalidFact> {
    match recorded.format.sealed {
        None => Ok(()),
        Some(_) => Err(invalid_fact(recorded, "it is encrypted: open the store with its key")),
    }
}

fn apply(session: &mut Session, recorded: &RecordedFact) -> Result<(), InvalidFact> {
    require_readable(recorded)?;
    if recorded.session != session.id {
        return Err(invalid_fact(recorded, "it is another session's fact"));
    }
    if recorded.seq != session.next {
        return Err(invalid_fact(recorded, "it is not at the next position"));
    }
    match recorded.fact.group() {
        FactGroup::Session(fact) => on_session(session, recorded, fact)?,
        FactGroup::Recovery(fact) => call::facts::on_recovery(session, recorded, fact)?,
        FactGroup::Goal(fact) => goal::facts::on_goal(session, recorded, fact)?,
        FactGroup::Input(fact) => on_input(session, recorded, fact)?,
        FactGroup::Turn(fact) => turn::on_turn(session, recorded, fact)?,
        FactGroup::Hook(fact) => hook_rounds::facts::on_hook(session, recorded, fact)?,
        FactGroup::Context(fact) => context::on_context(session, recorded, fact)?,
        FactGroup::Compaction(fact) => compacting::on_compaction(session, recorded, fact)?,
        FactGroup::Sample(fact) => sampling::on_sample(session, recorded, fact)?,
        FactGroup::Permission(fact) => on_permission(session, recorded, fact)?,
        FactGroup::Run(fact) => on_run(session, recorded, fact)?,
        FactGroup::Program(fact) => executing::on_program(session, recorded, fact)?,
    }
    remember(session, recorded);
    session.next = recorded.seq.next();
    session.changed_at = recorded.ts;
    session.bytes = session.bytes.saturating_add(recorded.bytes());
    session.hold_if_forked(recorded.seq);
    rewind::remember(session, recorded);
    Ok(())
}

fn on_session(
    session: &mut Session,
    recorded: &RecordedFact,
    fact: SessionFact<'_>,
) -> Result<(), InvalidFact> {
    match fact {
        SessionFact::SessionOpened(_) => Err(invalid_fact(recorded, "the session is open already")),
        SessionFact::SettingsChanged(fact) => {
            on_settings_changed(session, recorded, fact);
            Ok(())
        }
        SessionFact::PermissionsNarrowed(fact) => {
            ceiling::on_narrowed(session, recorded, fact);
            Ok(())
        }
        SessionFact::SessionRenamed(fact) => title::on_renamed(session, recorded, fact),
        SessionFact::SessionRewound(fact) => rewind::on_rewound(session, recorded, fact),
        SessionFact::FilesRestored(fact) => undo::on_restored(session, recorded, fact),
    }
}

fn on_input(
    session: &mut Session,
    recorded: &RecordedFact,
    fact: InputFact<'_>,
) -> Result<(), InvalidFact> {
    match fact {
        InputFact::InputQueued(fact) => on_input_queued(session, recorded, fact),
        InputFact::InputAccepted(fact) => turn::on_input_accepted(session, recorded, fact),
        InputFact::InputBlocked(fact) => turn::on_input_blocked(session, recorded, fact),
        InputFact::InputEdited(fact) => queue::on_edited(session, recorded, fact),
        InputFact::InputMoved(fact) => queue::on_moved(session, recorded, fact),
        InputFact::InputWithdrawn(fact) => queue::on_withdrawn(session, recorded, fact),
    }
}

fn on_permission(
    session: &mut Session,
    recorded: &RecordedFact,
    fact: PermissionFact<'_>,
) -> Result<(), InvalidFact> {
    match fact {
        PermissionFact::CallDecided(fact) => call::facts::on_decided(session, recorded, fact),
        PermissionFact::ApprovalAsked(fact) => {
            call::facts::on_approval_asked(session, recorded, fact)
        }
        PermissionFact::ApprovalAnswered(fact) => {
            call::facts::on_approval_answered(session, recorded, fact)
        }
    }
}

fn on_run(
    session: &mut Session,
    recorded: &RecordedFact,
    fact: RunFact<'_>,
) -> Result<(), InvalidFact> {
    match fact {
        RunFact::CallStarted(fact) => call::facts::on_started(session, recorded, fact),
        RunFact::CallSuspended(fact) => {
            call::suspension::on_suspended_fact(session, recorded, fact)
        }
        RunFact::CallResumed(fact) => call::suspension::on_resumed_fact(session, recorded, fact),
        RunFact::CallObserved(fact) => call::facts::on_observed(session, recorded, fact),
    }
}

fn on_settings_changed(session: &mut Session, recorded: &RecordedFact, fact: &SettingsChanged) {
    // The hooks on the session's end are those of its final settings.
    session.hook_rounds = HookRounds::default();
    let before = core::mem::replace(&mut session.settings, fact.settings.clone());
    let sampled = session.latest_sample > session.settings_at;
    let reader = session.reader.take().or_else(|| sampled.then_some(before));
    session.reader = reader.filter(|reader| *reader != session.settings);
    session.settings_at = recorded.seq;
}

/// Queues an input. A user's input lifts the hold that an interrupt left; the result of a detached
/// child does not.
fn on_input_queued(
    session: &mut Session,
    recorded: &RecordedFact,
    fact: &InputQueued,
) -> Result<(), InvalidFact> {
    if fact.command.is_some() && !is_plain_command(fact) {
        return Err(invalid_fact(recorded, "a command has nothing but its text, and its own turn"));
    }
    let result = detached::take_result(session, recorded, fact)?;
    if result.is_none() {
        session.hold = Hold::Free;
    }
    let first = session.steer().map(|steer| steer.id);
    let context: Vec<QueuedContext> = fact
        .context
        .iter()
        .map(|part| QueuedContext {
            from: part.from.clone(),
            text: shown::framed(&shown::frame(&part.from, &part.text)),
        })
        .collect();
    session.queue.push_back(QueuedInput {
        id: InputId(recorded.seq.0),
        scope: fact.scope.clone(),
        delivery: fact.delivery,
        text: match fact.command {
            Some(_) => shown::user(&command_text(&fact.text)),
            None => shown::user(&fact.text),
        },
        context: context.into(),
        images: fact.images.iter().map(shown::image).collect(),
        dry_run: fact.dry_run,
        result,
        command: fact.command.clone(),
    });
    queue::discard_unless_next(session, first);
    Ok(())
}

/// Returns true if an input has nothing that only prompts have.
fn is_plain_command(fact: &InputQueued) -> bool {
    let bare = fact.context.is_empty() && fact.images.is_empty() && fact.result_of.is_none();
    bare && fact.delivery == Delivery::Turn && !fact.dry_run
}

/// Remembers the keys of a fact, and forgets those of the oldest fact if there are too many.
fn remember(session: &mut Session, recorded: &RecordedFact) {
    let mut said = recorded.fact.keys().peekable();
    if said.peek().is_none() {
        return;
    }
    let keys = Arc::make_mut(&mut session.keys);
    let facts: BTreeSet<Seq> = keys.iter().map(|(_, seq)| *seq).collect();
    if facts.len() >= Session::MAX_KEYS {
        let oldest = facts.first().copied();
        keys.retain(|(_, seq)| Some(*seq) != oldest);
    }
    keys.extend(said.map(|key| (key.clone(), recorded.seq)));
}

/// Returns the open turn, which the fact must belong to and whose stage must allow it.
pub(crate) fn allowed<'a>(
    session: &'a mut Session,
    recorded: &RecordedFact,
    transition: Transition<'_>,
) -> Result<&'a mut Turn, InvalidFact> {
    if let Some(turn) = session.turn()
        && recorded.turn == Some(turn.id)
    {
        let allowed = turn.allows(session, transition);
        allowed.map_err(|why| invalid_fact(recorded, why))?;
    }
    turn_of(session, recorded)
}

/// Returns the open turn, which the fact must belong to.
pub(crate) fn turn_of<'a>(
    session: &'a mut Session,
    recorded: &RecordedFact,
) -> Result<&'a mut Turn, InvalidFact> {
    match &mut session.phase {
        Phase::Idle => Err(invalid_fact(recorded, "no turn is open")),
        Phase::InTurn(turn) if recorded.turn == Some(turn.id) => Ok(turn),
        Phase::InTurn(_) => Err(invalid_fact(recorded, "it is another turn's fact")),
    }
}

pub(crate) fn invalid_fact(recorded: &RecordedFact, why: &str) -> InvalidFact {
    InvalidFact {
        at: recorded.seq,
        kind: Cow::Borrowed(recorded.fact.kind()),
        reason: String::from(why),
    }
}

#[cfg(test)]
mod programs_tests;
#[cfg(test)]
mod tests;
