//! Outcome: the end of a turn. Every turn has exactly one.

use alloc::string::String;

use serde::{Deserialize, Serialize};

use crate::failure::FailureKind;

/// Outcome of a turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum TurnOutcome {
    /// The model answered and requested nothing more.
    Completed,
    /// The model ended without a text to the user.
    NoAnswer,
    /// The model refused to answer.
    Refused,
    /// The output violates the output schema, or the last program had no result.
    InvalidOutput {
        /// Description of the fault.
        fault: String,
    },
    /// A person or the process asked it to stop.
    Interrupted {
        /// Source of the interruption.
        by: InterruptSource,
        /// Reason for the interruption.
        reason: String,
    },
    /// A hook blocked its input or ended it.
    Blocked {
        /// Reason for the block.
        reason: String,
    },
    /// A limit was reached.
    Exhausted {
        /// The exhausted limit.
        limit: LimitKind,
    },
    /// The turn could not continue.
    Failed {
        /// Class of the failure.
        failure: FailureKind,
        /// Description of the failure, and advice.
        message: String,
    },
}

impl TurnOutcome {
    /// Returns the outcome of an inherited turn in a fork.
    pub(crate) fn forked() -> Self {
        let reason = String::from("the session was forked here");
        Self::Interrupted { by: InterruptSource::Person, reason }
    }

    /// Returns the source of the interrupt that ends a turn in this way, if one does.
    #[must_use]
    pub fn interrupted_by(&self) -> Option<InterruptSource> {
        match self {
            Self::Interrupted { by, .. } => Some(*by),
            Self::Exhausted { limit: LimitKind::WallClock } => Some(InterruptSource::Deadline),
            Self::Exhausted { .. }
            | Self::Completed
            | Self::NoAnswer
            | Self::Refused
            | Self::InvalidOutput { .. }
            | Self::Blocked { .. }
            | Self::Failed { .. } => None,
        }
    }
}

/// Source of an interruption.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InterruptSource {
    /// A person asked.
    Person,
    /// The call that the child session works for is over.
    Parent,
    /// The process was asked to end.
    Shutdown,
    /// The turn's own deadline passed.
    Deadline,
}

/// The limits that can end a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LimitKind {
    /// Samples of a turn.
    Samples,
    /// Calls of a sample. Only older engines ended a turn for it.
    CallsPerSample,
    /// Calls of a turn.
    Calls,
    /// Tokens of a turn.
    Tokens,
    /// The model's own limit of output tokens truncated the answer.
    OutputTokens,
    /// Wall-clock time per turn.
    WallClock,
    /// Money of a turn.
    Cost,
    /// Continuations of a turn by hooks.
    Continuations,
    /// Compactions of a turn.
    Compactions,
    /// The model's window: the conversation cannot be compacted enough.
    Context,
    /// Bytes of the session.
    SessionBytes,
}
