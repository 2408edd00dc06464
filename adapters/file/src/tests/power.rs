//! Tests of a power loss: 1,000 images of the disk drop, tear and reorder unsynced sectors, and
//! each holds all acknowledged facts. These tests cover segments alone and need no other program;
//! [`folder`] covers names and folders.

mod folder;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use tempfile::TempDir;
use windlass_core::{Seq, SessionId};
use windlass_ports::{LogStore, StoreErrorKind};
use windlass_testkit::store::{fact_of_size, numbered_facts};

use crate::FileStore;
use crate::disk::{Disk, LogFile, RealDisk};

/// Number of images of each test, as a variable sets it for the nightly tier.
fn images() -> u64 {
    let wide = std::env::var("WINDLASS_POWER_IMAGES").ok();
    wide.and_then(|wide| wide.parse().ok()).unwrap_or(300)
}

const SECTOR: u64 = 512;
/// Size of a segment, small to get many of them.
const SEGMENT: u64 = 12 * 1024;

/// A recorded action on the disk.
#[derive(Debug, Clone)]
enum DiskAction {
    Write(PathBuf, u64, Vec<u8>),
    Cut(PathBuf, u64),
    Sync(PathBuf),
    /// Session and its last acknowledged position.
    Acknowledged(String, u64),
}

/// A disk that records all writes.
#[derive(Clone, Default)]
struct RecordingDisk(Arc<Mutex<Vec<DiskAction>>>);

struct RecordingFile(RecordingDisk, File, PathBuf);

impl RecordingDisk {
    fn note(&self, did: DiskAction) {
        self.0.lock().unwrap().push(did);
    }
}

impl Disk for RecordingDisk {
    fn wrap(&self, file: File, path: &Path) -> Box<dyn LogFile> {
        Box::new(RecordingFile(self.clone(), file, path.to_owned()))
    }
}

impl LogFile for RecordingFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        LogFile::read_at(&self.1, buffer, offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        let written = LogFile::write_at(&self.1, bytes, offset)?;
        let bytes = bytes[..written].to_vec();
        self.0.note(DiskAction::Write(self.2.clone(), offset, bytes));
        Ok(written)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.0.note(DiskAction::Cut(self.2.clone(), len));
        LogFile::set_len(&self.1, len)
    }

    fn sync(&self) -> io::Result<()> {
        LogFile::sync(&self.1)?;
        self.0.note(DiskAction::Sync(self.2.clone()));
        Ok(())
    }

    fn len(&self) -> io::Result<u64> {
        LogFile::len(&self.1)
    }
}

/// A generator of numbers from a seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut number = self.0;
        number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (number ^ (number >> 31)) % limit.max(1)
    }
}

/// A file on the disk: its durable bytes and its unsynced changes.
#[derive(Default)]
struct DiskFile {
    bytes: Vec<u8>,
    exists: bool,
    pending: Vec<DiskAction>,
}

fn apply(bytes: &mut Vec<u8>, did: &DiskAction) {
    match did {
        DiskAction::Write(_, offset, held) => {
            let offset = usize::try_from(*offset).unwrap();
            let end = offset + held.len();
            if bytes.len() < end {
                bytes.resize(end, 0);
            }
            bytes[offset..end].copy_from_slice(held);
        }
        DiskAction::Cut(_, len) => bytes.resize(usize::try_from(*len).unwrap(), 0),
        DiskAction::Sync(_) | DiskAction::Acknowledged(..) => {}
    }
}

/// Applies some unsynced changes: some sectors of each write, in any order.
fn tear(file: &DiskFile, dice: &mut Dice) -> Vec<u8> {
    let mut pieces = Vec::new();
    for did in &file.pending {
        match did {
            DiskAction::Write(path, offset, held) => {
                let mut at = 0;
                while at < held.len() {
                    let place = offset + at as u64;
                    let next = (place / SECTOR + 1) * SECTOR - place;
                    let end = (at + usize::try_from(next).unwrap()).min(held.len());
                    pieces.push(DiskAction::Write(path.clone(), place, held[at..end].to_vec()));
                    at = end;
                }
            }
            DiskAction::Cut(..) | DiskAction::Sync(_) | DiskAction::Acknowledged(..) => {
                pieces.push(did.clone())
            }
        }
    }
    // All of it, or none, or anything between; a change of the length stays in its place, for the
    // filesystem's journal keeps the order of these.
    let share = dice.below(5);
    let mut bytes = file.bytes.clone();
    let cuts = pieces.iter().any(|piece| matches!(piece, DiskAction::Cut(..)));
    if !cuts {
        for at in (1..pieces.len()).rev() {
            let with = usize::try_from(dice.below(at as u64 + 1)).unwrap();
            pieces.swap(at, with);
        }
    }
    for piece in pieces {
        if dice.below(4) < share {
            apply(&mut bytes, &piece);
        }
    }
    bytes
}

