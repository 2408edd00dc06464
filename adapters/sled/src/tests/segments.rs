//! Tests of the segments of a database: small in a new one, and as they are in an older one.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use tempfile::TempDir;
use windlass_core::{RecordedFact, Seq, SessionId};
use windlass_ports::{ChainLink, LogStore, SessionSummary, codec};
use windlass_testkit::store::{fact_of_size, numbered_facts};

use crate::SledStore;
use crate::open::{MOST_SEGMENT_BYTES, SEGMENT_BYTES, database};
use crate::record::{self, LONG_CHUNK, RecordDraft};

/// Bytes of a segment by sled's own record.
fn recorded(dir: &Path) -> String {
    let conf = fs::read(dir.join("db/conf")).unwrap();
    String::from_utf8_lossy(&conf).lines().next().unwrap().to_owned()
}

/// Facts of one session: small ones, and one of several rows.
fn facts(id: &SessionId, after: Seq) -> Vec<Arc<RecordedFact>> {
    let mut facts = numbered_facts(id, after, 3);
    facts.push(fact_of_size(id, after.plus(3), 3 * LONG_CHUNK + 5).unwrap());
    facts
}

/// Appends facts twice, each time to a store that is opened again, and reads them back.
async fn works(dir: &Path, id: &SessionId, mut log: Vec<Arc<RecordedFact>>) {
    for _ in 0..2 {
        let store = SledStore::open(dir.to_owned()).unwrap();
        let claim = store.claim(id).await.unwrap();
        assert_eq!(claim.last, Seq(log.len() as u64));
        let more = facts(id, claim.last);
        store.append(id, claim.epoch, claim.last, &more).await.unwrap();
        log.extend(more);
    }
    let store = SledStore::open(dir.to_owned()).unwrap();
    let read = store.read(id, Seq::ZERO, usize::MAX).await.unwrap();
    assert!(read.iter().eq(log.iter().map(AsRef::as_ref)));
    assert_eq!(store.verify(id).await.unwrap().last, Seq(log.len() as u64));
    let blobs = fs::read_dir(dir.join("db/blobs")).unwrap().count();
    assert_eq!(blobs, 0, "sled put a page into a file of its own");
}

#[tokio::test]
async fn opening_a_new_store_writes_one_small_segment() {
    let (own, id) = (TempDir::new().unwrap(), SessionId::new("s").unwrap());
    let dir = own.path().join("store");
    drop(SledStore::open(dir.clone()).unwrap());
    assert_eq!(recorded(&dir), format!("segment_size: {SEGMENT_BYTES}"));
    assert!(fs::metadata(dir.join("db/db")).unwrap().len() <= SEGMENT_BYTES as u64);
    works(&dir, &id, Vec::new()).await;
}

#[tokio::test]
async fn a_database_of_an_earlier_release_stays_as_it_is() {
    let (own, id) = (TempDir::new().unwrap(), SessionId::new("s").unwrap());
    let dir = own.path().join("store");
    drop(SledStore::open(dir.clone()).unwrap());
    fs::remove_dir_all(dir.join("db")).unwrap();
    fs::remove_file(dir.join("witness")).unwrap();
    let older = sled::Config::new().path(dir.join("db")).segment_size(MOST_SEGMENT_BYTES);
    drop(older.open().unwrap());
    drop(SledStore::open(dir.clone()).unwrap());
    // Facts in the rows of that release.
    let db = database(&dir.join("db")).unwrap();
    let (mut link, mut summary) = (ChainLink::genesis(&id), None);
    let log = facts(&id, Seq::ZERO);
    for fact in &log {
        let text = codec::encode(fact).unwrap();
        link = link.next(&text);
        summary = SessionSummary::after(summary, [fact.as_ref()]);
        let draft = RecordDraft { position: (0, 1), link, summary: summary.as_ref(), text: &text };
        for (key, value) in record::rows_of(&id, fact.seq, draft, LONG_CHUNK) {
            db.insert(key, value).unwrap();
        }
    }
    db.flush().unwrap();
    drop(db);
    works(&dir, &id, log).await;
    assert_eq!(recorded(&dir), format!("segment_size: {MOST_SEGMENT_BYTES}"));
}
