//! Stages of an open turn, one module each.
//!
//! A stage's module holds its state and its [`StageRules`], with the same functions in the same
//! order. They define the allowed facts, the handling of effect reports, the next fact, the desired
//! effect, and the deadline. The functions below them apply the facts that enter and leave the
//! stage. Rules of all stages are in `decide`, `evolve` and `desired_effects`.
//!
//! A new stage is a module, its line in the table below, and a transition from another stage.

mod backoff;
pub(crate) mod compacting;
mod concluding;
mod effectful_calls;
mod ending;
pub(crate) mod executing;
mod next;
mod opening;
mod ready;
pub(crate) mod sampling;
mod transition;

pub use backoff::Backoff;
pub use compacting::{AfterCompacting, Compacting};
pub use concluding::Concluding;
pub use effectful_calls::{EffectfulCall, EffectfulCalls};
pub use executing::{AfterCalls, Executing};
pub(crate) use next::NextFact;
pub use opening::TurnOpening;
pub use ready::Ready;
pub use sampling::{AnswerKind, Sampling};
pub(crate) use transition::{Transition, TransitionResult};

use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::agent::BudgetUsage;
use crate::call::Observation;
use crate::decide::Plan;
use crate::effect::{DesiredEffect, EffectKey};
use crate::error::Reject;
use crate::fact::Fact;
use crate::id::{InputId, Seq};
use crate::input::{CompactionResult, ProgramEvent, SampleEvent};
use crate::outcome::TurnOutcome;
use crate::program::SampleKind;
use crate::reason::Reason;
use crate::session::{CallState, Session, Turn};
use crate::time::Timestamp;

macro_rules! stages {
    ($($(#[$doc:meta])* $name:ident($state:ty) = $word:literal,)+) => {
        /// Stage of an open turn.
        #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
        pub enum Stage {
            $($(#[$doc])* #[serde(rename = $word)] $name($state),)+
        }

        /// Name of a stage.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum StageName {
            $($(#[$doc])* $name,)+
        }

        impl Stage {
            /// Returns the name of the stage.
            #[must_use]
            pub fn name(&self) -> StageName {
                match self { $(Self::$name(_) => StageName::$name,)+ }
            }

            /// Returns the rules of the stage.
            pub(crate) fn rules(&self) -> &dyn StageRules {
                match self { $(Self::$name(state) => state,)+ }
            }

            /// Returns the rules of the stage, mutably.
            pub(crate) fn rules_mut(&mut self) -> &mut dyn StageRules {
                match self { $(Self::$name(state) => state,)+ }
            }
        }

        impl StageName {
            /// All stages, in the order in which a turn enters them.
            pub const ALL: &'static [Self] = &[$(Self::$name,)+];

            /// Returns the name for logs, tables and charts.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => $word,)+ }
            }
        }
    };
}

stages! {
    /// Its input or goal awaits admission.
    Opening(TurnOpening) = "opening",
    /// The model may be asked next.
    Ready(Ready) = "ready",
    /// The conversation is being compacted.
    Compacting(Compacting) = "compacting",
    /// The model has been asked.
    Sampling(Sampling) = "sampling",
    /// The last attempt failed; the next one waits.
    Backoff(Backoff) = "backoff",
    /// Tool calls are pending.
    Executing(Executing) = "executing",
    /// The model has answered and requests nothing more.
    Concluding(Concluding) = "concluding",
    /// The turn cannot continue: this outcome must be recorded.
    Ending(TurnOutcome) = "ending",
}

/// Report of an effect to the stage that desires it.
pub(crate) enum EffectReport {
    /// A sample's next item, its end, or its failure.
    SampleEvent(SampleEvent),
    /// The result of a tool.
    CallEnded(Observation),
    /// The result of an agent, and its usage.
    AgentEnded(Observation, BudgetUsage),
    /// The result of an agent whose child continues.
    AgentDetached(Observation),
    /// The outcome of a call, if its tool knows it.
    CallReconciled(Option<Observation>),
    /// The next calls of a program, or its end.
    ProgramEvent(ProgramEvent),
    /// A compaction, or the reason why there is none.
    CompactionEnded(Result<CompactionResult, String>),
    /// The effect was cancelled before it started.
    NeverStarted,
    /// The process that ran the effect ended.
    ProcessEnded,
}

/// Next attempt at a sample.
pub(crate) struct Attempt {
    /// Reason for the attempt.
    pub(crate) reason: Reason,
    /// Earlier failures of the sample.
    pub(crate) failures: u32,
    /// Earlier restarts of the sample.
    pub(crate) restarts: u32,
    /// Kind of the sample, if the stage alone decides it.
    pub(crate) kind: Option<SampleKind>,
}

/// Rules of a stage.
pub(crate) trait StageRules {
    /// Allows or rejects a fact in this stage. Called once per fact, when it is applied: to the
    /// scratch state of a decision, and by a fold.
    fn allows(
        &self,
        session: &Session,
        turn: &Turn,
        transition: Transition<'_>,
    ) -> TransitionResult;

    /// Returns the facts that a report of this stage's effect leads to.
    fn on_report(
        &self,
        plan: &Plan,
        turn: &Turn,
        key: EffectKey,
        report: EffectReport,
    ) -> Result<Vec<Fact>, Reject>;

    /// Returns the next fact that needs no effect. Not called in a turn that is to stop, unless the
    /// stage waits for cancelled effects.
    fn next(&self, plan: &Plan, turn: &Turn) -> NextFact;

    /// Returns the stage's own desired effect. Those of its calls come in addition.
    fn desired_effect(&self, session: &Session, turn: &Turn) -> Option<DesiredEffect>;

    /// Returns the end of its wait, if it waits for a time.
    fn deadline(&self) -> Option<Timestamp>;

    /// Returns the pending calls.
    fn calls(&self) -> &[CallState] {
        &[]
    }

    /// Returns the pending calls, mutably.
    fn calls_mut(&mut self) -> &mut [CallState] {
        &mut []
    }

    /// Returns the number of the turn's calls that belong to the current answer, if there is one.
    fn counted(&self) -> Option<u32> {
        None
    }

    /// Returns the `SampleStarted` of the current answer.
    fn answer(&self) -> Option<Seq> {
        None
    }

    /// Returns the input or goal that awaits admission.
    fn opening(&self) -> Option<TurnOpening> {
        None
    }

    /// Returns the stage after an input was accepted here.
    fn accepted(&self, input: InputId) -> Ready {
        Ready::for_reason(Reason::PendingInput { input })
    }

    /// Returns the next attempt at a sample, if one may start here.
    fn attempt(&self) -> Option<Attempt> {
        None
    }

    /// Returns the step after a compaction, if one may start here.
    fn after_compaction(&self) -> Option<AfterCompacting> {
        None
    }

    /// Returns true if nothing of the latest sample is in progress here: its answer is complete,
    /// and the next sample or the turn's end follows.
    fn rests(&self, _: &Turn) -> bool {
        false
    }

    /// Returns true if the turn's end is decided here, so that a hook can make it continue.
    fn concludes(&self) -> bool {
        false
    }

    /// Returns true if the next sample is a re-ask for an invalid output.
    fn re_asks(&self) -> bool {
        false
    }

    /// Returns true if a turn that is to stop waits here for running effects.
    fn winds_down(&self) -> bool {
        false
    }

    /// Returns true if the turn's time limit applies here. It does not apply to work done in one
    /// step.
    fn is_timed(&self, _turn: &Turn) -> bool {
        true
    }
}
