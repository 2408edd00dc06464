//! Connection slots: limit the connections in total and for each address.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use windlass_engine::ports::sync::Mutex;

use crate::limits::ServerLimits;

/// Slots for connections.
#[derive(Debug, Clone)]
pub(super) struct ConnectionSlots {
    free: Arc<Semaphore>,
    all: u32,
    addresses: Arc<AddressCounts>,
    per_address: usize,
}

#[derive(Debug, Default)]
struct AddressCounts(Mutex<HashMap<IpAddr, usize>>);

/// Slot of a connection, released when dropped.
#[derive(Debug)]
pub(super) struct ConnectionSlot {
    _room: OwnedSemaphorePermit,
    addresses: Arc<AddressCounts>,
    address: IpAddr,
}

impl ConnectionSlots {
    pub(super) fn new(bounds: &ServerLimits) -> Self {
        let most = Semaphore::MAX_PERMITS.min(u32::MAX as usize);
        let all = bounds.connections.clamp(1, most);
        Self {
            free: Arc::new(Semaphore::new(all)),
            all: u32::try_from(all).unwrap_or(u32::MAX),
            addresses: Arc::default(),
            per_address: bounds.connections_per_address,
        }
    }

    /// Waits for a free slot. Cancel safe.
    pub(super) async fn acquire(&self) -> OwnedSemaphorePermit {
        match self.free.clone().acquire_owned().await {
            Ok(room) => room,
            // The semaphore is never closed.
            Err(_) => std::future::pending().await,
        }
    }

    /// Assigns the slot to a connection, unless its address has reached its limit.
    pub(super) fn assign(
        &self,
        room: OwnedSemaphorePermit,
        address: IpAddr,
    ) -> Option<ConnectionSlot> {
        // An IPv4 address may arrive mapped to IPv6.
        let address = address.to_canonical();
        let mut of = self.addresses.0.lock();
        let used = of.entry(address).or_insert(0);
        if *used >= self.per_address {
            return None;
        }
        *used += 1;
        drop(of);
        Some(ConnectionSlot { _room: room, addresses: self.addresses.clone(), address })
    }

    /// Waits until all slots are free. Cancel safe.
    pub(super) async fn wait_all_free(&self) {
        // The semaphore is never closed.
        let _ = self.free.acquire_many(self.all).await;
    }
}

impl AddressCounts {}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        let mut counts = self.addresses.0.lock();
        if let Some(used) = counts.get_mut(&self.address) {
            *used = used.saturating_sub(1);
            if *used == 0 {
                counts.remove(&self.address);
            }
        }
    }
}
