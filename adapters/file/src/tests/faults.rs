//! Tests over a disk that fails: full, broken at a sync, short in its writes.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use rustix::io::Errno;
use tempfile::TempDir;
use windlass_core::{Epoch, Retry, Seq, SessionId};
use windlass_ports::{LogStore, StoreErrorKind};
use windlass_testkit::store::{fact_of_size, numbered_facts};

use crate::FileStore;
use crate::disk::{Disk, LogFile};
use crate::format::FIRST;
use crate::writer::SEGMENT;

/// Faults of the disk from now on.
#[derive(Default)]
pub(crate) struct Faults {
    /// Largest size of a file; 0 means no limit.
    pub(crate) room: AtomicU64,
    /// Syncs until one fails; negative means never.
    pub(crate) sync_fails_in: AtomicI64,
    /// Error number of a truncation.
    cut_fails: AtomicI64,
    /// Most bytes of one write; 0 means no limit.
    at_once: AtomicU64,
    /// Makes the next sync panic.
    panics: AtomicBool,
    calls: Mutex<Vec<String>>,
}

pub(crate) struct FaultyDisk(pub(crate) Arc<Faults>);

struct FaultyFile(Arc<Faults>, File);

impl Disk for FaultyDisk {
    fn wrap(&self, file: File, _: &Path) -> Box<dyn LogFile> {
        Box::new(FaultyFile(self.0.clone(), file))
    }
}

impl LogFile for FaultyFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        LogFile::read_at(&self.1, buffer, offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        let mut fits = bytes.len() as u64;
        let room = self.0.room.load(Ordering::SeqCst);
        if room > 0 {
            fits = fits.min(room.saturating_sub(offset));
        }
        let at_once = self.0.at_once.load(Ordering::SeqCst);
        if at_once > 0 {
            fits = fits.min(at_once);
        }
        if fits == 0 {
            return Err(Errno::NOSPC.into());
        }
        self.0.note(format!("write {offset} {fits}"));
        LogFile::write_at(&self.1, &bytes[..usize::try_from(fits).unwrap()], offset)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        if self.0.cut_fails.load(Ordering::SeqCst) > 0 {
            return Err(Errno::IO.into());
        }
        self.0.note(format!("cut {len}"));
        LogFile::set_len(&self.1, len)
    }

    fn sync(&self) -> io::Result<()> {
        assert!(!self.0.panics.swap(false, Ordering::SeqCst), "a defect, for a test");
        if self.0.sync_fails_in.fetch_sub(1, Ordering::SeqCst) == 0 {
            self.0.note("sync fails".to_owned());
            return Err(Errno::IO.into());
        }
        self.0.note("sync".to_owned());
        LogFile::sync(&self.1)
    }

    fn len(&self) -> io::Result<u64> {
        LogFile::len(&self.1)
    }
}

impl Faults {
    /// Creates a disk without faults.
    pub(crate) fn none() -> Arc<Self> {
        Arc::new(Self { sync_fails_in: AtomicI64::new(-1), ..Self::default() })
    }

    fn note(&self, call: String) {
        self.calls.lock().unwrap().push(call);
    }

    pub(crate) fn calls(&self) -> Vec<String> {
        std::mem::take(&mut *self.calls.lock().unwrap())
    }
}

fn open(faults: &Arc<Faults>, dir: &Path) -> FileStore {
    let disk = Arc::new(FaultyDisk(faults.clone()));
    FileStore::on(disk, dir.join("store"), SEGMENT).unwrap()
}

struct Bench {
    dir: TempDir,
    faults: Arc<Faults>,
    store: FileStore,
    id: SessionId,
}

impl Bench {
    fn new() -> Self {
        let dir = TempDir::new().unwrap();
        let faults = Faults::none();
        let store = open(&faults, dir.path());
        let id = SessionId::new("s").unwrap();
        Self { dir, faults, store, id }
    }

    async fn claim(&self) -> Epoch {
        self.store.claim(&self.id).await.unwrap().epoch
    }

