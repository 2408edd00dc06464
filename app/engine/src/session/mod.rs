//! Session handle: commands, questions and events of one session, in this process or on another
//! node.

mod command;
mod dispatch;
mod driver;
mod key;
mod mailbox;
pub(crate) mod remote;
mod turn;

use std::sync::Arc;

use windlass_core::{
    ApprovalAnswer, ArgumentsDigest, CallId, Delivery, Goal, InputId, InterruptSource,
    RecordedFact, Scope, Seq, Session, SessionId, Settings, StopTiming, Widening,
};
use windlass_ports::sync::Mutex;
use windlass_ports::{BlobStore, LogStore, OutputStore, StoreError};

use crate::approvals::{PendingApproval, pending};
use crate::engine::{Engine, Start};
use crate::error::{AwaitError, DriverEnd, SendError, StartError};
use crate::fork::{ForkError, ForkReport};
use crate::images;
use crate::load::{Loaded, load, load_at};
use crate::prefix::PrefixReport;
use crate::queue::{WaitingInput, waiting_inputs};
use crate::report::TurnReport;
use crate::stream::EventStream;

pub use command::{NewInput, SessionCommand, UserInput};
pub(crate) use driver::DriverRef;
pub(crate) use key::keyed;
pub(crate) use remote::INPUT_VALID;
pub use turn::{AwaitedTurn, TurnStream};

/// Sends commands to a session, reads its state and subscribes to its events. Cheap to clone.
///
/// [`Engine::open`] returns a handle that is bound to the driver that it opened or joined here:
/// once that driver has ended, commands fail with [`SendError::Ended`]. [`Engine::session`] returns
/// a handle that follows the session. It opens the session here whenever that is possible. While
/// another node drives it, or this node drives as many sessions as it may, a command is stored as a
/// remote command in the session's mailbox. The node that drives the session, or adopts it,
/// executes and acknowledges the command.
///
/// A driver stays as long as a handle refers to it. Dropping a handle stops nothing: a running turn
/// continues.
///
/// If a remote command is not acknowledged within
/// [`Config::remote_command_ms`](crate::Config::remote_command_ms), the call fails with
/// [`SendError::Pending`]: the command stays stored and will be executed. Sending it again with the
/// same key returns its result. Dropping the future does not withdraw the command.
///
/// A command with a key of the caller is executed once, on any node and however often it is sent,
/// as long as the session remembers the key. It remembers the keys of 64 such commands. A rejected
/// command is decided again when it is sent again.
#[derive(Clone)]
pub struct SessionHandle(Arc<HandleInner>);

struct HandleInner {
    engine: Engine,
    id: SessionId,
    /// Scope under which the session is opened.
    scope: Scope,
    route: Route,
}

/// Driver that receives the commands of a handle.
enum Route {
    /// The driver that the handle was opened with, and no later one.
    Driver(Arc<DriverRef>),
    /// Any driver: the one here, once there is one, else that of another node.
    Session(Mutex<Option<Arc<DriverRef>>>),
}

impl Engine {
    /// Returns a handle of a session on any node. Opens the session here, or joins its driver, if
    /// that is possible; if another node drives it, or this node drives as many sessions as it may,
    /// checks that `scope` may see it.
    ///
    /// An engine without a cluster can only open it.
    ///
    /// # Errors
    /// As [`Engine::open`]. In a [cluster](Engine::with_cluster), never [`StartError::Locked`] nor
    /// [`StartError::Busy`].
    pub async fn session(
        &self,
        id: &SessionId,
        scope: &Scope,
    ) -> Result<SessionHandle, StartError> {
        let route = Route::Session(Mutex::default());
        let handle = SessionHandle::new(self, id, scope, route);
        match handle.open().await {
            Ok(_) => {}
            Err(error) if self.is_drivable_elsewhere(&error) => {
                self.lookup(id, scope).await?;
            }
            Err(error) => return Err(error),
        }
        Ok(handle)
    }

    /// Returns true if another node may drive a session that failed to open here with this error.
    fn is_drivable_elsewhere(&self, error: &StartError) -> bool {
        let may = match error {
            StartError::Locked(_) | StartError::Busy { .. } | StartError::ShutDown(_) => true,
            StartError::Unknown(_)
            | StartError::Exists(_)
            | StartError::Unfinished { .. }
            | StartError::Corrupt(_)
            | StartError::InvalidFact { .. }
            | StartError::Settings(_)
            | StartError::Child(_)
            | StartError::MissingParts { .. }
            | StartError::Store(_) => false,
        };
        may && self.inner.peers.is_some()
    }
}

impl SessionHandle {
    fn new(engine: &Engine, id: &SessionId, scope: &Scope, route: Route) -> Self {
        Self(Arc::new(HandleInner {
            engine: engine.clone(),
            id: id.clone(),
            scope: scope.clone(),
            route,
        }))
    }

