//! Forks: a session that continues a copy of another one's log.
//!
//! A fork's log starts with its own opening, then has the other log's facts unchanged, up to a
//! position. The source session decided the inherited facts, so they fold and replay under its id.
//! After them the fork is a session like any other. It begins held: nothing runs without a user's
//! request. A turn that is open at the position goes no further: the fork's own first decision
//! settles it. Absent: reading and writing logs.

use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::cause::DecisionCause;
use crate::error::InvalidFact;
use crate::evolve::invalid_fact;
use crate::fact::{Ancestor, Fact, Lineage, SessionOpened};
use crate::format::FactFormat;
use crate::goal::GoalStatus;
use crate::id::{Seq, SessionId};
use crate::record::RecordedFact;
use crate::scope::Scope;
use crate::session::{Hold, Phase, Session};
use crate::time::Timestamp;

/// The log of a fork, fact by fact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fork {
    first: RecordedFact,
    of: SessionId,
    at: Seq,
}

/// Reason why a fork is impossible.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidFork {
    /// The source's first fact opens no session.
    #[error("{0}")]
    InvalidFact(InvalidFact),
    /// Too many forks precede it.
    #[error(
        "it would be a fork of a fork, more than {} times over: fork a session that it comes from, \
         or begin a new one",
        Fork::MAX_ANCESTORS
    )]
    TooDeep,
}

impl Fork {
    /// Most ancestors of a fork.
    pub const MAX_ANCESTORS: usize = 256;

    /// Creates a fork with the id `id` of the session at the position `at`. It belongs to `owner`
    /// and opens at the time `opened`. `first` is the first fact of the other session.
    ///
    /// Does not check if that session can be forked there; see [`Session::can_fork`].
    ///
    /// # Errors
    /// [`InvalidFork`] when `first` opens no session, or when too many forks precede it.
    pub fn new(
        first: &RecordedFact,
        at: Seq,
        id: &SessionId,
        owner: Arc<Scope>,
        opened: Timestamp,
    ) -> Result<Self, InvalidFork> {
        let Fact::SessionOpened(fact) = &first.fact else {
            let why = "a log begins with SessionOpened";
            return Err(InvalidFork::InvalidFact(invalid_fact(first, why)));
        };
        let before = ancestors(&fact.lineage, at);
        if before.len() > Self::MAX_ANCESTORS {
            return Err(InvalidFork::TooDeep);
        }
        let of = first.session.clone();
        let opening = SessionOpened {
            owner,
            workspace: fact.workspace.clone(),
            settings: fact.settings.clone(),
            lineage: Lineage::Fork { of: of.clone(), at, ancestors: before },
        };
        let first = RecordedFact {
            format: FactFormat::CURRENT,
            session: id.clone(),
            seq: first.seq,
            turn: None,
            ts: opened,
            cause: None,
            fact: Fact::SessionOpened(opening),
        };
        Ok(Self { first, of, at })
    }

    /// Returns the first fact of the fork.
    #[must_use]
    pub fn first(&self) -> &RecordedFact {
        &self.first
    }

    /// Returns the fork's copy of a fact of the other log; `None` for a fact that it does not
    /// inherit.
    #[must_use]
    pub fn map_fact(&self, recorded: &RecordedFact) -> Option<RecordedFact> {
        if recorded.session != self.of || recorded.seq > self.at {
            return None;
        }
        if recorded.seq == self.first.seq {
            return Some(self.first.clone());
        }
        // The fork's decision ends at the last inherited fact.
        let left = self.at.0.saturating_sub(recorded.seq.0).saturating_add(1);
        let left = u32::try_from(left).unwrap_or(u32::MAX);
        let cause =
            recorded.cause.map(|cause| DecisionCause { facts: cause.facts.min(left), ..cause });
        Some(RecordedFact { session: self.first.session.clone(), cause, ..recorded.clone() })
    }
}

/// Returns the ancestors of a fork at a position of a session with this lineage.
fn ancestors(lineage: &Lineage, at: Seq) -> Vec<Ancestor> {
    match lineage {
        Lineage::Root => Vec::new(),
        Lineage::Child { of, call } => alloc::vec![Ancestor::Child { of: of.clone(), call: *call }],
        Lineage::Fork { of, at: taken, ancestors: before } => {
            let nearest = Ancestor::Fork { of: of.clone(), at: at.min(*taken) };
            let older = before.iter().map(|ancestor| match ancestor {
                Ancestor::Fork { of, at: taken } => {
                    Ancestor::Fork { of: of.clone(), at: at.min(*taken) }
                }
                Ancestor::Child { of, call } => Ancestor::Child { of: of.clone(), call: *call },
            });
            core::iter::once(nearest).chain(older).collect()
        }
    }
}

