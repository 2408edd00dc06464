//! Tests of a power loss over a store's whole folder: a process that writes, merges, erases and
//! cuts off is recorded, and images of the disk at many moments are opened. Unsynced names and
//! folders may be missing in them.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use windlass_core::{RecordedFact, Seq, SessionId};
use windlass_ports::{LogStore, StoreErrorKind};
use windlass_testkit::power::{Image, Recording, record};

use super::{images, quick};
use crate::catalog::SegmentCatalog;
use crate::disk::RealDisk;
use crate::format::SessionKey;
use crate::maintenance::tests::settled;
use crate::maintenance::{MaintenancePass, MaintenanceReport};
use crate::paths::StorePaths;
use crate::scan::{self, ExpectedEnd, scan_stored};
use crate::segment_map::SegmentMap;
use crate::tests::faults::{Faults, FaultyDisk};
use crate::writer::SegmentWriter;
use crate::{FileStore, LogTruncation, MaintenancePolicy, witness};

/// So small that several are sealed, although facts are compressed.
const SEGMENT: u64 = 4 * 1024;
const PLACE: &str = "WINDLASS_FILE_TEST_PLACE";
/// Path of the store, below folders that it creates.
const STORE: &str = "in/folders/store";
/// Most images of a recording without some syncs, to find one that lost something.
const UNSYNCED: usize = 300;
const SEED: u64 = 7;

/// Session that continues a segment of a process that died before it synced the segment's folder.
const FIRST: &str = "first";
const SESSIONS: [&str; 7] = [FIRST, "g1", "g2", "g3", OTHER, ERASED, CUT];
/// Sessions to merge.
const GATHERED: [&str; 3] = ["g1", "g2", "g3"];
/// Session of another process with a lane of its own.
const OTHER: &str = "other";
const ERASED: &str = "erased";
const ERASED_LAST: u64 = 24;
const CUT: &str = "cut";
/// Position to cut off at.
const CUT_AT: u64 = 7;

fn id(name: &str) -> SessionId {
    SessionId::new(name).unwrap()
}

/// Working state of the child process.
struct Child {
    dir: PathBuf,
    journal: fs::File,
}

impl Child {
    fn at(place: &Path) -> Self {
        let mut journal = OpenOptions::new();
        journal.create(true).append(true);
        Self {
            dir: place.join("root").join(STORE),
            journal: journal.open(place.join("journal")).unwrap(),
        }
    }

    fn say(&self, words: &str) {
        let line = format!("{words}\n");
        (&self.journal).write_all(line.as_bytes()).unwrap();
    }

    fn open(&self) -> FileStore {
        FileStore::on(Arc::new(RealDisk), self.dir.clone(), SEGMENT).unwrap()
    }

    /// Appends facts in batches and reports acknowledged positions.
    async fn write(&self, store: &FileStore, name: &str, count: u64, step: u64) {
        let id = id(name);
        let claimed = store.claim(&id).await.unwrap();
        let first = claimed.last.0;
        for after in (first..first + count).step_by(usize::try_from(step).unwrap()) {
            let facts = settled(&id, after, step);
            let appended = store.append(&id, claimed.epoch, Seq(after), &facts).await;
            appended.unwrap();
            self.say(&format!("has {name} {}", after + step));
        }
        store.release(&id, claimed.epoch).await.unwrap();
    }

    /// Begins a segment without making its name durable, as a process that dies.
    async fn die_beginning(&self) {
        let faults = Faults::none();
        let disk = Arc::new(FaultyDisk(faults.clone()));
        let store = FileStore::on(disk, self.dir.clone(), SEGMENT).unwrap();
        let epoch = store.claim(&id(FIRST)).await.unwrap().epoch;
        faults.sync_fails_in.store(0, Ordering::SeqCst);
        let facts = settled(&id(FIRST), 0, 1);
        let appended = store.append(&id(FIRST), epoch, Seq::ZERO, &facts).await;
        appended.unwrap_err();
    }

    /// Merges settled sessions and removes old segments, beside a locked lane.
    fn keep_up(&self) {
        let catalog = Arc::new(SegmentCatalog::new(Arc::new(StorePaths::new(self.dir.clone()))));
        let (writer, _) =
            SegmentWriter::claim(catalog.clone(), Arc::new(RealDisk), SEGMENT).unwrap();
        let maintenance =
            MaintenancePolicy { merge_after: Some(Duration::ZERO), erase_after: None };
        let mut all = MaintenanceReport::default();
        loop {
            let piece =
                MaintenancePass::new(&catalog, &RealDisk, maintenance, Some(writer.id()), SEGMENT);
            let piece = piece.run().unwrap();
            all.merged += piece.merged;
            all.removed += piece.removed;
            if piece == MaintenanceReport::default() {
                break;
            }
        }
        assert!(all.merged >= 3 && all.removed >= 2, "{all:?}");
    }

