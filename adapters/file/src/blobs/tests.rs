//! Tests of the blobs over a real folder and over a failing disk.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::sync::atomic::Ordering;

use tempfile::TempDir;

use super::*;
use crate::tests::faults::{Faults, FaultyDisk};

const SMALL: BlobLimits = BlobLimits { blob_bytes: 1_000_000, session_bytes: 2_500_000 };

struct Bench {
    dir: TempDir,
    faults: Arc<Faults>,
    blobs: FileBlobs,
    session: SessionId,
}

impl Bench {
    fn new() -> Self {
        let dir = TempDir::new().unwrap();
        let faults = Faults::none();
        let disk = Arc::new(FaultyDisk(faults.clone()));
        let blobs = FileBlobs::on(disk, dir.path().join("store"), SMALL);
        Self { dir, faults, blobs, session: SessionId::new("s").unwrap() }
    }

    fn folder(&self) -> PathBuf {
        self.dir.path().join("store/blobs/s")
    }

    /// Names of the files in the session's folder.
    fn files(&self) -> Vec<String> {
        let names = fs::read_dir(self.folder()).unwrap();
        let mut names: Vec<_> =
            names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    async fn keep(&self, bytes: &[u8]) -> Result<StoredOutput, BlobErrorKind> {
        let kept = async {
            let mut writer = self.blobs.begin(&self.session).await?;
            writer.write(bytes).await?;
            writer.finish().await
        };
        kept.await.map_err(|error| error.kind)
    }
}

#[tokio::test]
async fn a_blob_is_a_file_of_its_digest_for_the_owner_alone() {
    let bench = Bench::new();
    assert!(!bench.dir.path().join("store").exists());
    let kept = bench.keep(b"abc").await.unwrap();
    assert_eq!(bench.files(), [kept.sha256.as_str()]);
    let path = bench.folder().join(&kept.sha256);
    assert_eq!(fs::read(&path).unwrap(), b"abc");
    let mode = |path: &PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&path), 0o600);
    for folder in ["store", "store/blobs", "store/blobs/s"] {
        assert_eq!(mode(&bench.dir.path().join(folder)), 0o700, "{folder}");
    }
    assert_eq!(bench.faults.calls(), ["write 0 3", "sync"]);
}

#[tokio::test]
async fn what_a_killed_process_left_is_swept_and_what_is_written_is_not() {
    let bench = Bench::new();
    let mut writer = bench.blobs.begin(&bench.session).await.unwrap();
    writer.write(b"still written").await.unwrap();
    let left = bench.folder().join("1-1.part");
    fs::write(&left, "left by a process that was killed").unwrap();
    // Another process, as far as locks are concerned.
    let other = FileBlobs::new(bench.dir.path().join("store"));
    let theirs = other.begin(&bench.session).await.unwrap();
    assert!(!left.exists());
    assert_eq!(bench.files().len(), 2, "{:?}", bench.files());
    drop(theirs);
    let kept = writer.finish().await.unwrap();
    assert_eq!(bench.files(), [kept.sha256]);
}

#[tokio::test]
async fn a_writer_that_is_dropped_leaves_no_file() {
    let bench = Bench::new();
    let mut writer = bench.blobs.begin(&bench.session).await.unwrap();
    writer.write(&vec![1; 600_000]).await.unwrap();
    assert_eq!(bench.files().len(), 1);
    drop(writer);
    assert!(bench.files().is_empty());
}

#[tokio::test]
async fn on_a_full_disk_nothing_is_left_and_there_is_no_blob_with_a_hole() {
    let bench = Bench::new();
    bench.faults.room.store(300_000, Ordering::SeqCst);
    let mut writer = bench.blobs.begin(&bench.session).await.unwrap();
    let error = writer.write(&vec![1; 400_000]).await.unwrap_err();
    assert_eq!(error.kind, BlobErrorKind::Full, "{error}");
    assert!(bench.files().is_empty());
    bench.faults.room.store(0, Ordering::SeqCst);
    assert!(writer.write(b"more").await.is_err());
    assert!(writer.finish().await.is_err());
    assert!(bench.files().is_empty());

    let kept = bench.keep(&vec![1; 400_000]).await.unwrap();
    assert_eq!(bench.files(), [kept.sha256]);
}

#[tokio::test]
async fn what_cannot_be_made_durable_is_not_kept() {
    let bench = Bench::new();
    bench.faults.sync_fails_in.store(0, Ordering::SeqCst);
    assert_eq!(bench.keep(b"abc").await, Err(BlobErrorKind::Io));
    assert!(bench.files().is_empty());
    assert!(bench.keep(b"abc").await.is_ok());
}

#[tokio::test]
async fn a_session_keeps_so_much_and_no_more() {
    let bench = Bench::new();
    for (seed, expected) in [(1, 1_000_000), (2, 1_000_000), (3, 500_000)] {
        let kept = bench.keep(&vec![seed; 1_200_000]).await.unwrap();
        assert_eq!(kept.bytes, expected);
    }
    assert_eq!(bench.keep(b"more").await, Err(BlobErrorKind::Full));
    let other = SessionId::new("other").unwrap();
    assert!(bench.blobs.begin(&other).await.is_ok());
}

#[tokio::test]
async fn a_link_or_a_folder_in_the_place_of_a_blob_is_not_read() {
    let bench = Bench::new();
    bench.keep(b"abc").await.unwrap();
    let secret = bench.dir.path().join("secret");
    fs::write(&secret, "secret").unwrap();
    let (link, folder) = ("a".repeat(64), "b".repeat(64));
    symlink(&secret, bench.folder().join(&link)).unwrap();
    fs::create_dir(bench.folder().join(&folder)).unwrap();
    for name in [link, folder] {
        let read = bench.blobs.read(&bench.session, &name, 0, 10).await;
        assert_eq!(read.unwrap_err().kind, BlobErrorKind::Io);
        assert!(bench.blobs.verify(&bench.session, &name).await.is_err());
    }
}
