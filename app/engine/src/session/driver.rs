//! Driver reference: one user of a driver in this engine. The driver stays as long as it has one.

use std::sync::Arc;

use tokio::sync::oneshot;
use windlass_core::{Input, Seq, Session, SessionId};

use crate::approvals::PendingApproval;
use crate::bus::Bus;
use crate::driver::{Acked, Command};
use crate::error::{Ended, SendError};
use crate::prefix::PrefixReport;
use crate::slot::{Link, Slot};

/// One user of a driver.
pub(crate) struct DriverRef {
    slot: Arc<Slot>,
    link: Link,
}

impl DriverRef {
    /// Takes over a link that was counted as a use.
    pub(crate) fn new(slot: Arc<Slot>, link: Link) -> Self {
        Self { slot, link }
    }

    pub(crate) fn session(&self) -> &SessionId {
        &self.slot.id
    }

    pub(crate) fn bus(&self) -> &Bus {
        &self.link.bus
    }

    pub(crate) fn is_over(&self) -> bool {
        self.link.bus.ended().is_some()
    }

    /// Has the driver take an input. Returns the position of its first fact once it is durable.
    pub(crate) async fn take(&self, input: Input) -> Result<Seq, SendError> {
        let (first, begins) = oneshot::channel();
        let (ack, acked) = oneshot::channel();
        let input = Box::new(input);
        let command = Command::Take { input, first, ack };
        match self.ask(command, acked).await {
            Ok(Acked::Durable(last)) => Ok(begins.await.unwrap_or(last)),
            Ok(Acked::Refused(error)) => Err(error),
            Ok(Acked::Ended(ended)) | Err(ended) => Err(SendError::Ended(ended)),
        }
    }

    pub(crate) async fn state(&self) -> Result<Session, Arc<Ended>> {
        let (answer, answered) = oneshot::channel();
        self.ask(Command::State { answer }, answered).await
    }

    pub(crate) async fn pending(&self) -> Result<Vec<PendingApproval>, Arc<Ended>> {
        let (answer, answered) = oneshot::channel();
        self.ask(Command::Pending { answer }, answered).await
    }

    pub(crate) async fn prefix(&self) -> Result<PrefixReport, Arc<Ended>> {
        let (answer, answered) = oneshot::channel();
        self.ask(Command::Prefix { answer }, answered).await
    }

    pub(crate) async fn flush(&self) -> Result<Seq, Arc<Ended>> {
        let (ack, acked) = oneshot::channel();
        match self.ask(Command::Flush { ack }, acked).await? {
            Acked::Durable(last) => Ok(last),
            Acked::Ended(ended) => Err(ended),
            // The driver refuses inputs alone.
            Acked::Refused(_) => Err(self.link.bus.gone().await),
        }
    }

    /// Tells the driver to end once no turn runs, and waits for that.
    pub(crate) async fn close(&self) {
        let _ = self.link.mailbox.send(Command::Close).await;
        self.link.bus.gone().await;
    }

    /// Sends a command and waits for its answer. A command that the driver does not receive is dropped
    /// with its answer's sender.
    async fn ask<T>(
        &self,
        command: Command,
        answer: oneshot::Receiver<T>,
    ) -> Result<T, Arc<Ended>> {
        let Link { mailbox, bus, .. } = &self.link;
        if mailbox.send(command).await.is_ok()
            && let Some(answer) = answered(bus, answer).await
        {
            return Ok(answer);
        }
        Err(bus.gone().await)
    }
}

impl Drop for DriverRef {
    fn drop(&mut self) {
        self.slot.let_go(self.link.epoch);
    }
}

/// Waits for a driver's answer; `None` when the driver has ended without one.
///
/// A command may enter the mailbox just after its receiver is gone. Then the caller's own sender keeps
/// the command alive, and with it the answer's sender, so the driver's end must be observed as well.
async fn answered<T>(bus: &Bus, mut answer: oneshot::Receiver<T>) -> Option<T> {
    tokio::select! {
        biased;
        said = &mut answer => said.ok(),
        // The driver answers before it ends.
        _ = bus.gone() => answer.try_recv().ok(),
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
