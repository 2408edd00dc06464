//! Torn tails are cut off, damage is refused: every cut, every bit, every hole of a small log that
//! has no witness.

mod foreign;

use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tempfile::TempDir;
use windlass_core::{RecordedFact, Seq, SessionId};
use windlass_file::FileStore;
use windlass_ports::{LogStore, StoreError, StoreErrorKind};
use windlass_testkit::store::{fact_of_size, numbered_facts};

/// Bytes of a segment before its first unit, and of a unit before what it holds.
const FIRST: usize = 64;
const HEAD: usize = 60;
/// The fewest bytes of a unit.
const LEAST_UNIT: usize = 76;

/// A log on disk, alone in its segment, where its units end, and what it says.
struct LogOnDisk {
    dir: TempDir,
    id: SessionId,
    bytes: Vec<u8>,
    ends: Vec<usize>,
    counts: Vec<u64>,
    facts: Vec<Arc<RecordedFact>>,
}

impl LogOnDisk {
    /// Writes a log of batches of these sizes, then gives it back.
    async fn written(counts: &[u64]) -> Self {
        Self::of("s", counts).await
    }

    async fn of(name: &str, counts: &[u64]) -> Self {
        let dir = TempDir::new().unwrap();
        let id = SessionId::new(name).unwrap();
        let store = open(dir.path());
        let epoch = store.claim(&id).await.unwrap().epoch;
        let (mut facts, mut ends) = (Vec::new(), Vec::new());
        for count in counts {
            let after = Seq(facts.len() as u64);
            let batch = numbered_facts(&id, after, *count);
            store.append(&id, epoch, after, &batch).await.unwrap();
            facts.extend(batch);
            ends.push(FIRST + usize::try_from(store.verify(&id).await.unwrap().bytes).unwrap());
        }
        drop(store);
        let bytes = fs::read(path(dir.path())).unwrap();
        assert_eq!(bytes.len(), *ends.last().unwrap());
        Self { dir, id, bytes, ends, counts: counts.to_vec(), facts }
    }

    /// Puts other bytes in the log's place: into the file that is there, since emptying a file
    /// first makes some filesystems wait for the disk.
    fn put(&self, bytes: &[u8]) {
        let mut options = OpenOptions::new();
        let file = options.write(true).create(true).truncate(false);
        let file = file.open(path(self.dir.path())).unwrap();
        file.write_all_at(bytes, 0).unwrap();
        file.set_len(bytes.len() as u64).unwrap();
    }

    /// Puts other bytes in the log's place, with nothing behind and no witness, and opens the store
    /// anew. No store may be open meanwhile.
    fn with(&self, bytes: &[u8]) -> FileStore {
        let _ = fs::remove_dir_all(self.dir.path().join("store/witness"));
        let _ = fs::remove_file(segment(self.dir.path(), 2));
        let _ = fs::remove_file(segment(self.dir.path(), 2).with_extension("idx"));
        let _ = fs::remove_file(path(self.dir.path()).with_extension("idx"));
        self.put(bytes);
        open(self.dir.path())
    }

    /// How many facts stand in the units that end at or before this byte.
    fn whole_before(&self, byte: usize) -> u64 {
        let ended = self.ends.iter().zip(&self.counts).filter(|(end, _)| **end <= byte);
        ended.map(|(_, count)| count).sum()
    }

    /// Holds a store to exactly the first `count` facts, read one by one and at once.
    async fn expect(&self, store: &FileStore, count: u64) {
        if count == 0 {
            let error = store.read(&self.id, Seq::ZERO, 9).await.unwrap_err();
            assert_eq!(error.kind, StoreErrorKind::Unknown);
            return;
        }
        let read = store.read(&self.id, Seq::ZERO, usize::MAX).await.unwrap();
        assert_eq!(read.len() as u64, count);
        assert!(read.iter().zip(&self.facts).all(|(read, fact)| *read == **fact));
    }

    /// Holds a store to a refusal, and to giving what stands before the damage.
    async fn expect_damage(&self, store: &FileStore, byte: usize) {
        let error = store.read(&self.id, Seq::ZERO, usize::MAX).await.unwrap_err();
        let (after, offset) = place(&error);
        assert!(offset <= byte as u64, "byte {byte}: {error}");
        assert!(after.0 >= self.whole_before(byte), "byte {byte}: {error}");
        assert!(error.context.contains("damaged at byte"), "{error}");
        let before = usize::try_from(after.0).unwrap();
        let read = store.read(&self.id, Seq::ZERO, before).await;
        if before > 0 {
            let read = read.unwrap();
            assert_eq!(read.len(), before, "byte {byte}");
            assert!(read.iter().zip(&self.facts).all(|(read, fact)| *read == **fact));
        }
        let claimed = store.claim(&self.id).await.unwrap_err();
        assert_eq!(place(&claimed), (after, offset), "byte {byte}");
        let verified = store.verify(&self.id).await.unwrap_err();
        assert_eq!(place(&verified), (after, offset), "byte {byte}");
        let listed =
            store.sessions(windlass_ports::SessionFilter::ALL_TENANTS, None, 9).await.unwrap();
        assert_eq!(listed.len(), 1, "byte {byte}: a damaged session is not listed");
        assert_eq!(listed[0].summary, None, "byte {byte}");
    }
}

