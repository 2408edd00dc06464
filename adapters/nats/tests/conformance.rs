//! Holds the NATS store to the promises of the ports that it serves, on a real server.

#![expect(clippy::unwrap_used, reason = "all of it is tests")]

mod common;

use std::sync::Arc;

use windlass_core::SessionId;
use windlass_nats::{NatsLiveBus, NatsStore};
use windlass_ports::{BlobStore, Leases, LiveBus, LogStore, StoreError};
use windlass_testkit::blobs::BlobFixture;
use windlass_testkit::inbox::{InboxFixture, Opened};
use windlass_testkit::leases::LeasesFixture;
use windlass_testkit::live::LiveFixture;
use windlass_testkit::store::{FactDamage, FactDamageKind, Inspection, StoreFixture};

use common::{TestPlace, or_skip};

struct Fixture(TestPlace);

#[async_trait::async_trait]
impl StoreFixture for Fixture {
    async fn open(&self) -> Arc<dyn LogStore> {
        // One that was dropped gives its claims back when it comes to it.
        Arc::new(self.0.store_with("&claim_wait_ms=60000").await)
    }

    async fn open_beside(&self) -> Result<Arc<dyn LogStore>, StoreError> {
        // While the first one is open it is not waited for.
        Ok(Arc::new(NatsStore::open(&self.0.config("")).await?))
    }

    async fn image(&self) -> Option<Arc<dyn LogStore>> {
        let copy = self.0.copy().await;
        Some(Arc::new(copy.store().await))
    }

    async fn damage(
        &self,
        damage: FactDamage<'_>,
    ) -> Inspection<Result<Arc<dyn LogStore>, StoreError>> {
        let text = damage.text.as_bytes();
        let copy = self.0.copy_with(|mut payload| {
            let Some(at) = payload.windows(text.len()).position(|part| part == text) else {
                return Some(payload);
            };
            payload[at + text.len() / 2] ^= 1;
            (damage.kind == FactDamageKind::Changed).then_some(payload)
        });
        Inspection::Found(Ok(Arc::new(copy.await.store().await)))
    }

    async fn bytes(&self) -> Inspection<Vec<u8>> {
        Inspection::Skipped("the places of these tests erase late; tests/it/erasure.rs looks then")
    }
}

windlass_testkit::log_store_suite!(Fixture(or_skip(TestPlace::new())));

#[async_trait::async_trait]
impl BlobFixture for Fixture {
    async fn open(&self) -> Arc<dyn BlobStore> {
        Arc::new(self.0.store().await.blobs())
    }

    async fn open_small(&self, max_bytes: u64) -> Arc<dyn BlobStore> {
        Arc::new(self.0.store().await.blobs().with_max_bytes(max_bytes))
    }

    fn damage(&self, session: &SessionId, sha256: &str) -> bool {
        let (session, sha256) = (session.as_str().to_owned(), sha256.to_owned());
        let (url, name) = (self.0.url.clone(), self.0.name.clone());
        // In a thread of its own: this is within a runtime.
        let damaged = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.unwrap().block_on(common::damage_blob(&url, &name, &session, &sha256));
        });
        damaged.join().is_ok()
    }
}

windlass_testkit::blob_suite!(Fixture(or_skip(TestPlace::new())));

#[async_trait::async_trait]
impl LeasesFixture for Fixture {
    async fn open(&self) -> Arc<dyn Leases> {
        Arc::new(self.0.store().await.leases())
    }
}

windlass_testkit::leases_suite!(Fixture(or_skip(TestPlace::new())));

#[async_trait::async_trait]
impl InboxFixture for Fixture {
    async fn open(&self) -> Opened {
        opened(self.0.store_with("&claim_wait_ms=60000").await)
    }

    async fn open_brief(&self) -> Option<Opened> {
        Some(opened(self.0.store_with("&replies_ms=1000").await))
    }
}

fn opened(store: NatsStore) -> Opened {
    Opened { inbox: Arc::new(store.mailbox()), store: Arc::new(store) }
}

windlass_testkit::inbox_suite!(Fixture(or_skip(TestPlace::new())));

#[async_trait::async_trait]
impl LiveFixture for Fixture {
    async fn open(&self) -> Arc<dyn LiveBus> {
        let config = self.0.config("&linger_ms=1500");
        Arc::new(NatsLiveBus::connect(&config).await.unwrap())
    }
}

windlass_testkit::live_suite!(Fixture(or_skip(TestPlace::new())));
