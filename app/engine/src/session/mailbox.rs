//! Posting: stores a command in the session's mailbox and waits for its acknowledgement.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::time::{Instant, sleep};
use windlass_core::{Kept, Seq};
use windlass_ports::{BlobError, InboxError, InboxErrorKind, Letter, LetterId, OutputKeeper};

use super::SessionHandle;
use super::dispatch::{Attempt, Envelope};
use super::remote::{Acknowledgement, Body, Execution, RemoteCommand, lasts_ms};
use crate::error::SendError;
use crate::peers::Peers;

/// Wait for an acknowledgement before this node tries to take the session over.
const ROUND: Duration = Duration::from_secs(1);
/// Pause after an acknowledgement could not be read.
const AGAIN: Duration = Duration::from_millis(500);
/// Limit on the rounds of a command that is sent again under the same key after a rejection.
const ROUNDS: u32 = 64;

/// A command on its way through the mailbox.
pub(super) struct Posting<'a> {
    handle: &'a SessionHandle,
    peers: &'a Peers,
    envelope: &'a Envelope,
    /// Name of the remote command, once it is stored.
    stored: Option<LetterId>,
}

impl<'a> Posting<'a> {
    pub(super) fn new(handle: &'a SessionHandle, peers: &'a Peers, envelope: &'a Envelope) -> Self {
        Self {
            handle,
            peers,
            envelope,
            stored: None,
        }
    }

    /// Stores the command unless it is stored, and waits a while for its acknowledgement, not beyond
    /// `until`.
    pub(super) async fn attempt(&mut self, until: Instant) -> Result<Attempt, SendError> {
        match self.try_attempt(until).await {
            Err(SendError::Inbox(error)) if is_transient(&error) => {
                tracing::debug!(session = %self.handle.id(), %error, "the mailbox is asked again");
                let Some(letter) = self.stored.clone() else {
                    return Ok(Attempt::Pending(SendError::Inbox(error)));
                };
                // Asked again at once it would fail again.
                sleep(AGAIN.min(until.saturating_duration_since(Instant::now()))).await;
                Ok(Attempt::Pending(SendError::Waits { letter }))
            }
            attempt => attempt,
        }
    }

    async fn try_attempt(&mut self, until: Instant) -> Result<Attempt, SendError> {
        let letter = match &self.stored {
            Some(letter) => letter.clone(),
            None => match self.store().await? {
                Stored::Waits(letter) => letter,
                Stored::Acknowledged(result) => return result.map(Attempt::Accepted),
            },
        };
        self.stored = Some(letter.clone());
        // If it is driven here by now, nobody else notifies its driver sooner.
        self.handle.0.engine.nudge(self.handle.id());
        let patience = until.saturating_duration_since(Instant::now()).min(ROUND);
        let replied = self
            .peers
            .inbox
            .replied(self.handle.id(), &letter, patience);
        match replied.await.map_err(failed)? {
            Some(reply) => result(&reply).map(Attempt::Accepted),
            None => Ok(Attempt::Pending(SendError::Waits { letter })),
        }
    }

    /// Stores the remote command of the first round that was not rejected, or returns its result if
    /// that is known.
    async fn store(&self) -> Result<Stored, SendError> {
        let (session, inbox) = (self.handle.id(), &self.peers.inbox);
        let mut round = 0;
        let id = loop {
            let id = self.name(round)?;
            if !self.envelope.key.callers {
                break id;
            }
            let replied = inbox.replied(session, &id, Duration::ZERO).await;
            let result = match replied.map_err(failed)? {
                None => break id,
                Some(reply) => result(&reply),
            };
            round += 1;
            if result.is_ok() || round >= ROUNDS {
                return Ok(Stored::Acknowledged(result));
            }
        };
        let bytes = self.written().await?;
        let letter = Letter {
            id: id.clone(),
            bytes,
        };
        inbox.leave(session, &letter).await.map_err(failed)?;
        Ok(Stored::Waits(id))
    }

    fn name(&self, round: u32) -> Result<LetterId, SendError> {
        self.envelope.key.name(round).map_err(|error| {
            let context = "naming a remote command by its key, which is a defect of the engine";
            failed(InboxError::new(InboxErrorKind::Io, context).caused_by(error))
        })
    }

    /// Serialises the remote command. One that is too long for the mailbox is stored in a blob.
    async fn written(&self) -> Result<Bytes, SendError> {
        let most = self.peers.inbox.capabilities().letter_bytes;
        let command = &self.envelope.command;
        let remote = self.remote(Body::Here(command.clone()))?;
        if remote.len() <= most {
            return Ok(remote);
        }
        let text = serde_json::to_vec(command).map_err(unwritten)?;
        let kept = self.keep(&text).await.map_err(|error| {
            let context = format!(
                "a command for session {} has {} bytes, the mailbox takes {most}, and the rest \
                 cannot be stored beside the log",
                self.handle.id(),
                remote.len(),
            );
            failed(InboxError::new(InboxErrorKind::TooLarge, context).caused_by(error))
        })?;
        if kept.bytes != text.len() as u64 {
            return Err(SendError::TooLarge(text.len()));
        }
        self.remote(Body::Kept(kept))
    }

    fn remote(&self, body: Body) -> Result<Bytes, SendError> {
        let Envelope {
            scope,
            command,
            key,
        } = self.envelope;
        let now = self.handle.0.engine.inner.ports.clock.now();
        let remote = RemoteCommand::new(key.text(), scope, now, body, lasts_ms(command));
        remote.write().map(Bytes::from).map_err(unwritten)
    }

    async fn keep(&self, text: &[u8]) -> Result<Kept, BlobError> {
        let blobs = self.handle.0.engine.inner.ports.blobs.clone();
        let keeper = OutputKeeper::new(blobs, self.handle.id().clone());
        let mut writer = keeper.begin().await?;
        writer.write(text).await?;
        writer.finish().await
    }
}

/// Result of storing a command.
enum Stored {
    /// Stored, without an acknowledgement yet.
    Waits(LetterId),
    /// Acknowledged earlier.
    Acknowledged(Result<Seq, SendError>),
}

fn result(reply: &[u8]) -> Result<Seq, SendError> {
    match Acknowledgement::read(reply) {
        Ok(Acknowledgement { became, .. }) => match became {
            Execution::Accepted { first, .. } => Ok(first),
            Execution::Refused(rejection) => Err(rejection.into()),
        },
        Err(not_read) => {
            let why = format!(
                "the acknowledgement of the node that drives the session: {}",
                not_read.0
            );
            Err(SendError::Unread(why))
        }
    }
}

/// Returns true if another attempt may succeed.
fn is_transient(error: &InboxError) -> bool {
    match error.kind {
        InboxErrorKind::Unavailable | InboxErrorKind::Io => true,
        InboxErrorKind::Full | InboxErrorKind::TooLarge | InboxErrorKind::NotClaimed => false,
    }
}

fn failed(error: InboxError) -> SendError {
    SendError::Inbox(Arc::new(error))
}

fn unwritten(error: serde_json::Error) -> SendError {
    let context = "serialising a remote command, which is a defect of the engine";
    failed(InboxError::new(InboxErrorKind::TooLarge, context).caused_by(error))
}
