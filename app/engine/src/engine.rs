//! Engine: many sessions on one set of ports, each with at most one driver in this process.

mod adopt;
mod backoff;
mod build;
mod create;
mod erase;
mod grants;
mod hand_off;
mod processes;
mod recover;
mod remote;
mod shut_down;
mod supervise;
mod suspend;

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::FutureExt as _;
use tokio::sync::{mpsc, watch};
use tracing::{Instrument as _, info_span};
use windlass_core::{
    CallId, Ceiling, History, Incoming, OpenSession, Reject, Scope, Seq, SessionId, Settings,
    decide_open, evolve_first, open_child,
};
use windlass_ports::sync::{Mutex, MutexGuard};
use windlass_ports::{CancelSource, FileChange, Ports, SessionClaim, StoreError, StoreErrorKind};

use crate::arguments::Checker;
use crate::bus::EventBus;
use crate::child_results::ResultDeliveries;
use crate::config::Config;
use crate::detached_children::{ParentCall, watch_parent};
use crate::driver::{Driver, DriverCommand, DriverParts};
use crate::error::{DriverEnd, StartError};
use crate::fork::check_complete;
use crate::grants::GrantBook;
use crate::live::CatchUpTask;
use crate::load::{Loaded, load_from_checkpoint};
use crate::lookup::{self, LookupCache, SessionInfo};
use crate::offline::release;
use crate::peers::{DriverPermit, Peers};
use crate::program::ComputeSlots;
use crate::session::{DriverRef, SessionHandle};
use crate::slot::{DriverGuard, DriverLink, Slot};
use crate::store_watch::StoreWatch;
use crate::stream::EventStream;

pub use adopt::AdoptionPolicy;
pub use erase::{EraseError, RetentionReport};
pub use hand_off::HandOff;
pub use recover::RecoveryReport;

/// Way of opening a session.
#[derive(Debug, Clone)]
pub enum Start {
    /// The session must not exist. An existing id is rejected as `Exists`, even if the caller may
    /// not see that session. To disclose nothing, choose random ids yourself.
    New(Box<OpenSession>),
    /// The session must exist.
    Existing,
    /// The session is created if it does not exist.
    Either(Box<OpenSession>),
}

/// Runs sessions. Cheap to clone.
#[derive(Clone)]
pub struct Engine {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) ports: Ports,
    /// Ports shared with other nodes; `None` for a single engine.
    pub(crate) peers: Option<Peers>,
    pub(crate) config: Config,
    /// Calls that this process permits at most.
    ceiling: watch::Sender<Option<Arc<Ceiling>>>,
    /// Approval grants of the user.
    grants: Mutex<GrantBook>,
    /// Slots in which programs compute.
    compute_slots: ComputeSlots,
    slots: Mutex<HashMap<SessionId, Arc<Slot>>>,
    /// True once no further session may be opened.
    pub(crate) is_shut_down: AtomicBool,
    /// State of the store, and sessions to open again after its failure.
    pub(crate) store_watch: StoreWatch,
    /// Cached lookups of sessions.
    lookups: LookupCache,
    /// Results of detached children that are being delivered.
    pub(crate) deliveries: ResultDeliveries,
    /// Sends the current live state to nodes that begin to subscribe.
    catch_up: CatchUpTask,
    /// Compiled settings of the session that was opened last: those of the next are often equal.
    compiled: Mutex<Option<Checker>>,
}

impl Engine {
    /// Opens a session here, or joins its driver if it runs here already. The handle is bound to
    /// that driver. [`Engine::session`] returns a handle of a session that any node may drive.
    ///
    /// An existing session continues at the end of its log: the core's rules of recovery apply to
    /// all effects that ran when its last process ended. Dropping the future does not cancel the
    /// opening.
    ///
    /// # Errors
    /// [`StartError`]: unknown (also when `scope` may not see it), existing, locked, corrupt,
    /// unusable settings, a failing store, or an engine that was shut down.
    pub async fn open(
        &self,
        id: &SessionId,
        scope: &Scope,
        start: Start,
    ) -> Result<SessionHandle, StartError> {
        Ok(SessionHandle::bound(self, scope, self.drive(id, scope, start).await?))
    }

