//! One writer: a session that another process writes is refused, and readable all the same.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;
use windlass_core::{Retry, Seq, SessionId};
use windlass_file::FileStore;
use windlass_ports::{LogStore, StoreErrorKind};
use windlass_testkit::store::numbered_facts;

const FOLDER: &str = "WINDLASS_FILE_TEST_FOLDER";

fn id() -> SessionId {
    SessionId::new("s").unwrap()
}

fn open(dir: &Path) -> FileStore {
    FileStore::open(dir.to_path_buf()).unwrap()
}

/// Not a test of its own: run in a child process, it claims, appends, says so, and holds on until
/// it is killed.
#[tokio::test]
async fn child_holds_a_claim() {
    let Some(dir) = std::env::var_os(FOLDER) else {
        return;
    };
    let store = open(Path::new(&dir));
    let claimed = store.claim(&id()).await.unwrap();
    let facts = numbered_facts(&id(), claimed.last, 2);
    store.append(&id(), claimed.epoch, claimed.last, &facts).await.unwrap();
    println!("\nholding");
    std::future::pending::<()>().await;
}

/// A child process that holds the claim.
struct Holder(Child);

impl Holder {
    fn start(dir: &Path) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "locked::child_holds_a_claim", "--nocapture"])
            .env(FOLDER, dir)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let holding = lines.map_while(Result::ok).any(|line| line == "holding");
        let holder = Self(child);
        assert!(holding, "the child process ended before it held the claim");
        holder
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test]
async fn a_session_that_another_process_writes_is_locked_and_readable() {
    let dir = TempDir::new().unwrap();
    let holder = Holder::start(dir.path());
    let store = open(dir.path());
    let error = store.claim(&id()).await.unwrap_err();
    assert_eq!((error.kind, error.retry), (StoreErrorKind::Locked, Retry::Soon));
    assert!(error.context.contains("another process"), "{}", error.context);
    assert_eq!(store.read(&id(), Seq::ZERO, 9).await.unwrap().len(), 2);
    assert_eq!(store.verify(&id()).await.unwrap().last, Seq(2));
    assert_eq!(
        store.sessions(windlass_ports::SessionFilter::ALL_TENANTS, None, 9).await.unwrap().len(),
        1
    );
    let other = SessionId::new("other").unwrap();
    store.claim(&other).await.unwrap();

    // The lock ends with the process, however it ends.
    drop(holder);
    let claimed = store.claim(&id()).await.unwrap();
    assert_eq!((claimed.last, claimed.repaired), (Seq(2), None));
    let facts = numbered_facts(&id(), Seq(2), 1);
    store.append(&id(), claimed.epoch, Seq(2), &facts).await.unwrap();
}

#[tokio::test]
async fn a_second_store_object_is_another_writer_too() {
    let dir = TempDir::new().unwrap();
    let (first, second) = (open(dir.path()), open(dir.path()));
    let epoch = first.claim(&id()).await.unwrap().epoch;
    assert_eq!(second.claim(&id()).await.unwrap_err().kind, StoreErrorKind::Locked);
    let facts = numbered_facts(&id(), Seq::ZERO, 1);
    first.append(&id(), epoch, Seq::ZERO, &facts).await.unwrap();
    assert_eq!(second.claim(&id()).await.unwrap_err().kind, StoreErrorKind::Locked);
    first.release(&id(), epoch).await.unwrap();
    assert_eq!(second.claim(&id()).await.unwrap().last, Seq(1));
    assert_eq!(first.claim(&id()).await.unwrap_err().kind, StoreErrorKind::Locked);
    drop(second);
    assert_eq!(first.claim(&id()).await.unwrap().last, Seq(1));
}

#[tokio::test]
async fn files_are_the_owners_alone_and_a_claim_alone_leaves_no_segment() {
    let dir = TempDir::new().unwrap();
    let root = dir.path().join("deep/store");
    let store = open(&root);
    assert!(!root.exists(), "opening alone created the folder");
    let epoch = store.claim(&id()).await.unwrap().epoch;
    let segment = root.join("lanes/0000/00000001.seg");
    assert!(!segment.exists(), "a session that was only claimed left a segment");
    let facts = numbered_facts(&id(), Seq::ZERO, 1);
    store.append(&id(), epoch, Seq::ZERO, &facts).await.unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&segment), 0o600);
    assert_eq!(mode(&root.join("locks/lane-0000")), 0o600);
    for folder in ["deep", "deep/store", "deep/store/lanes", "deep/store/lanes/0000"] {
        assert_eq!(mode(&dir.path().join(folder)), 0o700, "{folder}");
    }
}

