//! Turn stream: the events of a session up to the end of one turn, and the report of that turn.

use std::future::pending;
use std::sync::Arc;

use windlass_core::{Fact, InputId, Reason, RecordedFact, Seq, TurnId};

use super::{Route, SessionHandle};
use crate::error::{AwaitError, DriverEnd};
use crate::event::Event;
use crate::report::{TurnFold, TurnReport};
use crate::stream::EventStream;

/// Facts of one read.
const PAGE: usize = 256;

/// Turn whose end is awaited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AwaitedTurn {
    /// The turn that accepts this input, or whose hooks block it. Fails once it is withdrawn.
    Input(InputId),
    /// This turn.
    Turn(TurnId),
    /// The next turn that opens for the session's goal.
    Goal,
    /// The turn of the compaction that was requested at this position, or of a later request that
    /// replaced it.
    Compaction(Seq),
}

/// Events of a session up to the end of a turn. See [`SessionHandle::follow`].
pub struct TurnStream {
    handle: SessionHandle,
    events: EventStream,
    awaited: AwaitedTurn,
    /// The turn, once it has begun.
    fold: Option<TurnFold>,
    /// Event that was received and is not returned yet.
    event: Option<Event>,
    /// End of the driver here, if no other node can replace it, with its last durable position.
    driver_end: Option<(Arc<DriverEnd>, Seq)>,
}

impl AwaitedTurn {
    /// Returns a position that precedes the turn's end; `None` for the present.
    pub(super) fn before(self) -> Option<Seq> {
        match self {
            Self::Input(input) => Some(Seq(input.0)),
            Self::Turn(turn) => Some(Seq(turn.0.saturating_sub(1))),
            Self::Goal => None,
            Self::Compaction(request) => Some(request),
        }
    }

    /// Returns true if a turn that opens for this reason is the awaited one.
    fn is_opened_by(self, because: &Reason) -> bool {
        match self {
            Self::Input(input) => *because == Reason::Input { input },
            Self::Goal => matches!(because, Reason::Goal { .. }),
            Self::Compaction(asked) => {
                matches!(because, Reason::CompactionRequested { request } if *request >= asked)
            }
            Self::Turn(_) => false,
        }
    }
}

impl From<InputId> for AwaitedTurn {
    fn from(input: InputId) -> Self {
        Self::Input(input)
    }
}

impl From<TurnId> for AwaitedTurn {
    fn from(turn: TurnId) -> Self {
        Self::Turn(turn)
    }
}

impl TurnStream {
    pub(super) fn new(handle: SessionHandle, events: EventStream, awaited: AwaitedTurn) -> Self {
        let mut stream =
            Self { handle, events, awaited, fold: None, event: None, driver_end: None };
        stream.await_next(awaited);
        stream
    }

    /// Returns the turn that is awaited now.
    #[must_use]
    pub fn awaited(&self) -> AwaitedTurn {
        self.awaited
    }

    /// Awaits another turn from the present position on.
    pub fn await_next(&mut self, awaited: AwaitedTurn) {
        self.awaited = awaited;
        self.fold = match awaited {
            AwaitedTurn::Turn(turn) => Some(TurnFold::new(turn)),
            AwaitedTurn::Input(_) | AwaitedTurn::Goal | AwaitedTurn::Compaction(_) => None,
        };
    }

    /// Returns true once the awaited turn has begun.
    #[must_use]
    pub fn has_begun(&self) -> bool {
        self.fold.is_some()
    }

    /// Returns the next event, and with the turn's terminal fact the report of the turn.
    ///
    /// Cancel safe.
    ///
    /// # Errors
    /// [`AwaitError`] when the turn does not exist, when the awaited input is withdrawn, when the log cannot be read, or when the driver
    /// has ended. For a bound handle that is its own driver; else the driver here, unless another
    /// node may continue the session.
    pub async fn next(&mut self) -> Result<(Event, Option<TurnReport>), AwaitError> {
        let event = match self.event.take() {
            Some(event) => event,
            None => self.receive().await?,
        };
        let report = match &event {
            Event::Ended(ended) => return Err(AwaitError::Ended(ended.clone())),
            Event::Live(_) | Event::Lagged { .. } | Event::Store(_) => None,
            Event::Fact(fact) => {
                let fact = Arc::<RecordedFact>::from(fact.clone());
                // Stored while the log is read, in case this call is dropped.
                self.event = Some(event.clone());
                let report = self.apply(&fact).await?;
                self.event = None;
                report
            }
        };
        Ok((event, report))
    }

