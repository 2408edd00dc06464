//! Decide: the facts that an input leads to.
//!
//! First come the facts that record the input, then every step that needs no effect. Each fact is
//! applied to a scratch copy of the state as it is made. So a decision is always valid in its own
//! state (law 13).

pub(crate) mod admit;
mod answer;
mod command;
pub(crate) mod compaction;
pub(crate) mod context;
pub(crate) mod empty_answer;
mod input;
pub(crate) mod output_schema;
mod proceed;
mod queue;
mod recover;
pub(crate) mod turn;
mod widening;

pub(crate) use input::{require_new_key, require_room, require_visible};

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::cell::Cell;

use crate::cause::{DecisionCause, InputKind};
use crate::error::Reject;
use crate::fact::{Fact, FactTurn, Lineage, SessionOpened};
use crate::id::{CallId, Seq, TurnId};
use crate::input::{Incoming, Input, OpenSession};
use crate::limits::Limits;
use crate::record::{Draft, RecordedFact};
use crate::session::{CallProgress, CallState, Session};
use crate::settings::ToolSpec;
use crate::time::Timestamp;

/// Returns the fact that opens a session.
#[must_use]
pub fn decide_open(opening: Incoming<OpenSession>) -> Draft {
    Draft {
        turn: None,
        ts: opening.at,
        cause: None,
        fact: Fact::SessionOpened(SessionOpened {
            owner: Arc::new(opening.input.owner),
            workspace: opening.input.workspace,
            settings: Arc::new(opening.input.settings),
            lineage: opening.input.lineage,
        }),
    }
}

/// Opens a session for a call of another session's turn. The child acts within the scope of that
/// turn. Its settings and limits allow no more than the turn's, and its limits no more than the
/// call's grant, if it has one. It has no tool that the turn does not have.
///
/// # Errors
/// [`Reject::NotRunning`] when the call does not run, [`Reject::OutOfScope`] when the scope is
/// wider, [`Reject::WidensPermissions`] when the settings are.
pub fn open_child(
    parent: &Session,
    call: CallId,
    mut opening: OpenSession,
) -> Result<OpenSession, Reject> {
    let turn = parent.turn().ok_or(Reject::NotRunning(call))?;
    let runs =
        |one: &&CallState| one.id == call && matches!(one.progress, CallProgress::Running { .. });
    let running = turn.calls().iter().find(runs);
    let running = running.ok_or(Reject::NotRunning(call))?;
    if !opening.owner.within(&turn.scope) {
        return Err(Reject::OutOfScope);
    }
    // The child's limits are narrowed to the turn's and to the call's grant, so wider ones are
    // accepted.
    let most = running.grant.map(|lent| lent.limits(&turn.limits));
    let most = most.unwrap_or(turn.limits);
    opening.settings.limits = opening.settings.limits.within(&most);
    let has = |tool: &ToolSpec| turn.settings.tools.contains(tool);
    if !opening.settings.tools.iter().all(has) {
        let what = "a tool that the parent does not have, or that is another one there";
        return Err(Reject::WidensPermissions(Cow::Borrowed(what)));
    }
    if let Some(what) = widening::widens(&turn.settings, &opening.settings) {
        return Err(Reject::WidensPermissions(Cow::Borrowed(what)));
    }
    opening.lineage = Lineage::Child { of: parent.id.clone(), call };
    Ok(opening)
}

/// Returns the facts that an input leads to, in order. `limits` are the upper limits of this
/// process.
///
/// Returns no facts if there is nothing to record: a tick before its time, or unchanged settings.
///
/// # Errors
/// [`Reject`] when the input is not possible in the current state; nothing changes then.
pub fn decide(
    session: &Session,
    limits: &Limits,
    input: Incoming<Input>,
) -> Result<Vec<Draft>, Reject> {
    let decided = decide_and_evolve(session, limits, input)?;
    let draft = |recorded: RecordedFact| Draft {
        turn: recorded.turn,
        ts: recorded.ts,
        cause: recorded.cause,
        fact: recorded.fact,
    };
    Ok(decided.facts.into_iter().map(draft).collect())
}

/// Returns the facts of [`decide`], numbered after the session's, and the resulting session.
/// Applying each fact with `evolve` yields the same session (law 1).
///
/// # Errors
/// As [`decide`].
pub fn decide_and_evolve(
    session: &Session,
    limits: &Limits,
    input: Incoming<Input>,
) -> Result<Decision, Reject> {
    let mut plan = Plan {
        session: session.clone(),
        ceiling: *limits,
        at: input.at,
        entropy: input.entropy,
        drawn: Cell::new(None),
        key: None,
        facts: Vec::new(),
    };
    let kind = InputKind::of(&input.input);
    input::decide_input(&mut plan, input.input)?;
    // What a narrower session leads to is decided with the input that waits behind this one.
    if kind != InputKind::Narrow {
        proceed::proceed(&mut plan)?;
    }
    plan.record_cause(kind);
    Ok(Decision { session: plan.session, facts: plan.facts })
}

/// A decision and the resulting session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// The session with the facts applied.
    pub session: Session,
    /// The facts, in order.
    pub facts: Vec<RecordedFact>,
}

/// A decision under construction.
pub(crate) struct Plan {
    /// The state with the facts applied.
    pub(crate) session: Session,
    /// Upper limits for every turn of this process.
    pub(crate) ceiling: Limits,
    /// Time of the input.
    pub(crate) at: Timestamp,
    /// Randomness that came with the input.
    entropy: u64,
    /// Number that the decision drew from the entropy.
    drawn: Cell<Option<u64>>,
    /// Key of the input, until a fact of the input records it.
    pub(crate) key: Option<String>,
    facts: Vec<RecordedFact>,
}

/// Returns a number up to `most`, taken from this randomness.
pub(crate) fn draw(entropy: u64, most: u64) -> u64 {
    most.checked_add(1).map_or(entropy, |count| entropy % count)
}

impl Plan {
    /// Adds a fact and applies it.
    pub(crate) fn push(&mut self, fact: Fact) -> Result<(), Reject> {
        let turn = match fact.turn() {
            FactTurn::Outside => None,
            FactTurn::Opens => Some(TurnId(self.session.next.0)),
            FactTurn::Inside => self.session.turn().map(|turn| turn.id),
        };
        let draft = Draft { turn, ts: self.at, cause: None, fact };
        let recorded = draft.number(&self.session.id, self.session.next);
        self.session.apply(&recorded).map_err(Reject::Defect)?;
        self.facts.push(recorded);
        Ok(())
    }

    /// Returns the position of the decision's first fact.
    pub(crate) fn start(&self) -> Seq {
        self.facts.first().map_or(self.session.next, |first| first.seq)
    }

    /// Draws a number up to `most` from the input's entropy. A decision draws at most once.
    pub(crate) fn draw(&self, most: u64) -> u64 {
        let drawn = draw(self.entropy, most);
        self.drawn.set(Some(drawn));
        drawn
    }

    /// Records the cause of the decision with its first fact.
    fn record_cause(&mut self, input: InputKind) {
        let facts = u32::try_from(self.facts.len()).unwrap_or(u32::MAX);
        let drawn = self.drawn.get();
        if let Some(first) = self.facts.first_mut() {
            first.cause = Some(DecisionCause { input, facts, drawn });
        }
    }
}
