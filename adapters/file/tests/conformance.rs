//! Holds the file store to the promises of the log store port.

#![expect(clippy::unwrap_used, reason = "it is part of a test")]

use std::sync::Arc;

use tempfile::TempDir;
use windlass_file::FileStore;
use windlass_ports::{LogStore, StoreError};
use windlass_testkit::store::{Loss, StoreFixture, copy_of};

struct Folder(TempDir);

#[async_trait::async_trait]
impl StoreFixture for Folder {
    async fn open(&self) -> Arc<dyn LogStore> {
        Arc::new(FileStore::open(self.0.path().join("store")).unwrap())
    }

    async fn image(&self) -> Option<Arc<dyn LogStore>> {
        let copy = copy_of(&self.0.path().join("store"), self.0.path()).unwrap();
        Some(Arc::new(FileStore::open(copy).unwrap()))
    }

    async fn damaged(&self, loss: Loss) -> Option<Result<Arc<dyn LogStore>, StoreError>> {
        let copy = copy_of(&self.0.path().join("store"), self.0.path()).unwrap();
        loss.happen_to(&copy.join("lanes/0000/00000001.seg")).unwrap();
        Some(FileStore::open(copy).map(|store| Arc::new(store) as Arc<dyn LogStore>))
    }
}

windlass_testkit::log_store_suite!(Folder(TempDir::new().unwrap()));
