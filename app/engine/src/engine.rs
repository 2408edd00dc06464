//! Engine: many sessions on one set of ports, each with at most one driver here.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use futures_util::FutureExt as _;
use tokio::sync::{Notify, mpsc};
use windlass_core::{
    Epoch, History, Input, Interrupter, OpenSession, Scope, Seq, SessionId, Stamped, open, opened,
};
use windlass_ports::{Claimed, Ports};

use crate::arguments::Checker;
use crate::bus::Bus;
use crate::config::Config;
use crate::conversation::{Attached, Conversation};
use crate::driver::{Command, Driver, Parts};
use crate::error::{Ended, StartError};
use crate::load::{Loaded, load};

/// How a session is opened.
#[derive(Debug, Clone)]
pub enum Start {
    /// It must not exist yet.
    New(Box<OpenSession>),
    /// It must exist.
    Existing,
    /// It is opened if it does not exist.
    Either(Box<OpenSession>),
}

/// Runs sessions. Cheap to clone.
#[derive(Clone)]
pub struct Engine {
    inner: Arc<Inner>,
}

struct Inner {
    ports: Ports,
    config: Config,
    slots: Mutex<HashMap<SessionId, Arc<Slot>>>,
}

/// The place of one session in an engine.
pub(crate) struct Slot {
    id: SessionId,
    engine: Weak<Inner>,
    /// Held while the session is being opened or leaves.
    gate: tokio::sync::Mutex<()>,
    state: Mutex<State>,
    change: Notify,
}

#[derive(Default)]
struct State {
    link: Option<Link>,
    attached: usize,
}

/// The way to a driver.
#[derive(Clone)]
pub(crate) struct Link {
    /// The claim of the driver that it leads to.
    epoch: Epoch,
    pub(crate) mailbox: mpsc::Sender<Command>,
    pub(crate) bus: Bus,
}

impl Engine {
    /// An engine on these ports.
    #[must_use]
    pub fn new(ports: Ports, config: Config) -> Self {
        Self {
            inner: Arc::new(Inner {
                ports,
                config,
                slots: Mutex::default(),
            }),
        }
    }

    /// Opens a session, or attaches to it if it runs here already.
    ///
    /// A session that exists goes on where its log stands: what was running when its last process
    /// ended is taken up by the rules of the core.
    ///
    /// # Errors
    /// [`StartError`]: unknown (also when `scope` may not see it), existing, locked, corrupt,
    /// unusable settings, or a failing store.
    pub async fn open(
        &self,
        id: &SessionId,
        scope: &Scope,
        start: Start,
    ) -> Result<Conversation, StartError> {
        loop {
            let slot = self.inner.slot(id);
            let _gate = slot.gate.lock().await;
            if !self.inner.holds(&slot) {
                // It left while this one waited; there is a new one to be had.
                continue;
            }
            let opened = self.open_in(&slot, scope, start).await;
            if opened.is_err() {
                self.inner.forget_if_empty(&slot);
            }
            return opened;
        }
    }

    async fn open_in(
        &self,
        slot: &Arc<Slot>,
        scope: &Scope,
        start: Start,
    ) -> Result<Conversation, StartError> {
        let ports = &self.inner.ports;
        if let Some(link) = slot.attach() {
            let conversation = self.conversation(slot, link);
            // A driver that has ended meanwhile has let the session go: it is opened anew.
            if let Ok(state) = conversation.state().await {
                return match start {
                    Start::New(_) => Err(StartError::Exists(slot.id.clone())),
                    Start::Existing | Start::Either(_) if scope.sees(&state.owner) => {
                        Ok(conversation)
                    }
                    Start::Existing | Start::Either(_) => Err(StartError::Unknown(slot.id.clone())),
                };
            }
        }
        let claim = ports.store.claim(&slot.id).await?;
        if let Some(repair) = &claim.repaired {
            tracing::warn!(
                session = %slot.id, kept = %repair.kept, cut_bytes = repair.cut_bytes,
                "a torn tail was cut off: it was never acknowledged"
            );
        }
        let epoch = claim.epoch;
        match self.prepare(slot, scope, start, claim).await {
            Ok(parts) => Ok(self.spawn(slot, parts)),
            Err(error) => {
                if let Err(error) = ports.store.release(&slot.id, epoch).await {
                    tracing::warn!(session = %slot.id, %error, "claim not given back");
                }
                Err(error)
            }
        }
    }

    async fn prepare(
        &self,
        slot: &Arc<Slot>,
        scope: &Scope,
        start: Start,
        claim: Claimed,
    ) -> Result<Parts, StartError> {
        let exists = claim.last > Seq::ZERO;
        let (loaded, unsent) = match start {
            Start::New(_) if exists => return Err(StartError::Exists(slot.id.clone())),
            Start::Existing if !exists => return Err(StartError::Unknown(slot.id.clone())),
            Start::Existing | Start::Either(_) if exists => {
                let page = self.inner.config.page;
                let loaded = load(self.inner.ports.store.as_ref(), &slot.id, page).await?;
                if !scope.sees(&loaded.session.owner) {
                    return Err(StartError::Unknown(slot.id.clone()));
                }
                (loaded, Vec::new())
            }
            Start::Existing => return Err(StartError::Unknown(slot.id.clone())),
            Start::New(opening) | Start::Either(opening) => {
                let first = open(Stamped {
                    at: self.inner.ports.clock.now(),
                    entropy: self.inner.ports.clock.entropy(),
                    input: *opening,
                });
                let first = Arc::new(first.number(&slot.id, Seq::ZERO.next()));
                let misfit = |misfit| StartError::Misfit {
                    session: slot.id.clone(),
                    misfit,
                };
                let loaded = Loaded {
                    session: opened(&first).map_err(misfit)?,
                    history: History::default(),
                };
                (loaded, vec![first])
            }
        };
        let checker = Checker::new(&loaded.session.settings).map_err(StartError::Settings)?;
        Ok(Parts {
            ports: self.inner.ports.clone(),
            config: self.inner.config,
            slot: slot.clone(),
            bus: Bus::new(self.inner.config.events, claim.last),
            epoch: claim.epoch,
            loaded,
            checker: Arc::new(checker),
            unsent,
        })
    }

