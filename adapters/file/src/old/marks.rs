//! Marks: places in logs that a reader has passed, so that the next page need not start over.
//!
//! They are a matter of speed alone: what a reader finds at a mark is checked as anywhere, and a
//! mark that leads astray (somebody replaced the file) is forgotten and the log read from its
//! beginning.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use windlass_core::{Seq, SessionId};

use crate::old::scan::Place;

/// Bytes between two marks, to begin with.
const SPACING: u64 = 64 * 1024;
/// The most marks of one session; beyond, every other one goes.
const MOST_MARKS: usize = 256;
/// The most sessions that have marks.
const MOST_SESSIONS: usize = 256;

/// The marks of a store.
#[derive(Default)]
pub(crate) struct Marks(Mutex<BTreeMap<SessionId, Log>>);

struct Log {
    spacing: u64,
    /// In ascending order.
    places: Vec<Place>,
}

impl Marks {
    /// The last mark that is not behind position `seq`.
    pub(crate) fn before(&self, session: &SessionId, seq: Seq) -> Option<Place> {
        let marks = self.marks();
        let places = &marks.get(session)?.places;
        let behind = places.partition_point(|place| place.seq <= seq);
        places.get(behind.checked_sub(1)?).copied()
    }

    /// Notes a place that a scan has passed.
    pub(crate) fn note(&self, session: &SessionId, place: Place) {
        let mut marks = self.marks();
        if marks.len() >= MOST_SESSIONS && !marks.contains_key(session) {
            marks.pop_first();
        }
        let log = marks.entry(session.clone()).or_insert_with(|| Log {
            spacing: SPACING,
            places: Vec::new(),
        });
        let last = log.places.last().map_or(0, |last| last.offset);
        if place.offset < last.saturating_add(log.spacing) {
            return;
        }
        log.places.push(place);
        if log.places.len() > MOST_MARKS {
            log.spacing = log.spacing.saturating_mul(2);
            let mut keep = false;
            log.places.retain(|_| {
                keep = !keep;
                keep
            });
        }
    }

    /// Forgets a session's marks.
    pub(crate) fn forget(&self, session: &SessionId) {
        self.marks().remove(session);
    }

    fn marks(&self) -> MutexGuard<'_, BTreeMap<SessionId, Log>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_stay_few_and_lead_to_the_last_place_before() {
        let marks = Marks::default();
        let id = SessionId::new("s").unwrap();
        assert_eq!(marks.before(&id, Seq(9)), None);
        for n in 1..=5_000_u64 {
            let place = Place {
                offset: n * SPACING,
                seq: Seq(n * 10),
                link: [0; 16],
            };
            marks.note(&id, place);
            marks.note(&id, place);
            let held = marks.marks().get(&id).unwrap().places.len();
            assert!(held <= MOST_MARKS);
        }
        for seq in [0, 9, 10, 11, 25_000, 50_000, 60_000] {
            if let Some(place) = marks.before(&id, Seq(seq)) {
                assert!(place.seq <= Seq(seq));
                assert!(place.seq.0 + 640 > seq.min(50_000), "{seq}: {place:?}");
            } else {
                assert!(seq < 10);
            }
        }
        marks.forget(&id);
        assert_eq!(marks.before(&id, Seq(9_999)), None);
    }
}
