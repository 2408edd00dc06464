//! Conversation: what a presenter holds of a session. Stateless: all it knows is in the log.

use std::sync::Arc;

use tokio::sync::oneshot;
use windlass_core::{
    Answer, Because, CallId, Delivery, Digest, Fact, Goal, Input, InputId, Interrupter, Recorded,
    Scope, Seq, Session, SessionId, Settings, StopWhen, TurnId, Widening,
};
use windlass_ports::{LogStore, OutputKeeper, StoreError};

use crate::approvals::PendingApproval;
use crate::attached::Attached;
use crate::bus::Bus;
use crate::driver::{Acked, Command};
use crate::error::{AwaitError, Ended, SendError};
use crate::event::Event;
use crate::images;
use crate::prefix::PrefixReport;
use crate::report::{TurnFold, TurnReport};
use crate::send::Send;
use crate::subscription::Subscription;

/// A session that is open in this engine. Dropping it stops nothing: a running turn goes on.
#[derive(Clone)]
pub struct Conversation {
    attached: Arc<Attached>,
    store: Arc<dyn LogStore>,
    keeper: OutputKeeper,
    id: SessionId,
    page: usize,
}

impl Conversation {
    pub(crate) fn new(
        attached: Attached,
        store: Arc<dyn LogStore>,
        keeper: OutputKeeper,
        id: SessionId,
        page: usize,
    ) -> Self {
        Self {
            attached: Arc::new(attached),
            store,
            keeper,
            id,
            page,
        }
    }

    /// The session's id.
    #[must_use]
    pub fn id(&self) -> &SessionId {
        &self.id
    }

    /// Sends an input. It is heard as its delivery says: in a turn of its own after those that
    /// wait before it, in the turn that runs, or right after that.
    ///
    /// Its images are kept first, so that what the log names is there.
    ///
    /// Returns once the input is durable: from then on it is not lost. A caller who goes away
    /// before that does not know whether it was taken; sending it again with the same key tells.
    ///
    /// # Errors
    /// [`SendError`] when it is refused, or the driver ends first.
    pub async fn send(&self, send: Send) -> Result<InputId, SendError> {
        let images = images::kept(&self.keeper, &send.images).await?;
        let first = self
            .take(Input::Send {
                scope: send.scope,
                text: send.text,
                delivery: send.delivery,
                context: send.context,
                images,
                key: send.key,
                dry_run: send.dry_run,
            })
            .await?;
        Ok(InputId(first.0))
    }

    /// Says something to the turn that runs, whatever the input's own delivery is: at once if only
    /// text is streaming, else before the model is asked again. What the turn does not hear any
    /// more opens the next one; where no turn runs, it opens one.
    ///
    /// # Errors
    /// [`SendError`] when it is refused, or the driver ends first.
    pub async fn steer(&self, send: Send) -> Result<InputId, SendError> {
        let delivery = Delivery::Steer;
        self.send(Send { delivery, ..send }).await
    }

    /// Says something for a turn of its own right after the one that runs, before those that wait,
    /// whatever the input's own delivery is.
    ///
    /// # Errors
    /// [`SendError`] when it is refused, or the driver ends first.
    pub async fn follow_up(&self, send: Send) -> Result<InputId, SendError> {
        let delivery = Delivery::FollowUp;
        self.send(Send { delivery, ..send }).await
    }

    /// Replaces the settings, for turns that open from now on. Settings that are the same change
    /// nothing; settings that allow more are refused unless that is meant.
    ///
    /// # Errors
    /// [`SendError`] when a tool's schema cannot be used, they allow more than the session does,
    /// or the driver ends first.
    pub async fn configure(
        &self,
        settings: Settings,
        scope: Scope,
        widening: Widening,
    ) -> Result<(), SendError> {
        self.take(Input::Configure {
            scope,
            settings,
            widening,
        })
        .await
        .map(|_| ())
    }

    /// Gives the session a goal, or takes it away. A turn that completes while it is not met is
    /// followed by another, as often as the goal says.
    ///
    /// # Errors
    /// [`SendError`] when it is refused, or the driver ends first.
    pub async fn set_goal(&self, goal: Option<Goal>, scope: Scope) -> Result<(), SendError> {
        self.take(Input::SetGoal { scope, goal }).await.map(|_| ())
    }

    /// Asks the running turn to stop, now or before the model is asked again. Returns once the
    /// request is durable; the turn settles after that, see [`Conversation::await_turn`].
    ///
    /// # Errors
    /// [`SendError`] when nothing runs, it has been asked already, or the driver ends first.
    pub async fn interrupt(
        &self,
        by: Interrupter,
        scope: Scope,
        reason: &str,
        when: StopWhen,
    ) -> Result<(), SendError> {
        self.take(Input::Interrupt {
            by,
            scope,
            reason: reason.to_owned(),
            when,
            turn: None,
        })
        .await
        .map(|_| ())
    }

    /// The questions that are open, for whoever answers them: also those that a process before
    /// this one asked.
    ///
    /// # Errors
    /// [`Ended`] when the driver has ended.
    pub async fn pending_approvals(&self) -> Result<Vec<PendingApproval>, Arc<Ended>> {
        self.ask(|answer| Command::Pending { answer }).await
    }