fn open(dir: &Path) -> FileStore {
    FileStore::open(dir.join("store")).unwrap()
}

fn path(dir: &Path) -> PathBuf {
    segment(dir, 1)
}

fn segment(dir: &Path, number: u32) -> PathBuf {
    dir.join(format!("store/lanes/0000/{number:08x}.seg"))
}

fn place(error: &StoreError) -> (Seq, u64) {
    let StoreErrorKind::Corrupt { after, offset: Some(offset) } = &error.kind else {
        panic!("{:?}: {error}", error.kind);
    };
    (*after, *offset)
}

#[tokio::test]
async fn a_log_cut_at_any_byte_ends_before_the_torn_batch() {
    let log = LogOnDisk::written(&[1, 2]).await;
    for cut in 0..log.bytes.len() {
        let store = log.with(&log.bytes[..cut]);
        let whole = log.whole_before(cut);
        log.expect(&store, whole).await;
        let claimed = store.claim(&log.id).await.unwrap();
        assert_eq!(claimed.last, Seq(whole), "cut at {cut}");
        let start = log.ends.iter().rfind(|end| **end <= cut).unwrap_or(&FIRST);
        // What is left of the unit names the session as soon as its head is there.
        let named = cut >= start + HEAD;
        match claimed.repaired {
            Some(repair) => {
                assert!(named && repair.last == Seq(whole), "cut at {cut}: {repair:?}");
                assert!(repair.cut_bytes > 0 && repair.cut_bytes <= cut as u64);
            }
            None => assert!(!named, "cut at {cut}"),
        }
        let facts = numbered_facts(&log.id, Seq(whole), 2);
        let appended = store.append(&log.id, claimed.epoch, Seq(whole), &facts);
        appended.await.unwrap();
        store.release(&log.id, claimed.epoch).await.unwrap();
        let verified = store.verify(&log.id).await.unwrap();
        assert_eq!((verified.last, verified.torn_bytes), (Seq(whole + 2), 0), "cut at {cut}");
    }
}

#[tokio::test]
async fn a_read_and_a_check_tell_of_a_torn_tail_without_touching_it() {
    let log = LogOnDisk::written(&[1, 2, 3]).await;
    let cut = &log.bytes[..log.bytes.len() - 15];
    let store = log.with(cut);
    let verified = store.verify(&log.id).await.unwrap();
    assert_eq!(verified.last, Seq(3));
    assert_eq!(verified.bytes, (log.ends[1] - FIRST) as u64);
    assert_eq!(verified.torn_bytes, (cut.len() - log.ends[1]) as u64);
    log.expect(&store, 3).await;
    assert_eq!(fs::read(path(log.dir.path())).unwrap(), cut);
}

/// Every bit of every byte is held against the scan itself in `src/scan/tests.rs`.
#[tokio::test]
async fn a_bit_that_changed_anywhere_is_damage() {
    let log = LogOnDisk::written(&[1, 2]).await;
    for room in [0, 70_000] {
        for byte in FIRST..log.bytes.len() {
            let mut bytes = log.bytes.clone();
            bytes[byte] ^= 1 << (byte % 8);
            bytes.resize(bytes.len() + room, 0);
            let store = log.with(&bytes);
            if byte % 8 == 0 {
                log.expect_damage(&store, byte).await;
            }
            let error = store.claim(&log.id).await.unwrap_err();
            let (after, offset) = place(&error);
            assert!(offset <= byte as u64, "{byte}: {error}");
            assert!(after.0 >= log.whole_before(byte), "{byte}: {error}");
            drop(store);
            assert_eq!(fs::read(path(log.dir.path())).unwrap(), bytes, "{byte}");
        }
    }
}

