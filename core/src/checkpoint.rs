//! Checkpoint: the complete fold of a log, as one value that can be stored and resumed.
//!
//! A stored checkpoint is a cache: a reader that finds an inconsistent one folds the log instead.

use alloc::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::error::InvalidFact;
use crate::evolve::evolve_first;
use crate::history::History;
use crate::id::{InputId, Seq};
use crate::record::RecordedFact;
use crate::session::Session;

/// Version of the fold and of its stored form.
///
/// Raise it with every change to the fold or to its encoding. Readers then ignore the checkpoints
/// of older engines. A test of `testkit/golden/snapshots` fails when it must be raised.
pub const CHECKPOINT_VERSION: u32 = 12;

/// A session and its history: the fold of a log.
///
/// Deserialisation checks that the two match. Folding the rest of a log onto a restored checkpoint
/// yields the same value as folding the whole log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "RawCheckpoint")]
pub struct Checkpoint {
    /// The control state.
    pub session: Session,
    /// The payload.
    pub history: History,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawCheckpoint {
    session: Session,
    history: History,
}

impl Checkpoint {
    /// Folds the first fact of a log.
    ///
    /// # Errors
    /// As [`evolve_first`].
    pub fn open(first: &RecordedFact) -> Result<Self, InvalidFact> {
        Ok(Self { session: evolve_first(first)?, history: History::default() })
    }

    /// Applies the next fact. Discard the checkpoint after an [`InvalidFact`].
    ///
    /// # Errors
    /// As [`Session::apply`] and [`History::apply`].
    pub fn apply(&mut self, recorded: &RecordedFact) -> Result<(), InvalidFact> {
        self.session.apply(recorded)?;
        self.history.apply(recorded)
    }

    /// Returns the position of the last applied fact.
    #[must_use]
    pub fn last(&self) -> Seq {
        Seq(self.session.next.0.saturating_sub(1))
    }
}

impl TryFrom<RawCheckpoint> for Checkpoint {
    type Error = &'static str;

    fn try_from(raw: RawCheckpoint) -> Result<Self, Self::Error> {
        let RawCheckpoint { session, mut history } = raw;
        if session.next <= Seq::ZERO.next() {
            return Err("no log folds to it: it holds no fact");
        }
        let inputs: BTreeSet<InputId> = session.queue.iter().map(|queued| queued.id).collect();
        if !history.has_waiting(&inputs) {
            return Err("the inputs that wait are not those of the session");
        }
        history.collect_ids();
        history.validate(session.next)?;
        let executing = session.turn().and_then(|turn| turn.stage.executing());
        let out = executing.map_or(0, |executing| {
            let told = usize::from(executing.report.is_some());
            executing.calls.len().saturating_add(told)
        });
        // Reads the whole conversation.
        if history.visible_part(out) != session.visible {
            return Err("the conversation is not the one that the session has in numbers");
        }
        Ok(Self { session, history })
    }
}