    /// Binds a handle to a driver here.
    pub(crate) fn bound(engine: &Engine, scope: &Scope, driver: DriverRef) -> Self {
        let id = driver.session().clone();
        Self::new(engine, &id, scope, Route::Driver(Arc::new(driver)))
    }

    /// Returns the id of the session.
    #[must_use]
    pub fn id(&self) -> &SessionId {
        &self.0.id
    }

    /// Returns true while a driver runs here and this handle refers to it.
    #[must_use]
    pub fn is_driven_here(&self) -> bool {
        self.driver().is_some_and(|driver| !driver.is_over())
    }

    /// Sends a user input. Its delivery selects the turn: its own after the waiting ones, the
    /// running one, or its own right after that. The bytes of its images are stored first.
    ///
    /// Returns once the input is durable.
    ///
    /// # Errors
    /// [`SendError`] when the input is rejected, is still pending on another node, or cannot be
    /// delivered.
    pub async fn send(&self, send: NewInput) -> Result<InputId, SendError> {
        let blobs = self.0.engine.inner.ports.blobs.clone();
        let keeper = OutputStore::new(blobs, self.0.id.clone());
        let images = images::store_images(&keeper, &send.images).await?;
        let (scope, input) = send.input(images);
        let first = self.execute(input, scope, None).await?;
        Ok(InputId(first.0))
    }

    /// Sends a user input to the running turn, whatever its own delivery: at once if only text is
    /// streaming, else before the next sample. An input that the turn can no longer accept opens
    /// the next turn, and so does one that finds no turn open. [`NewInput::turn`] may name the turn
    /// that is meant: the input is rejected if that one is over.
    ///
    /// # Errors
    /// As [`SessionHandle::send`].
    pub async fn steer(&self, send: NewInput) -> Result<InputId, SendError> {
        let delivery = Delivery::Steer;
        self.send(NewInput { delivery, ..send }).await
    }

    /// Returns the inputs that wait, in their order: those that no turn has accepted yet.
    ///
    /// # Errors
    /// As [`SessionHandle::state`].
    pub async fn inputs(&self) -> Result<Vec<WaitingInput>, SendError> {
        if let Some(driver) = self.driver()
            && let Ok(inputs) = driver.inputs().await
        {
            return Ok(inputs);
        }
        let loaded = self.loaded().await?;
        Ok(waiting_inputs(&loaded.session, &loaded.history))
    }

    /// Replaces the text of an input that was not accepted yet. Hooks that have seen the old text are
    /// asked again.
    ///
    /// # Errors
    /// [`SendError`] when the input does not wait any more, when the text is empty or too large, and
    /// as [`SessionHandle::execute`].
    pub async fn edit_input(
        &self,
        input: InputId,
        text: impl Into<String>,
        scope: Scope,
    ) -> Result<(), SendError> {
        let command = SessionCommand::EditInput { input, text: text.into() };
        self.execute(command, scope, None).await.map(drop)
    }

    /// Moves a waiting input before another one, or to the end of the queue. Steering inputs and
    /// follow-ups still precede inputs for turns of their own.
    ///
    /// # Errors
    /// [`SendError`] when one of them does not wait any more, when a turn is open for the input, and
    /// as [`SessionHandle::execute`].
    pub async fn move_input(
        &self,
        input: InputId,
        before: Option<InputId>,
        scope: Scope,
    ) -> Result<(), SendError> {
        let command = SessionCommand::MoveInput { input, before };
        self.execute(command, scope, None).await.map(drop)
    }

    /// Withdraws a waiting input: the model never sees it.
    ///
    /// # Errors
    /// [`SendError`] when the input does not wait any more, when a turn is open for it, and as
    /// [`SessionHandle::execute`].
    pub async fn withdraw_input(&self, input: InputId, scope: Scope) -> Result<(), SendError> {
        let command = SessionCommand::WithdrawInput { input };
        self.execute(command, scope, None).await.map(drop)
    }

    /// Replaces the settings, for turns that open from now on. Equal settings change nothing.
    ///
    /// # Errors
    /// [`SendError`] when a tool's schema is unusable, when the settings allow more and `widening`
    /// refuses that, and as [`SessionHandle::execute`].
    pub async fn configure(
        &self,
        settings: Settings,
        scope: Scope,
        widening: Widening,
    ) -> Result<(), SendError> {
        let command = SessionCommand::Configure { settings: Box::new(settings), widening };
        self.execute(command, scope, None).await.map(drop)
    }

