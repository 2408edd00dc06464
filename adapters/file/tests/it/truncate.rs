//! Cutting a log off at a position, sound or damaged; nothing else is touched.

use std::fs;
use std::ops::ControlFlow;
use std::path::Path;

use tempfile::TempDir;
use windlass_core::{Fact, RecordedFact, Seq, SessionId};
use windlass_file::{FileStore, LogTruncation, SalvagedData};
use windlass_ports::{ChainLink, LogStore, StoreError, StoreErrorKind, TailRepair, codec};
use windlass_testkit::store::{fact_of_size, numbered_facts};

fn id(name: &str) -> SessionId {
    SessionId::new(name).unwrap()
}

fn open(dir: &Path) -> FileStore {
    FileStore::open(dir.to_owned()).unwrap()
}

fn truncate(dir: &Path, id: &SessionId, at: Seq) -> Result<TailRepair, StoreError> {
    FileStore::truncate(dir, id, at)?.finish()
}

/// The positions of the facts that a cut takes away, in the order in which they are handed over, and
/// the files and offsets of what is damaged, with how many bytes.
fn behind(cut: &LogTruncation) -> (Vec<u64>, Vec<(String, u64, usize)>) {
    let (mut facts, mut damaged) = (Vec::new(), Vec::new());
    cut.salvage(&mut |salvage| {
        match salvage {
            SalvagedData::Fact(text) => facts.push(codec::decode(text).unwrap().seq.0),
            SalvagedData::Damaged { file, offset, bytes } => {
                damaged.push((file.to_owned(), offset, bytes.len()))
            }
        }
        ControlFlow::Continue(())
    })
    .unwrap();
    (facts, damaged)
}

/// Two sessions, in turns, in units of 1, 2 and 3 facts.
async fn written(dir: &Path) {
    let store = open(dir);
    for (after, count) in [(0, 1), (1, 2), (3, 3)] {
        for name in ["s", "other"] {
            let id = id(name);
            let claimed = store.claim(&id).await.unwrap();
            let facts = numbered_facts(&id, Seq(after), count);
            let appended = store.append(&id, claimed.epoch, Seq(after), &facts).await;
            appended.unwrap();
        }
    }
}

/// Holds a store to a log of `count` facts that goes on.
async fn expect(dir: &Path, name: &str, count: u64) {
    let store = open(dir);
    let (id, facts) = (id(name), numbered_facts(&id(name), Seq::ZERO, count));
    let read = store.read(&id, Seq::ZERO, 99).await.unwrap();
    assert!(read.iter().eq(facts.iter().map(AsRef::as_ref)), "{name}");
    let verified = store.verify(&id).await.unwrap();
    assert_eq!(verified.chain, ChainLink::of_log(&id, &read).unwrap());
    let claimed = store.claim(&id).await.unwrap();
    assert_eq!((claimed.last, claimed.repaired), (Seq(count), None));
    let more = numbered_facts(&id, Seq(count), 2);
    let appended = store.append(&id, claimed.epoch, Seq(count), &more).await;
    appended.unwrap();
    assert_eq!(store.verify(&id).await.unwrap().last, Seq(count + 2));
    drop(store);
    assert_eq!(open(dir).verify(&id).await.unwrap().last, Seq(count + 2));
}

#[tokio::test]
async fn a_sound_log_is_cut_off_at_any_position() {
    for at in 1..=6 {
        let dir = TempDir::new().unwrap();
        written(dir.path()).await;
        let cut = truncate(dir.path(), &id("s"), Seq(at)).unwrap();
        assert_eq!(cut.last, Seq(at));
        assert_eq!(cut.cut_bytes > 0, at < 6, "at {at}");
        expect(dir.path(), "s", at).await;
        expect(dir.path(), "other", 6).await;
    }
}

#[tokio::test]
async fn a_damaged_log_is_cut_off_before_the_damage() {
    let dir = TempDir::new().unwrap();
    written(dir.path()).await;
    let segment = dir.path().join("lanes/0000/00000001.seg");
    let whole = fs::read(&segment).unwrap();
    for byte in (64..whole.len()).step_by(29) {
        let dir = TempDir::new().unwrap();
        written(dir.path()).await;
        let mut bytes = whole.clone();
        bytes[byte] ^= 0x10;
        fs::write(dir.path().join("lanes/0000/00000001.seg"), &bytes).unwrap();
        let store = open(dir.path());
        let mut hurt = None;
        for name in ["s", "other"] {
            if let Err(error) = store.verify(&id(name)).await {
                let StoreErrorKind::Corrupt { after, .. } = error.kind else {
                    panic!("byte {byte}: {error}");
                };
                assert!(hurt.is_none(), "byte {byte} hurts both");
                hurt = Some((name, after));
            }
        }
        drop(store);
        let (name, after) = hurt.unwrap();
        if after == Seq::ZERO {
            let error = truncate(dir.path(), &id(name), Seq(1)).unwrap_err();
            assert_eq!(error.kind, StoreErrorKind::Invalid, "byte {byte}: {error}");
            continue;
        }
        let beyond = truncate(dir.path(), &id(name), after.next()).unwrap_err();
        assert_eq!(beyond.kind, StoreErrorKind::Invalid, "byte {byte}: {beyond}");
        let cut = truncate(dir.path(), &id(name), after);
        cut.unwrap_or_else(|error| panic!("byte {byte}: {error}"));
        expect(dir.path(), name, after.0).await;
        let other = if name == "s" { "other" } else { "s" };
        expect(dir.path(), other, 6).await;
    }
}

