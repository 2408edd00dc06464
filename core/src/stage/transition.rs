//! Transitions: what may happen in some stages only.

use crate::hook::HookOccurrence;
use crate::id::{InputId, Seq};
use crate::outcome::TurnOutcome;
use crate::session::{Session, Turn};

/// Something that may happen in some stages only.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Transition<'a> {
    /// The input is let in.
    Accept(InputId),
    /// The input is kept out.
    Block(InputId),
    /// Context enters the conversation.
    Inject,
    /// The model is told that the next sample is the last one for work.
    InjectLast,
    /// The model is told that this answer does not have its shape.
    AskAgain(Seq),
    /// Hooks of the turn are asked.
    AskHooks(HookOccurrence),
    /// The compaction of this run ends.
    EndCompaction(Seq),
    /// The sample of this run brings an item, or ends.
    Sample(Seq),
    /// The turn ends like this.
    Settle(&'a TurnOutcome),
}

/// Permission, or the reason why there is none.
pub(crate) type TransitionResult = Result<(), &'static str>;

impl Transition<'_> {
    /// Allows it only if this holds.
    pub(super) fn only_if(self, holds: bool) -> TransitionResult {
        if holds { Ok(()) } else { Err(self.refusal()) }
    }

    fn refusal(self) -> &'static str {
        match self {
            Self::Accept(_) | Self::Block(_) => "the turn does not wait for it",
            Self::Inject => "nothing is told to the model here",
            Self::InjectLast => "the next sample is not the last one for work",
            Self::AskAgain(_) => "no answer is asked for again here",
            Self::AskHooks(_) => "the session does not stand there",
            Self::EndCompaction(_) => "no compaction is out",
            Self::Sample(_) => "no sample is out",
            Self::Settle(_) => "the turn does not end in this way",
        }
    }
}

/// Refusal of a fact that names another run than the one that is out.
pub(super) const OTHER_RUN: &str = "it is another run's fact";

impl Turn {
    /// Answers whether this may happen now: by the stage, unless the turn is to stop.
    pub(crate) fn allows(&self, session: &Session, transition: Transition<'_>) -> TransitionResult {
        match (transition, &self.stop) {
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
                | Transition::AskHooks(_)
                | Transition::EndCompaction(_)
                | Transition::Sample(_)
                | Transition::Settle(_),
                _,
            ) => self.stage.rules().allows(session, self, transition),
        }
    }

    /// Answers whether a stop ends the turn here. An input that was not let in is blocked first,
    /// unless it waits for a user's word.
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

    /// Answers whether the turn was asked to end like this after its step.
    pub(super) fn pauses(&self, outcome: &TurnOutcome) -> bool {
        let pause = self.pause.as_ref();
        pause.is_some_and(|pause| pause.outcome == *outcome)
    }
}

/// Answers whether this is an occurrence about the compaction before or after the next request.
pub(super) fn about_compaction(turn: &Turn, at: HookOccurrence) -> bool {
    let next = turn.spent.compactions.saturating_add(1);
    let after = |(compacted, trigger)| HookOccurrence::AfterCompaction { compacted, trigger };
    matches!(at, HookOccurrence::BeforeCompaction { compaction, .. } if compaction == next)
        || turn.compacted.map(after) == Some(at)
}

/// Answers whether this is an occurrence about an input that a user says to the turn.
pub(super) fn about_steer(session: &Session, at: HookOccurrence) -> bool {
    let about = |input| HookOccurrence::PromptSubmitted { input };
    session.steer().map(|queued| about(queued.id)) == Some(at)
}