    /// Opens a session here, or joins its driver.
    pub(crate) async fn drive(
        &self,
        id: &SessionId,
        scope: &Scope,
        start: Start,
    ) -> Result<DriverRef, StartError> {
        self.open_vetted(id, scope, start, false).await
    }

    /// As [`Engine::drive`]; with `vetted`, only if this process has the session's tools, hooks and
    /// redaction.
    async fn open_vetted(
        &self,
        id: &SessionId,
        scope: &Scope,
        start: Start,
        vetted: bool,
    ) -> Result<DriverRef, StartError> {
        let (engine, session, scope) = (self.clone(), id.clone(), scope.clone());
        // A task of its own: a dropped future must not leave a claim without a driver.
        let opening = async move { engine.open_complete(&session, &scope, start, vetted).await };
        match tokio::spawn(Box::pin(opening)).await {
            Ok(opened) => opened,
            Err(error) => {
                let context = format!(
                    "opening session {id}: {error}, which is a defect of the store adapter \
                     unless the runtime is shutting down"
                );
                Err(StartError::Store(StoreError::new(StoreErrorKind::Io, context)))
            }
        }
    }

    /// Opens a child session for a call of another session's turn, which must be running. The child
    /// acts within the scope of that turn, and its settings and limits allow no more.
    ///
    /// # Errors
    /// As [`Engine::open`]; [`StartError::Child`] when the call does not run, or when the child
    /// would have wider permissions than its parent.
    pub async fn open_child(
        &self,
        parent: &SessionHandle,
        call: CallId,
        id: &SessionId,
        opening: OpenSession,
    ) -> Result<SessionHandle, StartError> {
        let state = parent.decided().await;
        let state = state.ok_or(StartError::Child(Reject::NotRunning(call)))?;
        let opening = open_child(&state, call, opening).map_err(StartError::Child)?;
        let scope = opening.owner.clone();
        self.open(id, &scope, Start::New(Box::new(opening))).await
    }

    /// Subscribes to a session's events after position `after`, or from the present on when `None`.
    /// The stream continues across drivers: in this process, in another, or in none yet.
    ///
    /// The stream opens nothing, claims nothing, and keeps no driver alive. The log supplies past
    /// events. While a driver runs here, the stream receives its facts and live deltas. A stream
    /// that is older than the driver receives them from the driver's first event on. When the
    /// driver ends, the stream continues with the next one.
    ///
    /// [`LogStore::tail`](windlass_ports::LogStore::tail) supplies appends of other processes,
    /// within the delay that the store declares. If the store cannot follow logs, the log is read
    /// once a second. While a driver here was superseded and has not noticed, the log is read every
    /// 10 seconds.
    ///
    /// In a cluster ([`Peers`]), the stream also receives live deltas of the driver's node: each
    /// character once and before its item, even if the stream begins in the middle of an answer. It
    /// receives facts as soon as that node announces them. Messages lost between nodes are sent
    /// again and never corrupt the text.
    ///
    /// All streams of a session share one task. The stream of a session that `scope` may not see
    /// fails as if there were none: nothing of the session is returned before that is checked. A
    /// session whose first fact is not durable yet is known only here.
    #[must_use]
    pub fn subscribe(&self, id: &SessionId, scope: &Scope, after: Option<Seq>) -> EventStream {
        let (slot, subscribed) = self.inner.subscribe(id);
        let (store, page) = (self.inner.ports.store.clone(), self.inner.config.read_page);
        EventStream::of_session(slot, scope, store, subscribed, after, page)
    }