    /// Sets the goal of the session, or removes it. A turn that completes while the goal is not met
    /// is followed by another one, as often as the goal allows.
    ///
    /// # Errors
    /// As [`SessionHandle::execute`].
    pub async fn set_goal(&self, goal: Option<Goal>, scope: Scope) -> Result<(), SendError> {
        let command = SessionCommand::SetGoal { goal };
        self.execute(command, scope, None).await.map(drop)
    }

    /// Compacts the conversation with a summary by the model: now, or else once the running turn has
    /// settled. `focus` says what the summary should say most about. Returns the position of the
    /// request once it is durable; the turn that compacts settles later, see
    /// [`AwaitedTurn::Compaction`].
    ///
    /// # Errors
    /// [`SendError`] when no turn runs and the conversation is empty, and as
    /// [`SessionHandle::execute`].
    pub async fn compact(&self, focus: Option<String>, scope: Scope) -> Result<Seq, SendError> {
        self.execute(SessionCommand::Compact { focus }, scope, None).await
    }

    /// Interrupts the running turn, now or before its next sample. Returns once the request is
    /// durable; the turn settles later, see [`SessionHandle::outcome`].
    /// [`SessionCommand::Interrupt`] may name the turn.
    ///
    /// # Errors
    /// [`SendError`] when no turn runs, when it was interrupted before, and as
    /// [`SessionHandle::execute`].
    pub async fn interrupt(
        &self,
        by: InterruptSource,
        scope: Scope,
        reason: &str,
        when: StopTiming,
    ) -> Result<(), SendError> {
        let command = SessionCommand::Interrupt { by, reason: reason.to_owned(), when, turn: None };
        self.execute(command, scope, None).await.map(drop)
    }

    /// Answers an open approval. The first answer counts. `arguments` is the digest of the
    /// arguments that were shown: an answer about others is rejected. Edited arguments are
    /// validated here.
    ///
    /// # Errors
    /// [`SendError`] when no approval of the call is open, when it is about other arguments, when
    /// the edited ones are too large, and as [`SessionHandle::execute`].
    pub async fn answer(
        &self,
        call: CallId,
        scope: Scope,
        arguments: ArgumentsDigest,
        answer: ApprovalAnswer,
    ) -> Result<(), SendError> {
        let command = SessionCommand::Answer { call, arguments, answer };
        self.execute(command, scope, None).await.map(drop)
    }

    /// Opens the next turn for an input that waits after an interrupt. Returns the position of the
    /// first fact of that turn; if one ran already, the next position.
    ///
    /// # Errors
    /// [`SendError`] when nothing runs and nothing waits, and as [`SessionHandle::execute`].
    pub async fn resume(&self) -> Result<Seq, SendError> {
        let scope = self.0.scope.clone();
        self.execute(SessionCommand::Resume {}, scope, None).await
    }

    /// Returns the state of the session: as decided so far if it is driven here, else as its log
    /// says.
    ///
    /// # Errors
    /// [`SendError`] when the driver that the handle is bound to has ended, or the log cannot be
    /// read.
    pub async fn state(&self) -> Result<Session, SendError> {
        match self.decided().await {
            Some(state) => Ok(state),
            None => Ok(self.loaded().await?.session),
        }
    }

    /// Returns the state and the history of the session as of a position of its log: when that
    /// fact was its last one.
    ///
    /// # Errors
    /// As [`load_at`](crate::load_at).
    pub async fn state_at(&self, at: Seq) -> Result<Loaded, StartError> {
        let inner = &self.0.engine.inner;
        load_at(inner.ports.store.as_ref(), &self.0.id, at, inner.config.read_page).await
    }

    /// Returns the open approvals, also those that an earlier process asked for.
    ///
    /// # Errors
    /// As [`SessionHandle::state`].
    pub async fn pending_approvals(&self) -> Result<Vec<PendingApproval>, SendError> {
        if let Some(driver) = self.driver()
            && let Ok(approvals) = driver.pending().await
        {
            return Ok(approvals);
        }
        Ok(pending(&self.loaded().await?))
    }

    /// Returns up to `limit` facts of the log after position `after`, oldest first.
    ///
    /// # Errors
    /// [`StoreError`] when the log cannot be read.
    pub async fn history(&self, after: Seq, limit: usize) -> Result<Vec<RecordedFact>, StoreError> {
        let store = &self.0.engine.inner.ports.store;
        store.read(&self.0.id, after, limit).await
    }

    /// Forks the session at a position, under a new id. See [`Engine::fork`].
    ///
    /// # Errors
    /// [`ForkError`], as [`Engine::fork`].
    pub async fn fork(&self, at: Seq, id: &SessionId) -> Result<ForkReport, ForkError> {
        let HandleInner { engine, scope, .. } = &*self.0;
        engine.fork(&self.0.id, at, id, scope).await
    }

