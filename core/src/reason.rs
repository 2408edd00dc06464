//! Reason: the recorded reason for a sample or a turn. There is no default.

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
    /// The last attempt failed and may be retried, or its process ended.
    Retry,
    /// The provider reported an unfinished answer.
    Unfinished,
    /// A steering input was accepted.
    PendingInput {
        /// Id of the input.
        input: InputId,
    },
    /// A hook denied the answer or the turn's end, so the model continues.
    HookContext {
        /// Position of the `HookDecided`.
        decided: Seq,
    },
    /// The provider rejected the last request as too large, and the conversation was compacted.
    Compacted,
    /// The last output violates the output schema.
    InvalidOutput {
        /// Position of the `SampleStarted` of the answer.
        started: Seq,
    },
    /// The last answer had neither text nor calls.
    EmptyAnswer {
        /// Position of the `SampleStarted` of the answer.
        started: Seq,
    },
    /// A user asked to compact the conversation. Opens a turn, which asks for no sample.
    CompactionRequested {
        /// Position of the `CompactionRequested`.
        request: Seq,
    },
    /// The session's goal is not met. Opens a turn, and its first sample.
    Goal {
        /// Position of the `GoalSet`.
        set: Seq,
    },
}

impl Reason {
    /// Returns true for `InvalidOutput`.
    pub(crate) fn is_invalid_output(self) -> bool {
        matches!(self, Self::InvalidOutput { .. })
    }
}
