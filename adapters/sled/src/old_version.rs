//! Test: a store that the first version wrote is read, listed, verified and gone on with, and its
//! chain is that of every store.

use std::path::Path;
use std::sync::Arc;

use windlass_core::{Recorded, Seq, SessionId};
use windlass_ports::{Link, LogStore, SessionFilter, Summary, codec};
use windlass_testkit::store::numbered_facts;

use crate::SledStore;
use crate::folder::Folder;
use crate::open::database;
use crate::record::{self, Format, OLD_GENESIS, Writing};
use crate::statement::Statement;
use crate::witness::{Loaded, Witness};

/// Writes appends of so many facts each, as the first version did: the rows, and the witness.
fn write(dir: &Path, session: &SessionId, appends: &[u64]) -> Vec<Arc<Recorded>> {
    let folder = Folder {
        dir: dir.to_owned(),
    };
    let db = database(&folder.database()).unwrap();
    let facts = numbered_facts(session, Seq::ZERO, appends.iter().sum());
    let mut left = facts.iter();
    let mut link = OLD_GENESIS;
    for count in appends.iter().map(|count| u32::try_from(*count).unwrap()) {
        for index in 0..count {
            let fact = left.next().unwrap();
            let text = codec::encode(fact).unwrap();
            link = link.then(&text);
            let writing = Writing {
                format: Format::Old,
                place: (index, count),
                link,
                summary: None,
                text: &text,
            };
            for (key, value) in record::rows(session, fact.seq, writing) {
                db.insert(key, value).unwrap();
            }
        }
    }
    db.flush().unwrap();
    let loaded = Loaded::read(&folder).unwrap().unwrap();
    let statement = Statement {
        session: session.clone(),
        seq: Seq(facts.len() as u64),
        link,
    };
    let mut witness = Witness::resume(&folder, &loaded).unwrap();
    witness.state(&[statement]).unwrap();
    facts
}

fn summary(facts: &[Arc<Recorded>]) -> Option<Summary> {
    Summary::after(None, facts.iter().map(AsRef::as_ref))
}

fn chain(session: &SessionId, facts: &[Arc<Recorded>]) -> Link {
    Link::of(session, facts.iter().map(AsRef::as_ref)).unwrap()
}

#[test]
fn a_record_is_written_as_the_first_version_did() {
    let session = SessionId::new("s").unwrap();
    let writing = Writing {
        format: Format::Old,
        place: (0, 1),
        link: OLD_GENESIS.then(b"{}"),
        summary: None,
        text: b"{}",
    };
    let rows = record::rows(&session, Seq(1), writing);
    // Format 1; place 0 of 1; 2 bytes; SHA-256 of 32 zero bytes and `{}`; the CRC-32C; the text.
    let hex: String = rows[0].1.iter().map(|byte| format!("{byte:02x}")).collect();
    let link = "fb1634c4e6cd4b1f1afe3ce2d6ef080f7ac5d1f357d723ad4dfca782733b62db";
    assert_eq!(hex, format!("01000000000100000002000000{link}1baebb527b7d"));
}

#[tokio::test]
async fn a_store_of_the_first_version_is_gone_on_with() {
    let own = tempfile::tempdir().unwrap();
    let dir = own.path().join("store");
    drop(SledStore::open(dir.clone()).unwrap());
    let (a, b) = (SessionId::new("a").unwrap(), SessionId::new("b").unwrap());
    let of_a = write(&dir, &a, &[1, 3, 1_500]);
    let of_b = write(&dir, &b, &[2]);

    let store = SledStore::open(dir.clone()).unwrap();
    let listed = store.sessions(SessionFilter::ALL, None, 10).await.unwrap();
    let listed: Vec<_> = listed
        .into_iter()
        .map(|head| (head.id, head.summary))
        .collect();
    assert_eq!(
        listed,
        [(a.clone(), summary(&of_a)), (b.clone(), summary(&of_b))]
    );
    let read = store.read(&a, Seq(2), usize::MAX).await.unwrap();
    assert!(read.iter().eq(of_a[2..].iter().map(AsRef::as_ref)));
    assert_eq!(store.verify(&a).await.unwrap().chain, chain(&a, &of_a));

    let claimed = store.claim(&a).await.unwrap();
    assert_eq!((claimed.last, claimed.repaired), (Seq(1_504), None));
    let more = numbered_facts(&a, claimed.last, 3);
    store
        .append(&a, claimed.epoch, claimed.last, &more)
        .await
        .unwrap();
    let all: Vec<_> = of_a.iter().chain(&more).cloned().collect();
    let mut store = Some(store);
    for _ in 0..2 {
        let store = store
            .take()
            .unwrap_or_else(|| SledStore::open(dir.clone()).unwrap());
        let verified = store.verify(&a).await.unwrap();
        assert_eq!(
            (verified.last, verified.chain),
            (Seq(1_507), chain(&a, &all))
        );
        // Also from the middle, over the seam between the two versions.
        let read = store.read(&a, Seq(1_503), usize::MAX).await.unwrap();
        assert!(read.iter().eq(all[1_503..].iter().map(AsRef::as_ref)));
        let listed = store.sessions(SessionFilter::ALL, None, 1).await.unwrap();
        assert_eq!(listed[0].summary, summary(&all));
        let epoch = store.claim(&a).await.unwrap().epoch;
        store.release(&a, epoch).await.unwrap();
    }
}
