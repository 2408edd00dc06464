//! Commands: what a conversation asks of its driver.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;
use windlass_core::{Input, Reject, Seq, Session, StopWhen};

use super::Driver;
use super::leave::Stopping;
use super::write::is_durable;
use crate::approvals::PendingApproval;
use crate::error::{Ended, SendError};
use crate::prefix::PrefixReport;

/// Acknowledgements beyond which those that nobody waits for any more are dropped.
const ACKS: usize = 256;

/// Where an acknowledgement goes.
pub(crate) type Ack = oneshot::Sender<Acked>;

/// What became of an input.
pub(crate) enum Acked {
    /// Everything up to this position is durable, the input's facts among it.
    Durable(Seq),
    /// It was refused.
    Refused(SendError),
    /// The driver ended first.
    Ended(Arc<Ended>),
}

/// What a conversation asks of its driver.
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

/// Where what somebody said stands in the log.
pub(super) struct SaidAt {
    pub(super) first: Seq,
    pub(super) last: Seq,
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
                let _ = answer.send(self.session.clone());
                Ok(())
            }
            Some(Command::Pending { answer }) => {
                let calls = self.session.turn().map_or(&[][..], |turn| turn.calls());
                let pending = calls.iter().filter_map(|call| self.pending(call));
                let _ = answer.send(pending.collect());
                Ok(())
            }
            Some(Command::Prefix { answer }) => {
                let _ = answer.send(self.prefix.report());
                Ok(())
            }
            Some(Command::Letters) => {
                self.tell_of_letters();
                Ok(())
            }
            Some(Command::Flush { ack }) => {
                let last = Seq(self.session.next.0.saturating_sub(1));
                self.acknowledge_at(last, ack);
                Ok(())
            }
            Some(Command::Close) => {
                self.closing = true;
                Ok(())
            }
            Some(Command::Shutdown { when, reason }) => {
                self.on_stopping(Stopping { when, reason });
                Ok(())
            }
            Some(Command::Part { within, reason }) => {
                self.on_part(within, reason);
                Ok(())
            }
            // The slot holds a sender as long as the driver is in it.
            None => Err(Ended::Closed),
        }
    }

    fn on_take(
        &mut self,
        input: Input,
        first: oneshot::Sender<Seq>,
        ack: Ack,
    ) -> Result<(), Ended> {
        if let Some(crowded) = self.letters.crowded(&self.session, &input) {
            let _ = ack.send(Acked::Refused(crowded));
            return Ok(());
        }
        match self.say(input)? {
            Ok(said) => {
                let _ = first.send(said.first);
                self.acknowledge_at(said.last, ack);
            }
            Err(error) => {
                let _ = ack.send(Acked::Refused(error));
            }
        }
        Ok(())
    }

    /// Takes what somebody says, if it may be taken. It is not durable yet.
    pub(super) fn say(&mut self, input: Input) -> Result<Result<SaidAt, SendError>, Ended> {
        if let Some(parted) = self.parted(true) {
            return Ok(Err(SendError::Ended(Arc::new(parted))));
        }
        let input = match self.checked(input) {
            Ok(input) => input,
            Err(error) => return Ok(Err(error)),
        };
        let first = self.session.next;
        match self.take(input) {
            Ok(last) => Ok(Ok(SaidAt { first, last })),
            // Said before: it is acknowledged again, once it is durable.
            Err(Reject::Duplicate(seq)) => Ok(Ok(SaidAt {
                first: seq,
                last: seq,
            })),
            Err(Reject::Defect(misfit)) => Err(Ended::Defect(misfit.to_string())),
            Err(reject) => Ok(Err(SendError::Rejected(reject))),
        }
    }

    /// Answers once this position is durable, which it may be already.
    fn acknowledge_at(&mut self, seq: Seq, ack: Ack) {
        if is_durable(self, seq) {
            let _ = ack.send(Acked::Durable(seq));
        } else {
            if self.acks.len() >= ACKS {
                // Callers who went away while the store does not answer.
                self.acks.retain(|(_, ack)| !ack.is_closed());
            }
            // Positions only grow but for duplicates, which are older and then wait a little
            // longer than they must.
            self.acks.push_back((seq, ack));
        }
    }
}
