//! Callers: those who wait for acknowledgements, by the tokens that the machine knows them by.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::sync::oneshot;
use windlass_core::Seq;
use windlass_core::machine::{Refusal, Token};
use windlass_ports::{InboxError, InboxErrorKind};

use super::{Ack, Acked};
use crate::error::{Ended, SendError};

/// Callers beyond which those that went away, while the store does not answer, are dropped.
const MOST: usize = 256;

/// Those who wait for acknowledgements.
#[derive(Default)]
pub(super) struct Callers {
    next: u64,
    waiting: BTreeMap<Token, Caller>,
}

struct Caller {
    /// Receives the position of the first fact before it is durable.
    first: Option<oneshot::Sender<Seq>>,
    ack: Ack,
}

impl Callers {
    /// Takes in a caller, and returns its token.
    pub(super) fn enter(&mut self, first: Option<oneshot::Sender<Seq>>, ack: Ack) -> Token {
        let token = Token(self.next);
        self.next = self.next.wrapping_add(1);
        self.waiting.insert(token, Caller { first, ack });
        token
    }

    /// Drops callers that went away, if there are many, and returns their tokens.
    pub(super) fn sweep(&mut self) -> Vec<Token> {
        if self.waiting.len() <= MOST {
            return Vec::new();
        }
        let gone = self.waiting.iter();
        let gone = gone.filter(|(_, caller)| caller.ack.is_closed());
        let gone: Vec<Token> = gone.map(|(token, _)| *token).collect();
        for token in &gone {
            self.waiting.remove(token);
        }
        gone
    }

    pub(super) fn accept(&mut self, token: Token, at: Seq) {
        let caller = self.waiting.get_mut(&token);
        if let Some(first) = caller.and_then(|caller| caller.first.take()) {
            let _ = first.send(at);
        }
    }

    pub(super) fn acknowledge(&mut self, token: Token, at: Seq) {
        self.answer(token, Acked::Durable(at));
    }

    pub(super) fn refuse(&mut self, token: Token, error: SendError) {
        self.answer(token, Acked::Refused(error));
    }

    /// Tells all of them that the driver has ended.
    pub(super) fn end(&mut self, ended: &Arc<Ended>) {
        for (_, caller) in std::mem::take(&mut self.waiting) {
            let _ = caller.ack.send(Acked::Ended(ended.clone()));
        }
    }

    fn answer(&mut self, token: Token, acked: Acked) {
        if let Some(caller) = self.waiting.remove(&token) {
            let _ = caller.ack.send(acked);
        }
    }
}

impl From<Refusal> for SendError {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Rejected(reject) => Self::Rejected(reject),
            Refusal::Closing => Self::Ended(Arc::new(Ended::Closed)),
            Refusal::HandingOff { reason } => Self::Ended(Arc::new(Ended::Parted {
                reason,
                rested: true,
            })),
            Refusal::Crowded => {
                let context =
                    "letters of other nodes cannot be replied to, and too much was said since";
                let error = InboxError::new(InboxErrorKind::Unavailable, context);
                Self::Inbox(Arc::new(error))
            }
        }
    }
}
