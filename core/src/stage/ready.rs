//! Ready: the model may be asked next, for a new sample.

use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::transition::{about_compaction, about_steer};
use super::{Allowed, Attempt, Next, Report, Rules, Then, Transition};
use crate::because::Because;
use crate::budget;
use crate::call::programs;
use crate::decide::admit::admit;
use crate::decide::turn::{ask, asked_at, pause, settle, waits};
use crate::decide::{Plan, compaction, context};
use crate::effect::{EffectKey, Owed};
use crate::error::Reject;
use crate::fact::Fact;
use crate::gate::hooks;
use crate::hook::{HookAt, HookPoint, SessionStart};
use crate::id::InputId;
use crate::outcome::Outcome;
use crate::program::SampleKind;
use crate::session::{Session, Turn};
use crate::time::Timestamp;

/// The model may be asked next, for a new sample.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ready {
    /// Reason of the next sample.
    pub because: Because,
    /// Set if the provider refused the conversation as too large, so that it must be compacted.
    pub overflow: bool,
    /// Earliest moment to ask.
    pub not_before: Option<Timestamp>,
}

impl Rules for Ready {
    fn allows(&self, session: &Session, turn: &Turn, transition: Transition<'_>) -> Allowed {
        let so = match transition {
            Transition::Accept(input) | Transition::Block(input) => session.is_steer(input),
            Transition::Inject | Transition::InjectLast => true,
            Transition::AskHooks(at) => {
                (resumes(session) && at == RESUME)
                    || about_steer(session, at)
                    || about_compaction(turn, at)
                    || at == before_sample(turn)
            }
            Transition::Settle(outcome) => {
                turn.pauses(outcome)
                    || matches!(outcome, Outcome::Exhausted { .. } | Outcome::Blocked { .. })
            }
            Transition::AskAgain(_) | Transition::EndCompaction(_) | Transition::Sample(_) => false,
        };
        transition.only_if(so)
    }

    fn on(&self, _: &Plan, _: &Turn, key: EffectKey, _: Report) -> Result<Vec<Fact>, Reject> {
        Err(Reject::Stale(key))
    }

    /// The model is asked after what the user has said to the turn, if the conversation fits, the
    /// hooks let it, and there is something left to spend.
    fn next(&self, plan: &Plan, turn: &Turn) -> Next {
        pause(plan, turn)
            .or(|| self.wait(plan, turn))
            .or(|| exhausted(plan, turn))
            .or(|| resume(plan, turn))
            .or(|| self.prepare(plan, turn))
            .or(|| hooks::or_blocked(plan, turn, before_sample(turn)))
            .or(|| ask(plan, turn))
    }

    fn owed(&self, _: &Session, _: &Turn) -> Option<Owed> {
        None
    }

    fn deadline(&self) -> Option<Timestamp> {
        self.not_before
    }

    fn accepted(&self, input: InputId) -> Ready {
        Self {
            because: Because::PendingInput { input },
            ..self.clone()
        }
    }

    fn attempt(&self) -> Option<Attempt> {
        Some(Attempt {
            because: self.because,
            failures: 0,
            restarts: 0,
            kind: self.retries().then_some(SampleKind::Retry),
        })
    }

    fn after_compaction(&self) -> Option<Then> {
        Some(Then::Ask(self.because))
    }

    fn retries(&self) -> bool {
        self.because.is_retry_return()
    }
}

const RESUME: HookAt = HookAt::SessionStart {
    start: SessionStart::Resume,
};

fn resumes(session: &Session) -> bool {
    session.start == Some(SessionStart::Resume)
}

fn before_sample(turn: &Turn) -> HookAt {
    let sample = turn.spent.samples.saturating_add(1);
    HookAt::BeforeSample { sample }
}

fn exhausted(plan: &Plan, turn: &Turn) -> Next {
    let limit = budget::spent(turn);
    Next::from(limit.map(|limit| settle(plan, turn, Outcome::Exhausted { limit })))
}

/// Hooks hear that the session goes on in another process.
fn resume(plan: &Plan, turn: &Turn) -> Next {
    if resumes(&plan.session) {
        hooks::or_blocked(plan, turn, RESUME)
    } else {
        Next::Pass
    }
}

impl Ready {
    /// Makes one for this reason, with a conversation that nobody has refused.
    #[must_use]
    pub(crate) fn because(because: Because) -> Self {
        Self {
            because,
            overflow: false,
            not_before: None,
        }
    }

    fn wait(&self, plan: &Plan, turn: &Turn) -> Next {
        match self.not_before {
            Some(until) if waits(plan, turn, until) => Next::Wait,
            Some(_) | None => Next::Pass,
        }
    }

    /// All that comes before the hooks that see the next request, and not while they see it.
    fn prepare(&self, plan: &Plan, turn: &Turn) -> Next {
        if asked_at(turn).is_some_and(|at| at.point() == HookPoint::BeforeSample) {
            return Next::Pass;
        }
        let steer = || match plan.session.steer() {
            Some(steer) => admit(plan, turn, steer),
            None => Next::Pass,
        };
        compaction::fit(plan, turn, self.overflow)
            .unwrap_or_else(|outcome| Next::Fact(settle(plan, turn, outcome)))
            .or(steer)
            .or(|| Next::from(context::pending(turn)))
            .or(|| Next::from(programs::last_sample(turn)))
    }
}
