//! Beginnings: the turn may go on, its time is not over, and its session is not full.

use windlass_core::{RecordedFact, Timestamp};

use super::Tally;
use crate::laws::{Held, hold};

impl Tally {
    /// Takes over the bytes of the session before the next fact.
    pub(in crate::laws) fn holds_bytes(&mut self, session_bytes: u64) {
        self.session_bytes = session_bytes;
    }

    /// Notes when the facts are of, of one decision at the same time.
    pub(super) fn moment(&mut self, at: Timestamp) {
        if at != self.moments[0] {
            self.moments = [at, self.moments[0]];
        }
    }

    /// Returns true if nothing happened for so long before that expired questions are asked again.
    pub(super) fn was_silent(&self, at: Timestamp) -> bool {
        let limit = self.limits.reask_after_ms;
        limit > 0 && at.since_ms(self.moments[1]) > limit
    }

    /// Checks that the turn was not asked to stop.
    pub(super) fn goes_on(&self, recorded: &RecordedFact) -> Held {
        let kind = recorded.fact.kind();
        hold(9, !self.stopped, || {
            format!("{} {kind} after the turn was asked to stop", recorded.seq)
        })
    }

    /// Checks that something may begin: the turn was not asked to stop, and its time is not over.
    pub(super) fn begins(&self, recorded: &RecordedFact) -> Held {
        self.goes_on(recorded)?;
        let kind = recorded.fact.kind();
        hold(9, !self.late(recorded.ts), || {
            format!("{} {kind} after the turn's time is over", recorded.seq)
        })
    }

    pub(super) fn is_full(&self) -> bool {
        self.limits.session_bytes > 0 && self.session_bytes >= self.limits.session_bytes
    }

    fn late(&self, at: Timestamp) -> bool {
        self.limits.turn_ms > 0 && at >= self.opened_at.plus_ms(self.limits.turn_ms)
    }
}
