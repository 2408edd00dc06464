//! Outcome: how a turn ended. Every turn has exactly one.

use alloc::string::String;

use serde::{Deserialize, Serialize};

use crate::failure::FailureKind;

/// How a turn ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Outcome {
    /// The model answered and asked for nothing more.
    Completed,
    /// The model ended without a word to the user.
    NoAnswer,
    /// The model declined.
    Refused,
    /// The model answered, and its answer does not have the shape that the settings ask for.
    Misshapen {
        /// What is wrong with it.
        fault: String,
    },
    /// Somebody or something asked it to stop.
    Interrupted {
        /// Who asked.
        by: Interrupter,
        /// In which words.
        reason: String,
    },
    /// The prompt was not let in.
    Blocked {
        /// Why.
        reason: String,
    },
    /// A limit was reached.
    Exhausted {
        /// Which one.
        limit: LimitKind,
    },
    /// It could not go on.
    Failed {
        /// The class.
        failure: FailureKind,
        /// What happened, and what to do about it.
        message: String,
    },
}

/// Who asks a turn to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Interrupter {
    /// A person.
    Person,
    /// The process is told to end.
    Shutdown,
    /// The turn's own deadline passed.
    Deadline,
}

/// The limits that can end a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LimitKind {
    /// Samples per turn.
    Samples,
    /// Calls per sample.
    CallsPerSample,
    /// Calls per turn.
    Calls,
    /// Tokens per turn.
    Tokens,
    /// The model's own limit of output tokens cut the answer off.
    OutputTokens,
    /// Wall-clock time per turn.
    WallClock,
    /// Money per turn.
    Cost,
    /// How often hooks may have a turn go on.
    Continuations,
    /// Compactions per turn.
    Compactions,
    /// The model's window: the conversation cannot be made to fit.
    Context,
}
