//! Remote subscribers: what an engine provides to subscribers of a session, and to other nodes that
//! subscribe to the sessions it drives.

use std::sync::Arc;

use windlass_core::{Epoch, SessionId};

use super::{Engine, Inner};
use crate::bus::EventBus;
use crate::hub::HubSubscription;
use crate::live::LivePublisher;
use crate::slot::Slot;
use crate::store_watch::StoreStatus;

impl Engine {
    /// Returns the publisher of a session to other nodes, if the engine is in a cluster.
    pub(super) fn live_publisher(&self, id: &SessionId, epoch: Epoch) -> Option<LivePublisher> {
        let relay = &self.inner.peers.as_ref()?.live_bus;
        self.inner.catch_up.start(&self.inner, relay);
        Some(LivePublisher::new(relay.clone(), id.clone(), epoch))
    }
}

impl Inner {
    /// Returns the bus of the driver of a session that is here.
    pub(crate) fn local_bus(&self, id: &SessionId) -> Option<EventBus> {
        self.slots().get(id)?.hub.driver()
    }

    /// Adds a subscriber to a session.
    pub(super) fn subscribe(self: &Arc<Self>, id: &SessionId) -> (Arc<Slot>, HubSubscription) {
        // Under one lock, since a slot with subscribers is not forgotten.
        let mut slots = self.slots();
        let new = || Arc::new(Slot::new(id.clone(), Arc::downgrade(self)));
        let slot = slots.entry(id.clone()).or_insert_with(new).clone();
        let subscribed = slot.hub.subscribe();
        let status = self.store_watch.status();
        if status != StoreStatus::Works {
            slot.hub.notify_store_of(subscribed.name, &status);
        }
        (slot, subscribed)
    }
}
