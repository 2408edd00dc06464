//! The suite that kills a writer bites: a store that tears an append, and one that answers before it has
//! written, fail it, and are told why. The store of `docs/adapters.md` passes. The suite of lost power
//! shows in each run that it bites: without syncs something must be lost.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../examples/new_store/store.rs"]
mod store;

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use async_trait::async_trait;
use store::LinesStore;
use windlass_core::{Epoch, RecordedFact, Seq, SessionId};
use windlass_ports::{LogStore, StoreError};
use windlass_testkit::store::{Checked, survives_kills, writer};

/// Time between what a faulty store does and what it should have done at once.
const LATE: Duration = Duration::from_millis(2);

/// The store in a folder, whose name is made durable in the folders above it.
fn lines(folder: &Path) -> LinesStore {
    std::fs::create_dir_all(folder).unwrap();
    for above in folder.ancestors().skip(1).take(2) {
        std::fs::File::open(above).unwrap().sync_all().unwrap();
    }
    LinesStore::open(folder, None)
}

fn sound(folder: &Path) -> Result<Arc<dyn LogStore>, StoreError> {
    Ok(Arc::new(lines(folder)))
}

windlass_testkit::kill_suite!(sound);

/// Appends the facts of a batch one by one.
struct Torn {
    inner: LinesStore,
}

#[async_trait]
impl LogStore for Torn {
    windlass_testkit::forward!(inner: capabilities, claim, release, read, sessions, verify);

    async fn append(
        &self,
        session: &SessionId,
        epoch: Epoch,
        after: Seq,
        facts: &[Arc<RecordedFact>],
    ) -> Result<(), StoreError> {
        for (at, fact) in (after.0..).zip(facts.chunks(1)) {
            self.inner.append(session, epoch, Seq(at), fact).await?;
            tokio::time::sleep(LATE).await;
        }
        Ok(())
    }
}

/// Answers, and appends afterwards.
struct Early {
    inner: Arc<LinesStore>,
    waiting: Sender<(SessionId, Epoch, Seq, Vec<Arc<RecordedFact>>)>,
}

impl Early {
    fn new(inner: LinesStore) -> Self {
        let inner = Arc::new(inner);
        let (waiting, appends) = channel::<(SessionId, Epoch, Seq, Vec<Arc<RecordedFact>>)>();
        let writer = inner.clone();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            for (session, epoch, after, facts) in appends {
                std::thread::sleep(LATE);
                let _ = runtime.block_on(writer.append(&session, epoch, after, &facts));
            }
        });
        Self { inner, waiting }
    }
}

#[async_trait]
impl LogStore for Early {
    windlass_testkit::forward!(inner: capabilities, claim, release, read, sessions, verify);

    async fn append(
        &self,
        session: &SessionId,
        epoch: Epoch,
        after: Seq,
        facts: &[Arc<RecordedFact>],
    ) -> Result<(), StoreError> {
        let _ = self.waiting.send((session.clone(), epoch, after, facts.to_vec()));
        tokio::task::yield_now().await;
        Ok(())
    }
}

fn torn(folder: &Path) -> Result<Arc<dyn LogStore>, StoreError> {
    Ok(Arc::new(Torn { inner: lines(folder) }))
}

fn early(folder: &Path) -> Result<Arc<dyn LogStore>, StoreError> {
    Ok(Arc::new(Early::new(lines(folder))))
}

#[test]
fn torn_writer() -> Checked {
    writer(torn)
}

#[test]
fn early_writer() -> Checked {
    writer(early)
}

#[test]
fn an_append_in_parts_is_found() {
    let found = survives_kills("torn_writer", torn).unwrap_err().to_string();
    assert!(found.contains("within an append: an append is whole or absent"), "{found}");
}

#[test]
fn an_answer_before_the_write_is_found() {
    let found = survives_kills("early_writer", early).unwrap_err().to_string();
    assert!(found.contains("what was acknowledged is lost"), "{found}");
}