    /// Answers an open question about a call. The first answer counts. `arguments` is the digest
    /// that was shown with the question: an answer about other arguments is refused. Whether
    /// edited arguments can be used is found here; what the caller says of that does not count.
    ///
    /// # Errors
    /// [`SendError`] when no question about the call is open, it is about other arguments, the
    /// edited ones are too large, or the driver ends first.
    pub async fn answer(
        &self,
        call: CallId,
        scope: Scope,
        arguments: Digest,
        answer: Answer,
    ) -> Result<(), SendError> {
        self.take(Input::Answer {
            call,
            scope,
            arguments,
            answer,
        })
        .await
        .map(|_| ())
    }

    /// What the requests of this session were to one another, since its driver began.
    ///
    /// # Errors
    /// [`Ended`] when the driver has ended.
    pub async fn prefix(&self) -> Result<PrefixReport, Arc<Ended>> {
        self.ask(|answer| Command::Prefix { answer }).await
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
        self.ask(|answer| Command::State { answer }).await
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
        match answered(&self.attached.link.bus, acked).await {
            Some(Acked::Durable(last)) => Ok(last),
            Some(Acked::Ended(ended)) => Err(ended),
            Some(Acked::Refused(_)) | None => Err(self.ended().await),
        }
    }

    /// Up to `limit` facts of the log after position `after`, oldest first.
    ///
    /// # Errors
    /// [`StoreError`] when the log cannot be read.
    pub async fn history(&self, after: Seq, limit: usize) -> Result<Vec<Recorded>, StoreError> {
        self.store.read(&self.id, after, limit).await
    }

    /// Waits for the turn that hears this input, and for its end. That is the turn that it opens,
    /// or the one that it steers; a turn whose hooks block it ends with it, or goes on without it.
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
            let turn = fact.turn.filter(|_| fact.fact.heard() == Some(input));
            if let Some(turn) = turn {
                // From its beginning: what it said before it heard this is part of its report.
                return self.await_turn(turn).await;
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

    /// Whether the driver has ended.
    pub(crate) fn is_over(&self) -> bool {
        self.attached.link.bus.ended().is_some()
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
        match answered(&self.attached.link.bus, acked).await {
            Some(Acked::Durable(last)) => Ok(begins.await.unwrap_or(last)),
            Some(Acked::Refused(error)) => Err(error),
            Some(Acked::Ended(ended)) => Err(SendError::Ended(ended)),
            None => Err(SendError::Ended(self.ended().await)),
        }
    }

    /// Asks the driver for something that it knows.
    async fn ask<T>(
        &self,
        command: impl FnOnce(oneshot::Sender<T>) -> Command,
    ) -> Result<T, Arc<Ended>> {
        let (answer, said) = oneshot::channel();
        if self.tell(command(answer)).await
            && let Some(said) = answered(&self.attached.link.bus, said).await
        {
            return Ok(said);
        }
        Err(self.ended().await)
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

/// Waits for a driver's answer; `None` when it has ended without one.
///
/// A command may reach the mailbox just after its receiver is gone. Then nobody reads it, and the
/// caller's own sender keeps it, and with it the way back: so the driver's end is heard as well.
async fn answered<T>(bus: &Bus, mut answer: oneshot::Receiver<T>) -> Option<T> {
    tokio::select! {
        biased;
        said = &mut answer => said.ok(),
        // Whatever it has said, it said before its end.
        _ = bus.gone() => answer.try_recv().ok(),
    }
}

async fn next_fact(events: &mut Subscription) -> Result<Arc<Recorded>, AwaitError> {
    loop {
        match events.next().await.map_err(AwaitError::Store)? {
            Event::Fact(fact) => return Ok(fact.into()),
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

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;
    use tokio::sync::mpsc;

    use super::*;

    #[test]
    fn a_command_that_comes_after_the_receiver_went_is_not_waited_for() {
        let (mailbox, commands) = mpsc::channel(1);
        let bus = Bus::new(1, Seq::ZERO);
        let (answer, said) = oneshot::channel();
        // A sender stands between the two halves of sending while the driver goes.
        let sending = mailbox.try_reserve().unwrap();
        drop(commands);
        sending.send(Command::State { answer });
        let mut waiting = Box::pin(answered(&bus, said));
        assert!(
            waiting.as_mut().now_or_never().is_none(),
            "it has not ended"
        );
        bus.end(Arc::new(Ended::Closed));
        let told = waiting.as_mut().now_or_never();
        assert!(matches!(told, Some(None)), "nobody answers any more");
        drop(mailbox);
    }

    #[test]
    fn what_was_answered_before_the_end_counts() {
        let bus = Bus::new(1, Seq::ZERO);
        let (answer, said) = oneshot::channel();
        answer.send(7).unwrap();
        bus.end(Arc::new(Ended::Closed));
        assert_eq!(answered(&bus, said).now_or_never(), Some(Some(7)));
    }
}
