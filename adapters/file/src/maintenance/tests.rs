//! Tests of maintenance: merged sessions read as before and continue, old segments are removed, and
//! an interrupted attempt changes nothing.

use std::path::PathBuf;

use tempfile::TempDir;
use windlass_core::{Epoch, Fact, RecordedFact, Seq};
use windlass_ports::{LogStore, SessionFilter, StoreErrorKind};
use windlass_testkit::store::{numbered_facts, sample_facts};

use super::*;
use crate::FileStore;

const SMALL: u64 = 16 * 1024;
const AT_ONCE: MaintenancePolicy =
    MaintenancePolicy { merge_after: Some(Duration::ZERO), erase_after: None };

struct Bench {
    dir: TempDir,
    ids: Vec<SessionId>,
}

/// Facts of a session without open work: `count` facts behind `after`.
pub(crate) fn settled(id: &SessionId, after: u64, count: u64) -> Vec<Arc<RecordedFact>> {
    let quiet = |fact: &Fact| {
        !matches!(
            fact,
            Fact::InputQueued(_)
                | Fact::InputAccepted(_)
                | Fact::InputBlocked(_)
                | Fact::InputWithdrawn(_)
                | Fact::TurnOpened(_)
                | Fact::TurnSettled(_)
        )
    };
    let all = sample_facts(id);
    let kinds: Vec<_> = all.iter().filter(|fact| quiet(&fact.fact)).take(20).collect();
    let fact = |seq: u64| {
        let like = kinds[usize::try_from(seq).unwrap() % kinds.len()];
        Arc::new(RecordedFact { seq: Seq(seq), ts: Timestamp(seq), ..(**like).clone() })
    };
    (after + 1..=after + count).map(fact).collect()
}

impl Bench {
    /// Creates twelve sessions of forty facts, interleaved over several segments. The last one has
    /// a waiting input.
    async fn new() -> Self {
        let dir = TempDir::new().unwrap();
        let names = (0..12).map(|n| SessionId::new(&format!("s-{n:02}")).unwrap());
        let bench = Self { dir, ids: names.collect() };
        let store = bench.open();
        let mut epochs: BTreeMap<SessionId, Epoch> = BTreeMap::new();
        for after in (0..40).step_by(4) {
            for id in &bench.ids {
                let epoch = match epochs.get(id) {
                    Some(epoch) => *epoch,
                    None => store.claim(id).await.unwrap().epoch,
                };
                epochs.insert(id.clone(), epoch);
                let facts = settled(id, after, 4);
                store.append(id, epoch, Seq(after), &facts).await.unwrap();
            }
        }
        let open = bench.ids.last().unwrap();
        let waiting = numbered_facts(open, Seq(40), 1);
        let appended = store.append(open, epochs[open], Seq(40), &waiting).await;
        appended.unwrap();
        drop(store);
        bench
    }

    fn open(&self) -> FileStore {
        FileStore::on(Arc::new(RealDisk), self.dir.path().to_owned(), SMALL).unwrap()
    }

    /// Runs one piece.
    fn piece(&self, maintenance: MaintenancePolicy) -> MaintenanceReport {
        let catalog = SegmentCatalog::new(Arc::new(StorePaths::new(self.dir.path().to_owned())));
        MaintenancePass::new(&catalog, &RealDisk, maintenance, None, SMALL).run().unwrap()
    }

    fn files(&self, lane: &str, extension: &str) -> Vec<PathBuf> {
        let Ok(entries) = fs::read_dir(self.dir.path().join("lanes").join(lane)) else {
            return Vec::new();
        };
        let paths = entries.map(|entry| entry.unwrap().path());
        let mut files: Vec<_> =
            paths.filter(|path| path.extension().is_some_and(|found| found == extension)).collect();
        files.sort();
        files
    }

    /// Checks all logs of the store.
    async fn expect(&self) {
        let store = self.open();
        let heads = store.sessions(SessionFilter::ALL_TENANTS, None, 99).await.unwrap();
        assert_eq!(heads.len(), self.ids.len());
        for (id, head) in self.ids.iter().zip(heads) {
            let mut facts = settled(id, 0, 40);
            if Some(id) == self.ids.last() {
                facts.extend(numbered_facts(id, Seq(40), 1));
            }
            let read = store.read(id, Seq::ZERO, 99).await.unwrap();
            assert!(read.iter().eq(facts.iter().map(AsRef::as_ref)), "{id}");
            let verified = store.verify(id).await.unwrap();
            assert_eq!(verified.chain, ChainLink::of_log(id, &read).unwrap());
            let summary = head.summary.unwrap();
            assert_eq!(summary.last, verified.last);
            assert_eq!(summary.is_open(), Some(id) == self.ids.last());
        }
    }
}

#[tokio::test]
async fn settled_sessions_are_gathered_and_what_is_left_over_goes() {
    let bench = Bench::new().await;
    let before = bench.files("0000", "seg").len();
    assert!(before > 5, "{before} segments");
    let mut all = MaintenanceReport::default();
    loop {
        let piece = bench.piece(AT_ONCE);
        bench.expect().await;
        all.merged += piece.merged;
        all.removed += piece.removed;
        if piece == MaintenanceReport::default() {
            break;
        }
    }
    assert_eq!(all.merged, 11, "all but the one that is open");
    // What the open one has left keeps the segments that it stands in.
    assert!(!bench.files("ffff", "seg").is_empty());
    assert_eq!(FileStore::vacuum(bench.dir.path(), AT_ONCE).unwrap(), MaintenanceReport::default());
}

