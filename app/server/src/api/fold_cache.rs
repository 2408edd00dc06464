//! Folds: how far the snapshots of sessions were read lately, so that the next page goes on from there.
//! Bounded, and of this process: losing one costs reading a log from its beginning once more.

use windlass_engine::core::{
    InvalidFact, RecordedFact, Seq, SessionId, Timestamp, TurnId, TurnSnapshot, TurnSnapshots,
};
use windlass_engine::ports::sync::Mutex;

/// Most folds that are kept, of all sessions together and of one.
const MOST: usize = 64;
const MOST_OF_ONE: usize = 4;
/// Bytes of text that those which are kept hold, all together.
const BYTES: u64 = 64 * 1024 * 1024;
/// Estimated size of a fold without its texts, in bytes.
const OVERHEAD_BYTES: u64 = 4 * 1024;

/// A log that is folded into snapshots, as far as it was read.
#[derive(Debug, Clone)]
pub(super) struct SnapshotFold {
    snapshots: TurnSnapshots,
    /// The position of the last fact that was taken in, and its moment.
    at: Seq,
    ts: Timestamp,
    latest: Option<LatestSnapshot>,
}

/// The latest snapshot that a fold has made.
#[derive(Debug, Clone, Copy)]
pub(super) struct LatestSnapshot {
    /// The fact with which its cycle was over.
    pub(super) at: Seq,
    /// Turn of the cycle.
    pub(super) turn: TurnId,
    pub(super) number: u32,
}

impl SnapshotFold {
    /// One that has read nothing.
    pub(super) fn new() -> Self {
        Self {
            snapshots: TurnSnapshots::default(),
            at: Seq::ZERO,
            ts: Timestamp(0),
            latest: None,
        }
    }

    /// The position of the last fact that was taken in.
    pub(super) fn at(&self) -> Seq {
        self.at
    }

    /// The latest snapshot that it has made; none that came before will come again.
    pub(super) fn latest(&self) -> Option<LatestSnapshot> {
        self.latest
    }

    /// Returns true if this is the last fact that was taken in.
    pub(super) fn is_at(&self, fact: &RecordedFact) -> bool {
        (fact.seq, fact.ts) == (self.at, self.ts)
    }

    /// Takes in the next fact, and answers the snapshot of the cycle that is over with it, if one is.
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

    /// The cycle that is open, as far as it came.
    pub(super) fn open(&self) -> Option<TurnSnapshot> {
        self.snapshots.unfinished()
    }
}

/// Folds that were used lately, the latest last.
#[derive(Default)]
pub(super) struct FoldCache(Mutex<Vec<CachedFold>>);

struct CachedFold {
    tenant: String,
    session: SessionId,
    /// When the session was opened: one of the same id that began at another moment is another.
    began: Timestamp,
    bytes: u64,
    fold: SnapshotFold,
}

impl FoldCache {
    /// The fold of a session, which is here with its first fact, that was read furthest among those that
    /// can be used.
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
        // It was used just now.
        let one = kept.remove(at);
        let fold = one.fold.clone();
        kept.push(one);
        Some(fold)
    }

    /// Keeps this fold of a session, which is here with its first fact.
    pub(super) fn insert(&self, tenant: &str, first: &RecordedFact, fold: SnapshotFold) {
        let bytes = fold.snapshots.bytes().saturating_add(OVERHEAD_BYTES);
        if bytes > BYTES {
            // It would take the room of all others and not last itself.
            return;
        }
        let mut kept = self.0.lock();
        // Of two at one place one is enough.
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
    kept.iter()
        .fold(0, |sum, one| sum.saturating_add(one.bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An input of so many bytes, in a session that began at this moment.
    fn input(session: &str, ts: u64, seq: u64, bytes: usize) -> RecordedFact {
        let text = "x".repeat(bytes);
        // The kind stands before what it says how to read.
        let text = format!(
            r#"{{"v":1,"session":"{session}","seq":{seq},"turn":null,"ts":{ts},"kind":"InputQueued",
                "body":{{"scope":{{"kind":"system","reason":"a test"}},"text":"{text}","delivery":"turn"}}}}"#
        );
        serde_json::from_str(&text).unwrap()
    }

    /// A fold that was read so far.
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
        // Another session of the same id is not this one.
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
        assert!(
            found
                .as_ref()
                .is_some_and(|fold| fold.is_at(&input("s", 7, 18, 0)))
        );
        assert!(!found.is_some_and(|fold| fold.is_at(&input("s", 8, 18, 0))));
    }

    #[test]
    fn what_they_hold_is_bounded() {
        let folds = FoldCache::default();
        let most = usize::try_from(BYTES).unwrap();
        for (session, bytes) in [
            ("a", most / 2),
            ("b", most / 4),
            ("c", most / 2),
            ("d", most),
        ] {
            folds.insert("acme", &input(session, 7, 1, 0), read(session, 1, bytes));
            assert!(bytes_of(&folds.0.lock()) <= BYTES, "{session}");
            let kept: Vec<_> = folds
                .0
                .lock()
                .iter()
                .map(|one| one.session.to_string())
                .collect();
            let wanted: &[&str] = match session {
                "a" => &["a"],
                "b" => &["a", "b"],
                // One that does not fit takes nobody's room.
                _ => &["b", "c"],
            };
            assert_eq!(kept, wanted, "after {session}");
        }
    }
}