    fn spawn(&self, slot: &Arc<Slot>, parts: Parts) -> Conversation {
        let (mailbox, commands) = mpsc::channel(self.inner.config.mailbox.max(1));
        let bus = parts.bus.clone();
        let link = Link {
            epoch: parts.epoch,
            mailbox,
            bus: bus.clone(),
        };
        slot.enter(link.clone());
        let (store, epoch) = (parts.ports.store.clone(), parts.epoch);
        let driver = Driver::new(parts);
        let slot_of_driver = slot.clone();
        tokio::spawn(async move {
            let run = std::panic::AssertUnwindSafe(driver.run(commands)).catch_unwind();
            let ended = match run.await {
                Ok(ended) => ended,
                Err(_) => {
                    slot_of_driver.vacate(epoch);
                    let _ = store.release(&slot_of_driver.id, epoch).await;
                    Arc::new(Ended::Defect("the driver panicked".to_owned()))
                }
            };
            // Before leaving: whoever opens the session now may be waiting for this.
            bus.end(ended);
            slot_of_driver.leave().await;
        });
        self.conversation(slot, link)
    }

    /// A conversation over a link that was counted as a use.
    fn conversation(&self, slot: &Arc<Slot>, link: Link) -> Conversation {
        Conversation::new(
            Attached::new(slot.clone(), link),
            self.inner.ports.store.clone(),
            slot.id.clone(),
            self.inner.config.page,
        )
    }

    /// Asks every running turn to stop, and waits until each session is at rest and let go.
    ///
    /// Each has its grace; a turn that was asked to stop settles within it.
    pub async fn shutdown(&self, reason: &str) {
        let slots: Vec<Arc<Slot>> = {
            let slots = self
                .inner
                .slots
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            slots.values().cloned().collect()
        };
        for slot in slots {
            let Some(link) = slot.attach() else { continue };
            let conversation = self.conversation(&slot, link);
            let _ = conversation
                .take(Input::Interrupt {
                    by: Interrupter::Shutdown,
                    reason: reason.to_owned(),
                })
                .await;
            conversation.close().await;
        }
    }
}

impl Inner {
    fn slot(self: &Arc<Self>, id: &SessionId) -> Arc<Slot> {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        let slot = slots.entry(id.clone()).or_insert_with(|| {
            Arc::new(Slot {
                id: id.clone(),
                engine: Arc::downgrade(self),
                gate: tokio::sync::Mutex::default(),
                state: Mutex::default(),
                change: Notify::new(),
            })
        });
        slot.clone()
    }

    fn holds(&self, slot: &Arc<Slot>) -> bool {
        let slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        slots
            .get(&slot.id)
            .is_some_and(|held| Arc::ptr_eq(held, slot))
    }

    fn forget_if_empty(&self, slot: &Slot) {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        if slot.link().is_none() {
            slots.remove(&slot.id);
        }
    }
}

impl Slot {
    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The way to the driver that is here.
    fn link(&self) -> Option<Link> {
        self.state().link.clone()
    }

    /// The way to the driver that is here, counted as a use, so that it stays.
    pub(crate) fn attach(&self) -> Option<Link> {
        let mut state = self.state();
        let link = state.link.clone()?;
        state.attached = state.attached.saturating_add(1);
        Some(link)
    }

    /// A driver takes this place, with its first user.
    fn enter(&self, link: Link) {
        let mut state = self.state();
        state.link = Some(link);
        state.attached = state.attached.saturating_add(1);
    }

    /// Counts one user less.
    pub(crate) fn let_go(&self) {
        let mut state = self.state();
        state.attached = state.attached.saturating_sub(1);
        drop(state);
        self.change.notify_one();
    }

    /// Whether a driver at rest may end: nobody uses it, or it is told to. No one finds it here
    /// afterwards.
    pub(crate) fn retire(&self, told: bool) -> bool {
        let mut state = self.state();
        let ends = told || state.attached == 0;
        if ends {
            state.link = None;
        }
        ends
    }

    /// Waits until a user has left.
    pub(crate) async fn changed(&self) {
        self.change.notified().await;
    }

    /// Takes the driver of this claim out, if it is still here.
    pub(crate) fn vacate(&self, epoch: Epoch) {
        let mut state = self.state();
        if state.link.as_ref().is_some_and(|link| link.epoch == epoch) {
            state.link = None;
        }
    }

    /// Takes the slot out of its engine, unless another driver has entered it.
    async fn leave(&self) {
        let Some(engine) = self.engine.upgrade() else {
            return;
        };
        let _gate = self.gate.lock().await;
        engine.forget_if_empty(self);
    }
}