    /// Erases a session with units in several segments.
    async fn erase(&self) {
        let store = self.open();
        let epoch = store.claim(&id(ERASED)).await.unwrap().epoch;
        self.say(&format!("erasing {ERASED} 0"));
        store.erase(&id(ERASED), epoch).await.unwrap();
        self.say(&format!("erased {ERASED} 0"));
    }

    async fn work(&self) {
        self.die_beginning().await;
        self.write(&self.open(), FIRST, 8, 1).await;
        {
            let (store, other) = (self.open(), self.open());
            let [g1, g2, g3] = GATHERED;
            tokio::join!(
                self.write(&store, g1, 24, 4),
                self.write(&store, g2, 24, 4),
                self.write(&store, g3, 24, 4),
                self.write(&store, ERASED, ERASED_LAST, 4),
                self.write(&store, CUT, 10, 5),
                self.write(&other, OTHER, 6, 1),
            );
        }
        self.erase().await;
        self.keep_up();
        {
            let store = self.open();
            self.write(&store, OTHER, 2, 1).await;
            self.write(&store, GATHERED[0], 4, 1).await;
        }
        self.say(&format!("cutting {CUT} {CUT_AT}"));
        let cut = FileStore::truncate(&self.dir, &id(CUT), Seq(CUT_AT)).unwrap();
        cut.finish().unwrap();
        self.say(&format!("was-cut {CUT} {CUT_AT}"));
        self.write(&self.open(), FIRST, 4, 1).await;
        self.write(&self.open(), CUT, 2, 1).await;
    }
}

/// Runs as the child process.
#[tokio::test]
async fn writer() {
    if let Some(place) = std::env::var_os(PLACE) {
        Child::at(Path::new(&place)).work().await;
    }
}

/// Records the child process. Prints the reason and returns `None` if that is impossible.
fn recorded(place: &Path) -> Option<Recording> {
    fs::create_dir(place.join("root")).unwrap();
    let mut command = Command::new(std::env::current_exe().unwrap());
    let only = ["--exact", "tests::power::folder::writer"];
    command.args(only).args(["--nocapture", "--test-threads=1"]);
    command.env(PLACE, place);
    match record(&command, &place.join("root"), &place.join("journal")).unwrap() {
        Ok(recording) => Some(recording),
        Err(absent) => {
            // What a test that is skipped says.
            let _ = writeln!(std::io::stderr(), "skipped: {absent}");
            None
        }
    }
}

/// Reports about a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Said {
    Has(u64),
    Erasing,
    Erased,
    Cutting,
    WasCut,
}

fn said(image: &Image) -> BTreeMap<String, Said> {
    let mut said = BTreeMap::new();
    for line in std::str::from_utf8(&image.acknowledged).unwrap().lines() {
        let mut words = line.split(' ');
        let (what, name) = (words.next().unwrap(), words.next().unwrap());
        let number = words.next().unwrap().parse().unwrap();
        let says = match what {
            "has" => Said::Has(number),
            "erasing" => Said::Erasing,
            "erased" => Said::Erased,
            "cutting" => Said::Cutting,
            "was-cut" => Said::WasCut,
            other => panic!("the journal says {other}"),
        };
        said.insert(name.to_owned(), says);
    }
    said
}