/// What the first bytes say is said by each unit too, so nothing is lost with them.
#[tokio::test]
async fn a_bit_that_changed_in_the_first_bytes_loses_nothing() {
    let log = LogOnDisk::written(&[1, 2]).await;
    for byte in 0..FIRST {
        let mut bytes = log.bytes.clone();
        bytes[byte] ^= 1 << (byte % 8);
        let store = log.with(&bytes);
        log.expect(&store, 3).await;
        let claimed = store.claim(&log.id).await.unwrap();
        assert_eq!((claimed.last, claimed.repaired), (Seq(3), None), "{byte}");
        let more = numbered_facts(&log.id, Seq(3), 1);
        let appended = store.append(&log.id, claimed.epoch, Seq(3), &more).await;
        appended.unwrap();
        assert_eq!(store.verify(&log.id).await.unwrap().last, Seq(4));
        drop(store);
        // The log goes on in another segment.
        assert_eq!(fs::read(path(log.dir.path())).unwrap(), bytes, "{byte}");
    }
}

/// Damage to one session's unit is no damage to another's.
#[tokio::test]
async fn a_bit_that_changed_hurts_one_session_alone() {
    let log = LogOnDisk::written(&[1, 2]).await;
    let other = SessionId::new("other").unwrap();
    let store = log.with(&log.bytes);
    let epoch = store.claim(&other).await.unwrap().epoch;
    let facts = numbered_facts(&other, Seq::ZERO, 2);
    store.append(&other, epoch, Seq::ZERO, &facts).await.unwrap();
    drop(store);
    let whole = fs::read(path(log.dir.path())).unwrap();
    for byte in (FIRST..whole.len()).step_by(3) {
        let mut bytes = whole.clone();
        bytes[byte] ^= 1 << (byte % 8);
        let store = log.with(&bytes);
        let first = byte < log.bytes.len();
        let (hurt, sound) = if first { (&log.id, &other) } else { (&other, &log.id) };
        let error = store.claim(hurt).await.unwrap_err();
        assert!(place(&error).1 <= byte as u64, "{byte}: {error}");
        let claimed = store.claim(sound).await.unwrap();
        assert_eq!(claimed.last, if first { Seq(2) } else { Seq(3) }, "{byte}");
        let new = SessionId::new("new").unwrap();
        assert_eq!(store.claim(&new).await.unwrap().last, Seq::ZERO, "{byte}");
    }
}

#[tokio::test]
async fn zeros_behind_a_log_are_no_part_of_it() {
    let log = LogOnDisk::written(&[1, 2, 3]).await;
    for zeros in [1, 511, 4_096, 100_000] {
        let mut bytes = log.bytes.clone();
        bytes.resize(bytes.len() + zeros, 0);
        let store = log.with(&bytes);
        log.expect(&store, 6).await;
        let verified = store.verify(&log.id).await.unwrap();
        assert_eq!((verified.bytes, verified.torn_bytes), ((log.bytes.len() - FIRST) as u64, 0));
        let claimed = store.claim(&log.id).await.unwrap();
        assert_eq!((claimed.last, claimed.repaired), (Seq(6), None));
        drop(store);
        assert_eq!(fs::read(path(log.dir.path())).unwrap(), log.bytes);
    }
}

/// A log whose last unit spans many sectors, as several records or as one.
async fn long(counts: &[usize]) -> (LogOnDisk, usize) {
    let mut log = LogOnDisk::written(&[1, 2]).await;
    let store = log.with(&log.bytes);
    let epoch = store.claim(&log.id).await.unwrap().epoch;
    let mut batch = Vec::new();
    for (size, after) in counts.iter().zip(3..) {
        batch.push(fact_of_size(&log.id, Seq(after), *size).unwrap());
    }
    store.append(&log.id, epoch, Seq(3), &batch).await.unwrap();
    drop(store);
    let start = log.bytes.len();
    log.bytes = fs::read(path(log.dir.path())).unwrap();
    log.ends.push(log.bytes.len());
    log.counts.push(batch.len() as u64);
    log.facts.extend(batch);
    (log, start)
}

#[tokio::test]
async fn sectors_that_were_never_written_make_a_torn_tail() {
    for counts in [&[6_000][..], &[700, 700, 700, 700], &[300, 5_000]] {
        let (log, start) = long(counts).await;
        let sectors = start / 512..(log.bytes.len() - 1) / 512 + 1;
        for first in sectors.clone() {
            for last in first..sectors.end {
                let mut bytes = log.bytes.clone();
                let from = start.max(first * 512);
                let to = bytes.len().min((last + 1) * 512);
                bytes[from..to].fill(0);
                bytes.resize(bytes.len() + 8_192, 0);
                let store = log.with(&bytes);
                log.expect(&store, 3).await;
                let claimed = store.claim(&log.id).await.unwrap();
                assert_eq!(claimed.last, Seq(3), "sectors {first} to {last}");
                // What is left of the unit names the session as long as its head is there.
                assert_eq!(
                    claimed.repaired.is_some(),
                    from >= start + HEAD,
                    "sectors {first} to {last}"
                );
            }
        }
    }
}

