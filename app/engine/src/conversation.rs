//! Conversation: what a presenter holds of a session. Stateless: all it knows is in the log.

use std::sync::Arc;

use tokio::sync::oneshot;
use windlass_core::{
    Because, Delivery, Fact, Input, InputId, Interrupter, Recorded, Scope, Seq, Session, SessionId,
    Settings, TurnId,
};
use windlass_ports::{LogStore, StoreError};

use crate::driver::{Acked, Command};
use crate::error::{AwaitError, Ended, SendError};
use crate::event::Event;
use crate::report::{TurnFold, TurnReport};
use crate::slot::{Link, Slot};
use crate::subscription::Subscription;

/// A session that is open in this engine. Dropping it stops nothing: a running turn goes on.
#[derive(Clone)]
pub struct Conversation {
    attached: Arc<Attached>,
    store: Arc<dyn LogStore>,
    id: SessionId,
    page: usize,
}

/// An input to send.
#[derive(Debug, Clone)]
pub struct Send {
    /// Who says it.
    pub scope: Scope,
    /// What is said.
    pub text: String,
    /// The caller's own key: sending the same key again changes nothing.
    pub key: Option<String>,
    /// Whether the turn only plans what its tools would do.
    pub dry_run: bool,
}

impl Conversation {
    pub(crate) fn new(
        attached: Attached,
        store: Arc<dyn LogStore>,
        id: SessionId,
        page: usize,
    ) -> Self {
        Self {
            attached: Arc::new(attached),
            store,
            id,
            page,
        }
    }

    /// The session's id.
    #[must_use]
    pub fn id(&self) -> &SessionId {
        &self.id
    }

    /// Sends an input. It has a turn of its own, after those that wait before it.
    ///
    /// Returns once the input is durable: from then on it is not lost. A caller who goes away
    /// before that does not know whether it was taken; sending it again with the same key tells.
    ///
    /// # Errors
    /// [`SendError`] when it is refused, or the driver ends first.
    pub async fn send(&self, send: Send) -> Result<InputId, SendError> {
        let first = self
            .take(Input::Send {
                scope: send.scope,
                text: send.text,
                delivery: Delivery::Turn,
                key: send.key,
                dry_run: send.dry_run,
            })
            .await?;
        Ok(InputId(first.0))
    }

    /// Replaces the settings, for turns that open from now on. Settings that are the same change
    /// nothing.
    ///
    /// # Errors
    /// [`SendError`] when a tool's schema cannot be used, or the driver ends first.
    pub async fn configure(&self, settings: Settings) -> Result<(), SendError> {
        self.take(Input::Configure { settings }).await.map(|_| ())
    }

    /// Asks the running turn to stop. Returns once the request is durable; the turn settles soon
    /// after, see [`Conversation::await_turn`].
    ///
    /// # Errors
    /// [`SendError`] when nothing runs, it has been asked already, or the driver ends first.
    pub async fn interrupt(&self, by: Interrupter, reason: &str) -> Result<(), SendError> {
        let reason = reason.to_owned();
        self.take(Input::Interrupt { by, reason }).await.map(|_| ())
    }

    /// Goes on with what waits: opens the next turn after an interrupted one.
    ///
    /// # Errors
    /// [`SendError`] when nothing runs and nothing waits, or the driver ends first.
    pub async fn go_on(&self) -> Result<(), SendError> {
        self.take(Input::Continue).await.map(|_| ())
    }

    /// Events after position `after`; from now on when `None`.
    #[must_use]
    pub fn subscribe(&self, after: Option<Seq>) -> Subscription {
        let bus = self.attached.link.bus.clone();
        Subscription::new(self.store.clone(), self.id.clone(), bus, after, self.page)
    }

    /// The state of the session as decided so far.
    ///
    /// # Errors
    /// [`Ended`] when the driver has ended.
    pub async fn state(&self) -> Result<Session, Arc<Ended>> {
        let (answer, state) = oneshot::channel();
        if self.tell(Command::State { answer }).await
            && let Ok(state) = state.await
        {
            return Ok(state);
        }
        Err(self.ended().await)
    }

    /// Waits until all that is decided so far is durable. Answers the last position.
    ///
    /// # Errors
    /// [`Ended`] when the driver ends first.
    pub async fn flush(&self) -> Result<Seq, Arc<Ended>> {
        let (ack, acked) = oneshot::channel();
        if !self.tell(Command::Flush { ack }).await {
            return Err(self.ended().await);
        }
        match acked.await {
            Ok(Acked::Durable(last)) => Ok(last),
            Ok(Acked::Ended(ended)) => Err(ended),
            Ok(Acked::Refused(_)) | Err(_) => Err(self.ended().await),
        }
    }

