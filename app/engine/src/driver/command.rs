//! Commands: requests of session handles to their driver.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;
use windlass_core::machine::MachineEvent;
use windlass_core::{Input, Seq, Session, StopTiming};

use super::{Driver, UndoCommand};
use crate::approvals::PendingApproval;
use crate::error::{DriverEnd, SendError};
use crate::prefix::PrefixReport;
use crate::queue::{WaitingInput, waiting_inputs};

/// Receiver of an acknowledgement.
pub(crate) type AckSender = oneshot::Sender<AckResult>;

/// Result of an input.
pub(crate) enum AckResult {
    /// Everything up to this position is durable, including the input's facts.
    Durable(Seq),
    /// The input was rejected.
    Rejected(SendError),
    /// The driver ended first.
    Ended(Arc<DriverEnd>),
}

/// Request to a driver.
pub(crate) enum DriverCommand {
    /// Submits an input. `first` receives the position of the input's first fact.
    Submit { input: Box<Input>, first: oneshot::Sender<Seq>, ack: AckSender },
    /// Returns the state as decided so far.
    State { answer: oneshot::Sender<Session> },
    /// Returns the open approvals.
    Pending { answer: oneshot::Sender<Vec<PendingApproval>> },
    /// Returns the inputs that wait.
    Inputs { answer: oneshot::Sender<Vec<WaitingInput>> },
    /// Returns the relation of the session's requests to one another.
    Prefix { answer: oneshot::Sender<PrefixReport> },
    /// Checks the mailbox for remote commands.
    CheckMailbox,
    /// Undoes a turn's changes of files, if no turn is open.
    Undo(UndoCommand),
    /// Acknowledges once everything decided so far is durable.
    Flush { ack: AckSender },
    /// Ends the driver once nothing runs, and accepts nothing more until then.
    Close,
    /// Asks running effects to stop, and then ends the driver.
    Shutdown { when: StopTiming, reason: String },
    /// Starts nothing more, lets running effects end for at most `within`, and then ends the driver
    /// with the turn as it is.
    HandOff { within: Duration, reason: String },
}

impl DriverCommand {
    /// Notifies the caller that the command will not be executed.
    pub(super) fn reject(self, ended: &Arc<DriverEnd>) {
        match self {
            Self::Submit { ack, .. } | Self::Flush { ack } => {
                let _ = ack.send(AckResult::Ended(ended.clone()));
            }
            Self::State { .. }
            | Self::Pending { .. }
            | Self::Inputs { .. }
            | Self::Prefix { .. }
            | Self::CheckMailbox
            | Self::Undo(_)
            | Self::Close
            | Self::HandOff { .. }
            | Self::Shutdown { .. } => {}
        }
    }
}

impl Driver {
    pub(super) fn on_command(&mut self, command: Option<DriverCommand>) -> Result<(), DriverEnd> {
        match command {
            Some(DriverCommand::Submit { input, first, ack }) => self.on_submit(*input, first, ack),
            Some(DriverCommand::State { answer }) => {
                let _ = answer.send(self.machine.session().clone());
            }
            Some(DriverCommand::Pending { answer }) => {
                let turn = self.machine.session().turn();
                let calls = turn.map_or(&[][..], |turn| turn.calls());
                let pending = calls.iter().filter_map(|call| self.pending(call));
                let _ = answer.send(pending.collect());
            }
            Some(DriverCommand::Inputs { answer }) => {
                let (session, history) = (self.machine.session(), self.machine.history());
                let _ = answer.send(waiting_inputs(session, history));
            }
            Some(DriverCommand::Prefix { answer }) => {
                let _ = answer.send(self.prefix.report());
            }
            // `next_event` runs it, since it takes time.
            Some(DriverCommand::Undo(_)) => {}
            Some(DriverCommand::CheckMailbox) => self.hand_over(MachineEvent::MailboxChanged),
            Some(DriverCommand::Flush { ack }) => {
                let token = self.callers.add(None, ack);
                self.hand_over(MachineEvent::Flush { token });
            }
            Some(DriverCommand::Close) => self.hand_over(MachineEvent::Close),
            Some(DriverCommand::Shutdown { when, reason }) => {
                self.hand_over(MachineEvent::Drain { when, reason });
            }
            Some(DriverCommand::HandOff { within, reason }) => self.on_hand_off(within, reason),
            // The slot holds a sender as long as the driver is in it.
            None => return Err(DriverEnd::Closed),
        }
        Ok(())
    }

    pub(super) fn on_submit(&mut self, input: Input, first: oneshot::Sender<Seq>, ack: AckSender) {
        let input = match self.validate(input) {
            Ok(input) => input,
            Err(fault) => {
                let _ = ack.send(AckResult::Rejected(fault.into()));
                return;
            }
        };
        let token = self.callers.add(Some(first), ack);
        self.hand_over(MachineEvent::Command { token, input });
        for token in self.callers.sweep() {
            self.hand_over(MachineEvent::Withdrawn { token });
        }
    }

    fn on_hand_off(&mut self, within: Duration, reason: String) {
        let session = &self.machine.session().id;
        let within_ms = u64::try_from(within.as_millis()).unwrap_or(u64::MAX);
        tracing::debug!(%session, within_ms, reason, "the session is being let go");
        self.hand_over(MachineEvent::HandOff { within_ms, reason });
    }
}
