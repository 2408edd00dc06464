//! A store of an older format, written by the release before the format changed.

use std::fs;

use tempfile::TempDir;
use windlass_core::{Seq, SessionId};
use windlass_file::FileStore;
use windlass_ports::{LogStore, SessionFilter};
use windlass_testkit::store::numbered_facts;

const SEGMENT: &[u8] = include_bytes!("../data/format-2.seg");

#[tokio::test]
async fn a_segment_of_format_2_is_read_and_the_next_append_begins_another() {
    let dir = TempDir::new().unwrap();
    let lane = dir.path().join("lanes/0000");
    fs::create_dir_all(&lane).unwrap();
    fs::write(lane.join("00000001.seg"), SEGMENT).unwrap();
    let id = SessionId::new("resume").unwrap();
    let store = FileStore::open(dir.path().to_owned()).unwrap();
    let before = store.read(&id, Seq::ZERO, 99).await.unwrap();
    let claimed = store.claim(&id).await.unwrap();
    assert_eq!(claimed.last, before.last().unwrap().seq);
    assert!(before.len() > 10, "{}", before.len());
    let more = numbered_facts(&id, claimed.last, 3);
    store.append(&id, claimed.epoch, claimed.last, &more).await.unwrap();
    drop(store);

    assert_eq!(fs::read(lane.join("00000001.seg")).unwrap(), SEGMENT);
    let next = fs::read(lane.join("00000002.seg")).unwrap();
    assert!(next.starts_with(b"windlass-segment 3 0000 00000002 "));
    let store = FileStore::open(dir.path().to_owned()).unwrap();
    let after = store.read(&id, Seq::ZERO, 99).await.unwrap();
    let expected = before.iter().chain(more.iter().map(AsRef::as_ref));
    assert!(after.iter().eq(expected));
    let last = claimed.last.plus(3);
    assert_eq!(store.verify(&id).await.unwrap().last, last);
    let listed = store.sessions(SessionFilter::ALL_TENANTS, None, 9).await.unwrap();
    assert_eq!(listed.len(), 1);
    assert_eq!(FileStore::damage(dir.path()).unwrap(), []);
}
