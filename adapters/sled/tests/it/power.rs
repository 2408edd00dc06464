//! What is left when power is lost: the calls of a writing process are recorded, and every image that
//! a disk may hold at moments of it is opened.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;

use tokio::task::JoinSet;
use windlass_core::{RecordedFact, Seq, SessionId};
use windlass_ports::{LogStore, StoreErrorKind, StoredCheckpoint};
use windlass_sled::SledStore;
use windlass_testkit::power::{Image, Recording, record};
use windlass_testkit::store::fact_of_size;

use crate::child;

const IMAGES: usize = 1_000;
/// The images without syncs, until one is seen to have lost something.
const UNSYNCED: usize = 200;
const SESSIONS: usize = 5;
/// Appends of each session each time the store is open.
const APPENDS: usize = 10;
const SEED: u64 = 7;
/// The store, in folders that it makes.
const STORE: &str = "in/folders/store";

/// The fact at a position: small, and in one session some larger than a row of the database.
fn fact(session: &SessionId, seq: Seq) -> Arc<RecordedFact> {
    let bytes = match seq.0 % 7 {
        0 if session.as_str() == "s1" => 70_000,
        other => 250 + 100 * usize::try_from(other).unwrap(),
    };
    fact_of_size(session, Seq(seq.0 - 1), bytes).unwrap()
}

fn facts(session: &SessionId, after: Seq, count: u64) -> Vec<Arc<RecordedFact>> {
    (1..=count).map(|n| fact(session, after.plus(n))).collect()
}

/// The child: writes to many sessions at once, opens the store again, goes on, and notes what was
/// acknowledged.
#[test]
fn writer() {
    let Some(place) = child::place() else {
        return;
    };
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    for _ in 0..2 {
        let store = Arc::new(SledStore::open(place.join("root").join(STORE)).unwrap());
        runtime.block_on(async {
            let mut writers = JoinSet::new();
            for number in 0..SESSIONS {
                let session = SessionId::new(&format!("s{number}")).unwrap();
                writers.spawn(write(store.clone(), session, place.join("journal")));
            }
            while let Some(done) = writers.join_next().await {
                done.unwrap();
            }
        });
    }
}

async fn write(store: Arc<SledStore>, session: SessionId, journal: std::path::PathBuf) {
    let mut journal = OpenOptions::new().create(true).append(true).open(journal).unwrap();
    let claimed = store.claim(&session).await.unwrap();
    let mut last = claimed.last;
    for number in 0..APPENDS {
        let facts = facts(&session, last, 1 + number as u64 % 3);
        let appended = store.append(&session, claimed.epoch, last, &facts).await;
        appended.unwrap();
        last = last.plus(facts.len() as u64);
        let line = format!("{session} {last}\n");
        journal.write_all(line.as_bytes()).unwrap();
    }
    let snapshot = StoredCheckpoint {
        seq: last,
        version: "1".to_owned(),
        bytes: last.to_string().into_bytes(),
    };
    store.write_checkpoint(&session, &snapshot).await.unwrap();
    store.release(&session, claimed.epoch).await.unwrap();
}

/// A folder in memory where there is one: the images are many, and no power is lost here.
fn folder_in_memory() -> tempfile::TempDir {
    let memory = tempfile::tempdir_in("/dev/shm");
    memory.or_else(|_| tempfile::tempdir()).unwrap()
}

/// What the child does, recorded; `None`, and it says so, where that cannot be.
fn recorded(place: &Path) -> Option<Recording> {
    fs::create_dir(place.join("root")).unwrap();
    let command = child::command(&child::program(), "power::writer", place);
    match record(&command, &place.join("root"), &place.join("journal")).unwrap() {
        Ok(recording) => Some(recording),
        Err(absent) => {
            eprintln!("skipped: {absent}");
            None
        }
    }
}

/// What each session holds at the end.
type Written = BTreeMap<SessionId, Vec<Arc<RecordedFact>>>;