/// As many files are open for ten thousand sessions as for some.
#[tokio::test]
async fn sessions_that_are_open_and_idle_hold_no_file_each() {
    let dir = TempDir::new().unwrap();
    let store = open(dir.path());
    let open = || {
        let fds = fs::read_dir("/proc/self/fd").unwrap().flatten();
        let targets = fds.filter_map(|fd| fs::read_link(fd.path()).ok());
        targets.filter(|target| target.starts_with(dir.path())).count()
    };
    let mut counts = Vec::new();
    for count in 0..10_000 {
        let id = SessionId::new(&format!("idle-{count}")).unwrap();
        store.claim(&id).await.unwrap();
        if matches!(count, 99 | 9_999) {
            counts.push(open());
        }
    }
    // The lock of the lane, and the files that hold a byte a session.
    assert!(counts[0] <= 17, "{counts:?}");
    assert_eq!(counts[0], counts[1]);
}

/// Two processes write to one store at the same time, each in its own lane, and a session goes from
/// one to the other.
#[tokio::test]
async fn a_session_goes_on_in_another_processs_lane() {
    let dir = TempDir::new().unwrap();
    let stores = [open(dir.path()), open(dir.path())];
    let keep = SessionId::new("keep").unwrap();
    for store in &stores {
        // Each has a lane of its own from here on.
        let own = SessionId::new(&format!("own-{:p}", store).replace("0x", "")).unwrap();
        let epoch = store.claim(&own).await.unwrap().epoch;
        let facts = numbered_facts(&own, Seq::ZERO, 1);
        store.append(&own, epoch, Seq::ZERO, &facts).await.unwrap();
    }
    let mut last = 0;
    for turn in 0..6 {
        let store = &stores[turn % 2];
        let claimed = store.claim(&keep).await.unwrap();
        assert_eq!(claimed.last, Seq(last), "turn {turn}");
        let facts = numbered_facts(&keep, Seq(last), 2);
        let appended = store.append(&keep, claimed.epoch, Seq(last), &facts).await;
        appended.unwrap();
        last += 2;
        for reader in &stores {
            let read = reader.read(&keep, Seq::ZERO, 99).await.unwrap();
            assert_eq!(read.len() as u64, last, "turn {turn}");
            let tail = reader.tail(&keep, Seq(last - 1), std::time::Duration::ZERO);
            assert_eq!(tail.await.unwrap(), Seq(last));
        }
        store.release(&keep, claimed.epoch).await.unwrap();
    }
    assert!(dir.path().join("lanes/0001/00000001.seg").exists());
    drop(stores);
    let store = open(dir.path());
    assert_eq!(store.verify(&keep).await.unwrap().last, Seq(12));
    assert_eq!(store.claim(&keep).await.unwrap().last, Seq(12));
}

/// What one store object erases, another that knew it does not show, and goes on from nothing.
#[tokio::test]
async fn a_session_that_another_store_object_erased_is_gone() {
    let dir = TempDir::new().unwrap();
    let (first, second) = (open(dir.path()), open(dir.path()));
    let epoch = first.claim(&id()).await.unwrap().epoch;
    let facts = numbered_facts(&id(), Seq::ZERO, 3);
    first.append(&id(), epoch, Seq::ZERO, &facts).await.unwrap();
    first.release(&id(), epoch).await.unwrap();
    let epoch = second.claim(&id()).await.unwrap().epoch;
    second.erase(&id(), epoch).await.unwrap();
    for store in [&first, &second] {
        let error = store.read(&id(), Seq::ZERO, 9).await.unwrap_err();
        assert_eq!(error.kind, StoreErrorKind::Unknown);
    }
    let claimed = first.claim(&id()).await.unwrap();
    assert_eq!((claimed.last, claimed.repaired), (Seq::ZERO, None));
    let facts = numbered_facts(&id(), Seq::ZERO, 2);
    let appended = first.append(&id(), claimed.epoch, Seq::ZERO, &facts).await;
    appended.unwrap();
    drop((first, second));
    let store = open(dir.path());
    assert_eq!(store.verify(&id()).await.unwrap().last, Seq(2));
}

#[tokio::test]
async fn what_is_no_folder_is_refused_with_its_name() {
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("file");
    fs::write(&file, "x").unwrap();
    let error = FileStore::open(file).unwrap_err();
    assert_eq!(error.kind, StoreErrorKind::Io);
    assert!(error.context.contains("is no folder"), "{}", error.context);
}
