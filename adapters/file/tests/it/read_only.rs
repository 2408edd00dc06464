//! A folder that cannot be written to: claims say so, reading works.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{IFlags, ioctl_getflags, ioctl_setflags};
use tempfile::TempDir;
use windlass_core::{Retry, Seq, SessionId};
use windlass_file::FileStore;
use windlass_ports::{LogStore, StoreErrorKind};
use windlass_testkit::store::numbered_facts;

/// Keeps a folder and a file in it from being written to, by permissions and, where the user
/// stands above these, by the filesystem's own flag.
struct Sealed(Vec<PathBuf>);

impl Sealed {
    /// Answers nothing where neither keeps this user from writing.
    fn seal(folder: &Path, file: &Path) -> Option<Self> {
        let sealed = Self(vec![file.to_path_buf(), folder.to_path_buf()]);
        for path in &sealed.0 {
            let mode = if path.is_dir() { 0o500 } else { 0o400 };
            fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
            let _ = flag(path, true);
        }
        let probe = folder.join("probe");
        let kept_out =
            File::create(&probe).is_err() && File::options().write(true).open(file).is_err();
        let _ = fs::remove_file(probe);
        kept_out.then_some(sealed)
    }
}

impl Drop for Sealed {
    fn drop(&mut self) {
        for path in self.0.iter().rev() {
            let _ = flag(path, false);
            let mode = if path.is_dir() { 0o700 } else { 0o600 };
            let _ = fs::set_permissions(path, Permissions::from_mode(mode));
        }
    }
}

fn flag(path: &Path, immutable: bool) -> rustix::io::Result<()> {
    let file = File::open(path).map_err(|_| rustix::io::Errno::ACCESS)?;
    let mut flags = ioctl_getflags(&file)?;
    flags.set(IFlags::IMMUTABLE, immutable);
    ioctl_setflags(&file, flags)
}

#[tokio::test]
async fn a_sealed_folder_is_read_only_and_readable() {
    let dir = TempDir::new().unwrap();
    let id = SessionId::new("s").unwrap();
    let store = FileStore::open(dir.path().to_path_buf()).unwrap();
    let epoch = store.claim(&id).await.unwrap().epoch;
    let facts = numbered_facts(&id, Seq::ZERO, 3);
    store.append(&id, epoch, Seq::ZERO, &facts).await.unwrap();
    drop(store);

    let folder = dir.path().join("lanes/0000");
    let Some(_sealed) = Sealed::seal(&folder, &folder.join("00000001.seg")) else {
        println!("skipped: nothing keeps this user from writing to {}", folder.display());
        return;
    };
    let store = FileStore::open(dir.path().to_path_buf()).unwrap();
    for name in ["s", "new"] {
        let error = store.claim(&SessionId::new(name).unwrap()).await.unwrap_err();
        assert_eq!((error.kind, error.retry), (StoreErrorKind::ReadOnly, Retry::Soon));
        assert!(error.context.contains("00000001.seg"), "{}", error.context);
    }
    assert_eq!(store.read(&id, Seq::ZERO, 9).await.unwrap().len(), 3);
    assert_eq!(store.verify(&id).await.unwrap().last, Seq(3));
    assert_eq!(
        store.sessions(windlass_ports::SessionFilter::ALL_TENANTS, None, 9).await.unwrap().len(),
        1
    );
}

#[tokio::test]
async fn a_place_where_no_folder_can_be_made_is_read_only() {
    // Nobody, not even the system's owner, makes folders there.
    let store = FileStore::open(PathBuf::from("/sys/windlass-file-test")).unwrap();
    let error = store.claim(&SessionId::new("s").unwrap()).await.unwrap_err();
    assert_eq!(error.kind, StoreErrorKind::ReadOnly, "{error}");
    assert_eq!(
        store.sessions(windlass_ports::SessionFilter::ALL_TENANTS, None, 9).await.unwrap().len(),
        0
    );
}