/// Writes an image of the disk as a power loss may leave it after the first `count` actions.
fn image(log: &[DiskAction], count: usize, dice: &mut Dice, from: &Path, to: &Path) {
    let mut files: BTreeMap<PathBuf, DiskFile> = BTreeMap::new();
    for did in &log[..count] {
        match did {
            DiskAction::Write(path, ..) | DiskAction::Cut(path, _) => {
                let file = files.entry(path.clone()).or_default();
                file.pending.push(did.clone());
            }
            DiskAction::Sync(path) => {
                let file = files.entry(path.clone()).or_default();
                for did in std::mem::take(&mut file.pending) {
                    apply(&mut file.bytes, &did);
                }
                file.exists = true;
            }
            DiskAction::Acknowledged(..) => {}
        }
    }
    for (path, file) in files {
        if file.exists || dice.below(2) == 0 {
            let path = to.join(path.strip_prefix(from).unwrap());
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, tear(&file, dice)).unwrap();
        }
    }
}

/// Size of a session's fact by its position.
fn size(name: &str, seq: u64) -> usize {
    300 + usize::try_from((seq * 97 + name.len() as u64 * 31) % 1_500).unwrap()
}

async fn append(store: &FileStore, recorder: &RecordingDisk, name: &str, after: u64, count: u64) {
    let id = SessionId::new(name).unwrap();
    let claimed = store.claim(&id).await.unwrap();
    assert_eq!(claimed.last, Seq(after));
    let facts: Vec<_> = (after..after + count)
        .map(|after| fact_of_size(&id, Seq(after), size(name, after)).unwrap())
        .collect();
    let appended = store.append(&id, claimed.epoch, Seq(after), &facts).await;
    appended.unwrap();
    recorder.note(DiskAction::Acknowledged(name.to_owned(), after + count));
}

/// Creates a folder in memory if possible. Images need not survive anything.
fn quick() -> TempDir {
    TempDir::new_in("/dev/shm").unwrap_or_else(|_| TempDir::new().unwrap())
}

/// Appends one by one and concurrently over several segments, and opens the store again.
async fn work(recorder: &RecordingDisk, dir: &Path) {
    let names = ["a", "bb", "ccc", "dddd"];
    let mut lasts = [0_u64; 4];
    for life in 0..3 {
        let store = FileStore::on(Arc::new(recorder.clone()), dir.to_owned(), SEGMENT).unwrap();
        for round in 0..6_u64 {
            let count = 1 + (round + life) % 3;
            let [a, b, c, d] = lasts;
            tokio::join!(
                append(&store, recorder, names[0], a, count),
                append(&store, recorder, names[1], b, count),
                append(&store, recorder, names[2], c, count),
                append(&store, recorder, names[3], d, count),
            );
            lasts.iter_mut().for_each(|last| *last += count);
            append(&store, recorder, names[0], lasts[0], 1).await;
            lasts[0] += 1;
        }
    }
}

#[tokio::test]
async fn a_loss_of_power_loses_nothing_that_was_acknowledged() {
    let recorder = RecordingDisk::default();
    let dir = TempDir::new().unwrap();
    work(&recorder, dir.path()).await;
    let log = recorder.0.lock().unwrap().clone();
    let mut torn = 0;
    let images = images();
    for seed in 0..images {
        let mut dice = Dice(seed);
        let count = usize::try_from(dice.below(log.len() as u64 + 1)).unwrap();
        let place = quick();
        image(&log, count, &mut dice, dir.path(), place.path());
        let mut acknowledged: BTreeMap<&str, u64> = BTreeMap::new();
        for did in &log[..count] {
            if let DiskAction::Acknowledged(name, last) = did {
                acknowledged.insert(name, *last);
            }
        }
        let store = FileStore::on(Arc::new(RealDisk), place.path().to_owned(), SEGMENT).unwrap();
        for name in ["a", "bb", "ccc", "dddd"] {
            let last = acknowledged.get(name).copied().unwrap_or(0);
            let id = SessionId::new(name).unwrap();
            let what = format!("seed {seed}, after {count} of {}, session {name}", log.len());
            let claimed = store.claim(&id).await;
            let claimed = claimed.unwrap_or_else(|error| panic!("{what}: {error}"));
            assert!(claimed.last.0 >= last, "{what}: {} of {last}", claimed.last);
            torn += u64::from(claimed.repaired.is_some());
            let more = numbered_facts(&id, claimed.last, 1);
            let appended = store.append(&id, claimed.epoch, claimed.last, &more).await;
            appended.unwrap_or_else(|error| panic!("{what}: {error}"));
            let read = store.read(&id, Seq::ZERO, usize::MAX).await;
            let read = read.unwrap_or_else(|error| panic!("{what}: {error}"));
            assert_eq!(read.len() as u64, claimed.last.0 + 1, "{what}");
            for fact in read.iter().take(usize::try_from(claimed.last.0).unwrap()) {
                let after = fact.seq.0 - 1;
                let written = fact_of_size(&id, Seq(after), size(name, after)).unwrap();
                assert_eq!(*fact, *written, "{what}");
            }
            let verified = store.verify(&id).await;
            let verified = verified.unwrap_or_else(|error| panic!("{what}: {error}"));
            assert_eq!(verified.last.0, claimed.last.0 + 1, "{what}");
        }
        let unknown = store.read(&SessionId::new("e").unwrap(), Seq::ZERO, 1).await;
        assert_eq!(unknown.unwrap_err().kind, StoreErrorKind::Unknown);
    }
    // Images without a torn tail would have shown nothing.
    assert!(torn > images / 40, "{torn} torn tails in {images} images");
}