    /// Returns the owner and the first fact of a session, without opening, claiming or changing
    /// anything.
    ///
    /// The result is cached for a minute unless other results displace it. An erased session may be
    /// returned for that long, see [`Engine::forget`].
    ///
    /// # Errors
    /// [`StartError::Unknown`] when the session does not exist, when its first fact is not durable
    /// yet, or when `scope` may not see it; [`StartError::InvalidFact`] when its first fact opens
    /// no session; the store's errors.
    pub async fn lookup(&self, id: &SessionId, scope: &Scope) -> Result<SessionInfo, StartError> {
        let info = self.lookup_any(id).await?;
        if !scope.can_access(&info.owner) {
            return Err(StartError::Unknown(id.clone()));
        }
        Ok(info)
    }

    /// As [`Engine::lookup`], for any scope.
    pub(crate) async fn lookup_any(&self, id: &SessionId) -> Result<SessionInfo, StartError> {
        if let Some(info) = self.inner.lookups.get(id) {
            return Ok(info);
        }
        let info = lookup::read(self.inner.ports.store.as_ref(), id).await?;
        self.inner.lookups.insert(id, &info);
        Ok(info)
    }

    /// Notifies the driver of a session of pending remote commands, and returns true if it runs
    /// here. Serves receivers of [`Mailbox::arrivals`](windlass_ports::Mailbox::arrivals).
    pub fn notify_driver(&self, id: &SessionId) -> bool {
        let link = self.inner.slots().get(id).and_then(|slot| slot.link());
        let Some(link) = link else { return false };
        // A driver whose command queue is full is notified with the next arrival.
        let _ = link.mailbox.try_send(DriverCommand::CheckMailbox);
        true
    }

    /// Sets the calls that this process permits at most, whatever the settings of its sessions say.
    /// Sessions that permit more are narrowed: open ones at once, others when they are opened. A
    /// call whose start is recorded runs to its end. A wider ceiling widens none of them.
    pub fn set_ceiling(&self, ceiling: Ceiling) {
        self.inner.ceiling.send_replace(Some(Arc::new(ceiling)));
    }

    /// Returns what a call would change in a file as it is now, for whoever is asked about the call.
    /// `None` if it changes none, or its tool cannot tell.
    pub async fn preview(&self, tool: &str, arguments: &str) -> Option<FileChange> {
        crate::effect::preview(&*self.inner.ports.tools, tool, arguments).await
    }

    /// Removes a session that was erased from the cache of [`Engine::lookup`].
    pub fn forget(&self, id: &SessionId) {
        self.inner.lookups.forget(id);
    }

    async fn open_complete(
        &self,
        id: &SessionId,
        scope: &Scope,
        start: Start,
        vetted: bool,
    ) -> Result<DriverRef, StartError> {
        loop {
            let slot = self.inner.slot(id);
            let _gate = slot.open_lock.lock().await;
            if !self.inner.contains(&slot) {
                // The driver left while this call waited. Get the new slot.
                continue;
            }
            let opened = if self.inner.is_shut_down.load(Ordering::SeqCst) {
                Err(StartError::ShutDown(id.clone()))
            } else {
                self.open_in(&slot, scope, start, vetted).await
            };
            if let Err(error) = &opened {
                self.inner.forget_if_empty(&slot);
                self.inner.on_start_error(error);
            }
            return opened;
        }
    }