    async fn append(&self, epoch: Epoch, after: u64, count: u64) -> Result<(), StoreErrorKind> {
        let facts = numbered_facts(&self.id, Seq(after), count);
        let appended = self.store.append(&self.id, epoch, Seq(after), &facts).await;
        appended.map_err(|error| error.kind)
    }

    async fn last(&self) -> u64 {
        let facts = self.store.read(&self.id, Seq::ZERO, usize::MAX).await.unwrap();
        let verified = self.store.verify(&self.id).await.unwrap();
        assert_eq!(verified.last, Seq(facts.len() as u64));
        verified.last.0
    }

    fn segment(&self) -> PathBuf {
        self.dir.path().join("store/lanes/0000/00000001.seg")
    }

    fn len(&self) -> u64 {
        fs::metadata(self.segment()).unwrap().len()
    }

    /// End of the log in its segment.
    async fn end(&self) -> u64 {
        FIRST + self.store.verify(&self.id).await.unwrap().bytes
    }

    /// Drops the store and opens it again.
    fn reopen(self) -> Self {
        let Self { dir, faults, store, id } = self;
        drop(store);
        let store = open(&faults, dir.path());
        Self { dir, faults, store, id }
    }
}

#[tokio::test]
async fn a_full_disk_keeps_nothing_of_the_append_and_everything_before() {
    let bench = Bench::new();
    let epoch = bench.claim().await;
    bench.append(epoch, 0, 3).await.unwrap();
    let end = bench.end().await;
    // Room ahead is used up first; what then does not fit leaves nothing.
    bench.faults.room.store(bench.len(), Ordering::SeqCst);
    let big = fact_of_size(&bench.id, Seq(3), 200_000).unwrap();
    let error = bench.store.append(&bench.id, epoch, Seq(3), &[big]).await.unwrap_err();
    assert_eq!((error.kind, error.retry), (StoreErrorKind::Full, Retry::Soon));
    assert!(error.context.contains(".seg"), "{}", error.context);
    assert!(error.context.contains("make room"), "{}", error.context);
    assert_eq!(bench.last().await, 3);
    assert_eq!(bench.len(), end);

    bench.faults.room.store(end + 10, Ordering::SeqCst);
    for _ in 0..2 {
        let claimed = bench.store.claim(&bench.id).await.unwrap();
        assert_eq!((claimed.last, claimed.repaired), (Seq(3), None));
        let full = bench.append(claimed.epoch, 3, 1).await;
        assert_eq!(full, Err(StoreErrorKind::Full));
        assert_eq!(bench.len(), end);
    }

    bench.faults.room.store(0, Ordering::SeqCst);
    let epoch = bench.claim().await;
    bench.append(epoch, 3, 2).await.unwrap();
    assert_eq!(bench.last().await, 5);
    let claimed = bench.store.claim(&bench.id).await.unwrap();
    assert_eq!((claimed.last, claimed.repaired), (Seq(5), None));
}

#[tokio::test]
async fn a_disk_with_room_for_the_facts_alone_takes_them() {
    let bench = Bench::new();
    let epoch = bench.claim().await;
    bench.faults.room.store(1_500, Ordering::SeqCst);
    bench.append(epoch, 0, 1).await.unwrap();
    bench.append(epoch, 1, 1).await.unwrap();
    assert_eq!(bench.len(), bench.end().await);
    assert_eq!(bench.last().await, 2);
}

