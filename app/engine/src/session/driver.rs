//! Driver reference: one user of a driver in this engine. A driver stays as long as it has a user.

use std::sync::Arc;

use tokio::sync::oneshot;
use windlass_core::{Input, Seq, Session, SessionId};

use crate::approvals::PendingApproval;
use crate::bus::EventBus;
use crate::driver::{AckResult, DriverCommand, UndoAnswer, UndoCommand};
use crate::error::{DriverEnd, SendError};
use crate::prefix::PrefixReport;
use crate::queue::WaitingInput;
use crate::slot::{DriverLink, Slot};
use crate::undo::UndoError;

/// One user of a driver.
pub(crate) struct DriverRef {
    slot: Arc<Slot>,
    link: DriverLink,
}

impl DriverRef {
    /// Wraps a link that already counts as a user.
    pub(crate) fn new(slot: Arc<Slot>, link: DriverLink) -> Self {
        Self { slot, link }
    }

    pub(crate) fn session(&self) -> &SessionId {
        &self.slot.id
    }

    pub(crate) fn bus(&self) -> &EventBus {
        &self.link.bus
    }

    pub(crate) fn is_over(&self) -> bool {
        self.link.bus.ended().is_some()
    }

    /// Submits an input to the driver. Returns the position of its first fact once it is durable.
    pub(crate) async fn submit(&self, input: Input) -> Result<Seq, SendError> {
        let (first, begins) = oneshot::channel();
        let (ack, acked) = oneshot::channel();
        let input = Box::new(input);
        let command = DriverCommand::Submit { input, first, ack };
        match self.ask(command, acked).await {
            Ok(AckResult::Durable(last)) => Ok(begins.await.unwrap_or(last)),
            Ok(AckResult::Rejected(error)) => Err(error),
            Ok(AckResult::Ended(ended)) | Err(ended) => Err(SendError::Ended(ended)),
        }
    }

    pub(crate) async fn state(&self) -> Result<Session, Arc<DriverEnd>> {
        let (answer, answered) = oneshot::channel();
        self.ask(DriverCommand::State { answer }, answered).await
    }

    pub(crate) async fn pending(&self) -> Result<Vec<PendingApproval>, Arc<DriverEnd>> {
        let (answer, answered) = oneshot::channel();
        self.ask(DriverCommand::Pending { answer }, answered).await
    }

    pub(crate) async fn inputs(&self) -> Result<Vec<WaitingInput>, Arc<DriverEnd>> {
        let (answer, answered) = oneshot::channel();
        self.ask(DriverCommand::Inputs { answer }, answered).await
    }

    pub(crate) async fn prefix(&self) -> Result<PrefixReport, Arc<DriverEnd>> {
        let (answer, answered) = oneshot::channel();
        self.ask(DriverCommand::Prefix { answer }, answered).await
    }

    /// Has the driver undo a turn's changes of files.
    pub(crate) async fn undo(
        &self,
        command: UndoCommand,
        answered: oneshot::Receiver<Result<UndoAnswer, UndoError>>,
    ) -> Result<Result<UndoAnswer, UndoError>, Arc<DriverEnd>> {
        self.ask(DriverCommand::Undo(command), answered).await
    }

    pub(crate) async fn flush(&self) -> Result<Seq, Arc<DriverEnd>> {
        let (ack, acked) = oneshot::channel();
        match self.ask(DriverCommand::Flush { ack }, acked).await? {
            AckResult::Durable(last) => Ok(last),
            AckResult::Ended(ended) => Err(ended),
            // The driver rejects inputs only.
            AckResult::Rejected(_) => Err(self.link.bus.wait_ended().await),
        }
    }

    /// Tells the driver to end once no turn runs, and waits for that.
    pub(crate) async fn close(&self) {
        let _ = self.link.mailbox.send(DriverCommand::Close).await;
        self.link.bus.wait_ended().await;
    }

    /// Sends a command and waits for its answer. A command that the driver does not receive is
    /// dropped with its answer's sender.
    async fn ask<T>(
        &self,
        command: DriverCommand,
        answer: oneshot::Receiver<T>,
    ) -> Result<T, Arc<DriverEnd>> {
        let DriverLink { mailbox, bus, .. } = &self.link;
        if mailbox.send(command).await.is_ok()
            && let Some(answer) = wait_answer(bus, answer).await
        {
            return Ok(answer);
        }
        Err(bus.wait_ended().await)
    }
}

impl Drop for DriverRef {
    fn drop(&mut self) {
        self.slot.release_user(self.link.epoch);
    }
}

/// Waits for a driver's answer; `None` when the driver has ended without one.
///
/// A command may enter the mailbox just after its receiver is gone. Then the caller's own sender
/// keeps the command alive, and with it the answer's sender, so the driver's end must be observed
/// as well.
async fn wait_answer<T>(bus: &EventBus, mut answer: oneshot::Receiver<T>) -> Option<T> {
    tokio::select! {
        biased;
        said = &mut answer => said.ok(),
        // The driver answers before it ends.
        _ = bus.wait_ended() => answer.try_recv().ok(),
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
        let bus = EventBus::new(1, Seq::ZERO);
        let (answer, said) = oneshot::channel();
        // Simulates a sender between the two halves of sending while the driver ends.
        let sending = mailbox.try_reserve().unwrap();
        drop(commands);
        sending.send(DriverCommand::State { answer });
        let mut waiting = Box::pin(wait_answer(&bus, said));
        assert!(waiting.as_mut().now_or_never().is_none(), "it has not ended");
        bus.end(Arc::new(DriverEnd::Closed));
        let told = waiting.as_mut().now_or_never();
        assert!(matches!(told, Some(None)), "nobody answers any more");
        drop(mailbox);
    }

    #[test]
    fn what_was_answered_before_the_end_counts() {
        let bus = EventBus::new(1, Seq::ZERO);
        let (answer, said) = oneshot::channel();
        answer.send(7).unwrap();
        bus.end(Arc::new(DriverEnd::Closed));
        assert_eq!(wait_answer(&bus, said).now_or_never(), Some(Some(7)));
    }
}