    async fn open_in(
        &self,
        slot: &Arc<Slot>,
        scope: &Scope,
        start: Start,
        vetted: bool,
    ) -> Result<DriverRef, StartError> {
        let ports = &self.inner.ports;
        if let Some(link) = slot.attach() {
            let driver = DriverRef::new(slot.clone(), link);
            if let Ok(state) = driver.state().await {
                return match start {
                    Start::New(_) => Err(StartError::Exists(slot.id.clone())),
                    Start::Existing | Start::Either(_) if scope.can_access(&state.owner) => {
                        Ok(driver)
                    }
                    Start::Existing | Start::Either(_) => Err(StartError::Unknown(slot.id.clone())),
                };
            }
        }
        // A driver that has ended releases the session, which is then opened again.
        slot.emptied().await;
        let driven = self.reserve(&slot.id)?;
        let claim = ports.store.claim(&slot.id).await?;
        if let Some(repair) = &claim.repaired {
            tracing::warn!(
                session = %slot.id, kept = %repair.last, cut_bytes = repair.cut_bytes,
                "a torn tail was cut off: the rest of an unfinished append"
            );
        }
        let (epoch, driven_before) = (claim.epoch, claim.last > Seq::ZERO);
        let prepared = self.prepare(slot, scope, start, claim).await;
        let prepared = prepared.and_then(|parts| self.check_parts(parts, vetted));
        match prepared {
            Ok(parts) => {
                if driven_before {
                    self.end_runs(&slot.id).await;
                }
                Ok(self.spawn(slot, parts, driven))
            }
            Err(error) => {
                release(ports.store.as_ref(), &slot.id, epoch).await;
                Err(error)
            }
        }
    }

    /// Reserves room for one more session, if this node limits them.
    fn reserve(&self, id: &SessionId) -> Result<Option<DriverPermit>, StartError> {
        let Some(peers) = &self.inner.peers else {
            return Ok(None);
        };
        let driven = peers.load.acquire();
        let busy = || StartError::Busy { session: id.clone(), most: peers.load.max_sessions() };
        driven.map(Some).ok_or_else(busy)
    }

    async fn prepare(
        &self,
        slot: &Arc<Slot>,
        scope: &Scope,
        start: Start,
        claim: SessionClaim,
    ) -> Result<DriverParts, StartError> {
        let exists = claim.last > Seq::ZERO;
        let mut kept = Seq::ZERO;
        let (loaded, unsent) = match start {
            Start::New(_) if exists => return Err(StartError::Exists(slot.id.clone())),
            Start::Existing if !exists => return Err(StartError::Unknown(slot.id.clone())),
            Start::Existing | Start::Either(_) if exists => {
                let page = self.inner.config.read_page;
                let loaded;
                (loaded, kept) =
                    load_from_checkpoint(self.inner.ports.store.as_ref(), &slot.id, page).await?;
                if !scope.can_access(&loaded.session.owner) {
                    return Err(StartError::Unknown(slot.id.clone()));
                }
                check_complete(&loaded.session)?;
                (loaded, Vec::new())
            }
            Start::Existing => return Err(StartError::Unknown(slot.id.clone())),
            Start::New(opening) | Start::Either(opening) => {
                self.check_opening(&opening)?;
                let first = decide_open(Incoming {
                    at: self.inner.ports.clock.now(),
                    entropy: self.inner.ports.clock.entropy(),
                    input: *opening,
                });
                let first = Arc::new(first.number(&slot.id, Seq::ZERO.next()));
                let invalid = |cause| StartError::InvalidFact { session: slot.id.clone(), cause };
                let loaded = Loaded {
                    session: evolve_first(&first).map_err(invalid)?,
                    history: History::default(),
                };
                (loaded, vec![first])
            }
        };
        let checker = self.inner.checker(&loaded.session.settings)?;
        let checker =
            checker.in_workspace(loaded.session.workspace.as_ref(), &self.inner.ports.tools);
        Ok(DriverParts {
            ports: self.inner.ports.clone(),
            mailbox: self.inner.peers.as_ref().map(|peers| peers.mailbox.clone()),
            config: self.inner.config,
            ceiling: self.inner.ceiling.subscribe(),
            grants: self.inner.grants.lock().clone(),
            compute_slots: self.inner.compute_slots.clone(),
            slot: slot.clone(),
            bus: EventBus::new(self.inner.config.event_buffer, claim.last)
                .publishing_to(self.live_publisher(&slot.id, claim.epoch)),
            epoch: claim.epoch,
            loaded,
            checkpoint: kept,
            checker: Arc::new(checker),
            unwritten: unsent,
        })
    }

