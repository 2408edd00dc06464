//! Slot: entry of one session in an engine, with its driver and the users of that driver.

use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::sync::{Notify, mpsc};
use windlass_core::{Epoch, SessionId, StopTiming};
use windlass_ports::sync::Mutex;
use windlass_ports::{CancelSource, LiveBus};

use crate::bus::EventBus;
use crate::driver::DriverCommand;
use crate::engine::{Engine, Inner};
use crate::error::DriverEnd;
use crate::hub::Hub;

/// Entry of one session in an engine.
pub(crate) struct Slot {
    pub(crate) id: SessionId,
    engine: Weak<Inner>,
    /// Locked while the session is being opened, shut down or released.
    pub(crate) open_lock: tokio::sync::Mutex<()>,
    state: Mutex<SlotState>,
    change: Notify,
    /// Subscribers of the session, across its drivers.
    pub(crate) hub: Hub,
}

#[derive(Default)]
struct SlotState {
    link: Option<DriverLink>,
    /// True if the driver is ending: nobody attaches to it any more.
    leaving: bool,
    /// Number of users of this driver, without those of an earlier one.
    attached: usize,
}

/// Link to a driver.
#[derive(Clone)]
pub(crate) struct DriverLink {
    /// Claim of the driver.
    pub(crate) epoch: Epoch,
    pub(crate) mailbox: mpsc::Sender<DriverCommand>,
    pub(crate) bus: EventBus,
    /// Drops the driver while it runs.
    pub(crate) kill: CancelSource,
}

impl Slot {
    pub(crate) fn new(id: SessionId, engine: Weak<Inner>) -> Self {
        Self {
            id,
            engine,
            open_lock: tokio::sync::Mutex::default(),
            state: Mutex::default(),
            change: Notify::new(),
            hub: Hub::default(),
        }
    }

    /// Returns the engine of this slot, if it still exists.
    pub(crate) fn engine(&self) -> Option<Engine> {
        self.engine.upgrade().map(|inner| Engine { inner })
    }

    /// Returns the live bus of the engine, if it is in a cluster.
    pub(crate) fn live_bus(&self) -> Option<Arc<dyn LiveBus>> {
        let engine = self.engine.upgrade()?;
        engine.peers.as_ref().map(|peers| peers.live_bus.clone())
    }

    /// Returns the link to the driver that is here, even while it is ending.
    pub(crate) fn link(&self) -> Option<DriverLink> {
        self.state.lock().link.clone()
    }

    /// Returns the link to the driver that is here and counts a user, which keeps the driver alive.
    pub(crate) fn attach(&self) -> Option<DriverLink> {
        let mut state = self.state.lock();
        if state.leaving {
            return None;
        }
        let link = state.link.clone()?;
        state.attached = state.attached.saturating_add(1);
        Some(link)
    }

    /// Adds a driver with its first user.
    pub(crate) fn enter(&self, link: DriverLink) {
        self.hub.enter(link.bus.clone());
        *self.state.lock() = SlotState { link: Some(link), leaving: false, attached: 1 };
    }

    /// Removes one user of the driver with this claim.
    pub(crate) fn release_user(&self, epoch: Epoch) {
        let mut state = self.state.lock();
        if state.link.as_ref().is_some_and(|link| link.epoch == epoch) {
            state.attached = state.attached.saturating_sub(1);
            drop(state);
            self.change.notify_one();
        }
    }

    /// Returns true if a driver at rest may end: it has no user, or it was told to end. Nobody
    /// attaches to it afterwards.
    pub(crate) fn retire(&self, told: bool) -> bool {
        let mut state = self.state.lock();
        state.leaving |= told || state.attached == 0;
        state.leaving
    }

    /// Waits until a user has left.
    pub(crate) async fn changed(&self) {
        self.change.notified().await;
    }

    /// Waits until the driver that is here has released the session.
    pub(crate) async fn emptied(&self) {
        if let Some(link) = self.link() {
            link.bus.wait_ended().await;
        }
    }

    /// Makes the driver that is here ask its turn to stop, and waits until the driver has ended.
    pub(crate) async fn shut_down(&self, when: StopTiming, reason: &str) {
        // An opening that is under way completes first.
        let _gate = self.open_lock.lock().await;
        let Some(link) = self.link() else { return };
        let reason = reason.to_owned();
        let _ = link.mailbox.send(DriverCommand::Shutdown { when, reason }).await;
        link.bus.wait_ended().await;
    }

    /// Makes the driver that is here release the session with its turn open, and waits for that.
    /// `None` when there is no driver.
    pub(crate) async fn hand_off(&self, within: Duration, reason: &str) -> Option<Arc<DriverEnd>> {
        // An opening that is under way completes first.
        let _gate = self.open_lock.lock().await;
        let link = self.link()?;
        let reason = reason.to_owned();
        let _ = link.mailbox.send(DriverCommand::HandOff { within, reason }).await;
        Some(link.bus.wait_ended().await)
    }

    /// Drops the driver that is here while it runs, if there is one.
    pub(crate) fn kill(&self) {
        if let Some(link) = self.link() {
            link.kill.cancel();
        }
    }

    /// Removes the driver with this claim, if it is still here.
    fn vacate(&self, epoch: Epoch) {
        let mut state = self.state.lock();
        if state.link.as_ref().is_some_and(|link| link.epoch == epoch) {
            *state = SlotState::default();
            self.hub.vacate();
        }
    }

    /// Removes the slot from its engine, unless it is in use.
    pub(crate) fn forget(self: &Arc<Self>) {
        if let Some(engine) = self.engine.upgrade() {
            engine.forget_if_empty(self);
        }
    }

    /// Removes the slot from its engine, unless another driver has entered it.
    pub(crate) async fn leave(self: &Arc<Self>) {
        let Some(engine) = self.engine.upgrade() else {
            return;
        };
        let _gate = self.open_lock.lock().await;
        engine.forget_if_empty(self);
    }
}

/// Presence of a driver in a slot. Its drop ends the driver's presence in every case, also when the
/// task is dropped with its runtime, and notifies every subscriber.
pub(crate) struct DriverGuard {
    pub(crate) slot: Arc<Slot>,
    pub(crate) epoch: Epoch,
    pub(crate) bus: EventBus,
    pub(crate) ended: Arc<DriverEnd>,
}

impl DriverGuard {
    /// Adds a driver to the slot. Its end is [`DriverEnd::Abandoned`] unless another one is set.
    pub(crate) fn new(slot: Arc<Slot>, epoch: Epoch, bus: EventBus) -> Self {
        Self { slot, epoch, bus, ended: Arc::new(DriverEnd::Abandoned) }
    }
}

impl Drop for DriverGuard {
    fn drop(&mut self) {
        // Vacated before the end is published, since subscribers of the end open the session again.
        self.slot.vacate(self.epoch);
        self.bus.end(self.ended.clone());
    }
}