fn written() -> Written {
    let appends = (0..2).flat_map(|_| 0..APPENDS);
    let count = appends.map(|number| 1 + number as u64 % 3).sum();
    let ids = (0..SESSIONS).map(|number| SessionId::new(&format!("s{number}")).unwrap());
    ids.map(|id| (id.clone(), facts(&id, Seq::ZERO, count))).collect()
}

/// Opens an image, and says what is wrong with it.
async fn check(image: &Image, written: &Written, folder: &Path) -> Result<(), String> {
    image.write_to(folder).unwrap();
    let mut acknowledged = BTreeMap::new();
    for line in std::str::from_utf8(&image.acknowledged).unwrap().lines() {
        let (session, last) = line.split_once(' ').unwrap();
        let last: u64 = last.parse().unwrap();
        acknowledged.insert(SessionId::new(session).unwrap(), Seq(last));
    }
    let store = SledStore::open(folder.join(STORE)).map_err(|error| error.to_string())?;
    for number in 0..SESSIONS {
        let session = SessionId::new(&format!("s{number}")).unwrap();
        let at_least = acknowledged.get(&session).copied().unwrap_or(Seq::ZERO);
        let read = match store.read(&session, Seq::ZERO, usize::MAX).await {
            Ok(read) => read,
            Err(error) if error.kind == StoreErrorKind::Unknown => Vec::new(),
            Err(error) => return Err(error.to_string()),
        };
        let last = Seq(read.len() as u64);
        if last < at_least {
            return Err(format!("{session} ends at {last}, and {at_least} was acknowledged"));
        }
        if last > Seq::ZERO {
            let written = written.get(&session).into_iter().flatten();
            let written: Vec<_> = written.take(read.len()).map(AsRef::as_ref).collect();
            if !read.iter().eq(written) {
                return Err(format!("{session} does not hold what was written"));
            }
            let snapshot = store.read_checkpoint(&session, "1").await;
            let snapshot = snapshot.map_err(|error| error.to_string())?;
            let sound = |it: &StoredCheckpoint| it.bytes == it.seq.to_string().into_bytes();
            if !snapshot.as_ref().is_none_or(sound) {
                return Err(format!("{session} has a snapshot that was never kept"));
            }
        }
        if number > 0 {
            continue;
        }
        // The store can be gone on with.
        let claimed = store.claim(&session).await.map_err(|error| error.to_string())?;
        let more = facts(&session, claimed.last, 1);
        let appended = store.append(&session, claimed.epoch, claimed.last, &more);
        appended.await.map_err(|error| error.to_string())?;
    }
    Ok(())
}

#[tokio::test]
async fn nothing_acknowledged_is_lost_with_the_power() {
    let own = folder_in_memory();
    let Some(recording) = recorded(own.path()) else {
        return;
    };
    let written = written();
    let mut acknowledged = 0;
    for (number, image) in recording.images(SEED, IMAGES).enumerate() {
        let image = image.unwrap();
        let folder = own.path().join("image");
        if let Err(wrong) = check(&image, &written, &folder).await {
            let step = image.step;
            panic!("image {number} of seed {SEED}, after step {step}: {wrong}");
        }
        acknowledged += usize::from(!image.acknowledged.is_empty());
        fs::remove_dir_all(&folder).unwrap();
    }
    assert!(acknowledged > IMAGES / 2, "only {acknowledged} images say anything");
    eprintln!(
        "{IMAGES} images of {} calls, {acknowledged} with acknowledged appends",
        recording.calls()
    );
}

/// The test can fail, and sled's own flush is not enough: without the sync of its file that the store
/// adds, what was acknowledged is lost.
#[tokio::test]
async fn with_flushes_alone_something_is_lost() {
    let own = folder_in_memory();
    let Some(recording) = recorded(own.path()) else {
        return;
    };
    let written = written();
    let recording = recording.without("fdatasync");
    for image in recording.images(SEED, UNSYNCED) {
        let folder = own.path().join("image");
        if let Err(wrong) = check(&image.unwrap(), &written, &folder).await {
            eprintln!("without fdatasync: {wrong}");
            return;
        }
        fs::remove_dir_all(&folder).unwrap();
    }
    panic!("{UNSYNCED} images without a sync have lost nothing");
}
