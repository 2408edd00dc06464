//! Tests of the summaries in witnesses: they are used as far as they fit the log, and logs without a
//! usable one are folded.

use std::fs;
use std::path::Path;

use tempfile::TempDir;
use windlass_core::{Seq, SessionId};
use windlass_ports::{ChainLink, LogStore, SessionFilter, SessionSummary};

use crate::FileStore;
use crate::format::SegmentId;
use crate::maintenance::tests::settled;
use crate::paths::StorePaths;
use crate::witness::record::{HEADS, WitnessedHead, each_head, encode_head};

const SEGMENT: SegmentId = SegmentId { writer: 0, number: 1 };
/// Inputs that wait by a summary that was changed. None wait by the facts.
const MARK: u32 = 5;

fn open(dir: &Path) -> FileStore {
    FileStore::open(dir.to_owned()).unwrap()
}

/// Appends settled facts as one process.
async fn append(dir: &Path, id: &SessionId, count: u64) {
    let store = open(dir);
    let claim = store.claim(id).await.unwrap();
    let facts = settled(id, claim.last.0, count);
    store.append(id, claim.epoch, claim.last, &facts).await.unwrap();
}

/// Changes the heads of the witness. Their lengths stay.
fn change(dir: &Path, change: impl Fn(&mut WitnessedHead)) {
    let path = StorePaths::new(dir.to_owned()).witness(SEGMENT);
    let mut bytes = fs::read(&path).unwrap();
    let mut heads = Vec::new();
    let read = each_head(SEGMENT, &bytes[HEADS..], |_, _, head| {
        let mut head = head.unwrap();
        change(&mut head);
        encode_head(SEGMENT, &head, &mut heads);
    });
    assert!(read > 0 && read == heads.len());
    bytes.splice(HEADS.., heads);
    fs::write(path, bytes).unwrap();
}

fn mark(head: &mut WitnessedHead) {
    head.summary.as_mut().unwrap().waiting_inputs = MARK;
}

/// Summary of the one session, as another process lists it.
async fn listed(dir: &Path) -> SessionSummary {
    let all = open(dir).sessions(SessionFilter::ALL_TENANTS, None, 9).await.unwrap();
    assert_eq!(all.len(), 1);
    all[0].summary.clone().unwrap()
}

/// A store with one session of four facts, whose summary in the witness is marked.
async fn marked() -> (TempDir, SessionId) {
    let (dir, id) = (TempDir::new().unwrap(), SessionId::new("a").unwrap());
    append(dir.path(), &id, 4).await;
    change(dir.path(), mark);
    (dir, id)
}

#[tokio::test]
async fn a_listing_and_a_claim_use_the_summary_of_the_witness() {
    let (dir, id) = marked().await;
    let summary = listed(dir.path()).await;
    assert_eq!((summary.last, summary.waiting_inputs), (Seq(4), MARK));
    append(dir.path(), &id, 2).await;
    let summary = listed(dir.path()).await;
    assert_eq!((summary.last, summary.waiting_inputs), (Seq(6), MARK));
}

#[tokio::test]
async fn facts_behind_the_summary_are_folded_onto_it() {
    let (dir, id) = marked().await;
    let whole = listed(dir.path()).await.bytes.unwrap();
    let path = StorePaths::new(dir.path().to_owned()).witness(SEGMENT);
    let before = fs::read(&path).unwrap();
    append(dir.path(), &id, 3).await;
    fs::write(&path, before).unwrap();
    let summary = listed(dir.path()).await;
    assert_eq!((summary.last, summary.waiting_inputs), (Seq(7), MARK));
    assert!(summary.bytes.unwrap() > whole);
    let store = open(dir.path());
    assert_eq!(store.claim(&id).await.unwrap().last, Seq(7));
    let summary = store.sessions(SessionFilter::ALL_TENANTS, None, 9).await.unwrap();
    assert_eq!(summary[0].summary.as_ref().unwrap().waiting_inputs, MARK);
}

/// A change of the file of a witness, by its name.
type Damage = (&'static str, fn(&Path));

#[tokio::test]
async fn a_log_without_a_usable_summary_is_folded() {
    let damages: [Damage; 4] = [
        ("missing", |path| fs::remove_file(path).unwrap()),
        ("damaged", |path| {
            let mut bytes = fs::read(path).unwrap();
            *bytes.last_mut().unwrap() ^= 1;
            fs::write(path, bytes).unwrap();
        }),
        ("of another link", |path| {
            change(path.ancestors().nth(3).unwrap(), |head| head.link = ChainLink([9; 32]));
        }),
        ("of another position", |path| {
            change(path.ancestors().nth(3).unwrap(), |head| {
                head.last = Seq(3);
                head.summary.as_mut().unwrap().last = Seq(3);
            });
        }),
    ];
    for (what, damage) in damages {
        let (dir, id) = marked().await;
        damage(&StorePaths::new(dir.path().to_owned()).witness(SEGMENT));
        let summary = listed(dir.path()).await;
        assert_eq!((summary.last, summary.waiting_inputs), (Seq(4), 0), "{what}");
        append(dir.path(), &id, 1).await;
        let summary = listed(dir.path()).await;
        assert_eq!((summary.last, summary.waiting_inputs), (Seq(5), 0), "{what}");
    }
}
