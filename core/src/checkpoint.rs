//! Folded: all that a log folds to, as one value that can be kept and taken up again.
//!
//! What is kept is a cache: whoever reads one that does not fit together folds the log instead.

use alloc::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::error::InvalidFact;
use crate::evolve::evolve_first;
use crate::history::History;
use crate::id::{InputId, Seq};
use crate::record::RecordedFact;
use crate::session::Session;

/// The version of the fold, and of the form in which what a log folds to is kept.
///
/// It is raised with every change to what a log folds to, or to how that is written: what an older
/// engine kept then counts as not there. `testkit/golden/snapshots` tells when it must be.
pub const CHECKPOINT_VERSION: u32 = 5;

/// A session and its history: what a log folds to.
///
/// Reading one checks that the two fit together. Of a log's prefix that was kept so, read again and
/// folded on over the rest, comes the same as of the whole log.
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
        Ok(Self {
            session: evolve_first(first)?,
            history: History::default(),
        })
    }

    /// Takes in the fact that follows. After a misfit this is to be thrown away.
    ///
    /// # Errors
    /// As [`Session::apply`] and [`History::apply`].
    pub fn apply(&mut self, recorded: &RecordedFact) -> Result<(), InvalidFact> {
        self.session.apply(recorded)?;
        self.history.apply(recorded)
    }

    /// The last position that it holds.
    #[must_use]
    pub fn last(&self) -> Seq {
        Seq(self.session.next.0.saturating_sub(1))
    }
}

impl TryFrom<RawCheckpoint> for Checkpoint {
    type Error = &'static str;

    fn try_from(raw: RawCheckpoint) -> Result<Self, Self::Error> {
        let RawCheckpoint { session, history } = raw;
        if session.next <= Seq::ZERO.next() {
            return Err("no log folds to it: it holds no fact");
        }
        let inputs: BTreeSet<InputId> = session.queue.iter().map(|queued| queued.id).collect();
        if !history.has_waiting(&inputs) {
            return Err("the inputs that wait are not those of the session");
        }
        history.validate(session.next)?;
        let executing = session.turn().and_then(|turn| turn.stage.executing());
        let out = executing.map_or(0, |executing| {
            let told = usize::from(executing.report.is_some());
            executing.calls.len().saturating_add(told)
        });
        // Reads every word of the conversation.
        if history.visible_part(out) != session.visible {
            return Err("the conversation is not the one that the session has in numbers");
        }
        Ok(Self { session, history })
    }
}
