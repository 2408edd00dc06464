//! Effects: what the world must do for a state. Keys identify runs.

use core::fmt;

use serde::{Deserialize, Serialize};

use crate::id::{CallId, Seq};

/// One run of one effect. `started` is the position of the fact that caused the run. Keys are never
/// reused: a second run has a second fact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum EffectKey {
    /// Requests an answer of the model.
    Sample {
        /// Position of the `SampleStarted`.
        started: Seq,
    },
    /// Runs a tool.
    Call {
        /// Id of the call.
        call: CallId,
        /// Position of the `CallStarted`.
        started: Seq,
    },
    /// Asks a hook for a verdict.
    Hook {
        /// Index of the hook in the settings.
        hook: u32,
        /// Position of the `HooksAsked`.
        asked: Seq,
    },
    /// Asks a person for approval.
    Approval {
        /// Id of the call.
        call: CallId,
        /// Position of the `ApprovalAsked`.
        asked: Seq,
    },
    /// Asks a tool for the outcome of an interrupted call.
    Reconcile {
        /// Id of the call.
        call: CallId,
        /// Position of the fact that started the question.
        started: Seq,
    },
    /// Compacts the conversation.
    Compact {
        /// Position of the `CompactionStarted`.
        started: Seq,
    },
}

impl fmt::Display for EffectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sample { started } => write!(f, "the sample at {started}"),
            Self::Call { call, started } => write!(f, "the run at {started} of call {call}"),
            Self::Hook { hook, asked } => write!(f, "the run at {asked} of hook {hook}"),
            Self::Approval { call, asked } => {
                write!(f, "the question at {asked} about call {call}")
            }
            Self::Reconcile { call, started } => {
                write!(f, "the question at {started} of what became of call {call}")
            }
            Self::Compact { started } => write!(f, "the compaction at {started}"),
        }
    }
}

impl EffectKey {
    /// Returns the position of the fact that caused the run.
    #[must_use]
    pub fn started(&self) -> Seq {
        match self {
            Self::Sample { started }
            | Self::Call { started, .. }
            | Self::Reconcile { started, .. }
            | Self::Compact { started } => *started,
            Self::Hook { asked, .. } | Self::Approval { asked, .. } => *asked,
        }
    }
}

/// Demand on an effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Demand {
    /// The effect should run.
    Run,
    /// A sample should stop soon and report its progress if only text is streaming; else it runs to
    /// its end.
    Yield,
    /// The effect should stop soon and report its progress.
    Cancel,
}

/// One effect that a state requires.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DesiredEffect {
    /// Identifies the run of the effect.
    pub key: EffectKey,
    /// Demand on the effect.
    pub demand: Demand,
    /// Position that must be durable before the effect starts.
    ///
    /// An effect that changes something waits for its cause to be durable. A sample or a read-only
    /// tool need not wait, but never runs ahead by more than one sample.
    pub requires_durable: Seq,
}