#[tokio::test]
async fn old_segments_go_once_nothing_in_them_counts() {
    let bench = Bench::new().await;
    let before = bench.files("0000", "seg").len();
    let open = bench.ids.last().unwrap().clone();
    let store = bench.open();
    let claimed = store.claim(&open).await.unwrap();
    store.erase(&open, claimed.epoch).await.unwrap();
    drop(store);
    let kept = FileStore::vacuum(bench.dir.path(), AT_ONCE).unwrap();
    assert_eq!(kept.merged, 11);
    assert!(kept.removed as usize >= before - 1, "{kept:?} of {before}");
    assert_eq!(bench.files("0000", "seg").len(), 1);
    assert!(bench.files("0000", "idx").is_empty());
    let store = bench.open();
    for id in &bench.ids[..11] {
        // What was merged goes on, in a lane again, and is merged again.
        let claimed = store.claim(id).await.unwrap();
        assert_eq!((claimed.last, claimed.repaired), (Seq(40), None));
        let facts = settled(id, 40, 3);
        store.append(id, claimed.epoch, Seq(40), &facts).await.unwrap();
        assert_eq!(store.verify(id).await.unwrap().last, Seq(43));
    }
    let error = store.read(&open, Seq::ZERO, 9).await.unwrap_err();
    assert_eq!(error.kind, StoreErrorKind::Unknown);
    drop(store);
    // Nothing of it is in any file.
    for lane in ["0000", "ffff"] {
        for path in bench.files(lane, "seg") {
            let bytes = fs::read(path).unwrap();
            let said = bytes.windows(4).any(|window| window == b"s-11");
            assert!(!said, "a session that was erased is still told of");
        }
    }
}

#[tokio::test]
async fn an_attempt_that_was_cut_short_changes_nothing() {
    let bench = Bench::new().await;
    // Before the new segment has its name.
    let catalog = SegmentCatalog::new(Arc::new(StorePaths::new(bench.dir.path().to_owned())));
    let piece = MaintenancePass::new(&catalog, &RealDisk, AT_ONCE, None, SMALL);
    paths::create(&catalog.paths().writer_folder(MERGED_WRITER)).unwrap();
    erasing::sweep(catalog.paths()).unwrap();
    let numbers = catalog.paths().list_segments(0).unwrap();
    let sealed: Vec<_> = numbers[..numbers.len() - 1]
        .iter()
        .map(|number| SegmentId { writer: 0, number: *number })
        .collect();
    assert!(piece.merge(&sealed).unwrap() > 0);
    let merged = bench.files("ffff", "seg");
    let part = merged[0].with_extension("part");
    fs::rename(&merged[0], &part).unwrap();
    let index = merged[0].with_extension("idx");
    fs::remove_file(&index).unwrap();
    bench.expect().await;
    // After it has, before its index is written and the old ones are gone.
    fs::rename(&part, &merged[0]).unwrap();
    bench.expect().await;
    fs::write(merged[0].with_extension("part"), b"rest").unwrap();
    FileStore::vacuum(bench.dir.path(), AT_ONCE).unwrap();
    assert!(bench.files("ffff", "part").is_empty());
    bench.expect().await;
}

#[tokio::test]
async fn an_index_that_is_damaged_or_gone_is_made_anew() {
    let bench = Bench::new().await;
    bench.expect().await;
    let indexes = bench.files("0000", "idx");
    assert!(!indexes.is_empty());
    for path in &indexes {
        let whole = fs::read(path).unwrap();
        for byte in (0..whole.len()).step_by(whole.len() / 6) {
            let mut bytes = whole.clone();
            bytes[byte] ^= 1 << (byte % 8);
            fs::write(path, &bytes).unwrap();
            bench.expect().await;
        }
        fs::remove_file(path).unwrap();
    }
    bench.expect().await;
    assert_eq!(bench.files("0000", "idx"), indexes);
    // One that tells of another segment's sessions is not believed.
    fs::copy(&indexes[0], &indexes[1]).unwrap();
    bench.expect().await;
}

#[tokio::test]
async fn sessions_are_erased_when_their_time_has_come_and_nobody_has_them() {
    let bench = Bench::new().await;
    let store = bench.open();
    store.claim(&bench.ids[3]).await.unwrap();
    let maintenance = MaintenancePolicy { merge_after: None, erase_after: Some(Duration::ZERO) };
    let late = MaintenancePolicy {
        erase_after: Some(Duration::from_secs(1_000_000_000_000)),
        ..maintenance
    };
    assert_eq!(bench.piece(late), MaintenanceReport::default());
    let kept = bench.piece(maintenance);
    assert_eq!(kept.erased, 10);
    let heads = store.sessions(SessionFilter::ALL_TENANTS, None, 99).await.unwrap();
    let left: Vec<_> = heads.into_iter().map(|head| head.id).collect();
    assert_eq!(left, [bench.ids[3].clone(), bench.ids[11].clone()]);
    for id in [&bench.ids[0], &bench.ids[10]] {
        let error = store.read(id, Seq::ZERO, 9).await.unwrap_err();
        assert_eq!(error.kind, StoreErrorKind::Unknown);
        let claimed = store.claim(id).await.unwrap();
        assert_eq!(claimed.last, Seq::ZERO);
    }
    assert_eq!(store.verify(&bench.ids[3]).await.unwrap().last, Seq(40));
}
