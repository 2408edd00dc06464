//! Fold cache: the progress of recent reads of turn snapshots, so that the next page continues
//! there. Bounded and local to the process; a lost entry costs one more read of a log from its
//! beginning.

use windlass_engine::core::{
    InvalidFact, RecordedFact, Seq, SessionId, Timestamp, TurnId, TurnSnapshot, TurnSnapshots,
};
use windlass_engine::ports::sync::Mutex;

/// Most cached folds, of all sessions together and of one.
const MOST: usize = 64;
const MOST_OF_ONE: usize = 4;
/// Bytes of text of all cached folds together.
const BYTES: u64 = 64 * 1024 * 1024;
/// Estimated size of a fold without its texts, in bytes.
const OVERHEAD_BYTES: u64 = 4 * 1024;

/// Log that is folded into snapshots, as far as it was read.
#[derive(Debug, Clone)]
pub(super) struct SnapshotFold {
    snapshots: TurnSnapshots,
    /// Position of the last folded fact.
    at: Seq,
    ts: Timestamp,
    latest: Option<LatestSnapshot>,
}

/// Latest snapshot of a fold.
#[derive(Debug, Clone, Copy)]
pub(super) struct LatestSnapshot {
    /// Fact that ended its cycle.
    pub(super) at: Seq,
    /// Turn of the cycle.
    pub(super) turn: TurnId,
    pub(super) number: u32,
}

impl SnapshotFold {
    /// Creates a fold that has read nothing.
    pub(super) fn new() -> Self {
        Self { snapshots: TurnSnapshots::default(), at: Seq::ZERO, ts: Timestamp(0), latest: None }
    }

    /// Returns the position of the last folded fact.
    pub(super) fn at(&self) -> Seq {
        self.at
    }

    /// Returns the latest snapshot; earlier ones do not come again.
    pub(super) fn latest(&self) -> Option<LatestSnapshot> {
        self.latest
    }

    /// Returns true if this is the last folded fact.
    pub(super) fn is_at(&self, fact: &RecordedFact) -> bool {
        (fact.seq, fact.ts) == (self.at, self.ts)
    }

    /// Folds the next fact, and returns the snapshot of the cycle that it ends, if any.
    pub(super) fn apply(
        &mut self,
        fact: &RecordedFact,
    ) -> Result<Option<TurnSnapshot>, InvalidFact> {
        let made = self.snapshots.apply(fact)?;
        (self.at, self.ts) = (fact.seq, fact.ts);
        if let Some(made) = &made {
            let (turn, number) = (made.cycle().turn, made.cycle().number);
            let at = fact.seq;
            self.latest = Some(LatestSnapshot { at, turn, number });
        }
        Ok(made)
    }

    /// Returns the snapshot of the open cycle so far.
    pub(super) fn open(&self) -> Option<TurnSnapshot> {
        self.snapshots.unfinished()
    }
}

/// Recently used folds, the latest last.
#[derive(Default)]
pub(super) struct FoldCache(Mutex<Vec<CachedFold>>);

struct CachedFold {
    tenant: String,
    session: SessionId,
    /// Time at which the session was opened. An equal id with another time is another session.
    began: Timestamp,
    bytes: u64,
    fold: SnapshotFold,
}

impl FoldCache {
    /// Returns the most advanced usable fold of a session, given its first fact.
    pub(super) fn get(
        &self,
        tenant: &str,
        first: &RecordedFact,
        usable: impl Fn(&SnapshotFold) -> bool,
    ) -> Option<SnapshotFold> {
        let mut kept = self.0.lock();
        let of = |one: &CachedFold| one.is_of(tenant, first) && usable(&one.fold);
        let found = kept.iter().enumerate().filter(|(_, one)| of(one));
        let (at, _) = found.max_by_key(|(_, one)| one.fold.at)?;
        // Moved to the end, since it was just used.
        let one = kept.remove(at);
        let fold = one.fold.clone();
        kept.push(one);
        Some(fold)
    }