#[tokio::test]
async fn after_a_failed_sync_nothing_is_written_before_it_is_taken_back() {
    let bench = Bench::new();
    let epoch = bench.claim().await;
    bench.append(epoch, 0, 3).await.unwrap();
    let end = bench.end().await;
    let _ = bench.faults.calls();
    bench.faults.sync_fails_in.store(0, Ordering::SeqCst);
    assert_eq!(bench.append(epoch, 3, 1).await, Err(StoreErrorKind::Io));
    for _ in 0..3 {
        let refused = bench.append(epoch, 3, 1).await;
        assert_eq!(refused, Err(StoreErrorKind::NotClaimed));
    }
    // What was acknowledged is there; what was not does not show.
    assert_eq!(bench.last().await, 3);

    // The group is cut off, by a claim at the latest, and only the sync of that is believed.
    let claimed = bench.store.claim(&bench.id).await.unwrap();
    let calls = bench.faults.calls();
    assert!(calls[0].starts_with("write "), "{calls:?}");
    let cut = format!("cut {end}");
    assert_eq!(calls[1..], ["sync fails", cut.as_str(), "sync"]);
    assert_eq!(claimed.last, Seq(3));
    bench.append(claimed.epoch, 3, 1).await.unwrap();
    assert_eq!(bench.last().await, 4);
}

/// A released session's last group is settled before another process may claim the session.
#[tokio::test]
async fn a_session_is_not_let_go_while_nobody_knows_what_was_kept() {
    let bench = Bench::new();
    let epoch = bench.claim().await;
    bench.append(epoch, 0, 3).await.unwrap();
    bench.faults.sync_fails_in.store(0, Ordering::SeqCst);
    bench.faults.cut_fails.store(1, Ordering::SeqCst);
    assert_eq!(bench.append(epoch, 3, 1).await, Err(StoreErrorKind::Io));
    bench.store.release(&bench.id, epoch).await.unwrap();
    let other = open(&Faults::none(), bench.dir.path());
    let error = other.claim(&bench.id).await.unwrap_err();
    assert_eq!(error.kind, StoreErrorKind::Locked);
    bench.faults.cut_fails.store(0, Ordering::SeqCst);
    // Whatever is done next takes the failed append back.
    let next = SessionId::new("next").unwrap();
    bench.store.claim(&next).await.unwrap();
    assert_eq!(other.claim(&bench.id).await.unwrap().last, Seq(3));
}

#[tokio::test]
async fn a_defect_stops_the_store_and_costs_no_fact() {
    let bench = Bench::new();
    let epoch = bench.claim().await;
    bench.append(epoch, 0, 3).await.unwrap();
    bench.faults.panics.store(true, Ordering::SeqCst);
    assert_eq!(bench.append(epoch, 3, 1).await, Err(StoreErrorKind::Io));
    let error = bench.store.claim(&bench.id).await.unwrap_err();
    assert_eq!(error.kind, StoreErrorKind::Ended);
    assert!(bench.last().await >= 3);
    let bench = bench.reopen();
    let claimed = bench.store.claim(&bench.id).await.unwrap();
    assert_eq!(claimed.last, Seq(bench.last().await));
    assert!(claimed.last >= Seq(3));
    let appended = bench.append(claimed.epoch, claimed.last.0, 1).await;
    appended.unwrap();
}

#[tokio::test]
async fn a_claim_whose_sync_fails_claims_nothing() {
    let bench = Bench::new();
    let epoch = bench.claim().await;
    bench.append(epoch, 0, 3).await.unwrap();
    let bench = bench.reopen();
    bench.faults.sync_fails_in.store(0, Ordering::SeqCst);
    let error = bench.store.claim(&bench.id).await.unwrap_err();
    assert_eq!(error.kind, StoreErrorKind::Io);
    assert_eq!(bench.append(epoch, 3, 1).await, Err(StoreErrorKind::NotClaimed));
    let epoch = bench.claim().await;
    bench.append(epoch, 3, 1).await.unwrap();
    assert_eq!(bench.last().await, 4);
}

/// A group that a dead process may have left unsynced is written once more before it counts.
#[tokio::test]
async fn a_claim_writes_the_last_group_anew() {
    let bench = Bench::new();
    let epoch = bench.claim().await;
    bench.append(epoch, 0, 3).await.unwrap();
    bench.append(epoch, 3, 1).await.unwrap();
    let bench = bench.reopen();
    let _ = bench.faults.calls();
    bench.claim().await;
    let calls = bench.faults.calls();
    assert_eq!(calls.len(), 2, "{calls:?}");
    assert!(calls[0].starts_with("write "), "{calls:?}");
    assert_eq!(calls[1], "sync");
}