/// Where nobody can say whose the damaged bytes were, each session is cut off for itself.
#[tokio::test]
async fn a_stretch_that_was_overwritten_is_settled_session_by_session() {
    let dir = TempDir::new().unwrap();
    written(dir.path()).await;
    let segment = dir.path().join("lanes/0000/00000001.seg");
    let mut bytes = fs::read(&segment).unwrap();
    let len = bytes.len();
    bytes[len * 3 / 4..].fill(b'x');
    fs::write(&segment, bytes).unwrap();
    for name in ["s", "other"] {
        let error = open(dir.path()).claim(&id(name)).await.unwrap_err();
        let StoreErrorKind::Corrupt { after, .. } = error.kind else {
            panic!("{error}");
        };
        truncate(dir.path(), &id(name), after).unwrap();
        expect(dir.path(), name, after.0).await;
    }
}

#[tokio::test]
async fn what_cannot_be_cut_off_is_refused() {
    let dir = TempDir::new().unwrap();
    written(dir.path()).await;
    let kind = |session, at| truncate(dir.path(), &id(session), Seq(at)).unwrap_err().kind;
    assert_eq!(kind("s", 0), StoreErrorKind::Invalid);
    assert_eq!(kind("s", 7), StoreErrorKind::Invalid);
    assert_eq!(kind("nobody", 1), StoreErrorKind::Unknown);
    let store = open(dir.path());
    store.claim(&id("s")).await.unwrap();
    assert_eq!(kind("s", 1), StoreErrorKind::Locked);
    drop(store);
    expect(dir.path(), "s", 6).await;
}

/// Text of a fact that stands in a segment as it is.
fn text_of(fact: &RecordedFact) -> &str {
    let Fact::InputQueued(queued) = &fact.fact else {
        panic!("{fact:?}");
    };
    &queued.text
}

/// What stands behind damage is as sound as what stands before, although no read follows the log to
/// it: it can be saved, and so can the bytes that are damaged, before anything is overwritten.
#[tokio::test]
async fn what_stands_behind_damage_is_handed_over_before_it_goes() {
    let dir = TempDir::new().unwrap();
    let store = open(dir.path());
    let id = id("s");
    let facts = (0..10).map(|after| fact_of_size(&id, Seq(after), 400).unwrap());
    let facts: Vec<_> = facts.collect();
    let claimed = store.claim(&id).await.unwrap();
    for (after, fact) in (0..).zip(&facts) {
        let one = std::slice::from_ref(fact);
        let appended = store.append(&id, claimed.epoch, Seq(after), one).await;
        appended.unwrap();
    }
    drop(store);
    let segment = dir.path().join("lanes/0000/00000001.seg");
    let mut bytes = fs::read(&segment).unwrap();
    let third = text_of(&facts[2]);
    let found = bytes.windows(third.len()).position(|at| at == third.as_bytes());
    let at = found.unwrap();
    bytes[at + 10] ^= 1;
    fs::write(&segment, &bytes).unwrap();

    let cut = FileStore::truncate(dir.path(), &id, Seq(2)).unwrap();
    let held = open(dir.path()).claim(&id).await.unwrap_err();
    assert_eq!(held.kind, StoreErrorKind::Locked, "it is held meanwhile");
    let (saved, damaged) = behind(&cut);
    assert_eq!(saved, (4..=10).collect::<Vec<_>>());
    let [(file, offset, len)] = damaged.as_slice() else {
        panic!("{damaged:?}");
    };
    assert_eq!(file, "lanes/0000/00000001.seg");
    let unit = *offset as usize..*offset as usize + len;
    assert!(unit.contains(&at) && unit.contains(&(at + third.len())));
    assert_eq!(fs::read(&segment).unwrap(), bytes, "nothing is changed yet");

    cut.finish().unwrap();
    let left = fs::read(&segment).unwrap();
    for fact in &facts[2..] {
        let text = text_of(fact);
        assert!(!left.windows(text.len()).any(|at| at == text.as_bytes()));
    }
    let left = open(dir.path()).read(&id, Seq::ZERO, 9).await.unwrap();
    assert!(left.iter().eq(facts[..2].iter().map(AsRef::as_ref)));
}
