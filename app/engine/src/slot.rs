//! Slot: the place of one session in an engine. It knows the driver that is there and who uses it.

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

/// The place of one session in an engine.
pub(crate) struct Slot {
    pub(crate) id: SessionId,
    engine: Weak<Inner>,
    /// Held while the session is being opened, shut down, or leaves.
    pub(crate) open_lock: tokio::sync::Mutex<()>,
    state: Mutex<SlotState>,
    change: Notify,
    /// Subscribers of the session, across its drivers.
    pub(crate) hub: Hub,
}

#[derive(Default)]
struct SlotState {
    link: Option<DriverLink>,
    /// The driver is on its way out: nobody attaches to it any more.
    leaving: bool,
    /// Users of this driver; those of one before it do not count.
    attached: usize,
}

/// The way to a driver.
#[derive(Clone)]
pub(crate) struct DriverLink {
    /// The claim of the driver that it leads to.
    pub(crate) epoch: Epoch,
    pub(crate) mailbox: mpsc::Sender<DriverCommand>,
    pub(crate) bus: EventBus,
    /// Drops the driver where it stands.
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

    /// The engine that it is a place in, while that is there.
    pub(crate) fn engine(&self) -> Option<Engine> {
        self.engine.upgrade().map(|inner| Engine { inner })
    }

    /// The relay of its engine, where other nodes share the store.
    pub(crate) fn live_bus(&self) -> Option<Arc<dyn LiveBus>> {
        let engine = self.engine.upgrade()?;
        engine.peers.as_ref().map(|peers| peers.live_bus.clone())
    }

    /// The way to the driver that is here, also when it is on its way out.
    pub(crate) fn link(&self) -> Option<DriverLink> {
        self.state.lock().link.clone()
    }

    /// The way to the driver that is here, counted as a use, so that it stays.
    pub(crate) fn attach(&self) -> Option<DriverLink> {
        let mut state = self.state.lock();
        if state.leaving {
            return None;
        }
        let link = state.link.clone()?;
        state.attached = state.attached.saturating_add(1);
        Some(link)
    }

    /// A driver takes this place, with its first user.
    pub(crate) fn enter(&self, link: DriverLink) {
        self.hub.enter(link.bus.clone());
        *self.state.lock() = SlotState {
            link: Some(link),
            leaving: false,
            attached: 1,
        };
    }

    /// Counts one user of the driver of this claim less.
    pub(crate) fn release_user(&self, epoch: Epoch) {
        let mut state = self.state.lock();
        if state.link.as_ref().is_some_and(|link| link.epoch == epoch) {
            state.attached = state.attached.saturating_sub(1);
            drop(state);
            self.change.notify_one();
        }
    }

    /// Returns true if a driver at rest may end: nobody uses it, or it is told to. No one attaches
    /// to it afterwards.
    pub(crate) fn retire(&self, told: bool) -> bool {
        let mut state = self.state.lock();
        state.leaving |= told || state.attached == 0;
        state.leaving
    }

    /// Waits until a user has left.
    pub(crate) async fn changed(&self) {
        self.change.notified().await;
    }

    /// Waits until a driver that is here has let the session go.
    pub(crate) async fn emptied(&self) {
        if let Some(link) = self.link() {
            link.bus.wait_ended().await;
        }
    }

    /// Has the driver that is here ask its turn to stop, and waits until it has ended.
    pub(crate) async fn shut_down(&self, when: StopTiming, reason: &str) {
        // Whoever is opening the session now has done so first.
        let _gate = self.open_lock.lock().await;
        let Some(link) = self.link() else { return };
        let reason = reason.to_owned();
        let _ = link
            .mailbox
            .send(DriverCommand::Shutdown { when, reason })
            .await;
        link.bus.wait_ended().await;
    }

    /// Has the driver that is here let the session go with its turn open, and waits until it has.
    /// `None` when there is none.
    pub(crate) async fn hand_off(&self, within: Duration, reason: &str) -> Option<Arc<DriverEnd>> {
        // Whoever is opening the session now has done so first.
        let _gate = self.open_lock.lock().await;
        let link = self.link()?;
        let reason = reason.to_owned();
        let _ = link
            .mailbox
            .send(DriverCommand::HandOff { within, reason })
            .await;
        Some(link.bus.wait_ended().await)
    }

    /// Drops the driver that is here where it stands, if there is one.
    pub(crate) fn kill(&self) {
        if let Some(link) = self.link() {
            link.kill.cancel();
        }
    }

    /// Takes the driver of this claim out, if it is still here.
    fn vacate(&self, epoch: Epoch) {
        let mut state = self.state.lock();
        if state.link.as_ref().is_some_and(|link| link.epoch == epoch) {
            *state = SlotState::default();
            self.hub.vacate();
        }
    }

    /// Takes the slot out of its engine, unless it is needed.
    pub(crate) fn forget(self: &Arc<Self>) {
        if let Some(engine) = self.engine.upgrade() {
            engine.forget_if_empty(self);
        }
    }

    /// Takes the slot out of its engine, unless another driver has entered it.
    pub(crate) async fn leave(self: &Arc<Self>) {
        let Some(engine) = self.engine.upgrade() else {
            return;
        };
        let _gate = self.open_lock.lock().await;
        engine.forget_if_empty(self);
    }
}

/// A driver's stay in a slot. Its end is the driver's end, however that comes: everybody who
/// listens is told, also when the task is dropped with its runtime.
pub(crate) struct DriverGuard {
    pub(crate) slot: Arc<Slot>,
    pub(crate) epoch: Epoch,
    pub(crate) bus: EventBus,
    pub(crate) ended: Arc<DriverEnd>,
}

impl DriverGuard {
    /// Begins a driver's stay. Until somebody says otherwise, it will have been abandoned.
    pub(crate) fn new(slot: Arc<Slot>, epoch: Epoch, bus: EventBus) -> Self {
        Self {
            slot,
            epoch,
            bus,
            ended: Arc::new(DriverEnd::Abandoned),
        }
    }
}

impl Drop for DriverGuard {
    fn drop(&mut self) {
        // Before the word: whoever waits for it opens the session anew.
        self.slot.vacate(self.epoch);
        self.bus.end(self.ended.clone());
    }
}