    /// Caches a fold of a session, given its first fact.
    pub(super) fn insert(&self, tenant: &str, first: &RecordedFact, fold: SnapshotFold) {
        let bytes = fold.snapshots.bytes().saturating_add(OVERHEAD_BYTES);
        if bytes > BYTES {
            // It would displace all others and then be displaced itself.
            return;
        }
        let mut kept = self.0.lock();
        // One of two folds at the same position suffices.
        kept.retain(|one| !one.is_of(tenant, first) || one.fold.at != fold.at);
        kept.push(CachedFold {
            tenant: tenant.to_owned(),
            session: first.session.clone(),
            began: first.ts,
            bytes,
            fold,
        });
        let own = |one: &CachedFold| one.is_of(tenant, first);
        if kept.iter().filter(|one| own(one)).count() > MOST_OF_ONE
            && let Some(oldest) = kept.iter().position(own)
        {
            kept.remove(oldest);
        }
        while kept.len() > MOST || bytes_of(&kept) > BYTES {
            kept.remove(0);
        }
    }
}

impl CachedFold {
    fn is_of(&self, tenant: &str, first: &RecordedFact) -> bool {
        self.tenant == tenant && self.session == first.session && self.began == first.ts
    }
}

fn bytes_of(kept: &[CachedFold]) -> u64 {
    kept.iter().fold(0, |sum, one| sum.saturating_add(one.bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns an input of this many bytes, in a session that began at this time.
    fn input(session: &str, ts: u64, seq: u64, bytes: usize) -> RecordedFact {
        let text = "x".repeat(bytes);
        // The kind precedes the body whose type it determines.
        let text = format!(
            r#"{{"v":1,"session":"{session}","seq":{seq},"turn":null,"ts":{ts},"kind":"InputQueued",
                "body":{{"scope":{{"kind":"system","reason":"a test"}},"text":"{text}","delivery":"turn"}}}}"#
        );
        serde_json::from_str(&text).unwrap()
    }

    /// Returns a fold that was read up to a position.
    fn read(session: &str, to: u64, bytes: usize) -> SnapshotFold {
        let mut fold = SnapshotFold::new();
        for seq in 1..=to {
            let bytes = if seq == to { bytes } else { 0 };
            assert_eq!(fold.apply(&input(session, 7, seq, bytes)), Ok(None));
        }
        fold
    }

    fn at(found: Option<SnapshotFold>) -> Option<u64> {
        found.map(|fold| fold.at().0)
    }

    #[test]
    fn the_number_is_bounded_and_what_is_used_stays() {
        let folds = FoldCache::default();
        let first = |n: usize| input(&format!("s{n}"), 7, 1, 0);
        for n in 0..5 * MOST {
            folds.insert("acme", &first(n), read(&format!("s{n}"), 1, 0));
            assert_eq!(at(folds.get("acme", &first(0), |_| true)), Some(1));
            assert_eq!(at(folds.get("other", &first(0), |_| true)), None);
        }
        assert_eq!(folds.0.lock().len(), MOST);
        assert_eq!(at(folds.get("acme", &first(1), |_| true)), None);
        // Another session with the same id is a different one.
        let anew = input("s0", 8, 1, 0);
        assert_eq!(at(folds.get("acme", &anew, |_| true)), None);
    }

    #[test]
    fn one_session_has_a_few_and_the_furthest_that_can_be_used_is_found() {
        let folds = FoldCache::default();
        let first = input("s", 7, 1, 0);
        for to in 1..=20 {
            folds.insert("acme", &first, read("s", to, 0));
            folds.insert("acme", &first, read("s", to, 0));
        }
        assert_eq!(folds.0.lock().len(), MOST_OF_ONE);
        assert_eq!(at(folds.get("acme", &first, |_| true)), Some(20));
        let before = |fold: &SnapshotFold| fold.at() < Seq(19);
        let found = folds.get("acme", &first, before);
        assert!(found.as_ref().is_some_and(|fold| fold.is_at(&input("s", 7, 18, 0))));
        assert!(!found.is_some_and(|fold| fold.is_at(&input("s", 8, 18, 0))));
    }

    #[test]
    fn what_they_hold_is_bounded() {
        let folds = FoldCache::default();
        let most = usize::try_from(BYTES).unwrap();
        for (session, bytes) in [("a", most / 2), ("b", most / 4), ("c", most / 2), ("d", most)] {
            folds.insert("acme", &input(session, 7, 1, 0), read(session, 1, bytes));
            assert!(bytes_of(&folds.0.lock()) <= BYTES, "{session}");
            let kept: Vec<_> = folds.0.lock().iter().map(|one| one.session.to_string()).collect();
            let wanted: &[&str] = match session {
                "a" => &["a"],
                "b" => &["a", "b"],
                // A fold that does not fit displaces no others.
                _ => &["b", "c"],
            };
            assert_eq!(kept, wanted, "after {session}");
        }
    }
}
