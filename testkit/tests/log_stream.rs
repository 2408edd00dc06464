//! A log that is read as a stream: each fact once, in its order, whatever the pages are.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use windlass_core::{Epoch, Seq, SessionId};
use windlass_ports::{LogReader, LogStore as _, StoreErrorKind};
use windlass_testkit::faulty::{Fault, FaultyStore, Operation};
use windlass_testkit::store::numbered_facts;

fn id() -> SessionId {
    SessionId::new("s").unwrap()
}

async fn append(store: &FaultyStore, epoch: Epoch, after: u64, count: u64) {
    let facts = numbered_facts(&id(), Seq(after), count);
    let appended = store.append(&id(), epoch, Seq(after), &facts).await;
    appended.unwrap();
}

async fn written(store: &FaultyStore, count: u64) -> Epoch {
    let epoch = store.claim(&id()).await.unwrap().epoch;
    append(store, epoch, 0, count).await;
    epoch
}

fn read(store: &FaultyStore, after: u64, limit: usize) -> LogReader {
    LogReader::new(Arc::new(store.clone()), id(), Seq(after), limit)
}

/// The positions up to where the stream ends.
async fn positions(log: &mut LogReader) -> Vec<u64> {
    let mut positions = Vec::new();
    while let Some(fact) = log.next().await.unwrap() {
        assert_eq!(log.position(), fact.seq);
        positions.push(fact.seq.0);
    }
    positions
}

#[tokio::test]
async fn each_fact_comes_once_from_a_position_on_up_to_a_limit() {
    for count in [1, 127, 128, 129, 256, 300] {
        let store = FaultyStore::new();
        written(&store, count).await;
        for after in [0, 1, 127, 128, count] {
            for limit in [0, 1, 2, 127, 128, 129, 299, usize::MAX] {
                let mut log = read(&store, after, limit);
                let last = after.saturating_add(limit as u64).min(count);
                let expected = after + 1..=last;
                assert!(
                    positions(&mut log).await.into_iter().eq(expected),
                    "{count} facts, after {after}, up to {limit}"
                );
                assert_eq!(log.next().await.unwrap(), None);
            }
        }
    }
}

#[tokio::test]
async fn at_its_end_it_goes_on_with_what_was_appended_since() {
    for count in [1, 128, 130] {
        let store = FaultyStore::new();
        let epoch = written(&store, count).await;
        let mut log = read(&store, 0, usize::MAX);
        assert_eq!(positions(&mut log).await.len() as u64, count);
        assert_eq!(log.next().await.unwrap(), None);
        append(&store, epoch, count, 200).await;
        let more = positions(&mut log).await.into_iter();
        assert!(more.eq(count + 1..=count + 200), "{count}");
        assert_eq!(log.position(), Seq(count + 200));
    }
}

#[tokio::test]
async fn after_an_error_it_goes_on_where_it_was() {
    let store = FaultyStore::responding(|operation, number| match operation {
        Operation::Read if number == 2 => vec![Fault::Fail(StoreErrorKind::Unavailable)],
        Operation::Append
        | Operation::Claim
        | Operation::Release
        | Operation::Read
        | Operation::Probe => Vec::new(),
    });
    written(&store, 300).await;
    let mut log = read(&store, 0, usize::MAX);
    let (mut came, mut failed) = (Vec::new(), 0);
    loop {
        match log.next().await {
            Ok(Some(fact)) => came.push(fact.seq.0),
            Ok(None) => break,
            Err(error) => {
                assert_eq!(error.kind, StoreErrorKind::Unavailable);
                failed += 1;
            }
        }
    }
    assert_eq!(failed, 1);
    assert!(came.into_iter().eq(1..=300));
}

#[tokio::test]
async fn a_session_that_is_not_there_is_told() {
    let mut log = read(&FaultyStore::new(), 0, usize::MAX);
    let unknown = log.next().await.unwrap_err();
    assert_eq!(unknown.kind, StoreErrorKind::Unknown);
}
