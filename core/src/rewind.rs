//! Rewind: a session returns to an earlier point of its conversation, in place.
//!
//! The log stays whole. The state remembers the positions that it can return to, each with the
//! control data of the conversation there: those at which a fork may begin. A compaction replaces
//! the conversation, so it ends the reach of a rewind; a fork of an earlier position remains
//! possible. Everything that concerns the outside stays: keys, the queue, settings, the goal, usage.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::append_list::AppendList;
use crate::call::CallValidity;
use crate::compaction::VisiblePart;
use crate::context::{self, REWIND};
use crate::decide::{Plan, require_room, require_visible};
use crate::digest::Digest;
use crate::error::{InvalidFact, Reject};
use crate::evolve::invalid_fact;
use crate::fact::{
    CallStarted, CompactionFact, Fact, FactGroup, InputFact, ProgramFact, RunFact, SessionFact,
    SessionRewound, TurnFact,
};
use crate::hook::SessionStart;
use crate::id::Seq;
use crate::reason::Reason;
use crate::record::RecordedFact;
use crate::scope::Scope;
use crate::session::{Hold, MeasuredRequest, Phase, Session};
use crate::settings::EffectClass;

mod stored;

/// Most bytes that programs record for later ones between two ends of a rewind's reach. More of them
/// end it, as a compaction does.
pub(crate) const MAX_MEMORY_BYTES: u64 = 4 << 20;

/// Notice to the model if calls with effects were rewound.
const EFFECTS_REMAIN: &str = "The user went back to this point of the conversation. Effects of calls \
                              after this point remain: files and other things may have changed.";
/// Further notice if agents worked on after the point.
const RESULTS_LEFT: &str =
    "A result of an agent that was shown after this point is not shown any more.";

/// Positions that a rewind can return to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RewindPoints {
    /// Changes of the point, in order: each applies from its position to the next one.
    #[serde(with = "stored")]
    changes: AppendList<PointChange>,
    /// Changes of the lasting context that the model has seen, to undo them.
    context: AppendList<ContextChange>,
    /// Bytes of program memories since the first point.
    memory_bytes: u64,
    /// Positions before the turns of the conversation, as far as a rewind can return there.
    turns: AppendList<Seq>,
    /// Latest point between turns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    between_turns: Option<Seq>,
    /// Latest start of a call that may have changed something, or latest undo.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    latest_effect: Option<Seq>,
    /// Latest result of a detached child.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    latest_result: Option<Seq>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct PointChange {
    from: Seq,
    /// Point from there on; `None` where something is in progress.
    point: Option<RewindPoint>,
}

/// Control data of the conversation at a position.
#[derive(Debug, Clone, PartialEq, Eq)]
struct RewindPoint {
    visible: VisiblePart,
    measured: Option<MeasuredRequest>,
    start: Option<SessionStart>,
    memory_bytes: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ContextChange {
    at: Seq,
    name: String,
    before: Option<Digest>,
}

impl RewindPoints {
    /// Remembers a change of the lasting context, so that a rewind undoes it.
    pub(crate) fn note_context(&mut self, at: Seq, name: &str, before: Option<Digest>) {
        self.context.push(ContextChange { at, name: name.to_owned(), before });
    }

    /// Ends the reach of a rewind: no earlier point can be restored.
    fn clear(&mut self) {
        let Self { latest_effect, latest_result, .. } = *self;
        *self = Self { latest_effect, latest_result, ..Self::default() };
    }

    /// Counts the memory that a program left.
    fn retain_memory(&mut self, bytes: u64) {
        self.memory_bytes = self.memory_bytes.saturating_add(bytes);
        if self.memory_bytes > MAX_MEMORY_BYTES {
            self.clear();
        }
    }

    fn change_at(&self, position: Seq) -> Option<&PointChange> {
        self.changes.iter().take_while(|change| change.from <= position).last()
    }

    fn point_at(&self, position: Seq) -> Option<&RewindPoint> {
        self.change_at(position)?.point.as_ref()
    }

    /// Returns the nearest position before one without a point, in a log that ends at `last`.
    fn before(&self, position: Seq, last: Seq) -> Option<Seq> {
        let mut found = None;
        let mut points = false;
        for change in self.changes.iter().take_while(|change| change.from <= position) {
            if points {
                found = Some(Seq(change.from.0.saturating_sub(1)));
            }
            points = change.point.is_some();
        }
        if points { Some(last) } else { found }
    }

