//! Commands: what a conversation asks of its driver.

use std::sync::Arc;

use tokio::sync::oneshot;
use windlass_core::{Input, Reject, Seq, Session};

use super::Driver;
use super::write::is_durable;
use crate::arguments::Checker;
use crate::error::{Ended, SendError};
use crate::size;

/// The longest reason for a stop, in bytes; the rest of it is dropped.
const REASON: usize = 1_024;
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
    /// To answer once all that is decided so far is durable.
    Flush { ack: Ack },
    /// To end once nothing runs, and to take nothing more until then.
    Close,
    /// To ask what runs to stop, and then to end.
    Shutdown { reason: String },
}

impl Command {
    /// Answers that nobody will act on it.
    pub(super) fn refuse(self, ended: &Arc<Ended>) {
        match self {
            Self::Take { ack, .. } | Self::Flush { ack } => {
                let _ = ack.send(Acked::Ended(ended.clone()));
            }
            Self::State { .. } | Self::Close | Self::Shutdown { .. } => {}
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
            Some(Command::Shutdown { mut reason }) => {
                size::cut(&mut reason, REASON);
                self.closing = true;
                self.stopping.get_or_insert(reason);
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
        let input = match self.checked(input) {
            Ok(input) => input,
            Err(error) => {
                let _ = ack.send(Acked::Refused(error));
                return Ok(());
            }
        };
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

    /// The input, if it may be decided at all. What is no rule about turns is looked at here:
    /// schemas, sizes, and whether the session is about to be let go.
    fn checked(&self, mut input: Input) -> Result<Input, SendError> {
        match &mut input {
            Input::Send { .. } | Input::Continue if self.closing => {
                return Err(SendError::Ended(Arc::new(Ended::Closed)));
            }
            Input::Send { text, key, .. } => {
                let key = key.as_deref().unwrap_or_default();
                if !self.size.fits(&[text, key]) {
                    return Err(SendError::TooLarge(text.len().saturating_add(key.len())));
                }
            }
            Input::Configure { settings } => {
                let settings = Arc::new(settings.clone());
                Checker::new(&settings).map_err(SendError::Settings)?;
                let bytes = serde_json::to_vec(&*settings).map_or(usize::MAX, |text| text.len());
                if !self.size.holds(bytes) {
                    let why =
                        format!("they have {bytes} bytes, which is more than the store takes");
                    return Err(SendError::Settings(why));
                }
            }
            Input::Interrupt { reason, .. } => size::cut(reason, REASON),
            Input::Continue
            | Input::Recovered
            | Input::Tick
            | Input::Sampled { .. }
            | Input::Ran { .. }
            | Input::NeverBegan { .. } => {}
        }
        Ok(input)
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
