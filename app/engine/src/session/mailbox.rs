//! Mailbox delivery: stores a command in the session's mailbox and waits for its acknowledgement.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::time::{Instant, sleep};
use windlass_core::{Seq, StoredOutput};
use windlass_ports::{
    BlobError, MailboxCommand, MailboxCommandId, MailboxError, MailboxErrorKind, OutputStore,
};

use super::SessionHandle;
use super::dispatch::{Attempt, CommandEnvelope};
use super::remote::{Acknowledgement, CommandBody, Execution, RemoteCommand, valid_ms};
use crate::error::SendError;
use crate::peers::Peers;

/// Wait for an acknowledgement before this node tries to take the session over.
const ACK_WAIT: Duration = Duration::from_secs(1);
/// Pause after an acknowledgement could not be read.
const RETRY_PAUSE: Duration = Duration::from_millis(500);
/// Limit on the rounds of a command that is sent again under the same key after a rejection.
const MAX_ROUNDS: u32 = 64;

/// A command on its way through the mailbox.
pub(super) struct StoredCommand<'a> {
    handle: &'a SessionHandle,
    peers: &'a Peers,
    envelope: &'a CommandEnvelope,
    /// Name of the remote command, once it is stored.
    stored: Option<MailboxCommandId>,
}

impl<'a> StoredCommand<'a> {
    pub(super) fn new(
        handle: &'a SessionHandle,
        peers: &'a Peers,
        envelope: &'a CommandEnvelope,
    ) -> Self {
        Self { handle, peers, envelope, stored: None }
    }

    /// Stores the command unless it is stored, and waits a while for its acknowledgement, not
    /// beyond `until`.
    pub(super) async fn attempt(&mut self, until: Instant) -> Result<Attempt, SendError> {
        match self.try_attempt(until).await {
            Err(SendError::Mailbox(error)) if is_transient(&error) => {
                tracing::debug!(session = %self.handle.id(), %error, "the mailbox is asked again");
                let Some(letter) = self.stored.clone() else {
                    return Ok(Attempt::Pending(SendError::Mailbox(error)));
                };
                // An immediate retry would fail again.
                sleep(RETRY_PAUSE.min(until.saturating_duration_since(Instant::now()))).await;
                Ok(Attempt::Pending(SendError::Pending { command: letter }))
            }
            attempt => attempt,
        }
    }

    async fn try_attempt(&mut self, until: Instant) -> Result<Attempt, SendError> {
        let letter = match &self.stored {
            Some(letter) => letter.clone(),
            None => match self.store().await? {
                StoreResult::Pending(letter) => letter,
                StoreResult::Acknowledged(result) => return result.map(Attempt::Accepted),
            },
        };
        self.stored = Some(letter.clone());
        // If the session is driven here by now, no other notice reaches its driver sooner.
        self.handle.0.engine.notify_driver(self.handle.id());
        let patience = until.saturating_duration_since(Instant::now()).min(ACK_WAIT);
        let replied = self.peers.mailbox.acknowledgement(self.handle.id(), &letter, patience);
        match replied.await.map_err(failed)? {
            Some(reply) => result(&reply).map(Attempt::Accepted),
            None => Ok(Attempt::Pending(SendError::Pending { command: letter })),
        }
    }

    /// Stores the remote command of the first round that was not rejected, or returns the command's
    /// result if it is known.
    async fn store(&self) -> Result<StoreResult, SendError> {
        let (session, inbox) = (self.handle.id(), &self.peers.mailbox);
        let mut round = 0;
        let id = loop {
            let id = self.name(round)?;
            if !self.envelope.key.from_caller {
                break id;
            }
            let replied = inbox.acknowledgement(session, &id, Duration::ZERO).await;
            let result = match replied.map_err(failed)? {
                None => break id,
                Some(reply) => result(&reply),
            };
            round += 1;
            if result.is_ok() || round >= MAX_ROUNDS {
                return Ok(StoreResult::Acknowledged(result));
            }
        };
        let bytes = self.encode().await?;
        let letter = MailboxCommand { id: id.clone(), bytes };
        inbox.send(session, &letter).await.map_err(failed)?;
        Ok(StoreResult::Pending(id))
    }

    fn name(&self, round: u32) -> Result<MailboxCommandId, SendError> {
        self.envelope.key.name(round).map_err(|error| {
            let context = "naming a remote command by its key, which is a defect of the engine";
            failed(MailboxError::new(MailboxErrorKind::Io, context).caused_by(error))
        })
    }

    /// Serialises the remote command. One that is too long for the mailbox is stored in a blob.
    async fn encode(&self) -> Result<Bytes, SendError> {
        let most = self.peers.mailbox.capabilities().max_command_bytes;
        let command = &self.envelope.command;
        let remote = self.remote(CommandBody::Inline(command.clone()))?;
        if remote.len() <= most {
            return Ok(remote);
        }
        let text = serde_json::to_vec(command).map_err(unwritten)?;
        let kept = self.store_blob(&text).await.map_err(|error| {
            let context = format!(
                "a command for session {} has {} bytes, the mailbox takes {most}, and the rest \
                 cannot be stored beside the log",
                self.handle.id(),
                remote.len(),
            );
            failed(MailboxError::new(MailboxErrorKind::TooLarge, context).caused_by(error))
        })?;
        if kept.bytes != text.len() as u64 {
            return Err(SendError::TooLarge(text.len()));
        }
        self.remote(CommandBody::Blob(kept))
    }

    fn remote(&self, body: CommandBody) -> Result<Bytes, SendError> {
        let CommandEnvelope { scope, command, key } = self.envelope;
        let now = self.handle.0.engine.inner.ports.clock.now();
        let remote = RemoteCommand::new(key.text(), scope, now, body, valid_ms(command));
        remote.write().map(Bytes::from).map_err(unwritten)
    }

    async fn store_blob(&self, text: &[u8]) -> Result<StoredOutput, BlobError> {
        let blobs = self.handle.0.engine.inner.ports.blobs.clone();
        let keeper = OutputStore::new(blobs, self.handle.id().clone());
        let mut writer = keeper.begin().await?;
        writer.write(text).await?;
        writer.finish().await
    }
}

/// Result of storing a command.
enum StoreResult {
    /// Stored, without an acknowledgement yet.
    Pending(MailboxCommandId),
    /// Acknowledged earlier.
    Acknowledged(Result<Seq, SendError>),
}

fn result(reply: &[u8]) -> Result<Seq, SendError> {
    match Acknowledgement::read(reply) {
        Ok(Acknowledgement { execution: became, .. }) => match became {
            Execution::Accepted { first, .. } => Ok(first),
            Execution::Rejected(rejection) => Err(rejection.into()),
        },
        Err(not_read) => {
            let why =
                format!("the acknowledgement of the node that drives the session: {}", not_read.0);
            Err(SendError::Unreadable(why))
        }
    }
}

/// Returns true if another attempt may succeed.
fn is_transient(error: &MailboxError) -> bool {
    match error.kind {
        MailboxErrorKind::Unavailable | MailboxErrorKind::Io => true,
        MailboxErrorKind::Full | MailboxErrorKind::TooLarge | MailboxErrorKind::NotClaimed => false,
    }
}

fn failed(error: MailboxError) -> SendError {
    SendError::Mailbox(Arc::new(error))
}

fn unwritten(error: serde_json::Error) -> SendError {
    let context = "serialising a remote command, which is a defect of the engine";
    failed(MailboxError::new(MailboxErrorKind::TooLarge, context).caused_by(error))
}