#[tokio::test]
async fn a_hole_before_a_unit_that_reads_is_damage() {
    let (log, _) = long(&[3_000]).await;
    let store = log.with(&log.bytes);
    let epoch = store.claim(&log.id).await.unwrap().epoch;
    let more = numbered_facts(&log.id, Seq(4), 1);
    store.append(&log.id, epoch, Seq(4), &more).await.unwrap();
    drop(store);
    let whole = fs::read(path(log.dir.path())).unwrap();
    for sector in 0..log.bytes.len() / 512 {
        let mut bytes = whole.clone();
        bytes[sector * 512..(sector + 1) * 512].fill(0);
        let store = log.with(&bytes);
        let (after, offset) = place(&store.claim(&log.id).await.unwrap_err());
        assert!(offset <= sector as u64 * 512 + 511, "sector {sector}");
        assert!(after.0 <= 3, "sector {sector}");
    }
}

#[tokio::test]
async fn a_changed_byte_of_a_long_last_unit_is_damage() {
    let (log, start) = long(&[300, 2_500]).await;
    for byte in (start..log.bytes.len()).step_by(7) {
        for value in [0, b' ', 0xff] {
            let mut bytes = log.bytes.clone();
            if bytes[byte] == value {
                continue;
            }
            bytes[byte] = value;
            let error = log.with(&bytes).claim(&log.id).await.unwrap_err();
            assert!(place(&error).1 <= byte as u64);
        }
    }
}

#[tokio::test]
async fn garbage_behind_or_between_records_is_damage() {
    let log = LogOnDisk::written(&[1, 2, 1]).await;
    for garbage in ["x", "garbage\n", &"0123456789abcdef ".repeat(20), "{\"v\":1}\n"] {
        for at in log.ends.iter().copied().chain([FIRST]) {
            let mut bytes = log.bytes[..at].to_vec();
            bytes.extend_from_slice(garbage.as_bytes());
            bytes.extend_from_slice(&log.bytes[at..]);
            let store = log.with(&bytes);
            if at == log.bytes.len() && garbage.len() < LEAST_UNIT {
                // No unit is as small, so none that was acknowledged can be lost with it.
                log.expect(&store, 4).await;
                let claimed = store.claim(&log.id).await.unwrap();
                assert_eq!(claimed.last, Seq(4), "{garbage}");
                continue;
            }
            if at == FIRST {
                // Nothing says any more whose units these were.
                let error = store.claim(&log.id).await.unwrap_err();
                assert_eq!(place(&error), (Seq::ZERO, at as u64));
                continue;
            }
            log.expect_damage(&store, at).await;
        }
    }
}

#[tokio::test]
async fn records_dropped_moved_repeated_or_replaced_are_damage() {
    let log = LogOnDisk::written(&[1, 1, 1, 1]).await;
    let starts = [&[FIRST], &log.ends[..]].concat();
    let unit = |n: usize| log.bytes[starts[n]..starts[n + 1]].to_vec();
    let first = log.bytes[..FIRST].to_vec();
    for order in [&[1, 2, 3][..], &[0, 2, 3], &[0, 2, 1, 3], &[0, 0, 1, 2, 3], &[0, 1, 1, 2, 3]] {
        let mut bytes = first.clone();
        bytes.extend(order.iter().flat_map(|n| unit(*n)));
        let error = log.with(&bytes).claim(&log.id).await.unwrap_err();
        place(&error);
    }
}

#[tokio::test]
async fn a_file_that_shrinks_under_its_writer_is_damage() {
    let log = LogOnDisk::written(&[1, 2]).await;
    let store = log.with(&log.bytes);
    store.claim(&log.id).await.unwrap();
    let file = fs::File::options().write(true).open(path(log.dir.path())).unwrap();
    file.set_len(log.ends[0] as u64 + 20).unwrap();
    let error = store.read(&log.id, Seq::ZERO, 9).await.unwrap_err();
    assert_eq!(place(&error), (Seq(1), log.ends[0] as u64));
}

#[tokio::test]
async fn a_newer_format_is_told_from_damage() {
    let log = LogOnDisk::written(&[1]).await;
    let text = "windlass-segment 4 0000 00000001";
    let head = format!("{text} {:08x}\n", crc32c::crc32c(text.as_bytes()));
    let store = log.with(head.as_bytes());
    let all = windlass_ports::SessionFilter::ALL_TENANTS;
    for error in [
        store.read(&log.id, Seq::ZERO, 9).await.unwrap_err(),
        store.verify(&log.id).await.unwrap_err(),
        store.claim(&log.id).await.unwrap_err(),
        store.sessions(all, None, 9).await.unwrap_err(),
    ] {
        assert_eq!(error.kind, StoreErrorKind::Newer);
    }
    drop(store);
    assert_eq!(fs::read(path(log.dir.path())).unwrap(), head.as_bytes());
}
