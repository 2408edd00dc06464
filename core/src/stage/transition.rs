//! Transitions: events that only some stages allow.

use crate::hook::HookOccurrence;
use crate::id::{InputId, Seq};
use crate::outcome::TurnOutcome;
use crate::session::{Session, Turn};

/// Event that only some stages allow.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Transition<'a> {
    /// The input is admitted.
    Accept(InputId),
    /// The input is blocked.
    Block(InputId),
    /// Context enters the conversation.
    Inject,
    /// The model is notified that the next sample is the last one for work.
    InjectLast,
    /// The model is notified that this output is invalid.
    AskAgain(Seq),
    /// The model is notified that this answer is empty.
    AskAfterEmpty(Seq),
    /// Hooks of the turn are asked.
    AskHooks(HookOccurrence),
    /// The compaction with this start ends.
    EndCompaction(Seq),
    /// The sample with this start adds an item, or ends.
    Sample(Seq),
    /// The turn ends with this outcome.
    Settle(&'a TurnOutcome),
}

/// Permission, or the reason for its absence.
pub(crate) type TransitionResult = Result<(), &'static str>;

impl Transition<'_> {
    /// Allows it only if the condition holds.
    pub(super) fn only_if(self, holds: bool) -> TransitionResult {
        if holds { Ok(()) } else { Err(self.refusal()) }
    }

    fn refusal(self) -> &'static str {
        match self {
            Self::Accept(_) | Self::Block(_) => "the turn does not wait for it",
            Self::Inject => "nothing is told to the model here",
            Self::InjectLast => "the next sample is not the last one for work",
            Self::AskAgain(_) | Self::AskAfterEmpty(_) => "no answer is asked for again here",
            Self::AskHooks(_) => "the session does not stand there",
            Self::EndCompaction(_) => "no compaction is out",
            Self::Sample(_) => "no sample is out",
            Self::Settle(_) => "the turn does not end in this way",
        }
    }
}

/// Rejection of a fact that names another run than the running one.
pub(super) const OTHER_RUN: &str = "it is another run's fact";

impl Turn {
    /// Returns true if the transition is allowed now: the stage allows it, and the turn is not to
    /// stop.
    pub(crate) fn allows(&self, session: &Session, transition: Transition<'_>) -> TransitionResult {
        match (transition, &self.stop) {
            (Transition::Settle(outcome), _) if session.turn_is_inherited() => {
                transition.only_if(*outcome == TurnOutcome::forked())
            }
            (Transition::Settle(outcome), Some(stop)) => {
                let so = stop.outcome == *outcome && self.may_stop(outcome);
                transition.only_if(so)
            }
            (Transition::Inject | Transition::AskHooks(_), Some(_)) => transition.only_if(false),
            (
                Transition::Accept(_)
                | Transition::Block(_)
                | Transition::Inject
                | Transition::InjectLast
                | Transition::AskAgain(_)
                | Transition::AskAfterEmpty(_)
                | Transition::AskHooks(_)
                | Transition::EndCompaction(_)
                | Transition::Sample(_)
                | Transition::Settle(_),
                _,
            ) => self.stage.rules().allows(session, self, transition),
        }
    }

    /// Returns true if a stop ends the turn here. An input that is not admitted is blocked first,
    /// unless it is held for a user.
    fn may_stop(&self, outcome: &TurnOutcome) -> bool {
        let rules = self.stage.rules();
        let waits = || match outcome {
            TurnOutcome::Interrupted { .. } | TurnOutcome::Exhausted { .. } => true,
            TurnOutcome::Completed
            | TurnOutcome::NoAnswer
            | TurnOutcome::Refused
            | TurnOutcome::InvalidOutput { .. }
            | TurnOutcome::Blocked { .. }
            | TurnOutcome::Failed { .. } => false,
        };
        let input = rules.opening().is_some_and(|opening| opening.is_input());
        !rules.winds_down() && (!input || waits())
    }

    /// Returns true if the turn was asked to end with this outcome after its step.
    pub(super) fn pauses(&self, outcome: &TurnOutcome) -> bool {
        let pause = self.pause.as_ref();
        pause.is_some_and(|pause| pause.outcome == *outcome)
    }
}

/// Returns true if the occurrence is about a compaction before or after the next request.
pub(super) fn about_compaction(turn: &Turn, at: HookOccurrence) -> bool {
    let next = turn.spent.compactions.saturating_add(1);
    let after = |(compacted, trigger)| HookOccurrence::AfterCompaction { compacted, trigger };
    matches!(at, HookOccurrence::BeforeCompaction { compaction, .. } if compaction == next)
        || turn.compacted.map(after) == Some(at)
}

/// Returns true if the occurrence is about a steering input.
pub(super) fn about_steer(session: &Session, at: HookOccurrence) -> bool {
    let about = |input| HookOccurrence::PromptSubmitted { input };
    session.steer().map(|queued| about(queued.id)) == Some(at)
}
