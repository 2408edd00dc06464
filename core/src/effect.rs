//! Effects: what the world owes a state. Keys say which run is meant.

use crate::id::{CallId, Seq};

/// One run of one effect. `started` is the position of the fact that caused this run, so a
/// key never comes back: a second run has a second fact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EffectKey {
    /// Ask the model.
    Sample {
        /// The `SampleStarted`.
        started: Seq,
    },
    /// Run a tool.
    Call {
        /// The call.
        call: CallId,
        /// The `CallStarted`.
        started: Seq,
    },
}

impl EffectKey {
    /// The fact that caused this run.
    #[must_use]
    pub fn started(&self) -> Seq {
        match self {
            Self::Sample { started } => *started,
            Self::Call { started, .. } => *started,
        }
    }
}

/// What is to be done about an effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Demand {
    /// It is to run.
    Run,
    /// It is to stop soon and say how far it came.
    Wind,
}

/// How settled the causing fact must be before an effect may start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Gate {
    /// The fact is decided; its append may still be under way. Only for effects that change
    /// nothing: asking a model, running a read-only tool.
    Decided,
    /// The fact is durable.
    Durable,
}

/// One thing that the world owes a state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Owed {
    /// Which run of which effect.
    pub key: EffectKey,
    /// What is to be done about it.
    pub demand: Demand,
    /// When it may start.
    pub gate: Gate,
}