    /// Up to `limit` facts of the log after position `after`, oldest first.
    ///
    /// # Errors
    /// [`StoreError`] when the log cannot be read.
    pub async fn history(&self, after: Seq, limit: usize) -> Result<Vec<Recorded>, StoreError> {
        self.store.read(&self.id, after, limit).await
    }

    /// Waits for the turn that takes this input, and for its end.
    ///
    /// An input that is held after an interrupt is taken only once somebody goes on.
    ///
    /// # Errors
    /// [`AwaitError`] when the driver ends first or the log cannot be read.
    pub async fn await_input(&self, input: InputId) -> Result<TurnReport, AwaitError> {
        let mut events = self.subscribe(Some(Seq(input.0)));
        loop {
            let fact = next_fact(&mut events).await?;
            if let Fact::TurnOpened(opened) = &fact.fact
                && opened.because == (Because::Opened { input })
            {
                return report(&mut events, TurnId(fact.seq.0)).await;
            }
        }
    }

    /// Waits for the end of a turn, whichever it is: every outcome is an end.
    ///
    /// # Errors
    /// [`AwaitError`] when there is no such turn, the driver ends first, or the log cannot be
    /// read.
    pub async fn await_turn(&self, turn: TurnId) -> Result<TurnReport, AwaitError> {
        let mut events = self.subscribe(Some(Seq(turn.0.saturating_sub(1))));
        let fact = next_fact(&mut events).await?;
        if fact.turn != Some(turn) {
            return Err(AwaitError::NoTurn(turn));
        }
        report(&mut events, turn).await
    }

    /// Lets the session go once no turn runs, and waits for that. Until then it takes no further
    /// inputs; a turn that runs may still be watched and interrupted. Others that are attached to
    /// it here see it end.
    pub async fn close(&self) {
        self.tell(Command::Close).await;
        self.ended().await;
    }

    /// Has the driver take an input. Answers the position of the input's first fact.
    pub(crate) async fn take(&self, input: Input) -> Result<Seq, SendError> {
        let (first, begins) = oneshot::channel();
        let (ack, acked) = oneshot::channel();
        let command = Command::Take {
            input: Box::new(input),
            first,
            ack,
        };
        if !self.tell(command).await {
            return Err(SendError::Ended(self.ended().await));
        }
        match acked.await {
            Ok(Acked::Durable(last)) => Ok(begins.await.unwrap_or(last)),
            Ok(Acked::Refused(error)) => Err(error),
            Ok(Acked::Ended(ended)) => Err(SendError::Ended(ended)),
            Err(_) => Err(SendError::Ended(self.ended().await)),
        }
    }

    /// Hands the driver a command. A command that it does not take is dropped here, and with it
    /// whatever would have answered: nobody may wait for that.
    async fn tell(&self, command: Command) -> bool {
        self.attached.link.mailbox.send(command).await.is_ok()
    }

    /// Waits for the driver's end and says why.
    async fn ended(&self) -> Arc<Ended> {
        self.attached.link.bus.gone().await
    }
}

async fn next_fact(events: &mut Subscription) -> Result<Arc<Recorded>, AwaitError> {
    loop {
        match events.next().await.map_err(AwaitError::Store)? {
            Event::Fact(fact) => return Ok(fact),
            Event::Live(_) | Event::Lagged { .. } => {}
            Event::Ended(ended) => return Err(AwaitError::Ended(ended)),
        }
    }
}

/// Reads on to the turn's end.
async fn report(events: &mut Subscription, turn: TurnId) -> Result<TurnReport, AwaitError> {
    let mut fold = TurnFold::new(turn);
    loop {
        let fact = next_fact(events).await?;
        if let Some(report) = fold.take(&fact) {
            return Ok(report);
        }
    }
}

/// One user of a driver. The driver stays while there is one.
pub(crate) struct Attached {
    slot: Arc<Slot>,
    link: Link,
}

impl Attached {
    /// Over a link that was counted as a use.
    pub(crate) fn new(slot: Arc<Slot>, link: Link) -> Self {
        Self { slot, link }
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        self.slot.let_go(self.link.epoch);
    }
}