/// Facts of each session, more than the child writes.
struct Written(BTreeMap<&'static str, Vec<Arc<RecordedFact>>>);

impl Written {
    fn new() -> Self {
        let all = SESSIONS.map(|name| (name, settled(&id(name), 0, 40)));
        Self(all.into_iter().collect())
    }

    /// Checks the facts of a session and returns its last position, 0 if there is none.
    async fn last(&self, store: &FileStore, name: &str, limit: usize) -> Result<u64, String> {
        match store.read(&id(name), Seq::ZERO, limit).await {
            Ok(read) => {
                let written = self.0[name].iter().take(read.len());
                match read.iter().eq(written.map(AsRef::as_ref)) {
                    true => Ok(read.len() as u64),
                    false => Err(format!("{name} does not hold what was written")),
                }
            }
            Err(error) if error.kind == StoreErrorKind::Unknown => Ok(0),
            Err(error) => Err(format!("{name}: {error}")),
        }
    }

    /// Returns the fact behind a position.
    fn next(&self, name: &str, after: Seq) -> &[Arc<RecordedFact>] {
        let at = usize::try_from(after.0).unwrap();
        &self.0[name][at..=at]
    }
}

/// Opens an image and returns the problem found, if any.
async fn check(image: &Image, written: &Written, folder: &Path) -> Result<(), String> {
    image.write_to(folder).unwrap();
    let dir = folder.join(STORE);
    let said = said(image);
    let open = || FileStore::on(Arc::new(RealDisk), dir.clone(), SEGMENT).unwrap();
    let mut store = open();
    for name in SESSIONS {
        let says = said.get(name).copied().unwrap_or(Said::Has(0));
        if says == Said::Cutting {
            // Whoever began goes on with it, and what is kept can be read all the while.
            let kept = usize::try_from(CUT_AT).unwrap();
            let kept = written.last(&store, name, kept).await?;
            drop(store);
            let cut = FileStore::truncate(&dir, &id(name), Seq(CUT_AT));
            let cut = cut.and_then(LogTruncation::finish);
            cut.map_err(|error| format!("cutting {name}, of which {kept} are there: {error}"))?;
            store = open();
        }
        let last = written.last(&store, name, usize::MAX).await?;
        let right = match says {
            Said::Has(least) => last >= least,
            Said::Erasing => last == 0 || last == ERASED_LAST,
            Said::Erased => last == 0,
            Said::Cutting => last == CUT_AT,
            // What follows may be there already.
            Said::WasCut => (CUT_AT..=CUT_AT + 1).contains(&last),
        };
        if !right {
            return Err(format!("{name} ends at {last}, and it was said: {says:?}"));
        }
    }
    // Nothing that was not lost is told as lost.
    let lost_now = lost(&dir)?;
    if !lost_now.is_empty() {
        return Err(format!("a false alarm: {lost_now:?}"));
    }
    // It can be gone on with.
    for name in [FIRST, CUT] {
        let (id, wrong) = (id(name), |error| format!("going on with {name}: {error}"));
        let claimed = store.claim(&id).await.map_err(wrong)?;
        let more = written.next(name, claimed.last);
        let appended = store.append(&id, claimed.epoch, claimed.last, more);
        appended.await.map_err(wrong)?;
        written.last(&store, name, usize::MAX).await?;
    }
    let lost = lost(&dir)?;
    match lost.is_empty() {
        true => Ok(()),
        false => Err(format!("a false alarm after a claim: {lost:?}")),
    }
}

/// Finds segments whose witness knows more than they have, sessions of known names included.
fn lost(dir: &Path) -> Result<Vec<SegmentMap>, String> {
    let paths = StorePaths::new(dir.to_owned());
    let mut lost = Vec::new();
    for place in paths.list_all().map_err(|error| error.to_string())? {
        let mut map = SegmentMap::empty(place, 0);
        let last = paths.list_segments(place.writer).map_err(|error| error.to_string())?.pop();
        let ending = match last == Some(place.number) {
            true => ExpectedEnd::Open,
            false => ExpectedEnd::Sealed,
        };
        scan_stored(&paths, &mut map, ending).map_err(|error| format!("{error:?}"))?;
        let known = scan::witness(&paths, &map);
        witness::compare(&paths, known.as_ref(), &mut map).map_err(|error| error.to_string())?;
        // What is left of an interrupted erasure is damage of that session alone.
        let erased = SessionKey::of(&id(ERASED)).half();
        map.damages.retain(|damage| damage.half != Some(erased));
        if !map.damages.is_empty() {
            lost.push(map);
        }
    }
    Ok(lost)
}

#[tokio::test]
async fn nothing_acknowledged_is_lost_with_the_power() {
    let own = quick();
    let Some(recording) = recorded(own.path()) else {
        return;
    };
    let written = Written::new();
    let (images, mut acknowledged) = (usize::try_from(images()).unwrap(), 0);
    for (number, image) in recording.images(SEED, images).enumerate() {
        let image = image.unwrap();
        let folder = own.path().join("image");
        if let Err(wrong) = check(&image, &written, &folder).await {
            let step = image.step;
            panic!("image {number} of seed {SEED}, after step {step}: {wrong}");
        }
        acknowledged += usize::from(!image.acknowledged.is_empty());
        fs::remove_dir_all(&folder).unwrap();
    }
    assert!(acknowledged > images / 2, "only {acknowledged} images say anything");
}

/// The test detects missing syncs: without those of folders, or of segments, acknowledged facts are
/// lost.
#[tokio::test]
async fn without_syncs_something_is_lost() {
    let own = quick();
    let written = Written::new();
    for sync in ["fsync", "fdatasync"] {
        let place = own.path().join(sync);
        fs::create_dir(&place).unwrap();
        let Some(recording) = recorded(&place) else {
            return;
        };
        let recording = recording.without(sync);
        let mut lost = None;
        for image in recording.images(SEED, UNSYNCED) {
            let folder = place.join("image");
            lost = check(&image.unwrap(), &written, &folder).await.err();
            if lost.is_some() {
                break;
            }
            fs::remove_dir_all(&folder).unwrap();
        }
        assert!(lost.is_some(), "{UNSYNCED} images without {sync} lost nothing");
    }
}