    /// Returns the nearest position after a position without a point.
    fn after(&self, position: Seq) -> Option<Seq> {
        let mut later = self.changes.iter().skip_while(|change| change.from <= position);
        later.find(|change| change.point.is_some()).map(|change| change.from)
    }
}

impl Session {
    /// Returns true if the session can return to the position of the last fact: a fork may begin
    /// there, and no context of hooks awaits a later turn.
    fn is_rewind_point(&self) -> bool {
        self.can_fork() && self.pending.is_empty()
    }

    /// Returns the position before the last turns of the conversation, from which a rewind takes
    /// them out; `None` if it cannot return so far. Turns that only compact do not count.
    #[must_use]
    pub fn position_before_turns(&self, count: usize) -> Option<Seq> {
        let index = self.rewind.turns.len().checked_sub(count)?;
        self.rewind.turns.iter_from(index).next().copied()
    }

    /// Returns the number of turns that a rewind can take out of the conversation.
    #[must_use]
    pub fn turns_in_reach(&self) -> usize {
        self.rewind.turns.len()
    }

    /// Returns the reason why the session cannot return to a position.
    fn no_rewind(&self, to: Seq) -> Reject {
        let (rewind, last) = (&self.rewind, Seq(self.next.0.saturating_sub(1)));
        let (before, after) = (rewind.before(to, last), rewind.after(to));
        match after {
            Some(oldest) if before.is_none() && to > Seq::ZERO => {
                Reject::RewindOutOfReach { to, oldest }
            }
            Some(_) | None => Reject::NoRewindPoint { to, before, after },
        }
    }

