//! Commands: what a conversation asks of its driver.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;
use windlass_core::machine::Event;
use windlass_core::{Input, Seq, Session, StopWhen};

use super::Driver;
use crate::approvals::PendingApproval;
use crate::error::{Ended, SendError};
use crate::prefix::PrefixReport;

/// Receiver of an acknowledgement.
pub(crate) type Ack = oneshot::Sender<Acked>;

/// Result of an input.
pub(crate) enum Acked {
    /// Everything up to this position is durable, the input's facts among it.
    Durable(Seq),
    /// The input was refused.
    Refused(SendError),
    /// The driver ended first.
    Ended(Arc<Ended>),
}

/// Request to a driver.
pub(crate) enum Command {
    /// To take an input. The answer names the input's first fact.
    Take {
        input: Box<Input>,
        first: oneshot::Sender<Seq>,
        ack: Ack,
    },
    /// For the state as decided so far.
    State { answer: oneshot::Sender<Session> },
    /// For the questions that are open.
    Pending {
        answer: oneshot::Sender<Vec<PendingApproval>>,
    },
    /// For what its requests were to one another.
    Prefix {
        answer: oneshot::Sender<PrefixReport>,
    },
    /// To look for letters.
    Letters,
    /// To answer once all that is decided so far is durable.
    Flush { ack: Ack },
    /// To end once nothing runs, and to take nothing more until then.
    Close,
    /// To ask what runs to stop, and then to end.
    Shutdown { when: StopWhen, reason: String },
    /// To start nothing more, let what runs end for so long, and then to end where the turn stands.
    Part { within: Duration, reason: String },
}

impl Command {
    /// Answers that nobody will act on it.
    pub(super) fn refuse(self, ended: &Arc<Ended>) {
        match self {
            Self::Take { ack, .. } | Self::Flush { ack } => {
                let _ = ack.send(Acked::Ended(ended.clone()));
            }
            Self::State { .. }
            | Self::Pending { .. }
            | Self::Prefix { .. }
            | Self::Letters
            | Self::Close
            | Self::Part { .. }
            | Self::Shutdown { .. } => {}
        }
    }
}

impl Driver {
    pub(super) fn on_command(&mut self, command: Option<Command>) -> Result<(), Ended> {
        match command {
            Some(Command::Take { input, first, ack }) => self.on_take(*input, first, ack),
            Some(Command::State { answer }) => {
                let _ = answer.send(self.machine.session().clone());
            }
            Some(Command::Pending { answer }) => {
                let turn = self.machine.session().turn();
                let calls = turn.map_or(&[][..], |turn| turn.calls());
                let pending = calls.iter().filter_map(|call| self.pending(call));
                let _ = answer.send(pending.collect());
            }
            Some(Command::Prefix { answer }) => {
                let _ = answer.send(self.prefix.report());
            }
            Some(Command::Letters) => self.hand_over(Event::MailboxChanged),
            Some(Command::Flush { ack }) => {
                let token = self.callers.enter(None, ack);
                self.hand_over(Event::Flush { token });
            }
            Some(Command::Close) => self.hand_over(Event::Close),
            Some(Command::Shutdown { when, reason }) => {
                self.hand_over(Event::Drain { when, reason });
            }
            Some(Command::Part { within, reason }) => self.on_part(within, reason),
            // The slot holds a sender as long as the driver is in it.
            None => return Err(Ended::Closed),
        }
        Ok(())
    }

    fn on_take(&mut self, input: Input, first: oneshot::Sender<Seq>, ack: Ack) {
        let input = match self.checked(input) {
            Ok(input) => input,
            Err(fault) => {
                let _ = ack.send(Acked::Refused(fault.into()));
                return;
            }
        };
        let token = self.callers.enter(Some(first), ack);
        self.hand_over(Event::Command { token, input });
        for token in self.callers.sweep() {
            self.hand_over(Event::Withdrawn { token });
        }
    }

    fn on_part(&mut self, within: Duration, reason: String) {
        let session = &self.machine.session().id;
        let within_ms = u64::try_from(within.as_millis()).unwrap_or(u64::MAX);
        tracing::debug!(%session, within_ms, reason, "the session is being let go");
        self.hand_over(Event::HandOff { within_ms, reason });
    }
}
