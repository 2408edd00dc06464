//! What is left on the server's disk of a session that was erased: nothing that it said.

use std::fs;
use std::path::Path;

use windlass_core::Seq;
use windlass_nats::NatsStore;
use windlass_ports::{BlobStore as _, LogStore, StoredCheckpoint, codec};
use windlass_testkit::store::fact_of_size;

use crate::common::TestPlace;
use crate::{facts, own_server, session};

/// In how many files below a folder some bytes are.
fn found(folder: &Path, bytes: &[u8]) -> usize {
    let mut count = 0;
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            count += found(&path, bytes);
        } else if let Ok(held) = fs::read(&path) {
            count += usize::from(held.windows(bytes.len()).any(|window| window == bytes));
        }
    }
    count
}

/// Appends so much in other sessions that the blocks of both shards are full, and are compressed.
async fn fill(store: &NatsStore) {
    for number in 0..6 {
        let id = session(&format!("fill-{number}"));
        let epoch = store.claim(&id).await.unwrap().epoch;
        let big = [fact_of_size(&id, Seq(0), 10 * 1024 * 1024).unwrap()];
        store.append(&id, epoch, Seq(0), &big).await.unwrap();
    }
}

#[tokio::test]
async fn nothing_that_was_said_is_left_on_the_disk() {
    let server = own_server();
    let place = TestPlace::on(server.url());
    let store = place.store().await;
    let blobs = store.blobs();
    let word = "Qx7Zk2Vw9Lr4Tn8Bd3Hs";
    let (id, beside) = (session("s"), session("beside"));
    for id in [&id, &beside] {
        let epoch = store.claim(id).await.unwrap().epoch;
        let mut next = facts(id, 0, 60);
        for fact in next.iter_mut().skip(1) {
            let text = String::from_utf8(codec::encode(fact).unwrap()).unwrap();
            let told = text.replace(r#""text":""#, &format!(r#""text":"{word} of {id}"#));
            let told = codec::decode(told.as_bytes()).unwrap();
            assert_ne!(told, **fact);
            *fact = told.into();
        }
        for (after, fact) in (0..).zip(&next) {
            let one = std::slice::from_ref(fact);
            store.append(id, epoch, Seq(after), one).await.unwrap();
        }
        let snapshot = StoredCheckpoint {
            seq: Seq(60),
            version: "v".to_owned(),
            bytes: format!("snapshot {word} of {id}").into_bytes(),
        };
        for _ in 0..2 {
            store.write_checkpoint(id, &snapshot).await.unwrap();
        }
        let mut blob = blobs.begin(id).await.unwrap();
        let bytes = format!("blob {word} of {id}");
        blob.write(bytes.as_bytes()).await.unwrap();
        blob.finish().await.unwrap();
        if *id == session("s") {
            fill(&store).await;
            let said = format!("{word} of s");
            assert!(found(&server.data(0), said.as_bytes()) >= 3);
            blobs.erase(id).await.unwrap();
            store.erase(id, epoch).await.unwrap();
        }
    }
    let (erased, kept) = (format!("{word} of s"), format!("{word} of beside"));
    assert_eq!(found(&server.data(0), erased.as_bytes()), 0, "it is still on the disk");
    assert!(found(&server.data(0), kept.as_bytes()) >= 3, "what stays is there");
    assert_eq!(store.verify(&beside).await.unwrap().last, Seq(60));
}