#[tokio::test]
async fn when_a_failed_write_cannot_be_taken_back_a_later_claim_settles_it() {
    let bench = Bench::new();
    let epoch = bench.claim().await;
    bench.append(epoch, 0, 3).await.unwrap();
    let end = bench.end().await;
    let room = bench.len();
    let big = fact_of_size(&bench.id, Seq(3), usize::try_from(room).unwrap()).unwrap();
    bench.faults.room.store(room, Ordering::SeqCst);
    bench.faults.cut_fails.store(1, Ordering::SeqCst);
    let appended = bench.store.append(&bench.id, epoch, Seq(3), &[big]).await;
    assert_eq!(appended.unwrap_err().kind, StoreErrorKind::Full);
    let error = bench.store.claim(&bench.id).await.unwrap_err();
    assert_eq!(error.kind, StoreErrorKind::Io);
    assert!(error.context.contains("taking back"), "{error}");
    assert_eq!(bench.last().await, 3);

    bench.faults.cut_fails.store(0, Ordering::SeqCst);
    bench.faults.room.store(0, Ordering::SeqCst);
    let claimed = bench.store.claim(&bench.id).await.unwrap();
    assert_eq!(claimed.last, Seq(3));
    assert_eq!(bench.len(), end);
    bench.append(claimed.epoch, 3, 1).await.unwrap();
    assert_eq!(bench.last().await, 4);
}

#[tokio::test]
async fn a_disk_that_takes_little_at_once_takes_all_in_the_end() {
    let bench = Bench::new();
    bench.faults.at_once.store(7, Ordering::SeqCst);
    let epoch = bench.claim().await;
    bench.append(epoch, 0, 3).await.unwrap();
    assert_eq!(bench.last().await, 3);
}

#[tokio::test]
async fn each_append_is_synced_after_its_write() {
    let bench = Bench::new();
    let epoch = bench.claim().await;
    bench.append(epoch, 0, 1).await.unwrap();
    let _ = bench.faults.calls();
    bench.append(epoch, 1, 1).await.unwrap();
    let calls = bench.faults.calls();
    assert_eq!(calls.len(), 3, "{calls:?}");
    assert!(calls[0].starts_with("write "));
    assert_eq!(calls[1], "sync");
    // The witness states what is durable, before the answer.
    assert!(calls[2].starts_with("write "));
}

#[tokio::test]
async fn appends_that_wait_for_one_another_share_a_sync() {
    let bench = Bench::new();
    let epoch = bench.claim().await;
    bench.append(epoch, 0, 1).await.unwrap();
    let _ = bench.faults.calls();
    // All are queued before the first is awaited, so at most the first goes alone.
    let appends = (1..=20).map(|after| bench.append(epoch, after, 1));
    let ends = join_all(appends.collect()).await;
    assert!(ends.iter().all(Result::is_ok), "{ends:?}");
    let syncs = bench.faults.calls().iter().filter(|call| *call == "sync").count();
    assert!(syncs < 20, "{syncs} syncs for 20 appends that waited together");
    assert_eq!(bench.last().await, 21);
}

/// Polls all futures concurrently.
async fn join_all<F: Future>(futures: Vec<F>) -> Vec<F::Output> {
    let mut futures: Vec<_> = futures.into_iter().map(Box::pin).collect();
    let mut ends: Vec<_> = futures.iter().map(|_| None).collect();
    std::future::poll_fn(|context| {
        for (future, end) in futures.iter_mut().zip(&mut ends) {
            if end.is_none()
                && let std::task::Poll::Ready(output) = future.as_mut().poll(context)
            {
                *end = Some(output);
            }
        }
        match ends.iter().all(Option::is_some) {
            true => std::task::Poll::Ready(()),
            false => std::task::Poll::Pending,
        }
    })
    .await;
    ends.into_iter().flatten().collect()
}
