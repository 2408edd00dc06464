//! Opening: what the turn was opened for is to be let in.

use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::transition::about_compaction;
use super::{Allowed, Next, Ready, Report, Rules, Then, Transition};
use crate::because::Because;
use crate::decide::admit::{admit, kept_out};
use crate::decide::turn::{paused, rests, settle};
use crate::decide::{Plan, compaction, context};
use crate::effect::{EffectKey, Owed};
use crate::error::Reject;
use crate::fact::{Fact, InputBlocked};
use crate::gate::hooks::{self, At};
use crate::gate::word;
use crate::hook::HookAt;
use crate::id::{InputId, Seq};
use crate::outcome::Outcome;
use crate::session::{Queued, Session, Turn};
use crate::time::Timestamp;

/// Input or goal that is to be let in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Opening {
    /// Opened for an input.
    Input(InputId),
    /// The goal, by its `GoalSet`.
    Goal(Seq),
}

impl Rules for Opening {
    fn allows(&self, session: &Session, turn: &Turn, transition: Transition<'_>) -> Allowed {
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
                    || (!self.is_input() && matches!(outcome, Outcome::Blocked { .. }))
            }
            Transition::InjectLast
            | Transition::AskAgain(_)
            | Transition::EndCompaction(_)
            | Transition::Sample(_) => false,
        };
        transition.only_if(so)
    }

    fn on(&self, _: &Plan, _: &Turn, key: EffectKey, _: Report) -> Result<Vec<Fact>, Reject> {
        Err(Reject::Stale(key))
    }

    /// The hooks that hear of it come first, then a compaction, then what the model is to know
    /// before it. A turn that is to stop after its step hears the hooks that are being asked, and
    /// lets nothing in that the model would not be asked about.
    fn next(&self, plan: &Plan, turn: &Turn) -> Next {
        let begin_hooks = |at| self.begin_hook(plan, turn, at);
        let begins = begins(&plan.session).into_iter().flatten();
        begins
            .fold(Next::Pass, |next, at| next.or(|| begin_hooks(at)))
            .or(|| self.pause(plan, turn))
            .or(|| self.fit(plan, turn))
            .or(|| self.let_in(plan, turn))
    }

    fn owed(&self, _: &Session, _: &Turn) -> Option<Owed> {
        None
    }

    fn deadline(&self) -> Option<Timestamp> {
        None
    }

    fn opening(&self) -> Option<Opening> {
        Some(*self)
    }

    fn accepted(&self, input: InputId) -> Ready {
        Ready::because(Because::Opened { input })
    }

    fn after_compaction(&self) -> Option<Then> {
        Some(Then::Open(*self))
    }

    fn is_timed(&self, turn: &Turn) -> bool {
        turn.gates.open.is_some()
    }
}

/// Occurrences that hooks hear of before the input, in order.
fn begins(session: &Session) -> [Option<HookAt>; 2] {
    let start = session.start.map(|start| HookAt::SessionStart { start });
    [start, session.is_child().then_some(HookAt::SubTurnStart)]
}

impl Opening {
    /// Answers whether it is an input.
    pub(crate) fn is_input(self) -> bool {
        matches!(self, Self::Input(_))
    }

    fn prompt(self) -> Option<HookAt> {
        match self {
            Self::Input(input) => Some(HookAt::PromptSubmitted { input }),
            Self::Goal(_) => None,
        }
    }

    fn queued(self, plan: &Plan) -> Option<&Queued> {
        let mut queue = plan.session.queue.iter();
        queue.find(|queued| self == Self::Input(queued.id))
    }

    fn begin_hook(self, plan: &Plan, turn: &Turn, at: HookAt) -> Next {
        match hooks::at_turn(turn, at, word(at)) {
            At::Do(_) | At::Wait if turn.pause.is_some() && rests(turn) => paused(plan, turn),
            At::Do(fact) => Next::Fact(fact),
            At::Wait => Next::Wait,
            At::Passed(word) => {
                let denied = hooks::reason(word);
                Next::from(denied.map(|reason| self.refused(plan, turn, reason)))
            }
        }
    }

    fn refused(self, plan: &Plan, turn: &Turn, reason: String) -> Fact {
        match self {
            Self::Input(input) => Fact::InputBlocked(InputBlocked { input, reason }),
            Self::Goal(_) => settle(plan, turn, Outcome::Blocked { reason }),
        }
    }

    /// The end of a turn that is to stop after its step.
    fn pause(self, plan: &Plan, turn: &Turn) -> Next {
        if turn.pause.is_none() {
            return Next::Pass;
        }
        match self.queued(plan).and_then(|queued| kept_out(turn, queued)) {
            Some(fact) => Next::Fact(fact),
            None if rests(turn) => paused(plan, turn),
            None => Next::Wait,
        }
    }

    /// An input that does not fit is let in all the same, and the turn then ends for this reason.
    fn fit(self, plan: &Plan, turn: &Turn) -> Next {
        if plan.session.shown.items == 0 {
            return Next::Pass;
        }
        compaction::fit(plan, turn, false).unwrap_or(Next::Pass)
    }

    fn let_in(self, plan: &Plan, turn: &Turn) -> Next {
        if let Some(queued) = self.queued(plan) {
            return admit(plan, turn, queued);
        }
        let goal = plan.session.goal.as_ref();
        let goal = goal.filter(|goal| self == Self::Goal(goal.set));
        Next::Fact(match goal {
            Some(goal) => context::before_goal(plan, turn, goal),
            // The goal was taken away, or another one set, while the turn opened.
            None => {
                let reason = String::from("the goal was taken away");
                settle(plan, turn, Outcome::Blocked { reason })
            }
        })
    }
}
