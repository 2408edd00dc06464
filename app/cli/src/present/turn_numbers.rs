//! Numbers of turns, as people name them: the first turn of a session is turn 1. The id of a turn, the
//! position of its opening, is for JSON and for the API.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use windlass_engine::core::{Fact, RecordedFact, Seq, SessionId, TurnId};
use windlass_engine::ports::{LogReader, LogStore};

use crate::exit::Failure;

/// Turns of a session in the order of their opening.
#[derive(Debug, Default)]
pub(crate) struct TurnNumbers(Vec<TurnId>);

impl TurnNumbers {
    /// Reads the turns of a session from its log.
    ///
    /// # Errors
    /// [`Failure`] when the log cannot be read.
    pub(crate) async fn read(
        store: Arc<dyn LogStore>,
        session: &SessionId,
    ) -> Result<Self, Failure> {
        let mut numbers = Self::default();
        let mut facts = LogReader::new(store, session.clone(), Seq::ZERO, usize::MAX);
        while let Some(fact) = facts.next().await? {
            numbers.apply(&fact);
        }
        Ok(numbers)
    }

    /// Counts the turn that a fact opens.
    pub(crate) fn apply(&mut self, recorded: &RecordedFact) {
        if let Fact::TurnOpened(_) = &recorded.fact {
            self.0.push(TurnId(recorded.seq.0));
        }
    }

    /// Returns the name of a turn, which a command takes again.
    pub(crate) fn name(&self, turn: TurnId) -> TurnRef {
        match self.0.iter().position(|one| *one == turn) {
            Some(at) => TurnRef::Number(at.saturating_add(1)),
            None => TurnRef::Id(turn),
        }
    }

    /// Returns the turn of a name.
    ///
    /// # Errors
    /// [`Failure`] when the session has no such turn.
    pub(crate) fn find(&self, session: &SessionId, name: TurnRef) -> Result<TurnId, Failure> {
        let found = match name {
            TurnRef::Number(number) => number.checked_sub(1).and_then(|at| self.0.get(at)),
            TurnRef::Id(id) => self.0.iter().find(|turn| **turn == id),
        };
        found.copied().ok_or_else(|| {
            let count = self.0.len();
            Failure::usage(format!(
                "session {session} has no turn {name}: it has {count}, which `windlass show {session} \
                 --turns` lists"
            ))
        })
    }
}

/// Name of a turn: its number, or its id behind `@`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TurnRef {
    /// Number of the turn, from 1.
    Number(usize),
    /// Position of the turn's opening.
    Id(TurnId),
}

impl FromStr for TurnRef {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let read = match text.strip_prefix('@') {
            Some(id) => id.parse().map(|id| Self::Id(TurnId(id))),
            None => text.parse().map(Self::Number),
        };
        read.map_err(|_| "use the number of a turn, from 1, or @ and its id")
    }
}

impl fmt::Display for TurnRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Id(id) => write!(f, "@{id}"),
        }
    }
}
