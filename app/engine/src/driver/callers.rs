//! Callers: receivers of acknowledgements, by the tokens that the machine uses for them.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::sync::oneshot;
use windlass_core::Seq;
use windlass_core::machine::{CommandRefusal, CommandToken};
use windlass_ports::{MailboxError, MailboxErrorKind};

use super::{AckResult, AckSender};
use crate::error::{DriverEnd, SendError};

/// Number of callers above which callers that went away are dropped while the store does not
/// respond.
const MAX_CALLERS: usize = 256;

/// Callers that wait for acknowledgements.
#[derive(Default)]
pub(super) struct CommandCallers {
    next: u64,
    waiting: BTreeMap<CommandToken, WaitingCaller>,
}

struct WaitingCaller {
    /// Receives the position of the first fact before it is durable.
    first: Option<oneshot::Sender<Seq>>,
    ack: AckSender,
}

impl CommandCallers {
    /// Adds a caller, and returns its token.
    pub(super) fn add(
        &mut self,
        first: Option<oneshot::Sender<Seq>>,
        ack: AckSender,
    ) -> CommandToken {
        let token = CommandToken(self.next);
        self.next = self.next.wrapping_add(1);
        self.waiting.insert(token, WaitingCaller { first, ack });
        token
    }

    /// Drops callers that went away, if there are many, and returns their tokens.
    pub(super) fn sweep(&mut self) -> Vec<CommandToken> {
        if self.waiting.len() <= MAX_CALLERS {
            return Vec::new();
        }
        let gone = self.waiting.iter();
        let gone = gone.filter(|(_, caller)| caller.ack.is_closed());
        let gone: Vec<CommandToken> = gone.map(|(token, _)| *token).collect();
        for token in &gone {
            self.waiting.remove(token);
        }
        gone
    }

    pub(super) fn accept(&mut self, token: CommandToken, at: Seq) {
        let caller = self.waiting.get_mut(&token);
        if let Some(first) = caller.and_then(|caller| caller.first.take()) {
            let _ = first.send(at);
        }
    }

    pub(super) fn acknowledge(&mut self, token: CommandToken, at: Seq) {
        self.answer(token, AckResult::Durable(at));
    }

    pub(super) fn reject(&mut self, token: CommandToken, error: SendError) {
        self.answer(token, AckResult::Rejected(error));
    }

    /// Notifies all callers that the driver has ended.
    pub(super) fn end(&mut self, ended: &Arc<DriverEnd>) {
        for (_, caller) in std::mem::take(&mut self.waiting) {
            let _ = caller.ack.send(AckResult::Ended(ended.clone()));
        }
    }

    fn answer(&mut self, token: CommandToken, acked: AckResult) {
        if let Some(caller) = self.waiting.remove(&token) {
            let _ = caller.ack.send(acked);
        }
    }
}

impl From<CommandRefusal> for SendError {
    fn from(refusal: CommandRefusal) -> Self {
        match refusal {
            CommandRefusal::Rejected(reject) => Self::Rejected(reject),
            CommandRefusal::Closing => Self::Ended(Arc::new(DriverEnd::Closed)),
            CommandRefusal::HandingOff { reason } => {
                Self::Ended(Arc::new(DriverEnd::HandOff { reason, at_rest: true }))
            }
            CommandRefusal::KeysExhausted => {
                let context =
                    "letters of other nodes cannot be replied to, and too much was said since";
                let error = MailboxError::new(MailboxErrorKind::Unavailable, context);
                Self::Mailbox(Arc::new(error))
            }
        }
    }
}
