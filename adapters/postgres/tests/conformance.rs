//! Holds the PostgreSQL store to the promises of the log store port and of the leases port, and its
//! blobs to those of the blobs port: at the server itself, and behind a pooler in transaction mode. Where
//! there is no server or no pooler each case says that it was skipped.

#![expect(clippy::unwrap_used, reason = "all of it is tests")]

mod common;

use std::sync::Arc;

use common::TestSchema;
use windlass_core::SessionId;
use windlass_ports::{BlobStore, Leases, LiveBus, LogStore, StoreError};
use windlass_postgres::PostgresStore;
use windlass_testkit::blobs::BlobFixture;
use windlass_testkit::inbox::{InboxFixture, Opened};
use windlass_testkit::leases::LeasesFixture;
use windlass_testkit::live::LiveFixture;
use windlass_testkit::store::{FactDamage, FactDamageKind, Inspection, StoreFixture};

#[async_trait::async_trait]
impl StoreFixture for TestSchema {
    async fn open(&self) -> Arc<dyn LogStore> {
        Arc::new(self.store().await)
    }

    async fn image(&self) -> Option<Arc<dyn LogStore>> {
        // The copy's schema goes with this process's database or by hand: the store outlives it.
        let copy = std::mem::ManuallyDrop::new(self.copy().await);
        Some(Arc::new(copy.store().await))
    }

    async fn damage(
        &self,
        damage: FactDamage<'_>,
    ) -> Inspection<Result<Arc<dyn LogStore>, StoreError>> {
        let copy = std::mem::ManuallyDrop::new(self.copy().await);
        let (text, middle) = (damage.text, damage.text.len() / 2);
        let place = format!("position('{text}'::bytea in body)");
        let sql = match damage.kind {
            FactDamageKind::Changed => format!(
                "update SCHEMA.facts set body = set_byte(body, {place} + {middle}, \
                 get_byte(body, {place} + {middle}) # 1) where {place} > 0"
            ),
            FactDamageKind::Removed => format!("delete from SCHEMA.facts where {place} > 0"),
        };
        copy.run(&sql).await;
        Inspection::Found(Ok(Arc::new(copy.store().await)))
    }

    async fn bytes(&self) -> Inspection<Vec<u8>> {
        let mut bytes = Vec::new();
        for table in ["facts", "snapshots", "chunks"] {
            let sql = format!("select encode(body, 'escape') from SCHEMA.{table}");
            bytes.extend(self.texts(&sql).await.concat().into_bytes());
        }
        Inspection::Found(bytes)
    }
}

#[async_trait::async_trait]
impl BlobFixture for TestSchema {
    async fn open(&self) -> Arc<dyn BlobStore> {
        Arc::new(self.store().await.blobs())
    }

    async fn open_small(&self, max_bytes: u64) -> Arc<dyn BlobStore> {
        let store = self.open_with(&format!("&blob_bytes={max_bytes}")).await;
        Arc::new(store.blobs())
    }

    fn damage(&self, session: &SessionId, sha256: &str) -> bool {
        let sql = format!(
            "update SCHEMA.chunks set body = set_byte(body, 7, get_byte(body, 7) # 1) \
             where chunk = 0 and blob = (select blob from SCHEMA.blobs \
             where session = '{session}' and name = '{sha256}')"
        );
        std::thread::scope(|scope| {
            let damaged = scope.spawn(|| {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
                runtime.unwrap().block_on(self.run(&sql));
            });
            damaged.join().is_ok()
        })
    }
}

#[async_trait::async_trait]
impl LeasesFixture for TestSchema {
    async fn open(&self) -> Arc<dyn Leases> {
        Arc::new(self.store().await)
    }

    async fn pass(&self, ms: u64) {
        // On the server's clock.
        self.run(&format!("select pg_sleep({ms} / 1000.0)")).await;
    }
}

#[async_trait::async_trait]
impl InboxFixture for TestSchema {
    async fn open(&self) -> Opened {
        opened(self.store().await)
    }

    async fn open_brief(&self) -> Option<Opened> {
        Some(opened(self.open_with("&replies_ms=1000").await))
    }

    async fn pass(&self, ms: u64) {
        LeasesFixture::pass(self, ms).await;
    }
}

fn opened(store: PostgresStore) -> Opened {
    Opened { inbox: Arc::new(store.mailbox()), store: Arc::new(store) }
}

#[async_trait::async_trait]
impl LiveFixture for TestSchema {
    async fn open(&self) -> Arc<dyn LiveBus> {
        let store = self.open_with("&linger_ms=1500").await;
        Arc::new(store.live_bus().unwrap())
    }
}

/// As the kit's own macro, and says so where a case is skipped.
macro_rules! where_there_is_a_server {
    ([$at:ident, $name:ident, $kind:ident] $($case:ident,)*) => {
        mod $name {
            use super::*;

            $(
                #[test]
                fn $case() -> windlass_testkit::store::Checked {
                    match TestSchema::$at() {
                        Some(place) => windlass_testkit::$kind::$case(&place),
                        None => Ok(()),
                    }
                }
            )*
        }
    };
}

macro_rules! all_suites {
    ($at:ident) => {
        windlass_testkit::log_store_cases! {
            [where_there_is_a_server] $at, log_store_suite, store
        }
        windlass_testkit::blob_cases! { [where_there_is_a_server] $at, blob_suite, blobs }
        windlass_testkit::lease_cases! { [where_there_is_a_server] $at, leases_suite, leases }
        windlass_testkit::inbox_cases! { [where_there_is_a_server] $at, inbox_suite, inbox }
        windlass_testkit::live_cases! { [where_there_is_a_server] $at, live_suite, live }
    };
}

all_suites! { new }

mod pooled {
    use super::*;

    all_suites! { pooled }
}
