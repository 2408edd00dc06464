//! Answer: the result of a completed turn.

use std::fmt;

use windlass_engine::TurnReport;
use windlass_engine::core::{SessionId, TurnId, TurnOutcome, TurnUsage};

use crate::error::{Error, TurnFailure};

/// Answer of a completed turn.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Answer<T = String> {
    /// Text of the answer, or the value of [`run_as`](crate::Conversation::run_as).
    pub output: T,
    /// Usage of the turn.
    pub usage: TurnUsage,
    /// Session of the turn.
    pub session: SessionId,
    /// Id of the turn.
    pub turn: TurnId,
}

impl Answer {
    /// Returns the answer of a turn that completed.
    pub(crate) fn new(report: TurnReport) -> Result<Self, Error> {
        if report.outcome != TurnOutcome::Completed {
            return Err(Error::Turn(Box::new(TurnFailure::new(report))));
        }
        Ok(Self {
            output: report.answer,
            usage: report.spent,
            session: report.settled.session.clone(),
            turn: report.turn,
        })
    }
}

impl<T> Answer<T> {
    /// Returns the same answer with another output.
    #[cfg(feature = "typed")]
    pub(crate) fn with_output<U>(self, output: U) -> Answer<U> {
        Answer { output, usage: self.usage, session: self.session, turn: self.turn }
    }
}

impl<T: fmt::Display> fmt::Display for Answer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.output.fmt(f)
    }
}
