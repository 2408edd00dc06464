//! What the surroundings refuse: another process has the store, the folder may not be written to,
//! the disk is full. Each is a typed error, and nothing acknowledged is lost.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::child;
use windlass_core::{Retry, Seq, SessionId};
use windlass_ports::{LogStore, StoreError, StoreErrorKind};
use windlass_sled::SledStore;
use windlass_testkit::store::{fact_of_size, numbered_facts};

const NOBODY: u32 = 65_534;
const FACT_BYTES: usize = 200_000;

fn session() -> SessionId {
    SessionId::new("s").unwrap()
}

fn kind(error: &StoreError) -> String {
    format!("{:?}", error.kind)
}

/// As a child: opens the store at its place and says what came of it.
#[test]
fn opener() {
    let own = tempfile::tempdir().unwrap();
    let at_own = || own.path().join("store");
    let place = child::place().unwrap_or_else(at_own);
    let said = match SledStore::open(place) {
        Ok(_) => "opened".to_owned(),
        Err(error) => format!("refused {} {error}", kind(&error)),
    };
    assert!(child::place().is_some() || said == "opened", "{said}");
    write!(std::io::stdout(), "\n{said}\n").unwrap();
}

fn said_by(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let said = text.lines().find(|line| line.starts_with("opened") || line.starts_with("refused"));
    said.unwrap_or_else(|| panic!("the child said {text}")).to_owned()
}

#[test]
fn a_second_process_is_refused_and_told_who_has_it() {
    let own = tempfile::tempdir().unwrap();
    let place = own.path().join("store");
    let store = SledStore::open(place.clone()).unwrap();
    let mut opener = child::command(&child::program(), "refusals::opener", &place);
    let said = said_by(&mut opener);
    let holder = format!("process {}", std::process::id());
    assert!(said.starts_with("refused Locked"), "{said}");
    assert!(said.contains(&holder) && said.contains("store"), "{said}");

    let error = SledStore::open(place.clone()).unwrap_err();
    assert_eq!(error.kind, StoreErrorKind::Locked);
    assert_eq!(error.retry, Retry::Soon);
    drop(store);
    assert_eq!(said_by(&mut opener), "opened");
}

#[test]
fn a_folder_that_may_not_be_written_to_is_read_only() {
    let own = tempfile::tempdir().unwrap();
    fs::set_permissions(own.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let program = own.path().join("program");
    fs::copy(child::program(), &program).unwrap();
    let place = own.path().join("barred").join("store");
    let barred = place.parent().unwrap();
    fs::create_dir(barred).unwrap();
    fs::set_permissions(barred, fs::Permissions::from_mode(0o555)).unwrap();

    let mut opener = child::command(&program, "refusals::opener", &place);
    // Permissions do not bind the superuser, so a child of another user tries.
    if rustix::process::geteuid().is_root() {
        opener.uid(NOBODY).gid(NOBODY).env("TMPDIR", "/tmp");
    }
    let said = said_by(&mut opener);
    assert!(said.starts_with("refused ReadOnly"), "{said}");
    assert!(said.contains("barred"), "{said}");
}

/// As a child on a disk that soon is full: appends until it is refused, then still reads.
#[tokio::test]
async fn filler() {
    let own = tempfile::tempdir().unwrap();
    let limited = child::place();
    let store = SledStore::open(limited.clone().unwrap_or(own.path().join("store"))).unwrap();
    let epoch = store.claim(&session()).await.unwrap().epoch;
    let mut last = Seq::ZERO;
    let most = limited.as_ref().map_or(3, |_| 1_000);
    let mut refused = None;
    while last < Seq(most) {
        let fact = fact_of_size(&session(), last, FACT_BYTES).unwrap();
        match store.append(&session(), epoch, last, &[fact]).await {
            Ok(()) => last = last.next(),
            Err(error) => {
                refused = Some(error);
                break;
            }
        }
    }
    let read = store.read(&session(), Seq::ZERO, usize::MAX).await.unwrap();
    assert_eq!(read.len() as u64, last.0);
    if limited.is_none() {
        assert!(refused.is_none());
        return;
    }
    let refused = refused.unwrap();
    assert_eq!(refused.kind, StoreErrorKind::Full, "{refused}");
    assert_eq!(refused.retry, Retry::Soon);
    // A claim opens the database again, if there is room for that.
    let again = match store.claim(&session()).await {
        Ok(claimed) => {
            let fact = fact_of_size(&session(), claimed.last, FACT_BYTES * 50).unwrap();
            store.append(&session(), claimed.epoch, claimed.last, &[fact]).await.unwrap_err()
        }
        Err(again) => again,
    };
    assert_eq!(again.kind, StoreErrorKind::Full, "{again}");
    fs::write(limited.unwrap().with_extension("kept"), last.to_string()).unwrap();
}

#[tokio::test]
async fn a_full_disk_is_said_and_loses_nothing() {
    let own = tempfile::tempdir().unwrap();
    let place = own.path().join("store");
    drop(SledStore::open(place.clone()).unwrap());

    // A limit on the size of a file refuses as a full disk does: writes fail in the middle.
    let mut limited = Command::new("sh");
    let limit = "trap '' XFSZ; ulimit -f 40000; exec \"$@\"";
    limited.args(["-c", limit, "sh"]).arg(child::program());
    limited.args(child::only("refusals::filler")).env("WINDLASS_SLED_TEST_PLACE", &place);
    let output = limited.stdin(Stdio::null()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");

    let kept = kept(&place);
    assert!(kept > 10, "only {kept} facts fit");
    let store = SledStore::open(place).unwrap();
    let claimed = store.claim(&session()).await.unwrap();
    assert!(claimed.last.0 >= kept, "{} of {kept}", claimed.last);
    let facts = numbered_facts(&session(), claimed.last, 2);
    store.append(&session(), claimed.epoch, claimed.last, &facts).await.unwrap();
    let verified = store.verify(&session()).await.unwrap();
    assert_eq!(verified.last, claimed.last.plus(2));
}

fn kept(place: &Path) -> u64 {
    let text = fs::read_to_string(place.with_extension("kept")).unwrap();
    text.parse().unwrap()
}

#[tokio::test]
async fn a_store_whose_files_were_removed_takes_no_appends() {
    for gone in ["", "lock", "witness", "db", "db/db"] {
        let own = tempfile::tempdir().unwrap();
        let place = own.path().join("store");
        let store = SledStore::open(place.clone()).unwrap();
        let epoch = store.claim(&session()).await.unwrap().epoch;
        let append = async |after: u64| {
            let facts = numbered_facts(&session(), Seq(after), 1);
            store.append(&session(), epoch, Seq(after), &facts).await
        };
        append(0).await.unwrap();
        let path = place.join(gone);
        match path.is_dir() {
            true => fs::remove_dir_all(&path).unwrap(),
            // Something else in its place is not it.
            false => {
                let bytes = fs::read(&path).unwrap();
                fs::rename(&path, own.path().join("aside")).unwrap();
                fs::write(&path, bytes).unwrap();
            }
        }
        let refused = append(1).await.unwrap_err();
        assert_eq!(refused.kind, StoreErrorKind::Io, "{gone}: {refused}");
        // What is removed is gone. A copy in its place is what the next process would open.
        match store.claim(&session()).await {
            Ok(claimed) => assert!(path.is_file() && claimed.last >= Seq(1), "{gone}: {claimed:?}"),
            Err(refused) => assert_eq!(refused.kind, StoreErrorKind::Ended, "{gone}: {refused}"),
        }
    }
}