    /// Receives the next event, or the end of a driver that no other can replace.
    async fn receive(&mut self) -> Result<Event, AwaitError> {
        loop {
            if let Some((ended, durable)) = &self.driver_end
                && self.events.cursor() >= Some(*durable)
            {
                return Err(AwaitError::Ended(ended.clone()));
            }
            let drives = self.driver_end.is_none();
            tokio::select! {
                biased;
                event = self.events.next() => return event.map_err(AwaitError::Store),
                lost = self.handle.driver_lost(), if drives => self.driver_end = Some(lost),
            }
        }
    }

    /// Folds a fact into the report of the awaited turn.
    async fn apply(&mut self, fact: &Arc<RecordedFact>) -> Result<Option<TurnReport>, AwaitError> {
        if let AwaitedTurn::Turn(turn) = self.awaited
            && fact.seq.0 == turn.0
            && fact.turn != Some(turn)
        {
            return Err(AwaitError::NoTurn(turn));
        }
        if let Fact::InputWithdrawn(withdrawn) = &fact.fact
            && self.awaited == AwaitedTurn::Input(withdrawn.input)
        {
            return Err(AwaitError::Withdrawn(withdrawn.input));
        }
        if self.fold.is_none() {
            self.fold = self.begun(fact).await?;
        }
        Ok(self.fold.as_mut().and_then(|fold| fold.apply(fact)))
    }

    /// Returns the fold of the awaited turn, up to this fact, if the turn is known by it.
    async fn begun(&self, fact: &RecordedFact) -> Result<Option<TurnFold>, AwaitError> {
        if let Fact::TurnOpened(opened) = &fact.fact {
            let fold = || TurnFold::new(TurnId(fact.seq.0));
            return Ok(self.awaited.is_opened_by(&opened.reason).then(fold));
        }
        let input = if let Fact::InputAccepted(accepted) = &fact.fact {
            accepted.input
        } else if let Fact::InputBlocked(blocked) = &fact.fact {
            blocked.input
        } else {
            return Ok(None);
        };
        match fact.turn {
            Some(turn) if self.awaited == AwaitedTurn::Input(input) => {
                self.folded(turn, fact.seq).await.map(Some)
            }
            Some(_) | None => Ok(None),
        }
    }

    /// Folds a turn that began before the stream did, up to but not including a position.
    async fn folded(&self, turn: TurnId, end: Seq) -> Result<TurnFold, AwaitError> {
        let mut fold = TurnFold::new(turn);
        let mut after = Seq(turn.0.saturating_sub(1));
        while after.next() < end {
            let facts = self.handle.history(after, PAGE).await;
            let facts = facts.map_err(AwaitError::Store)?;
            let Some(last) = facts.last().map(|fact| fact.seq) else {
                return Ok(fold);
            };
            after = last;
            for fact in facts.into_iter().take_while(|fact| fact.seq < end) {
                fold.apply(&Arc::new(fact));
            }
        }
        Ok(fold)
    }
}

impl SessionHandle {
    /// Waits until the driver here has ended and no other node can continue the session. Never
    /// returns for a bound handle, whose stream reports the end.
    async fn driver_lost(&self) -> (Arc<DriverEnd>, Seq) {
        if let (Route::Session(_), Some(driver)) = (&self.0.route, self.driver()) {
            let ended = driver.bus().wait_ended().await;
            if !self.0.engine.is_continued(&ended) {
                return (ended, driver.bus().durable());
            }
        }
        pending().await
    }
}
