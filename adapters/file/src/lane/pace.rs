//! Whether room ahead of the log is worth the zeros that it is filled with.

use std::time::Duration;

/// Room that is prepared ahead at least, and at most for small groups and for all: little enough that
/// its pages are still in the processor's caches when they are written to.
const LEAST: u64 = 64 * 1024;
const MOST: u64 = 512 * 1024;
const MOST_OF_ALL: u64 = 4 * 1024 * 1024;
/// How many groups there should be room for.
const GROUPS: u64 = 8;
/// Groups of fewer bytes always find room.
const SMALL: u64 = 56 * 1024;
/// How many of the last groups count.
const LATELY: u32 = 8;
/// Larger ones do where a sync takes more than so many nanoseconds for each of their bytes. Below, the
/// zeros took more than the longer syncs without them, where it was measured.
const SLOW: u32 = 10;

/// What groups were like lately.
///
/// Without room a sync writes the file's new length and its blocks to the disk as well. With room each
/// byte is written twice, which takes a nanosecond or so. So room is worth it where groups are small or
/// syncs slow.
#[derive(Debug, Default)]
pub(super) struct Pace {
    bytes: u64,
    sync: Duration,
}

impl Pace {
    /// Notes a group of so many bytes.
    pub(super) fn wrote(&mut self, bytes: u64) {
        let others = u64::from(LATELY - 1);
        self.bytes = self.bytes.saturating_mul(others).saturating_add(bytes) / u64::from(LATELY);
    }

    /// Notes how long a sync took.
    pub(super) fn synced(&mut self, took: Duration) {
        self.sync = self.sync.saturating_mul(LATELY - 1).saturating_add(took) / LATELY;
    }

    /// How much room to prepare behind a segment's first `end` bytes, where it is worth it.
    pub(super) fn room(&self, end: u64) -> Option<u64> {
        let slow = u64::try_from((self.sync / SLOW).as_nanos()).unwrap_or(u64::MAX);
        if self.bytes >= SMALL.max(slow) {
            return None;
        }
        let most = (self.bytes.saturating_mul(GROUPS)).clamp(MOST, MOST_OF_ALL);
        Some((end / 4).clamp(LEAST, most) / 4096 * 4096)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAR: u64 = 1 << 30;

    fn pace(bytes: u64, sync: Duration) -> Pace {
        let mut pace = Pace::default();
        for _ in 0..200 {
            pace.wrote(bytes);
            pace.synced(sync);
        }
        pace
    }

    #[test]
    fn small_groups_always_find_room() {
        for sync in [Duration::ZERO, Duration::from_micros(100), Duration::MAX] {
            assert_eq!(pace(300, sync).room(FAR), Some(MOST), "{sync:?}");
        }
        assert_eq!(Pace::default().room(64), Some(LEAST));
        assert_eq!(pace(300, Duration::ZERO).room(1_000_000), Some(249_856));
    }

    #[test]
    fn large_groups_find_room_where_syncs_are_slow() {
        let bytes = 200 * 1024;
        assert_eq!(pace(bytes, Duration::from_micros(150)).room(FAR), None);
        let room = pace(bytes, Duration::from_millis(5)).room(FAR).unwrap();
        assert!(
            ((GROUPS - 1) * bytes..=GROUPS * bytes).contains(&room),
            "{room}"
        );
        assert_eq!(pace(u64::MAX, Duration::from_millis(5)).room(FAR), None);
        assert_eq!(pace(1 << 40, Duration::MAX).room(FAR), Some(MOST_OF_ALL));
    }

    #[test]
    fn one_group_of_another_size_changes_little() {
        let mut pace = pace(300, Duration::from_micros(150));
        pace.wrote(200 * 1024);
        assert!(pace.room(FAR).is_some());
        (0..16).for_each(|_| pace.wrote(200 * 1024));
        assert!(pace.room(FAR).is_none());
    }
}