/// Session that decides and folds a fact.
struct FactAuthor<'a> {
    session: &'a SessionId,
    child: bool,
}

impl Session {
    /// Returns true if a fork may begin after the last fact. Nothing runs, and only work that a
    /// [`Hold`] blocks is due. So a fork repeats nothing and omits nothing. No turn is open, or its
    /// latest sample has settled: the fork settles that turn without a further effect.
    #[must_use]
    pub fn can_fork(&self) -> bool {
        let goal_goes_on = self.goal.as_ref().is_none_or(|goal| match goal.status {
            GoalStatus::Waiting => true,
            GoalStatus::Due => goal.turns < goal.goal.turns,
            GoalStatus::Met { .. } | GoalStatus::Stopped { .. } => false,
        });
        let compacts = self.compaction.as_ref().is_some_and(|request| !request.waits);
        let rests = match &self.phase {
            Phase::Idle => true,
            Phase::InTurn(turn) => turn.is_sample_settled(),
        };
        rests && self.hook_rounds.open.is_none() && goal_goes_on && !compacts
    }

    /// Returns true if the open turn is inherited: another session opened it, and this one was
    /// forked in it. It goes no further here.
    #[must_use]
    pub fn turn_is_inherited(&self) -> bool {
        self.forked_in_turn().is_some()
    }

    /// Returns the last inherited position if the open turn is inherited.
    pub(crate) fn forked_in_turn(&self) -> Option<Seq> {
        let (Lineage::Fork { at, ancestors, .. }, Some(turn)) = (&*self.lineage, self.turn())
        else {
            return None;
        };
        let older = ancestors.iter().filter_map(|ancestor| match ancestor {
            Ancestor::Fork { at, .. } => Some(*at),
            Ancestor::Child { .. } => None,
        });
        let mut forks = core::iter::once(*at).chain(older);
        forks.find(|at| turn.id.0 <= at.0 && *at < self.next)
    }

    /// Returns the last inherited position if the fork's log does not reach it yet. Nothing may run
    /// in such a session.
    #[must_use]
    pub fn missing_up_to(&self) -> Option<Seq> {
        match *self.lineage {
            Lineage::Fork { at, .. } => (self.next <= at).then_some(at),
            Lineage::Root | Lineage::Child { .. } => None,
        }
    }

    /// Returns the session that decides the next fact, or that decided it: this one, or the source
    /// of an inherited fact.
    #[must_use]
    pub fn author(&self) -> &SessionId {
        self.fact_author().session
    }

    /// Returns true if another session's turn started the turns of this session. Turns that a fork
    /// inherits have the answer of the session that they are from.
    #[must_use]
    pub fn is_child(&self) -> bool {
        self.fact_author().child
    }

    fn fact_author(&self) -> FactAuthor<'_> {
        let own = |child| FactAuthor { session: &self.id, child };
        let (of, at, before) = match &*self.lineage {
            Lineage::Root => return own(false),
            Lineage::Child { .. } => return own(true),
            Lineage::Fork { of, at, ancestors: before } => (of, *at, before),
        };
        if self.next > at {
            return own(false);
        }
        let mut writer = FactAuthor { session: of, child: false };
        for ancestor in before {
            match ancestor {
                Ancestor::Fork { of, at } if self.next <= *at => writer.session = of,
                Ancestor::Fork { .. } => break,
                Ancestor::Child { .. } => writer.child = true,
            }
        }
        writer
    }

    /// Holds a fork's waiting inputs and due goal until a user acts. The source session handles
    /// them, since it received them. A fork of a fork was held from its own start.
    pub(crate) fn hold_if_forked(&mut self, seq: Seq) {
        let Lineage::Fork { at, ancestors: before, .. } = &*self.lineage else {
            return;
        };
        let began = before.iter().any(|ancestor| match ancestor {
            Ancestor::Fork { at, .. } => *at == seq,
            Ancestor::Child { .. } => false,
        });
        if *at == seq || began {
            self.hold = Hold::Held;
            // They report to the source.
            self.detached.clear();
        }
    }
}

#[cfg(test)]
mod tests;