    /// Returns the number of requests that did not extend the one before, since the driver began.
    ///
    /// # Errors
    /// [`DriverEnd`] when no driver runs here.
    pub async fn prefix(&self) -> Result<PrefixReport, Arc<DriverEnd>> {
        self.driver().ok_or_else(closed)?.prefix().await
    }

    /// Waits until all that the driver here has decided is durable. Returns the last position.
    ///
    /// # Errors
    /// [`DriverEnd`] when no driver runs here, or it ends first.
    pub async fn flush(&self) -> Result<Seq, Arc<DriverEnd>> {
        self.driver().ok_or_else(closed)?.flush().await
    }

    /// Releases the session here once no turn runs, and waits for that. Until then no further
    /// command is accepted; a running turn may still be observed and interrupted. Every handle of
    /// this driver sees it end.
    pub async fn close(&self) {
        if let Some(driver) = self.driver() {
            driver.close().await;
        }
    }

    /// Subscribes to the events after position `after`, or from the present on when `None`. The
    /// stream of a handle that is bound to a driver ends with it; any other follows the session,
    /// see [`Engine::subscribe`].
    #[must_use]
    pub fn subscribe(&self, after: Option<Seq>) -> EventStream {
        let (id, inner) = (&self.0.id, &self.0.engine.inner);
        match &self.0.route {
            Route::Driver(driver) => {
                let (store, page) = (inner.ports.store.clone(), inner.config.read_page);
                EventStream::of_driver(id.clone(), store, driver.bus(), after, page)
            }
            Route::Session(_) => self.0.engine.subscribe(id, &self.0.scope, after),
        }
    }

    /// Follows a turn to its end over a stream of this session's events.
    #[must_use]
    pub fn follow(&self, events: EventStream, awaited: impl Into<AwaitedTurn>) -> TurnStream {
        TurnStream::new(self.clone(), events, awaited.into())
    }

    /// Waits for the end of a turn: the one that accepts or blocks an input, or the one named.
    /// Every outcome is an end.
    ///
    /// An input that is held after an interrupt is accepted only after [`SessionHandle::resume`].
    ///
    /// # Errors
    /// As [`TurnStream::next`].
    pub async fn outcome(&self, awaited: impl Into<AwaitedTurn>) -> Result<TurnReport, AwaitError> {
        let awaited = awaited.into();
        let mut turn = self.follow(self.subscribe(awaited.before()), awaited);
        loop {
            if let (_, Some(report)) = turn.next().await? {
                return Ok(report);
            }
        }
    }

    /// Returns the state that the driver here has decided so far, if one runs.
    pub(crate) async fn decided(&self) -> Option<Session> {
        match self.driver()?.state().await {
            Ok(state) => Some(state),
            Err(_) => {
                self.forget();
                None
            }
        }
    }

    /// Loads the log, unless the handle is bound to a driver, which has ended.
    async fn loaded(&self) -> Result<Loaded, SendError> {
        if let Route::Driver(driver) = &self.0.route {
            return Err(SendError::Ended(driver.bus().wait_ended().await));
        }
        let inner = &self.0.engine.inner;
        let loaded = load(inner.ports.store.as_ref(), &self.0.id, inner.config.read_page).await;
        loaded.map_err(|error| SendError::Start(Arc::new(error)))
    }

    /// Returns the stores of the engine.
    pub(crate) fn stores(&self) -> (Arc<dyn LogStore>, Arc<dyn BlobStore>) {
        let ports = &self.0.engine.inner.ports;
        (ports.store.clone(), ports.blobs.clone())
    }

    /// Returns the driver here, opening the session if that is possible.
    pub(crate) async fn open(&self) -> Result<Arc<DriverRef>, StartError> {
        let held = match &self.0.route {
            Route::Driver(driver) => return Ok(driver.clone()),
            Route::Session(held) => held,
        };
        if let Some(driver) = self.driver().filter(|driver| !driver.is_over()) {
            return Ok(driver);
        }
        self.forget();
        let (id, scope) = (&self.0.id, &self.0.scope);
        let driver = self.0.engine.drive(id, scope, Start::Existing).await?;
        let driver = Arc::new(driver);
        *held.lock() = Some(driver.clone());
        Ok(driver)
    }

    /// Returns the driver that the handle refers to, which may have ended.
    fn driver(&self) -> Option<Arc<DriverRef>> {
        match &self.0.route {
            Route::Driver(driver) => Some(driver.clone()),
            Route::Session(held) => held.lock().clone(),
        }
    }

    /// Drops the reference to a driver that has ended, unless the handle is bound to it.
    fn forget(&self) {
        if let Route::Session(held) = &self.0.route {
            *held.lock() = None;
        }
    }
}

fn closed() -> Arc<DriverEnd> {
    Arc::new(DriverEnd::Closed)
}