    fn spawn(
        &self,
        slot: &Arc<Slot>,
        parts: DriverParts,
        driven: Option<DriverPermit>,
    ) -> DriverRef {
        let (mailbox, commands) = mpsc::channel(self.inner.config.command_buffer.max(1));
        let (bus, epoch, kill) = (parts.bus.clone(), parts.epoch, CancelSource::new());
        let link = DriverLink { epoch, mailbox, bus: bus.clone(), kill: kill.clone() };
        slot.enter(link.clone());
        if let Some(errand) = ParentCall::of(&parts.loaded.session) {
            watch_parent(self, slot.id.clone(), errand, link.clone());
        }
        let (store, tools) = (parts.ports.store.clone(), parts.ports.tools.clone());
        let driver = Box::new(Driver::new(parts));
        let span = info_span!("session", session = %slot.id, epoch = epoch.0);
        let mut stay = DriverGuard::new(slot.clone(), epoch, bus);
        // In a box, since a task is moved several times before it runs.
        let run = Box::pin(driver.run(commands).instrument(span));
        tokio::spawn(async move {
            let killed = kill.signal();
            let run = AssertUnwindSafe(run).catch_unwind();
            let ended = tokio::select! {
                ended = run => ended,
                () = killed.cancelled() => Ok(Arc::new(DriverEnd::Abandoned)),
            };
            let slot = stay.slot.clone();
            // A driver that ended by itself has done so.
            tools.release(&slot.id).await;
            let engine = slot.engine();
            stay.ended = match ended {
                Ok(ended) => ended,
                Err(_) => {
                    let why = "the driver, or an adapter that it called, panicked";
                    stay.ended = Arc::new(DriverEnd::Defect(why.to_owned()));
                    let _ = store.release(&slot.id, epoch).await;
                    stay.ended.clone()
                }
            };
            let ended = stay.ended.clone();
            // Dropped before leaving, since the next opening may wait for it.
            drop(stay);
            drop(driven);
            if let Some(engine) = engine {
                engine.inner.on_driver_end(&slot.id, &ended);
            }
            slot.leave().await;
        });
        DriverRef::new(slot.clone(), link)
    }
}

impl Inner {
    /// Compiles settings, unless they are those of the last session.
    fn checker(&self, settings: &Arc<Settings>) -> Result<Checker, StartError> {
        let last = self.compiled.lock().clone();
        if let Some(last) = last.filter(|last| last.is_for(settings)) {
            return Ok(last);
        }
        let checker = Checker::new(settings).map_err(StartError::Settings)?;
        *self.compiled.lock() = Some(checker.clone());
        Ok(checker)
    }

    fn slots(&self) -> MutexGuard<'_, HashMap<SessionId, Arc<Slot>>> {
        self.slots.lock()
    }

    pub(crate) fn slot(self: &Arc<Self>, id: &SessionId) -> Arc<Slot> {
        let new = || Arc::new(Slot::new(id.clone(), Arc::downgrade(self)));
        self.slots().entry(id.clone()).or_insert_with(new).clone()
    }

    pub(crate) fn contains(&self, slot: &Arc<Slot>) -> bool {
        let slots = self.slots();
        let held = slots.get(&slot.id);
        held.is_some_and(|held| Arc::ptr_eq(held, slot))
    }

    /// Removes a slot without a driver and without a subscriber. Another slot of the same session
    /// stays.
    pub(crate) fn forget_if_empty(&self, slot: &Arc<Slot>) {
        let mut slots = self.slots();
        let held = slots.get(&slot.id);
        let same = held.is_some_and(|held| Arc::ptr_eq(held, slot));
        if same && slot.link().is_none() && !slot.hub.has_subscribers() {
            slots.remove(&slot.id);
        }
    }
}
