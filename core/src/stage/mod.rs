//! Stages of an open turn, one module each.
//!
//! A stage's module holds its state and its [`StageRules`], with the same functions in the same order:
//! what it allows, what the answers to its effects do, which fact comes next by itself, which
//! effect it owes, and when to look again. The functions below them apply the facts that enter
//! and leave the stage. Whatever holds in every stage is in `decide`, `evolve` and `owed`.
//!
//! A new stage is a module, its line in the table below, and the stage that leads to it.

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

            /// Returns the rules of the stage, to change its calls.
            pub(crate) fn rules_mut(&mut self) -> &mut dyn StageRules {
                match self { $(Self::$name(state) => state,)+ }
            }
        }

        impl StageName {
            /// All of them, in the order in which a turn comes to them.
            pub const ALL: &'static [Self] = &[$(Self::$name,)+];

            /// Returns the form that logs, tables and charts spell.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => $word,)+ }
            }
        }
    };
}

stages! {
    /// Its input is to be let in.
    Opening(TurnOpening) = "opening",
    /// The model may be asked next.
    Ready(Ready) = "ready",
    /// The conversation is being compacted.
    Compacting(Compacting) = "compacting",
    /// The model has been asked.
    Sampling(Sampling) = "sampling",
    /// The last attempt failed; the next one waits.
    Backoff(Backoff) = "backoff",
    /// Tool calls are out.
    Executing(Executing) = "executing",
    /// The model has answered and asks for nothing more.
    Concluding(Concluding) = "concluding",
    /// It cannot go on: this outcome is to be recorded.
    Ending(TurnOutcome) = "ending",
}

/// Answer of an effect to the stage that owes it.
pub(crate) enum EffectReport {
    /// A sample's next item, its end, or its failure.
    SampleEvent(SampleEvent),
    /// The result of a tool.
    CallEnded(Observation),
    /// The result of an agent, and what it took.
    AgentEnded(Observation, BudgetUsage),
    /// The fate of a call, where its tool knows it.
    CallReconciled(Option<Observation>),
    /// The next calls of a program, or its end.
    ProgramEvent(ProgramEvent),
    /// A compaction, or the reason why there is none.
    CompactionEnded(Result<CompactionResult, String>),
    /// The effect was cancelled before it began.
    NeverStarted,
    /// The process that ran the effect ended.
    ProcessEnded,
}

/// Next attempt at a sample.
pub(crate) struct Attempt {
    /// Recorded reason for it.
    pub(crate) reason: Reason,
    /// Failures of the sample before it.
    pub(crate) failures: u32,
    /// Restarts of the sample before it.
    pub(crate) restarts: u32,
    /// The kind of the sample, where the stage alone decides it.
    pub(crate) kind: Option<SampleKind>,
}

/// Rules of a stage.
pub(crate) trait StageRules {
    /// Allows or refuses what a fact does here. It is asked once for a fact, as the fact is applied:
    /// by a decision to its scratch state, and by a fold.
    fn allows(
        &self,
        session: &Session,
        turn: &Turn,
        transition: Transition<'_>,
    ) -> TransitionResult;

    /// Returns the facts that the answer to an effect of this stage leads to.
    fn on_report(
        &self,
        plan: &Plan,
        turn: &Turn,
        key: EffectKey,
        report: EffectReport,
    ) -> Result<Vec<Fact>, Reject>;

    /// Returns the next fact that needs nothing from the world. The turn is not to stop, unless the
    /// stage winds down.
    fn next(&self, plan: &Plan, turn: &Turn) -> NextFact;

    /// Returns the effect that it owes by itself. Those of its calls come in addition.
    fn desired_effect(&self, session: &Session, turn: &Turn) -> Option<DesiredEffect>;

    /// Returns the end of its wait, where it waits for a time.
    fn deadline(&self) -> Option<Timestamp>;

    /// Returns the calls that are out.
    fn calls(&self) -> &[CallState] {
        &[]
    }

    /// Returns the calls that are out, to change.
    fn calls_mut(&mut self) -> &mut [CallState] {
        &mut []
    }

    /// Returns how many of the turn's calls so far belong to the answer that it works on, where it
    /// works on one.
    fn counted(&self) -> Option<u32> {
        None
    }

    /// Returns the `SampleStarted` of the answer that it works on.
    fn answer(&self) -> Option<Seq> {
        None
    }

    /// Returns what is still to be let in.
    fn opening(&self) -> Option<TurnOpening> {
        None
    }

    /// Returns the stage after an input was accepted here.
    fn accepted(&self, input: InputId) -> Ready {
        Ready::for_reason(Reason::PendingInput { input })
    }

    /// Returns the next attempt at a sample, where one may start here.
    fn attempt(&self) -> Option<Attempt> {
        None
    }

    /// Returns what follows a compaction that starts here, where one may start.
    fn after_compaction(&self) -> Option<AfterCompacting> {
        None
    }

    /// Answers whether the end of the turn is decided here, so that a hook can have it go on.
    fn concludes(&self) -> bool {
        false
    }

    /// Answers whether what comes next is a further try at a rejected return.
    fn re_asks(&self) -> bool {
        false
    }

    /// Answers whether a turn that is to stop waits here for what runs.
    fn winds_down(&self) -> bool {
        false
    }

    /// Answers whether the turn's time limit counts here. What is done in one step is not timed.
    fn is_timed(&self, _turn: &Turn) -> bool {
        true
    }
}
