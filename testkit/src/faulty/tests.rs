//! The scripted store keeps every promise of the port, and its faults come where the script says.

use std::time::Duration;

use super::*;
use crate::store::{FactDamage, Inspection, StoreFixture, numbered_facts};
use crate::within;

struct Place(FaultyStore);

#[async_trait]
impl StoreFixture for Place {
    async fn open(&self) -> Arc<dyn LogStore> {
        Arc::new(self.0.reopen())
    }

    async fn open_beside(&self) -> Result<Arc<dyn LogStore>, StoreError> {
        let why = "there is one at a time: opening it again ends the one before";
        Err(StoreError::new(StoreErrorKind::Locked, why))
    }

    async fn image(&self) -> Option<Arc<dyn LogStore>> {
        let image = FaultyStore::new();
        for (id, log) in &self.0.disk.lock().logs {
            let log = Log { facts: log.facts.clone(), bytes: log.bytes, ..Log::default() };
            image.disk.lock().logs.insert(id.clone(), log);
        }
        Some(Arc::new(image))
    }

    async fn damage(&self, _: FactDamage<'_>) -> Inspection<Result<Arc<dyn LogStore>, StoreError>> {
        Inspection::Skipped("a scripted store keeps its facts in memory")
    }

    async fn bytes(&self) -> Inspection<Vec<u8>> {
        Inspection::Skipped("a scripted store keeps its facts in memory")
    }
}

crate::log_store_suite!(Place(FaultyStore::new()));

fn now<T>(future: impl Future<Output = T>) -> Option<T> {
    within(Duration::from_millis(1), future)
}

#[test]
fn faults_come_where_the_script_says() {
    let (before, after) = (Gate::new(), Gate::new());
    let gates = (before.clone(), after.clone());
    let store = FaultyStore::responding(move |operation, number| match (operation, number) {
        (Operation::Append, 1) => vec![Fault::Fail(StoreErrorKind::Io)],
        (Operation::Append, 2) => vec![Fault::Wait(gates.0.clone())],
        (Operation::Append, 3) => vec![Fault::WaitAfter(gates.1.clone())],
        (Operation::Claim, 2) => vec![Fault::FailAfter(StoreErrorKind::Io)],
        _ => Vec::new(),
    });
    let id = SessionId::new("s").unwrap();
    let facts = numbered_facts(&id, Seq::ZERO, 1);
    let epoch = now(store.claim(&id)).unwrap().unwrap().epoch;
    let append = || now(store.append(&id, epoch, Seq::ZERO, &facts));
    assert!(append().unwrap().is_err());
    assert!(append().is_none(), "it waits");
    assert_eq!(store.log(&id).len(), 0, "and has not happened");
    assert!(append().is_none(), "it waits");
    assert_eq!(store.log(&id).len(), 1, "and has happened");
    let lost = now(store.claim(&id)).unwrap();
    assert!(lost.is_err() && store.claimed(&id), "it happened and says not");
    let stale = now(store.append(&id, epoch, Seq(1), &facts)).unwrap();
    assert_eq!(stale.unwrap_err().kind, StoreErrorKind::NotClaimed);
    assert_eq!(store.appends(), 4);
}

#[test]
fn an_append_whose_answer_was_lost_is_asked_for_again_and_kept_once() {
    let store = FaultyStore::responding(|operation, number| match (operation, number) {
        (Operation::Append, 1) => vec![Fault::FailAfter(StoreErrorKind::Unavailable)],
        _ => Vec::new(),
    });
    let id = SessionId::new("s").unwrap();
    let facts = numbered_facts(&id, Seq::ZERO, 2);
    let epoch = now(store.claim(&id)).unwrap().unwrap().epoch;
    let append = || now(store.append(&id, epoch, Seq::ZERO, &facts)).unwrap();
    assert_eq!(append().unwrap_err().kind, StoreErrorKind::Unavailable);
    append().unwrap();
    assert_eq!(store.log(&id).len(), 2);
}
