//! Commands: what a conversation asks of its driver.

use std::sync::Arc;

use tokio::sync::oneshot;
use windlass_core::{Input, Reject, Seq, Session};

use super::Driver;
use super::write::is_durable;
use crate::arguments::Checker;
use crate::error::{Ended, SendError};

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
    /// To answer once all that is decided so far is durable.
    Flush { ack: Ack },
    /// To end once nothing runs.
    Close,
}

impl Command {
    /// Answers that nobody will act on it.
    pub(super) fn refuse(self, ended: &Arc<Ended>) {
        match self {
            Self::Take { ack, .. } | Self::Flush { ack } => {
                let _ = ack.send(Acked::Ended(ended.clone()));
            }
            Self::State { .. } | Self::Close => {}
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
            Some(Command::Flush { ack }) => {
                let last = Seq(self.session.next.0.saturating_sub(1));
                self.acknowledge_at(last, ack);
                Ok(())
            }
            Some(Command::Close) => {
                self.closing = true;
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
        if let Input::Configure { settings } = &input
            && let Err(why) = Checker::new(&Arc::new(settings.clone()))
        {
            let _ = ack.send(Acked::Refused(SendError::Settings(why)));
            return Ok(());
        }
        let next = self.session.next;
        let (begins, ends) = match self.take(input) {
            Ok(last) => (next, last),
            // Said before: it is acknowledged again, once it is durable.
            Err(Reject::Duplicate(seq)) => (seq, seq),
            Err(Reject::Defect(misfit)) => return Err(Ended::Defect(misfit.to_string())),
            Err(reject) => {
                let _ = ack.send(Acked::Refused(SendError::Rejected(reject)));
                return Ok(());
            }
        };
        let _ = first.send(begins);
        self.acknowledge_at(ends, ack);
        Ok(())
    }

    /// Answers once this position is durable, which it may be already.
    fn acknowledge_at(&mut self, seq: Seq, ack: Ack) {
        if is_durable(self, seq) {
            let _ = ack.send(Acked::Durable(seq));
        } else {
            // Positions only grow but for duplicates, which are older and then wait a little
            // longer than they must.
            self.acks.push_back((seq, ack));
        }
    }
}
