//! Opening: the turn's input or goal awaits admission, or its compaction its start.

use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::transition::about_compaction;
use super::{
    AfterCompacting, EffectReport, NextFact, Ready, StageRules, Transition, TransitionResult,
};
use crate::budget;
use crate::decide::admit::{admit, block_input};
use crate::decide::turn::{is_at_rest, paused, settle};
use crate::decide::{Plan, compaction, context};
use crate::effect::{DesiredEffect, EffectKey};
use crate::error::Reject;
use crate::fact::{Fact, InputAccepted, InputBlocked};
use crate::hook::HookOccurrence;
use crate::hook_rounds::hooks::{self, HookStep};
use crate::hook_rounds::subject_name;
use crate::id::{InputId, Seq};
use crate::outcome::{LimitKind, TurnOutcome};
use crate::reason::Reason;
use crate::session::{QueuedInput, Session, Turn};
use crate::time::Timestamp;

/// Input or goal that awaits admission.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnOpening {
    /// Opened for an input.
    Input(InputId),
    /// The goal, by its `GoalSet`.
    Goal(Seq),
    /// A requested compaction, by its `CompactionRequested`.
    Compaction(Seq),
}

impl StageRules for TurnOpening {
    fn allows(
        &self,
        session: &Session,
        turn: &Turn,
        transition: Transition<'_>,
    ) -> TransitionResult {
        let so = match transition {
            Transition::Accept(input) | Transition::Block(input) => *self == Self::Input(input),
            Transition::Inject => true,
            Transition::AskHooks(at) => {
                begins(session).contains(&Some(at))
                    || self.prompt() == Some(at)
                    || about_compaction(turn, at)
            }
            Transition::Settle(outcome) => {
                turn.pauses(outcome)
                    || (!self.is_input() && matches!(outcome, TurnOutcome::Blocked { .. }))
                    || (self.is_compaction() && compaction_ends(session, turn, outcome))
            }
            Transition::InjectLast
            | Transition::AskAgain(_)
            | Transition::AskAfterEmpty(_)
            | Transition::EndCompaction(_)
            | Transition::Sample(_) => false,
        };
        transition.only_if(so)
    }

    fn on_report(
        &self,
        _: &Plan,
        _: &Turn,
        key: EffectKey,
        _: EffectReport,
    ) -> Result<Vec<Fact>, Reject> {
        Err(Reject::Stale(key))
    }

    /// The hooks on it come first, then a compaction, then context that precedes it. None of them
    /// precedes a user's command, which asks no model. A turn that is to pause waits for pending
    /// hooks, and admits nothing that the model would not be asked about.
    fn next(&self, plan: &Plan, turn: &Turn) -> NextFact {
        if turn.command {
            return self.pause(plan, turn).or(|| self.run_command(plan));
        }
        let begin_hooks = |at| self.begin_hook(plan, turn, at);
        let begins = begins(&plan.session).into_iter().flatten();
        begins
            .fold(NextFact::Pass, |next, at| next.or(|| begin_hooks(at)))
            .or(|| self.pause(plan, turn))
            .or(|| self.fit(plan, turn))
            .or(|| self.admit(plan, turn))
    }

    fn desired_effect(&self, _: &Session, _: &Turn) -> Option<DesiredEffect> {
        None
    }

    fn deadline(&self) -> Option<Timestamp> {
        None
    }

    fn opening(&self) -> Option<TurnOpening> {
        Some(*self)
    }

    fn accepted(&self, input: InputId) -> Ready {
        Ready::for_reason(Reason::Input { input })
    }

    fn after_compaction(&self) -> Option<AfterCompacting> {
        Some(AfterCompacting::Open(*self))
    }

    fn is_timed(&self, turn: &Turn) -> bool {
        turn.hook_rounds.open.is_some()
    }
}

/// Returns true if a turn that only compacts may end like this: it has compacted, or may not.
fn compaction_ends(session: &Session, turn: &Turn, outcome: &TurnOutcome) -> bool {
    let limit = TurnOutcome::Exhausted { limit: LimitKind::Compactions };
    let done = turn.compacted.is_some() || session.visible.items == 0;
    let ends = [TurnOutcome::Completed, compacted(turn)].contains(outcome);
    *outcome == limit || (ends && done)
}

