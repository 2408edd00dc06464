//! The store of the example `own_store`, held to the suite of its port.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[allow(dead_code, reason = "the example's own main is run elsewhere")]
#[path = "../examples/own_store.rs"]
mod own_store;

use std::fs;
use std::path::Path;
use std::sync::Arc;

use own_store::JournalStore;
use tempfile::TempDir;
use windlass::ports::{LogStore, StoreError};
use windlass_testkit::store::{
    FactDamage, FactDamageKind, Inspection, StoreFixture, bytes_of, copy_of, damage_files,
    numbered_facts,
};

struct Place {
    folder: TempDir,
    copies: TempDir,
}

impl Place {
    fn new() -> Self {
        Self { folder: TempDir::new().unwrap(), copies: TempDir::new().unwrap() }
    }
}

#[async_trait::async_trait]
impl StoreFixture for Place {
    async fn open(&self) -> Arc<dyn LogStore> {
        Arc::new(JournalStore::open(&self.folder.path().join("journal")).await.unwrap())
    }

    async fn open_beside(&self) -> Result<Arc<dyn LogStore>, StoreError> {
        Ok(Arc::new(JournalStore::open(&self.folder.path().join("journal")).await?))
    }

    async fn damage(
        &self,
        damage: FactDamage<'_>,
    ) -> Inspection<Result<Arc<dyn LogStore>, StoreError>> {
        let copy = copy_of(self.folder.path(), self.copies.path()).unwrap();
        match damage.kind {
            FactDamageKind::Changed => damage_files(&copy, damage.text).unwrap(),
            FactDamageKind::Removed => remove_line(&copy.join("journal"), damage.text),
        }
        match JournalStore::open(&copy.join("journal")).await {
            Ok(store) => Inspection::Found(Ok(Arc::new(store))),
            Err(error) => Inspection::Found(Err(error)),
        }
    }

    async fn bytes(&self) -> Inspection<Vec<u8>> {
        Inspection::Found(bytes_of(self.folder.path()).unwrap())
    }

    async fn image(&self) -> Option<Arc<dyn LogStore>> {
        let copy = copy_of(self.folder.path(), self.copies.path()).unwrap();
        Some(Arc::new(JournalStore::open(&copy.join("journal")).await.unwrap()))
    }
}

/// Removes the line that holds a text.
fn remove_line(journal: &Path, text: &str) {
    let lines = fs::read_to_string(journal).unwrap();
    let stay = lines.split_inclusive('\n').filter(|line| !line.contains(text));
    fs::write(journal, stay.collect::<String>()).unwrap();
}

windlass_testkit::log_store_suite!(Place::new());

#[tokio::test]
async fn verifying_finds_a_line_that_was_changed_under_an_open_store() {
    let (place, id) = (Place::new(), windlass::SessionId::new("s").unwrap());
    let store = place.open().await;
    let claim = store.claim(&id).await.unwrap();
    let facts = numbered_facts(&id, claim.last, 2);
    store.append(&id, claim.epoch, claim.last, &facts).await.unwrap();
    assert_eq!(store.verify(&id).await.unwrap().last.0, 2);
    let journal = place.folder.path().join("journal");
    let text = fs::read_to_string(&journal).unwrap();
    fs::write(&journal, text.replacen("\"seq\":2", "\"seq\":3", 1)).unwrap();
    let error = store.verify(&id).await.unwrap_err();
    assert!(matches!(error.kind, windlass::ports::StoreErrorKind::Corrupt { .. }), "{error}");
}
