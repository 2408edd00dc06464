//! Because: the recorded reason for a sample or a turn. There is no default.

use serde::{Deserialize, Serialize};

use crate::id::{InputId, Seq};

/// Reason for opening a turn or starting a sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Reason {
    /// The turn's own input was accepted.
    Input {
        /// Id of the input.
        input: InputId,
    },
    /// Every call of the last sample has its observation.
    ToolResults,
    /// The last attempt failed and may be tried again, or its process is gone.
    Retry,
    /// The provider said that its answer is not finished.
    Unfinished,
    /// An input that came while the turn ran was accepted.
    PendingInput {
        /// Id of the input.
        input: InputId,
    },
    /// A hook has the model go on: it answered the model's answer, or the end of the turn.
    HookContext {
        /// Position of the `HookDecided`.
        decided: Seq,
    },
    /// The provider refused the last request as too large, and the conversation was compacted.
    Compacted,
    /// The last answer does not have the shape that the settings ask for.
    InvalidOutput {
        /// The `SampleStarted` of the answer.
        started: Seq,
    },
    /// The session's goal is not met. Opens a turn, and its first sample.
    Goal {
        /// Position of the `GoalSet`.
        set: Seq,
    },
}

impl Reason {
    /// Returns true if the last answer was not what is asked for.
    pub(crate) fn is_invalid_output(self) -> bool {
        matches!(self, Self::InvalidOutput { .. })
    }
}