    /// Returns the point at a position that the session can return to.
    fn rewind_target(&self, to: Seq) -> Option<&RewindPoint> {
        self.rewind.point_at(to).filter(|_| to < self.next)
    }
}

/// Returns to an earlier point of the conversation.
pub(crate) fn on_rewind(plan: &mut Plan, scope: Scope, to: Seq) -> Result<(), Reject> {
    require_visible(plan, &scope)?;
    if let Some(turn) = plan.session.turn() {
        return Err(Reject::TurnRunning(turn.id));
    }
    let session = &plan.session;
    let point = session.rewind_target(to).ok_or_else(|| session.no_rewind(to))?;
    let rewind = &session.rewind;
    if rewind.change_at(to) == rewind.changes.last() && plan.key.is_none() {
        return Ok(());
    }
    require_room(plan)?;
    let (visible, notice, key) = (point.visible, notice(session, to), plan.key.take());
    plan.push(Fact::SessionRewound(SessionRewound {
        by: Arc::new(scope),
        to,
        visible,
        notice,
        key,
    }))
}

/// Returns the notice to the model that something after this position remains, if anything does.
fn notice(session: &Session, to: Seq) -> Option<Arc<str>> {
    let RewindPoints { latest_effect, latest_result, .. } = &*session.rewind;
    let agents = *latest_result > Some(to) || !session.detached.is_empty();
    match (*latest_effect > Some(to), agents) {
        (false, false) => None,
        (true, false) => Some(EFFECTS_REMAIN.into()),
        (_, true) => Some(format!("{EFFECTS_REMAIN} {RESULTS_LEFT}").into()),
    }
}

pub(crate) fn on_rewound(
    session: &mut Session,
    recorded: &RecordedFact,
    fact: &SessionRewound,
) -> Result<(), InvalidFact> {
    if session.phase != Phase::Idle {
        return Err(invalid_fact(recorded, "a turn is open"));
    }
    let point = session.rewind_target(fact.to).cloned();
    let point = point.ok_or_else(|| invalid_fact(recorded, "the session cannot return there"))?;
    if point.visible != fact.visible {
        return Err(invalid_fact(recorded, "the conversation there is another one"));
    }
    session.visible = match &fact.notice {
        Some(notice) => point.visible.with(context::framed(&context::frame(REWIND, notice))),
        None => point.visible,
    };
    session.measured = point.measured;
    session.start = point.start.or(session.start);
    session.pending.clear();
    session.hold = Hold::Held;
    undo_context(session, fact.to);
    let rewind = Arc::make_mut(&mut session.rewind);
    rewind.memory_bytes = point.memory_bytes;
    rewind.changes = until(&rewind.changes, |change| change.from <= fact.to);
    rewind.turns = until(&rewind.turns, |before| *before < fact.to);
    // The positions in between are not part of the conversation any more.
    rewind.changes.push(PointChange { from: fact.to.next(), point: None });
    Ok(())
}

/// Undoes the changes of the lasting context after a position, the latest first.
fn undo_context(session: &mut Session, to: Seq) {
    let kept = until(&session.rewind.context, |change| change.at <= to);
    let undone: Vec<&ContextChange> = session.rewind.context.iter_from(kept.len()).collect();
    let known = Arc::make_mut(&mut session.known_context);
    for change in undone.into_iter().rev() {
        match change.before {
            Some(before) => known.insert(change.name.clone(), before),
            None => known.remove(&change.name),
        };
    }
    Arc::make_mut(&mut session.rewind).context = kept;
}

/// Returns the first elements for which the condition holds.
fn until<T: Clone>(list: &AppendList<T>, holds: impl Fn(&T) -> bool) -> AppendList<T> {
    list.iter().take_while(|element| holds(element)).cloned().collect()
}

/// Remembers the position of an applied fact, if the session can return there.
pub(crate) fn remember(session: &mut Session, recorded: &RecordedFact) {
    match recorded.fact.group() {
        FactGroup::Turn(TurnFact::TurnOpened(fact)) => {
            let compacts = matches!(fact.reason, Reason::CompactionRequested { .. });
            let before = session.rewind.between_turns.filter(|_| !compacts);
            if let Some(before) = before {
                Arc::make_mut(&mut session.rewind).turns.push(before);
            }
        }
        FactGroup::Compaction(CompactionFact::Compacted(_)) => {
            Arc::make_mut(&mut session.rewind).clear();
        }
        FactGroup::Program(ProgramFact::ProgramRun(fact)) => {
            Arc::make_mut(&mut session.rewind).retain_memory(fact.outcome.memory_bytes());
        }
        FactGroup::Run(RunFact::CallStarted(fact)) if changes_something(session, fact) => {
            Arc::make_mut(&mut session.rewind).latest_effect = Some(recorded.seq);
        }
        FactGroup::Session(SessionFact::FilesRestored(_)) => {
            Arc::make_mut(&mut session.rewind).latest_effect = Some(recorded.seq);
        }
        FactGroup::Input(InputFact::InputQueued(fact)) if fact.result_of.is_some() => {
            Arc::make_mut(&mut session.rewind).latest_result = Some(recorded.seq);
        }
        FactGroup::Session(_)
        | FactGroup::Recovery(_)
        | FactGroup::Goal(_)
        | FactGroup::Input(_)
        | FactGroup::Turn(_)
        | FactGroup::Hook(_)
        | FactGroup::Context(_)
        | FactGroup::Compaction(_)
        | FactGroup::Sample(_)
        | FactGroup::Permission(_)
        | FactGroup::Run(_)
        | FactGroup::Program(_) => {}
    }
    let point = session.is_rewind_point().then_some(RewindPoint {
        visible: session.visible,
        measured: session.measured,
        start: session.start,
        memory_bytes: session.rewind.memory_bytes,
    });
    if session.turn().is_none() && point.is_some() {
        Arc::make_mut(&mut session.rewind).between_turns = Some(recorded.seq);
    }
    let last = session.rewind.changes.last();
    if last.map_or(point.is_some(), |last| last.point != point) {
        let changes = &mut Arc::make_mut(&mut session.rewind).changes;
        changes.push(PointChange { from: recorded.seq, point });
    }
}

/// Returns true if a run of a call may change something.
fn changes_something(session: &Session, fact: &CallStarted) -> bool {
    let calls = session.turn().map_or(&[][..], |turn| turn.calls());
    let call = calls.iter().find(|call| call.id == fact.call);
    let effect = call.is_some_and(|call| match &call.validity {
        CallValidity::Valid { effect, .. } => *effect != EffectClass::ReadOnly,
        CallValidity::Goal
        | CallValidity::Program { .. }
        | CallValidity::Surplus
        | CallValidity::Invalid { .. } => false,
    });
    effect && !fact.plan
}