/// Returns the outcome of a turn that has compacted. One that exceeded its budget says so.
fn compacted(turn: &Turn) -> TurnOutcome {
    match budget::exceeded(turn) {
        Some(limit) => TurnOutcome::Exhausted { limit },
        None => TurnOutcome::Completed,
    }
}

/// Returns the occurrences whose hooks precede the input, in order.
fn begins(session: &Session) -> [Option<HookOccurrence>; 2] {
    let start = session.start.map(|start| HookOccurrence::SessionStart { start });
    [start, session.is_child().then_some(HookOccurrence::SubTurnStart)]
}

impl TurnOpening {
    fn is_compaction(self) -> bool {
        matches!(self, Self::Compaction(_))
    }

    /// Returns true if it is an input.
    pub(crate) fn is_input(self) -> bool {
        matches!(self, Self::Input(_))
    }

    fn prompt(self) -> Option<HookOccurrence> {
        match self {
            Self::Input(input) => Some(HookOccurrence::PromptSubmitted { input }),
            Self::Goal(_) | Self::Compaction(_) => None,
        }
    }

    fn queued(self, plan: &Plan) -> Option<&QueuedInput> {
        let mut queue = plan.session.queue.iter();
        queue.find(|queued| self == Self::Input(queued.id))
    }

    fn begin_hook(self, plan: &Plan, turn: &Turn, at: HookOccurrence) -> NextFact {
        match hooks::at_turn(turn, at, subject_name(at)) {
            HookStep::Add(_) | HookStep::Wait if turn.pause.is_some() && is_at_rest(turn) => {
                paused(plan, turn)
            }
            HookStep::Add(fact) => NextFact::Fact(fact),
            HookStep::Wait => NextFact::Wait,
            HookStep::Finished(word) => {
                let denied = hooks::reason(word);
                NextFact::from(denied.map(|reason| self.refused(plan, turn, reason)))
            }
        }
    }

    fn refused(self, plan: &Plan, turn: &Turn, reason: String) -> Fact {
        match self {
            Self::Input(input) => Fact::InputBlocked(InputBlocked { input, reason }),
            Self::Goal(_) | Self::Compaction(_) => {
                settle(plan, turn, TurnOutcome::Blocked { reason })
            }
        }
    }

    /// Ends a turn that is to stop after its step.
    fn pause(self, plan: &Plan, turn: &Turn) -> NextFact {
        if turn.pause.is_none() {
            return NextFact::Pass;
        }
        match self.queued(plan).and_then(|queued| block_input(turn, queued)) {
            Some(fact) => NextFact::Fact(fact),
            None if is_at_rest(turn) => paused(plan, turn),
            None => NextFact::Wait,
        }
    }

    /// Compacts the conversation. An input that does not fit is admitted nevertheless, and the turn
    /// then ends for this reason.
    fn fit(self, plan: &Plan, turn: &Turn) -> NextFact {
        if self.is_compaction() {
            let next = compaction::on_request(plan, turn);
            return next.unwrap_or_else(|outcome| NextFact::Fact(settle(plan, turn, outcome)));
        }
        if plan.session.visible.items == 0 {
            return NextFact::Pass;
        }
        compaction::fit(plan, turn, false).unwrap_or(NextFact::Pass)
    }

    /// Admits a user's command, which is a call from then on.
    fn run_command(self, plan: &Plan) -> NextFact {
        let accepted = |queued: &QueuedInput| {
            let call = queued.command.clone();
            Fact::InputAccepted(InputAccepted { input: queued.id, call })
        };
        NextFact::or_wait(self.queued(plan).map(accepted))
    }

    fn admit(self, plan: &Plan, turn: &Turn) -> NextFact {
        if let Some(queued) = self.queued(plan) {
            return admit(plan, turn, queued);
        }
        if self.is_compaction() {
            return NextFact::Fact(settle(plan, turn, compacted(turn)));
        }
        let goal = plan.session.goal.as_ref();
        let goal = goal.filter(|goal| self == Self::Goal(goal.set));
        NextFact::Fact(match goal {
            Some(goal) => context::before_goal(plan, turn, goal),
            // The goal was removed or replaced while the turn opened.
            None => {
                let reason = String::from("the goal was taken away");
                settle(plan, turn, TurnOutcome::Blocked { reason })
            }
        })
    }
}
